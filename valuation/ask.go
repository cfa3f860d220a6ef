package valuation

import (
	"cmp"
	"slices"
)

// facet is what a card can be asked for.
type facet struct {
	set    int32
	number uint32 // its group
	bare   bool   // it has no number
}

// facets are what cards that fit one line can be asked for.
type facets []facet

// ask finds the least that tells all cards that fit a line apart, so that whichever is meant, the
// line is settled once it has these fields as they are printed:
//
//   - The number alone, the set alone, or both, where no two cards share them. A card without a number
//     says nothing by it.
//   - Else cards differ in their names alone. Set, number and whole name together are one card's
//     (appraise.go, isPrinted), so that the name is asked for with those of the two that the line
//     does not have.
//   - One card has nothing to be told apart from.
func (a *Appraiser) ask(f *facts, cards []uint32) Ask {
	if len(cards) < 2 {
		return 0
	}

	a.facets = a.facets[:0]
	for _, card := range cards {
		number, ok := a.View.Index.Facts().NumberGroup(card)
		a.facets = append(a.facets, facet{a.View.Catalog.Cards.Set[card], number, !ok})
	}

	if fields := a.facets.tellApart(); fields != 0 {
		return fields
	}

	// A name that is given anew takes the set and number with it that stood in it.
	fields := AskName
	if f.item.Set == "" || !f.hasSet() || a.facets.differ(func(x facet) int64 { return int64(x.set) }) {
		fields |= AskSet
	}

	if f.item.Number == "" || a.facets.differ(func(x facet) int64 { return int64(x.number) }) {
		fields |= AskNumber
	}
	return fields
}

// tellApart is the number, the set, or both: what no two of the cards at hand share; 0 where some
// share both.
func (fs facets) tellApart() Ask {
	slices.SortFunc(fs, func(x, y facet) int {
		return cmp.Or(cmp.Compare(x.number, y.number), cmp.Compare(x.set, y.set))
	})

	numbers := true
	both := true
	bare := false

	// Cards of one number are neighbours now, and among them those of one set.
	for i, x := range fs {
		bare = bare || x.bare
		if i == 0 || fs[i-1].number != x.number {
			continue
		}
		numbers = false
		both = both && fs[i-1].set != x.set
	}

	// A card without a number would never be settled by one.
	if numbers && !bare {
		return AskNumber
	}

	slices.SortFunc(fs, func(x, y facet) int { return cmp.Compare(x.set, y.set) })
	sets := true
	for i, x := range fs {
		if i == 0 || fs[i-1].set != x.set {
			continue
		}
		sets = false
		// Without a number, a card must be alone in its set.
		both = both && !x.bare && !fs[i-1].bare
	}

	switch {
	case sets:
		return AskSet
	case both:
		return AskSet | AskNumber
	}
	return 0
}

// differ reports whether some cards at hand differ in a member.
func (fs facets) differ(of func(facet) int64) bool {
	return slices.ContainsFunc(fs, func(x facet) bool { return of(x) != of(fs[0]) })
}
