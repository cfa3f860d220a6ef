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
	first := a.facets[0]
	if f.item.Set == "" || !f.hasSet() ||
		slices.ContainsFunc(a.facets, func(x facet) bool { return x.set != first.set }) {
		fields |= AskSet
	}

	if f.item.Number == "" || slices.ContainsFunc(a.facets, func(x facet) bool { return x.number != first.number }) {
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

	// Cards of one number are neighbours now, and one without a number would never be settled by it.
	sharing := func(x, y facet) bool { return x.number == y.number }
	if !fs.share(sharing) && !slices.ContainsFunc(fs, func(x facet) bool { return x.bare }) {
		return AskNumber
	}

	slices.SortStableFunc(fs, func(x, y facet) int { return cmp.Compare(x.set, y.set) })
	if !fs.share(func(x, y facet) bool { return x.set == y.set }) {
		return AskSet
	}

	// Without a number, a card must be alone in its set.
	if !fs.share(func(x, y facet) bool { return x.set == y.set && (x.number == y.number || x.bare || y.bare) }) {
		return AskSet | AskNumber
	}
	return 0
}

// share reports whether two neighbours have in common what is asked.
func (fs facets) share(what func(x, y facet) bool) bool {
	for i := range fs[1:] {
		if what(fs[i], fs[i+1]) {
			return true
		}
	}
	return false
}
