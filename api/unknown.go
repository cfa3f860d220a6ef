package api

import (
	"strings"

	"ninepocket/index"
	"ninepocket/wire"
)

// reportUnknownCards adds the values of a filter that no record has to X-Unknown-Values. It is
// called for an empty page: a misspelled value looks like a catalog without such cards (decision
// 2006).
func (out *Reply) reportUnknownCards(ix *index.Index, filter *index.Filter) {
	out.reportValue(ix, "game", index.GameKind, filter.Game)
	out.reportValue(ix, "set", index.SetKind, filter.Set)
	out.reportValue(ix, "rarity", index.RarityKind, filter.Rarity)
	out.reportValue(ix, "variant", index.VariantKind, filter.Variant)

	// Only the namespace of an identifier can be misspelled; its value is known or not.
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

// reportUnknown appends a value to the list of unknown ones, percent-encoded like unknown
// parameters. No operation has as many filters as the list may have members.
func (out *Reply) reportUnknown(name, value, nearest string) {
	if len(out.UnknownValues) > 0 {
		out.UnknownValues = append(out.UnknownValues, ", "...)
	}
	out.UnknownValues = append(append(out.UnknownValues, name...), '=')
	out.UnknownValues = append(out.UnknownValues, encodeName(wire.RedactKey(value))...)
	if nearest != "" {
		out.UnknownValues = append(out.UnknownValues, " ("...)
		out.UnknownValues = append(wire.AppendEscaped(out.UnknownValues, wire.RedactKey(nearest)), ')')
	}
}
