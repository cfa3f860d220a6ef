package api

import (
	"strings"

	"ninepocket/index"
	"ninepocket/wire"
)

// noteUnknown notes the values of a filter that nothing in the catalog has, for X-Unknown-Values: a
// misspelt value looks like a catalog without such cards (decision 2006). It is asked where a page is
// empty.
func (r *Request) noteUnknown(out *Reply, f *index.Filter) {
	r.noteValue(out, "game", index.GameKind, f.Game)
	r.noteValue(out, "set", index.SetKind, f.Set)
	r.noteValue(out, "rarity", index.RarityKind, f.Rarity)
	r.noteValue(out, "variant", index.VariantKind, f.Variant)

	// Of an identifier only the namespace can be misspelt; its value is known or not.
	if f.Identifier == "" || len(r.View.Index.Identified(f.Identifier)) > 0 {
		return
	}
	namespace, value, _ := strings.Cut(f.Identifier, ":")
	nearest, _ := r.View.Index.Knows(index.NamespaceKind, namespace)
	if nearest != "" {
		nearest += ":" + value
	}
	out.noteUnknown("identifier", f.Identifier, nearest)
}

// noteUnknownSets is noteUnknown of a filter of sets.
func (r *Request) noteUnknownSets(out *Reply, f *index.SetFilter) {
	r.noteValue(out, "game", index.GameKind, f.Game)
	r.noteValue(out, "series", index.SeriesKind, f.Series)
}

func (r *Request) noteValue(out *Reply, name string, kind index.Kind, value string) {
	if value == "" {
		return
	}
	if nearest, known := r.View.Index.Knows(kind, value); !known {
		out.noteUnknown(name, value, nearest)
	}
}

// noteUnknown appends a value to the list of unknown ones, percent-encoded as unknown parameters are.
// No operation has as many filters as the list may have members.
func (out *Reply) noteUnknown(name, value, nearest string) {
	if len(out.Unknown) > 0 {
		out.Unknown = append(out.Unknown, ", "...)
	}
	out.Unknown = append(append(out.Unknown, name...), '=')
	out.Unknown = append(out.Unknown, encodeName(hideKey(value))...)
	if nearest != "" {
		out.Unknown = append(out.Unknown, " ("...)
		out.Unknown = append(wire.AppendEscaped(out.Unknown, hideKey(nearest)), ')')
	}
}
