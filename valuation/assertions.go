package valuation

import (
	"cmp"
	"slices"
	"strings"

	"ninepocket/cardvocab"
	"ninepocket/index"
	"ninepocket/snapshot"
)

// assertion is a statement about the card that did not help to find it: the words of a line with an
// id, a row's notes. The card must match it, or the line has no price.
type assertion struct {
	kind assertionKind
	text string
}

// assertionKind says which field an assertion comes from, and so how it is checked.
type assertionKind uint8

const (
	ofWords assertionKind = iota // what a name may have: words of the card, of the copy, or stop words
	ofSetName
	ofCode // of a set; ignored if the catalog does not know it
	ofNumber
	ofRarity
	ofIdentifier // of another catalog; ignored if ours does not know it
)

// assert adds an assertion, unless it is empty.
func (item *Item) assert(kind assertionKind, text string) {
	assertion := assertion{kind, strings.TrimSpace(text)}

	// A line is read several times.
	if assertion.text != "" && !slices.Contains(item.assertions, assertion) {
		item.assertions = append(item.assertions, assertion)
	}
}

// assertRest makes assertions of the fields of an item that did not find the card. An identifier finds it
// if there is no id.
func (item *Item) assertRest() {
	item.assert(ofWords, item.Name)
	item.assert(ofWords, item.unreadCells)
	item.assert(ofSetName, item.Set)
	item.assert(ofNumber, item.Number)
	if item.ID != "" {
		item.assert(ofIdentifier, item.Identifier)
	}
}

// dropOwnFields removes the assertions that only repeat a field of the card: a card's own name, set,
// number and rarity never contradict it, however strange their words are.
func (a *Appraiser) dropOwnFields(item *Item, card int) {
	cards := &a.View.Catalog.Cards
	own := [...]string{
		cards.Name.At(card), a.View.Index.SetName(uint32(card)), cards.Number.At(card), cards.Rarity.At(card),
	}

	item.assertions = slices.DeleteFunc(item.assertions, func(assertion assertion) bool {
		return slices.ContainsFunc(own[:], func(text string) bool { return strings.EqualFold(text, assertion.text) })
	})
}

// readAssertions reads the words of the assertions. They did not help to find the card; contradiction
// compares them with it.
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

// lookUp finds the catalog's ids and numbered cards of some words.
func (cs catalogLookup) lookUp(words []word) {
	for i := range words {
		w := &words[i]
		w.id, w.known = cs.view.Index.Lookup().TermID(w.text)
		if w.role == numberWord && w.cards == nil {
			w.cards = cs.numbered(w.raw)
		}
	}
}

// contradiction explains which assertion of a line its card does not match, "" for none.
func (a *Appraiser) contradiction(f *parsedLine, card uint32) string {
	for _, assertion := range f.item.assertions {
		if !a.satisfies(assertion, card) {
			return notOfCard(assertion.text)
		}
	}

	if len(f.assertedWords) == 0 {
		return ""
	}
	for i := range f.assertedWords {
		if w := &f.assertedWords[i]; a.lookup.isIn(card, deckCodeOf(a.View.Index.SetNames(), w)) {
			w.role = stopWord
		}
	}
	matcher := a.lookup.matcherOf(f.assertedWords, card, true)
	if at := a.lookup.leftover(f.assertedWords, card, &matcher, false); at >= 0 {
		return notOfCard(f.assertedWords[at].raw)
	}
	return cmp.Or(a.lookup.wrongYear(f.assertedWords, card), a.lookup.wrongSet(f.assertedWords, card))
}

// deckCodeOf returns the sets for which a word in capitals is a deck list's code.
func deckCodeOf(names *index.SetNames, w *word) []uint32 {
	if w.role != required || w.raw != strings.ToUpper(w.raw) {
		return nil
	}
	return names.ByAppCode(w.text)
}

// notOfCard explains that a card does not have what a line says.
func notOfCard(text string) string {
	return `"` + clip(text) + `" is nothing of this card; leave it out if the copy is an ordinary one`
}

// satisfies reports whether a card matches an assertion of any kind but ofWords, which contradiction checks
// itself.
func (a *Appraiser) satisfies(assertion assertion, card uint32) bool {
	switch assertion.kind {
	case ofSetName:
		if sets := a.lastSet.resolve(a.View.Index.SetNames(), assertion.text); len(sets) > 0 {
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
			return w.role != numberWord && !a.lookup.hasWord(&w, card) ||
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

// isPartOf reports whether a card's set is part of another set, whose code its cards have: "Hidden
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

// coversText reports whether all words of a text that is no set's name may be of a card and its
// set.
func (cs catalogLookup) coversText(text string, card uint32) bool {
	words, plain := readWords(nil, text)
	if !plain {
		return false
	}
	cs.lookUp(words)
	matcher := cs.matcherOf(words, card, true)
	return cs.leftover(words, card, &matcher, false) < 0
}

// isOfRarity reports whether a rarity may be a card's. Catalogs write one rarity in several ways;
// an unknown one excludes no card.
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

// isYes reports whether the cell of a flag is set.
func isYes(cell string) bool {
	return !slices.Contains([]string{"", "0", "false", "no", "n"}, cardvocab.Fold(cell))
}

// folderCopy returns the folder's name if it describes copies with other prices, "" otherwise.
func folderCopy(folder string) string {
	for w := range strings.FieldsSeq(folder) {
		if folded := cardvocab.Fold(w); index.IsCopyPhrase(folded) && !isCondition(folded) {
			return folder
		}
	}
	return ""
}
