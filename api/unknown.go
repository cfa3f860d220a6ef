package api

import (
	"strings"

	"ninepocket/index"
	"ninepocket/wire"
)

// reportUnknownCards notes the values of a filter that nothing in the catalog has, for
// X-Unknown-Values: a misspelt value looks like a catalog without such cards (decision 2006). It is
// asked where a page is empty.
func (out *Reply) reportUnknownCards(ix *index.Index, filter *index.Filter) {
	out.reportValue(ix, "game", index.GameKind, filter.Game)
	out.reportValue(ix, "set", index.SetKind, filter.Set)
	out.reportValue(ix, "rarity", index.RarityKind, filter.Rarity)
	out.reportValue(ix, "variant", index.VariantKind, filter.Variant)

	// Of an identifier only the namespace can be misspelt; its value is known or not.
	if filter.Identifier == "" || len(ix.ByIdentifier(filter.Identifier)) > 0 {
		return
	}
	namespace, value, _ := strings.Cut(filter.Identifier, ":")
	nearest, _ := ix.HasValue(index.NamespaceKind, namespace)
	if nearest != "" {
		nearest += ":" + value
	}
	out.reportUnknown("identifier", filter.Identifier, nearest)
}

func (out *Reply) reportValue(ix *index.Index, name string, kind index.Kind, value string) {
	if value == "" {
		return
	}
	if nearest, known := ix.HasValue(kind, value); !known {
		out.reportUnknown(name, value, nearest)
	}
}

// reportUnknown appends a value to the list of unknown ones, percent-encoded as unknown parameters
// are. No operation has as many filters as the list may have members.
func (out *Reply) reportUnknown(name, value, nearest string) {
	if len(out.Unknown) > 0 {
		out.Unknown = append(out.Unknown, ", "...)
	}
	out.Unknown = append(append(out.Unknown, name...), '=')
	out.Unknown = append(out.Unknown, encodeName(redactKey(value))...)
	if nearest != "" {
		out.Unknown = append(out.Unknown, " ("...)
		out.Unknown = append(wire.AppendEscaped(out.Unknown, redactKey(nearest)), ')')
	}
}
