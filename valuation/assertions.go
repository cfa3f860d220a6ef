package valuation

import (
	"cmp"
	"slices"
	"strings"

	"ninepocket/cardvocab"
	"ninepocket/index"
	"ninepocket/snapshot"
)

// A claim is what a line says of its card beside what the card was found by: the words of a line
// with an id, a row's notes. The card must have it, or the line has no price.
type assertion struct {
	kind assertionKind
	text string
}

// assertionKind says what a claim is of.
type assertionKind uint8

const (
	ofWords assertionKind = iota // what a name may say: words of the card, of the copy, or noise
	ofSetName
	ofCode // of a set, which says nothing where the catalog does not know it
	ofNumber
	ofRarity
	ofIdentifier // of another catalog, which says nothing where ours does not know it
)

// assert adds a claim, unless it says nothing.
func (item *Item) assert(kind assertionKind, text string) {
	assertion := assertion{kind, strings.TrimSpace(text)}

	// A line is read several times.
	if assertion.text != "" && !slices.Contains(item.assertions, assertion) {
		item.assertions = append(item.assertions, assertion)
	}
}

// assertRest makes claims of what an item says beside its id.
func (item *Item) assertRest() {
	item.assert(ofWords, item.Name)
	item.assert(ofWords, item.unreadCells)
	item.assert(ofSetName, item.Set)
	item.assert(ofNumber, item.Number)
	if item.ID != "" {
		item.assert(ofIdentifier, item.Identifier)
	}
}

// readAssertions reads the words of claims: they tell no card, and yet what copy it is.
func (f *parsedLine) readAssertions(a *Appraiser) {
	f.assertedWords = f.assertedWords[:0]
	for _, assertion := range f.item.assertions {
		if assertion.kind != ofWords {
			continue
		}

		at := len(f.assertedWords)
		words, plain := readWords(f.assertedWords, withoutPrices(assertion.text))
		f.assertedWords = words
		if !plain && !strings.ContainsAny(assertion.text, signs) {
			f.noPriceReason = `"` + clip(assertion.text) + `" is too long to be compared with a card`
			return
		}

		words = words[at:]
		for i := range words {
			if isCodeAt(words, i) {
				words[i].role = stopWord
			}
		}
		f.readQualifiers(a, words)
		a.lookup.lookUp(words)
	}
}

// lookUp finds the catalog's words and numbers among some words.
func (cs catalogLookup) lookUp(words []word) {
	for i := range words {
		w := &words[i]
		w.id, w.known = cs.view.Index.Lookup().TermID(w.text)
		if w.role == numberWord && w.cards == nil {
			w.cards = cs.numbered(w.raw)
		}
	}
}

// contradiction says which claim of a line its card does not have, "" for none.
func (a *Appraiser) contradiction(f *parsedLine, card uint32) string {
	for _, assertion := range f.item.assertions {
		if !a.satisfies(assertion, card) {
			return notOfCard(assertion.text)
		}
	}

	if len(f.assertedWords) == 0 {
		return ""
	}
	f.acceptNear = false
	for i := range f.assertedWords {
		if w := &f.assertedWords[i]; a.lookup.isIn(card, deckCodeOf(a.View.Index.SetNames(), w)) {
			w.role = stopWord
		}
	}
	sp := a.lookup.matcherOf(f.assertedWords, card, true)
	if at := a.lookup.leftover(f, f.assertedWords, card, &sp); at >= 0 {
		return notOfCard(f.assertedWords[at].raw)
	}
	return cmp.Or(a.lookup.wrongYear(f.assertedWords, card), a.lookup.wrongSet(f.assertedWords, card))
}

// deckCodeOf are the sets that a word in capitals is a deck list's code of.
func deckCodeOf(names *index.SetNames, w *word) []uint32 {
	if w.role != required || w.raw != strings.ToUpper(w.raw) {
		return nil
	}
	return names.ByAppCode(w.text)
}

// notOfCard says that a card does not have what a line says of it.
func notOfCard(text string) string {
	return `"` + clip(text) + `" is nothing of this card; leave it out if the copy is an ordinary one`
}

// satisfies reports whether a card has a set, number or rarity.
func (a *Appraiser) satisfies(assertion assertion, card uint32) bool {
	switch assertion.kind {
	case ofSetName:
		if sets := a.lastSet.of(a.View.Index.SetNames(), assertion.text); len(sets) > 0 {
			return a.lookup.isIn(card, sets)
		}
		return a.lookup.coversText(assertion.text, card)

	case ofCode:
		sets := a.View.Index.SetNames().Exact(cardvocab.Fold(assertion.text))
		return len(sets) == 0 || a.lookup.isIn(card, sets) || slices.ContainsFunc(sets, func(set uint32) bool {
			return a.lookup.isPartOf(card, set)
		})

	case ofNumber:
		words, _ := readWords(nil, assertion.text)
		a.lookup.lookUp(words)
		return !slices.ContainsFunc(words, func(w word) bool {
			return w.role != numberWord && !a.lookup.says(&w, card) ||
				w.role == numberWord && !a.lookup.isNumbered(&w, card)
		})

	case ofRarity:
		return a.lookup.isOfRarity(assertion.text, card)

	case ofIdentifier:
		called := a.View.Index.ByIdentifier(a.View.Index.CanonicalIdentifier(assertion.text))
		return len(called) == 0 || slices.Contains(called, card)
	case ofWords:
	}
	return true
}

// isPartOf reports whether a card's set is part of another one, whose code its cards have: "Hidden
// Fates: Shiny Vault".
func (cs catalogLookup) isPartOf(card, whole uint32) bool {
	set := cs.view.Catalog.Cards.Set[card]
	if set == snapshot.NoSet {
		return false
	}
	names := &cs.view.Catalog.Sets.Name
	part, ok := strings.CutPrefix(names.At(int(set)), names.At(int(whole)))

	// "Base Set 2" is no part of "Base Set".
	part = strings.TrimLeft(part, ": ")
	return ok && part != "" && !cardvocab.IsDigit(part[0])
}

// coversText reports whether all words of a text that names no set may be of a card and its set.
func (cs catalogLookup) coversText(text string, card uint32) bool {
	words, plain := readWords(nil, text)
	if !plain {
		return false
	}
	cs.lookUp(words)

	var none parsedLine
	sp := cs.matcherOf(words, card, true)
	return cs.leftover(&none, words, card, &sp) < 0
}

// isOfRarity reports whether a rarity may be a card's: catalogs spell one in several ways, of which
// those that say nothing here rule nothing out.
func (cs catalogLookup) isOfRarity(written string, card uint32) bool {
	var words []string
	for _, w := range strings.FieldsFunc(written, func(r rune) bool { return r == ' ' || r == '-' || r == '/' }) {
		words = append(words, cardvocab.Fold(w))
	}

	have := cs.view.Index.Lookup().Traits(card)
	said := cardvocab.RarityTraits(words) &^ cardvocab.Finishes
	if preference, ok := cardvocab.FindPreference([]byte(strings.Join(words, ""))); ok {
		said |= (preference.Exact | preference.Near) &^ cardvocab.Finishes
	}
	return said == 0 || said&have != 0
}

// flagged reports whether a cell says yes.
func flagged(cell string) bool {
	return !slices.Contains([]string{"", "0", "false", "no", "n"}, cardvocab.Fold(cell))
}

// folderCopy is what a folder's name says of copies that have other prices, "" for nothing.
func folderCopy(folder string) string {
	for w := range strings.FieldsSeq(folder) {
		if folded := cardvocab.Fold(w); index.IsCopyPhrase(folded) && !isCondition(folded) {
			return folder
		}
	}
	return ""
}
