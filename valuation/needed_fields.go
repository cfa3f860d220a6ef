package valuation

import (
	"cmp"
	"slices"
)

// cardKey has the fields by which a card can be distinguished.
type cardKey struct {
	set    int32
	number uint32 // its NumberGroup
	bare   bool   // it has no number
}

// cardKeys are the keys of the cards that match one line.
type cardKeys []cardKey

// neededFields finds the least that tells all cards that fit a line apart, so that whichever is
// meant, the line is settled once it has these fields as they are printed:
//
//   - The number alone, the set alone, or both, where no two cards share them. A card without a number
//     says nothing by it.
//   - Else cards differ in their names alone. Set, number and whole name together are one card's
//     (appraise.go, isPrinted), so that the name is asked for with those of the two that the line
//     does not have.
//   - One card has nothing to be told apart from.
func (a *Appraiser) neededFields(f *parsedLine, cards []uint32) FieldSet {
	if len(cards) < 2 {
		return 0
	}

	a.cardKeys = a.cardKeys[:0]
	for _, card := range cards {
		number, ok := a.View.Index.Lookup().NumberGroup(card)
		a.cardKeys = append(a.cardKeys, cardKey{a.View.Catalog.Cards.Set[card], number, !ok})
	}

	if fields := a.cardKeys.distinguishingFields(); fields != 0 {
		return fields
	}

	// A name that is given anew takes the set and number with it that stood in it.
	fields := NameField
	first := a.cardKeys[0]
	if f.item.Set == "" || !f.hasSet() ||
		slices.ContainsFunc(a.cardKeys, func(x cardKey) bool { return x.set != first.set }) {
		fields |= SetField
	}

	if f.item.Number == "" || slices.ContainsFunc(a.cardKeys, func(x cardKey) bool {
		return x.number != first.number
	}) {
		fields |= NumberField
	}
	return fields
}

// distinguishingFields is the number, the set, or both: what no two of the cards at hand share; 0
// where some share both.
func (fs cardKeys) distinguishingFields() FieldSet {
	slices.SortFunc(fs, func(x, y cardKey) int {
		return cmp.Or(cmp.Compare(x.number, y.number), cmp.Compare(x.set, y.set))
	})

	// Cards of one number are neighbours now, and one without a number would never be settled by
	// it.
	sharing := func(x, y cardKey) bool { return x.number == y.number }
	if !fs.anyShared(sharing) && !slices.ContainsFunc(fs, func(x cardKey) bool { return x.bare }) {
		return NumberField
	}

	slices.SortStableFunc(fs, func(x, y cardKey) int { return cmp.Compare(x.set, y.set) })
	if !fs.anyShared(func(x, y cardKey) bool { return x.set == y.set }) {
		return SetField
	}

	// Without a number, a card must be alone in its set.
	if !fs.anyShared(func(x, y cardKey) bool { return x.set == y.set && (x.number == y.number || x.bare || y.bare) }) {
		return SetField | NumberField
	}
	return 0
}

// anyShared reports whether two neighbours have in common what is asked.
func (fs cardKeys) anyShared(what func(x, y cardKey) bool) bool {
	for i := range fs[1:] {
		if what(fs[i], fs[i+1]) {
			return true
		}
	}
	return false
}
