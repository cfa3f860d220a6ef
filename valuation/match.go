package valuation

import (
	"cmp"
	"slices"
	"strings"

	"ninepocket/cardvocab"
)

// matchAll are the cards that have all that a line says; their names may say more. It is the
// appraiser's own slice.
func (a *Appraiser) matchAll(f *parsedLine) []uint32 {
	a.matching = a.matching[:0]
	if f.baseName == "" || f.noSet || f.noGame {
		return a.matching
	}

	// Cards that only come near what is wished for count where none has it.
	f.acceptNear = false
	for {
		for _, card := range a.View.Index.Lookup().ByBaseName(f.baseName) {
			if a.lookup.passesFilters(f, card) && a.lookup.leftover(f, f.words, card, nil) < 0 {
				a.matching = append(a.matching, card)
			}
		}
		// Set and number tell the card, and then it must have what the words say.
		if len(a.matching) > 0 || f.acceptNear || !f.hasPreference || f.hasSet() && f.hasNumber() {
			return a.matching
		}
		f.acceptNear = true
	}
}

// passesFilters reports whether a card is of the line's game, set and number.
func (cs catalogLookup) passesFilters(f *parsedLine, card uint32) bool {
	if f.game >= 0 && int(cs.view.Catalog.Cards.Game[card]) != f.game {
		return false
	}

	// A promo may name the set that it goes with, and be of another (decision 2206).
	if f.hasSet() && !cs.isIn(card, f.sets) && !cs.qualifiesName(f.setRun, card) {
		return false
	}

	return !f.hasNumber() || contains(f.numbered, card)
}

// leftover is the place of the first word that is nothing of a card: not of its name, its set, its
// printing, its rarity, its number or its traits; -1 where there is none. With a spelling, words of
// the name may be misspelt; without one, the name was found as it is written.
func (cs catalogLookup) leftover(f *parsedLine, words []word, card uint32, sp *nameMatcher) int {
	for i := 0; i < len(words); i++ {
		w := &words[i]
		ok := true
		run := 1

		switch w.role {
		case numberWord:
			// A year does not tell one card from another: see wrongYear.
			ok = cs.isNumbered(w, card) || cardvocab.IsYear(w.raw)
		case required:
			ok = cs.isOf(w, card, sp, i)
		case baseNameWord:
			ok = sp == nil || cs.isOf(w, card, sp, i)

		// What a phrase wishes for may be in the name, or be a trait.
		case preferred:
			run = max(int(w.run), 1)
			ok = cs.saysAll(words[i:i+run], card) || cs.hasTrait(f, w, card)
		case setWord, stopWord, copyWord, conditionWord:
		}

		if !ok {
			return i
		}
		i += run - 1
	}
	return -1
}

// isOf reports whether word i of a line is a word of a card.
func (cs catalogLookup) isOf(w *word, card uint32, sp *nameMatcher, i int) bool {
	return sp != nil && sp.has(i) || cs.says(w, card)
}

// isPrinted reports whether a line has exactly the name and number that are printed of a card,
// signs and case aside. Of Cardmarket's versions the first is the plain one, and only its number
// may stand in its name.
func (cs catalogLookup) isPrinted(f *parsedLine, card uint32) bool {
	number := cs.view.Catalog.Cards.Number.At(int(card))
	if f.hasNumber() && cardvocab.NumberKey(f.number) != cardvocab.NumberKey(number) || !f.hasNumber() && number != "" {
		return false
	}

	// Signs tell ♀ from ♂.
	name := cs.view.Catalog.Cards.Name.At(int(card))
	if !f.plain || strings.ContainsAny(name, signs) {
		return strings.EqualFold(strings.TrimSpace(f.item.Name), name)
	}

	switch f.nameVersion {
	case 0:
		printed := cardvocab.Fold(name)
		return printed == cardvocab.Fold(f.item.Name) || printed == f.nameKey()
	case 1:
		return cs.qualifierLen(card) == 0 && f.isBaseName()
	}
	return false
}

// nameKey is what of a line is its name, folded: what was read as its set is not, nor what an app
// puts into brackets. Of a whole line, what was read as other fields is none of it either.
func (f *parsedLine) nameKey() string {
	whole := f.item.Line != "" && !f.item.row
	var key []byte

	for i := range f.words {
		w := &f.words[i]
		finish := w.role == preferred && w.preference.Exact&^cardvocab.Finishes == 0
		field := w.role == conditionWord || finish || w.role == numberWord && w.raw == f.number ||
			w.role == stopWord && (f.ignoreStopWords || isCopies(w.raw))

		if w.role == setWord || w.suffix || whole && field {
			continue
		}
		key = append(key, w.text...)
	}
	return string(key)
}

// hasStopWord reports whether a card has a word of the line that tells nothing of others.
func (cs catalogLookup) hasStopWord(f *parsedLine, card uint32) bool {
	return slices.ContainsFunc(f.words, func(w word) bool { return w.role == stopWord && cs.says(&w, card) })
}

// isBaseName reports whether a line's name says nothing beside the core of a name and its number.
func (f *parsedLine) isBaseName() bool {
	return !slices.ContainsFunc(f.words, func(w word) bool {
		return w.role == required || w.role == copyWord ||
			w.role == preferred && w.preference.Exact&^cardvocab.Finishes != 0
	})
}

// candidateRank is how likely it is that a card is meant by a line that it fits.
type candidateRank struct {
	card uint32
	// keys is, the most telling first and the least value likeliest: 1 where something qualifies
	// the card's name, 1 where it is not of the set that its number names, and how much its name
	// says beside its core, where the line has a number.
	keys [3]int
}

func (cs catalogLookup) rankOf(f *parsedLine, card uint32) candidateRank {
	spare := cs.qualifierLen(card)
	like := candidateRank{card: card, keys: [3]int{min(spare, 1)}}
	if !cs.view.Index.Lookup().NumberNamesSet(card) {
		like.keys[1] = 1
	}

	// Among cards of one number the plainest is likeliest; of others search knows better.
	if f.hasNumber() {
		like.keys[2] = spare
	}
	return like
}

// ranksBefore orders cards: plain ones first, then those of the set that their number names, with
// the plainest name, then as search does.
func (cs catalogLookup) ranksBefore(x, y candidateRank) bool {
	return cmp.Or(slices.Compare(x.keys[:], y.keys[:]), cs.view.Index.Lookup().ComparePrior(x.card, y.card)) < 0
}
