package valuation

import (
	"cmp"
	"regexp"
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

// assertionKind names the field of an assertion, which decides how it is checked.
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

// contradiction names the assertion of a line that its card does not match, "" for none. If an id has
// chosen the card, text that does not change the copy is ignored.
func (a *Appraiser) contradiction(f *parsedLine, card uint32) string {
	for _, assertion := range f.item.assertions {
		several := f.item.chosen && severalCards.MatchString(assertion.text)
		if several || !a.satisfies(assertion, card) && !f.ignore(assertion.text) {
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
	for {
		matcher := a.lookup.matcherOf(f.assertedWords, card, true)
		at := a.lookup.leftover(f.assertedWords, card, &matcher, false)
		if at < 0 {
			break
		}
		w := &f.assertedWords[at]
		if !f.ignore(w.raw) {
			return notOfCard(w.raw)
		}
		w.role = stopWord
	}

	if f.item.chosen {
		return ""
	}
	return cmp.Or(a.lookup.wrongYear(f.assertedWords, card), a.lookup.wrongSet(f.assertedWords, card))
}

// severalCards says that a line is of several cards: "set of 4".
var severalCards = regexp.MustCompile(`(?i)\b(?:set|lot|pair|box) of\b`)

// otherCopies are words for a copy or a product with another price, in addition to those of
// index.IsCopyPhrase.
var otherCopies = strings.Fields("staff lot lots bulk playset bundle pair box booster pack etb blister tin case " +
	"altered alter inked repainted trimmed cut recut custom replica counterfeit orica fan proxies signature " +
	"autographed artist error misprint miscut jumbo oversized stamped stamp prerelease winner creased torn bent " +
	"scratched ink auflage ausgabe erstausgabe erste cosmos cracked confetti sheen pattern master masterball " +
	"pokeball edges nihongo reprint metal plated lenticular xl display championship")

// maxIgnored is how much of a line is named as ignored.
const maxIgnored = 24

// ignore records that a text next to an id belongs to no card. It is false without an id. It is also
// false for a text that makes the copy another one: a grade, a language, "staff".
func (f *parsedLine) ignore(text string) bool {
	isOther := func(w string) bool {
		folded := cardvocab.Fold(w)
		return slices.Contains(otherCopies, folded) || strings.Contains(folded, "grad") ||
			strings.HasPrefix(folded, "edi") || isNegation(folded) || index.IsCopyPhrase(folded) ||
			isGrader(folded) || isGluedGrade(folded) || strings.ContainsFunc(w, isFlag) ||
			isLanguage(folded) && (len(w) > 2 || w == strings.ToUpper(w)) ||
			isCopies(w) || strings.HasPrefix(w, "x") && cardvocab.IsInteger(w[1:])
	}
	if !f.item.chosen || slices.ContainsFunc(strings.Fields(text), isOther) {
		return false
	}
	if len(f.ignored) < maxIgnored {
		f.ignored = append(f.ignored, clip(text))
	}
	return true
}

// isFlag reports whether a character is half of a country's flag.
func isFlag(r rune) bool { return '\U0001F1E6' <= r && r <= '\U0001F1FF' }

// foreignFlag returns the first flag in a text, "" without one. Two flags stand for English copies.
func foreignFlag(text string) string {
	at := strings.IndexFunc(text, isFlag)
	if at < 0 || strings.HasPrefix(text[at:], "🇺🇸") || strings.HasPrefix(text[at:], "🇬🇧") {
		return ""
	}
	return text[at:min(len(text), at+len("🇺🇸"))]
}

// deckCodeOf returns the sets for which a word in capitals is a deck list's code.
func deckCodeOf(names *index.SetNames, w *word) []uint32 {
	if w.role != required || w.raw != strings.ToUpper(w.raw) {
		return nil
	}
	return names.ByAppCode(w.text)
}

// codedSets returns the sets that a folded code in brackets means: sets with that code, or with that code in an app.
func codedSets(names *index.SetNames, code string) []uint32 {
	if sets := names.Exact(code); len(sets) > 0 {
		return sets
	}
	return names.ByAppCode(code)
}

// notOfCard explains that a card does not have a field of the line.
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
		sets := codedSets(a.View.Index.SetNames(), cardvocab.Fold(assertion.text))
		return len(sets) == 0 || a.lookup.isIn(card, sets) || slices.ContainsFunc(sets, func(set uint32) bool {
			return a.lookup.isPartOf(card, set)
		})

	case ofNumber:
		words, _ := readWords(nil, assertion.text)
		a.lookup.lookUp(words)
		a.lookup.markSet(words, card)
		words = slices.DeleteFunc(words, func(w word) bool { return w.role == setWord })
		if a.joinedText(words) == cardvocab.Fold(a.View.Catalog.Cards.Number.At(int(card))) {
			return true
		}
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

// isPartOf reports whether a card's set is part of another set whose code its cards have: "Hidden
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
