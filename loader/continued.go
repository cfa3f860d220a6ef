package loader

import (
	"fmt"
	"slices"

	"ninepocket/snapshot"
)

// continueSets lets a set of the base that no source lists any more continue in a new set: the set that an
// operator's alias names, else the set that lists most of its cards. The latter happens when a feed gives
// the group another number (decision 3416). The new set then has the id and slug of the earlier one.
func (b *builder) continueSets(m *merged) {
	listed := m.setsByRef()
	stays := map[string]bool{}
	for ref := range listed {
		stays[b.registry.sets[ref]] = true
	}
	gone := map[int32]bool{}
	base := b.o.Base
	for row := range base.Sets.ID.Len() {
		if !stays[base.Sets.ID.At(row)[len(setPrefix):]] {
			gone[int32(row)] = true
		}
	}
	if len(gone) == 0 {
		return
	}

	refs := b.refsOfBase(nil)
	homes := b.homesOf(m, gone, refs)
	for row := range int32(base.Sets.ID.Len()) {
		to, found := homes[row]
		for _, ref := range refs[base.Sets.ID.At(int(row))] {
			for _, same := range b.mapping.sameAs(aliasSet, ref) {
				if set, is := listed[same]; is {
					to = set
					found = true
				}
			}
		}

		// A set that an earlier catalog had keeps its own id.
		isOld := func(ref string) bool { return b.registry.sets[ref] != "" }
		if !gone[row] || !found || slices.ContainsFunc(m.sets[to].refs, isOld) {
			continue
		}
		earlier := refs[base.Sets.ID.At(int(row))]
		b.report.MappingRemarks = append(b.report.MappingRemarks, fmt.Sprintf(
			"the set %q (%s) is now listed as %q (%s): it keeps its id and address", base.Sets.Name.At(int(row)),
			readable(earlier[0]), m.sets[to].name, readable(m.sets[to].refs[0])))
		m.sets[to].refs = append(m.sets[to].refs, earlier...)
	}
}

// homesOf finds for sets of the base, by their rows, the sets that list more than half of their cards
// today.
func (b *builder) homesOf(m *merged, of map[int32]bool, refs map[string][]string) map[int32]int32 {
	items := m.itemsByRef()
	base := b.o.Base
	cards := map[int32]int{}
	best := map[int32]bestMatch{}
	shared := map[[2]int32]int{}

	for i := range base.Cards.ID.Len() {
		row := base.Cards.Set[i]
		if row < 0 || !of[row] || base.UnlistedSince(i) != snapshot.NoDay {
			continue
		}
		cards[row]++
		for _, ref := range refs[base.Cards.ID.At(i)] {
			if at, listed := items[ref]; listed && int(at) < len(m.cards) && m.cards[at].set >= 0 {
				shared[[2]int32{row, m.cards[at].set}]++
				break
			}
		}
	}

	for pair, n := range shared {
		best[pair[0]] = best[pair[0]].against(pair[1], n)
	}
	homes := map[int32]int32{}
	for row, match := range best {
		if match.n*2 > cards[row] {
			homes[row] = match.set
		}
	}
	return homes
}
