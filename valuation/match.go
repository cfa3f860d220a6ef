package valuation

import (
	"cmp"
	"slices"
	"strings"

	"ninepocket/cardvocab"
	"ninepocket/index"
)

// matchAll returns the cards that have everything that a line says; their names may have more. The
// slice belongs to the appraiser.
func (a *Appraiser) matchAll(f *parsedLine) []uint32 {
	a.matching = a.matching[:0]
	if f.baseName == "" || f.noSet || f.noGame {
		return a.matching
	}

	// Near matches of a preference count if no card matches exactly.
	f.acceptNear = false
	for {
		for _, card := range a.View.Index.Lookup().ByBaseName(f.baseName) {
			if a.lookup.passesFilters(f, card) && a.lookup.leftover(f.words, card, nil, f.acceptNear) < 0 {
				a.matching = append(a.matching, card)
			}
		}
		// Set and number identify the card, and then it must have everything that the words say.
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

	// A promo may name the set that it belongs with, but be in another (decision 2206).
	if f.hasSet() && !cs.isIn(card, f.sets) && !cs.qualifiesName(f.setRun, card) {
		return false
	}

	return !f.hasNumber() || index.Contains(f.numbered, card)
}

// leftover returns the index of the first word that matches nothing of a card, -1 if all match.
// Words match its name, set, printing, rarity, number or traits. With a matcher, words of the name
// may be misspelled; without a matcher, the name was found as written. If near is true, near
// matches of a preference count.
func (cs catalogLookup) leftover(words []word, card uint32, matcher *nameMatcher, near bool) int {
	for i := 0; i < len(words); i++ {
		w := &words[i]
		ok := true
		run := 1

		switch w.role {
		case numberWord:
			// A year does not distinguish cards: see wrongYear.
			ok = cs.isNumbered(w, card) || cardvocab.IsYear(w.raw)
		case required:
			ok = cs.matchesWord(w, card, matcher, i)
		case baseNameWord:
			ok = matcher == nil || cs.matchesWord(w, card, matcher, i)

		// A preference may be in the name, or be a trait.
		case preferred:
			run = max(int(w.run), 1)
			ok = cs.hasWords(words[i:i+run], card) || cs.hasTrait(w, card, near)
		case setWord, stopWord, copyWord, conditionWord:
		}

		if !ok {
			return i
		}
		i += run - 1
	}
	return -1
}

// matchesWord reports whether word i of a line is a word of a card.
func (cs catalogLookup) matchesWord(w *word, card uint32, matcher *nameMatcher, i int) bool {
	return matcher != nil && matcher.has(i) || cs.hasWord(w, card)
}

// isPrinted reports whether a line has exactly the name and number that are printed on a card,
// signs and case aside. Cardmarket's first version is the plain card, and only its number may be in
// its name.
func (cs catalogLookup) isPrinted(f *parsedLine, card uint32, ignoreStopWords bool) bool {
	number := cs.view.Catalog.Cards.Number.At(int(card))
	if f.hasNumber() && cardvocab.NumberKey(f.number) != cardvocab.NumberKey(number) || !f.hasNumber() && number != "" {
		return false
	}

	// Signs distinguish ♀ from ♂.
	name := cs.view.Catalog.Cards.Name.At(int(card))
	if !f.plain || strings.ContainsAny(name, signs) {
		return strings.EqualFold(strings.TrimSpace(f.item.Name), name)
	}

	switch f.nameVersion {
	case 0:
		printed := cardvocab.Fold(name)
		return printed == cardvocab.Fold(f.item.Name) || printed == f.nameKey(ignoreStopWords)
	case 1:
		return cs.qualifierLen(card) == 0 && f.isBaseName()
	}
	return false
}

// nameKey returns the part of a line that is its name, folded, without the words of its set or an
// app's brackets. If the line is a whole line, words of other fields are removed, too.
func (f *parsedLine) nameKey(ignoreStopWords bool) string {
	whole := f.item.Line != "" && !f.item.fromRow
	var key []byte

	for i := range f.words {
		w := &f.words[i]
		finish := w.role == preferred && w.preference.Exact&^cardvocab.Finishes == 0
		field := w.role == conditionWord || finish || w.role == numberWord && w.raw == f.number ||
			w.role == stopWord && (ignoreStopWords || isCopies(w.raw))

		if w.role == setWord || w.suffix || whole && field {
			continue
		}
		key = append(key, w.text...)
	}
	return string(key)
}

// hasStopWord reports whether a card has a stop word of the line.
func (cs catalogLookup) hasStopWord(f *parsedLine, card uint32) bool {
	return slices.ContainsFunc(f.words, func(w word) bool { return w.role == stopWord && cs.hasWord(&w, card) })
}

// isBaseName reports whether a line's name has nothing but a base name and a number.
func (f *parsedLine) isBaseName() bool {
	return !slices.ContainsFunc(f.words, func(w word) bool {
		return w.role == required || w.role == copyWord ||
			w.role == preferred && w.preference.Exact&^cardvocab.Finishes != 0
	})
}

// candidateRank ranks a card by how likely a matching line means it.
type candidateRank struct {
	card uint32
	// keys are sort keys, the most significant first and the least value most likely. The first is
	// 1 if the card's name has a qualifier, the second is 1 if the card is not in the set that its
	// number names. The third is the length of the qualifier if the line has a number.
	keys [3]int
}

func (cs catalogLookup) rankOf(f *parsedLine, card uint32) candidateRank {
	spare := cs.qualifierLen(card)
	like := candidateRank{card: card, keys: [3]int{min(spare, 1)}}
	if !cs.view.Index.Lookup().NumberNamesSet(card) {
		like.keys[1] = 1
	}

	// Among cards of one number, the plainest is the most likely; among others the popularity
	// of search decides.
	if f.hasNumber() {
		like.keys[2] = spare
	}
	return like
}

// compareRanks orders cards. Plain cards come first, then cards of the set that their number
// names, then plainer names, then the popularity of search.
func (cs catalogLookup) compareRanks(x, y candidateRank) int {
	return cmp.Or(slices.Compare(x.keys[:], y.keys[:]), cs.view.Index.Lookup().ComparePrior(x.card, y.card))
}
