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

// neededFields returns the fewest fields that distinguish all cards that match a line. Whichever
// card is meant, the line is settled once it has these fields as printed:
//
//   - The number alone, the set alone, or both, if no two cards share them. The number does not
//     identify a card that has none.
//   - Otherwise cards differ only in their names. Set, number and whole name together identify one
//     card (match.go, isPrinted), so the name is needed, with those of the two that the line does
//     not have.
//   - One card needs no fields.
func (a *Appraiser) neededFields(f *parsedLine, cards []uint32) FieldSet {
	if len(cards) < 2 {
		return 0
	}

	keys := make(cardKeys, 0, len(cards))
	for _, card := range cards {
		number, ok := a.View.Index.Lookup().NumberGroup(card)
		keys = append(keys, cardKey{a.View.Catalog.Cards.Set[card], number, !ok})
	}

	if fields := keys.distinguishingFields(); fields != 0 {
		return fields
	}

	// A client that sends another name drops the set and number that the name contained.
	fields := NameField
	first := keys[0]
	if f.item.Set == "" || !f.hasSet() ||
		slices.ContainsFunc(keys, func(x cardKey) bool { return x.set != first.set }) {
		fields |= SetField
	}

	if f.item.Number == "" || slices.ContainsFunc(keys, func(x cardKey) bool {
		return x.number != first.number
	}) {
		fields |= NumberField
	}
	return fields
}

// distinguishingFields returns the number, the set, or both, whichever all cards differ in; 0 if
// some agree in both.
func (fs cardKeys) distinguishingFields() FieldSet {
	slices.SortFunc(fs, func(x, y cardKey) int {
		return cmp.Or(cmp.Compare(x.number, y.number), cmp.Compare(x.set, y.set))
	})

	// Cards of one number are neighbours now. A number does not settle a card without a number.
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

// anyShared reports whether shared holds for two neighbours.
func (fs cardKeys) anyShared(shared func(x, y cardKey) bool) bool {
	for i := range fs[1:] {
		if shared(fs[i], fs[i+1]) {
			return true
		}
	}
	return false
}
