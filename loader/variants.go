package loader

import (
	"cmp"
	"slices"
	"strings"
)

// variantOrder are the variants that come first, in the order in which a card's display price looks
// for one; all others follow alphabetically (decision 19). The order is one for all games: a
// catalog has one table of variants.
var variantOrder = []string{
	"normal", "holofoil", "foil", "unlimited", "unlimited_holofoil", "reverse_holofoil", "1st_edition",
	"1st_edition_holofoil",
}

// variants numbers the variants in the order in which the build meets them.
type variants struct {
	names []string
	known map[string]uint16
}

// of returns a variant's number; false when there are more variants than the format holds.
func (v *variants) of(name string) (uint16, bool) {
	if n, ok := v.known[name]; ok {
		return n, true
	}
	if len(v.names) == 1<<16-1 {
		return 0, false
	}

	// The name was cut out of a line that is not to be kept.
	name = strings.Clone(name)
	n := uint16(len(v.names))
	v.names = append(v.names, name)
	v.known[name] = n
	return n, true
}

// ranks returns the table of the variants in use, in display order after "", and each variant's row
// in it. The others' rows mean nothing.
func (v *variants) ranks(used []bool) (table []string, rank []uint16) {
	table = []string{""}
	for n, name := range v.names {
		if used[n] && name != "" {
			table = append(table, name)
		}
	}

	place := func(name string) int {
		if i := slices.Index(variantOrder, name); i >= 0 {
			return i
		}
		return len(variantOrder)
	}

	slices.SortFunc(table[1:],
		func(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b)) })
	rank = make([]uint16, len(v.names))
	for row, name := range table {
		if n, ok := v.known[name]; ok {
			rank[n] = uint16(row)
		}
	}

	return table, rank
}
