package valuation

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"ninepocket/cardvocab"
	"ninepocket/index"
	"ninepocket/snapshot"
)

// addOtherCopy adds a phrase that makes the copy another one, unless the card's name contains
// the whole phrase.
func (f *parsedLine) addOtherCopy(phrase string) {
	f.otherCopy = strings.TrimSpace(f.otherCopy + " " + phrase)
}

// addCondition sets the condition. A line has one.
func (f *parsedLine) addCondition(phrase string) {
	if f.condition == "" {
		f.condition = phrase
		return
	}
	x, _ := ParseCondition(phrase)
	y, ok := ParseCondition(f.condition)
	if y == snapshot.Ungraded {
		f.condition = phrase
	}
	if ok && x != y && x != snapshot.Ungraded && y != snapshot.Ungraded {
		f.noPriceReason = `the line has two conditions, "` + clip(f.condition) + `" and "` + phrase + `"`
	}
}

// addFinish adds a finish or an edition: both together are one variant. A finish that contradicts
// the variant is stored, because the card may have it in its name.
func (f *parsedLine) addFinish(phrase string, words []word) {
	if f.variant == "" {
		f.variant = phrase
		return
	}
	have, known := cardvocab.Finish(f.variant)
	more, _ := cardvocab.Finish(phrase)
	both := have | more

	const edition = cardvocab.First | cardvocab.Unlimited
	switch one := func(of cardvocab.Traits) bool { return both&of&(both&of-1) == 0 }; {
	// "foil" may mean any variant that shines, and "holo" may not.
	case known && both == have && strings.EqualFold(f.variant, "foil"):
		f.variant = phrase
	case known && both == have:
	case known && one(finishMask) && one(edition):
		f.variant += " " + phrase
	default:
		f.conflictingFinish = words
	}
}

// isNegation reports whether a word negates the next one.
func isNegation(w string) bool { return w == "no" || w == "not" || w == "non" || w == "without" }

// readNegation reads the words behind a negation: "no rev" means no reverse holo.
func (f *parsedLine) readNegation(a *Appraiser, words []word, i int) {
	if i+1 == len(words) {
		return
	}
	f.readQualifier(a, words, i+1)
	if role := words[i+1].role; role == preferred || role == conditionWord {
		f.noPriceReason = `"` + words[i].raw + " " + words[i+1].raw + `" does not say what the copy is`
	}
}

// isGluedGrade reports whether a word is a grade with its company: "psa10".
func isGluedGrade(w string) bool {
	if w == "" || !cardvocab.IsDigit(w[len(w)-1]) {
		return false
	}

	return slices.ContainsFunc(graders, func(grader string) bool {
		grade, ok := strings.CutPrefix(w, grader)
		return ok && cardvocab.IsInteger(grade) && len(grade) <= 3
	})
}

// cellGroup is the bracket number of unread cells: no name has so many pairs of brackets.
const cellGroup = 100

// readCells reads unread cells as words that the card must have.
func (f *parsedLine) readCells(cells string) {
	if cells == "" {
		return
	}
	at := len(f.words)
	words, plain := readWords(f.words, cells)
	f.words = words
	f.plain = f.plain && plain
	for i := range words[at:] {
		words[at+i].group = cellGroup
	}
}

// noPriceReason explains why a resolved line cannot be priced, "" if it can.
func (a *Appraiser) noPriceReason(f *parsedLine, card uint32) string {
	// A grade or a language is another copy, unless the card's own name says it (decision 2207).
	if f.otherCopy != "" && !a.lookup.isNamed(f.otherCopy, card) {
		return `no price for "` + clip(f.otherCopy) + `"`
	}
	if f.noPriceReason != "" {
		return f.noPriceReason
	}
	if len(f.conflictingFinish) > 0 && !a.lookup.hasWords(f.conflictingFinish, card) {
		return `"` + f.conflictingFinish[0].raw + `" contradicts the variant "` + clip(f.variant) + `"`
	}

	for _, words := range [][]word{f.words, f.assertedWords} {
		if reason := a.checkCopies(f, words, card); reason != "" {
			return reason
		}
	}

	if f.version > 0 && !f.item.chosen && !a.lookup.isVersionOf(f, card) {
		return `"V.` + strconv.Itoa(f.version) + `" is not certain to be this card; give its number without the version`
	}
	return cmp.Or(a.lookup.wrongYear(f.words, card), a.lookup.wrongSet(f.words, card), a.contradiction(f, card))
}

// checkCopies explains why a quantity among the words differs from the line's quantity, "" if they agree.
func (a *Appraiser) checkCopies(f *parsedLine, words []word, card uint32) string {
	for i := range words {
		w := &words[i]
		if w.role != stopWord || !isCopies(w.raw) || a.lookup.hasWord(w, card) {
			continue
		}

		// In a line it is the quantity; in a separate name it does not belong to the name.
		given := f.item.Quantity > 0 || f.item.Line != ""
		item := Item{Quantity: f.item.Quantity}
		if item.readQuantity(w.raw); item.noPriceReason != "" || !given {
			return cmp.Or(item.noPriceReason, `"`+w.raw+`" stands in the name; give it as the quantity`)
		}
		f.item.Quantity = item.Quantity
	}
	return ""
}

// wrongSet explains which words name a set that is not the card's, although each word alone is a
// stop word or matches: "WoTC Promo".
func (cs catalogLookup) wrongSet(words []word, card uint32) string {
	var key []byte
	for from := range words {
		allRequired := true
		key = key[:0]
		for to := from; to < len(words); to++ {
			w := &words[to]
			if w.role != stopWord && w.role != preferred && w.role != required || w.suffix {
				break
			}
			key = append(key, w.text...)
			allRequired = allRequired && w.role == required
			if to == from || allRequired {
				continue
			}

			sets := cs.view.Index.SetNames().Exact(string(key))
			if run := words[from : to+1]; len(sets) > 0 && !cs.isIn(card, sets) && !cs.hasWords(run, card) {
				return notOfCard(run[0].raw + " " + run[len(run)-1].raw)
			}
		}
	}
	return ""
}

// isVersionOf reports whether a card may be one of the versions that Cardmarket numbers in its set. The first
// version is the plain card or the card with the lowest number, and there are as many versions as cards.
func (cs catalogLookup) isVersionOf(f *parsedLine, card uint32) bool {
	c := cs.view.Catalog
	if c.Cards.Set[card] == snapshot.NoSet {
		return false
	}
	baseName := cardvocab.Fold(index.BaseName(c.Cards.Name.At(int(card)), c.Cards.Number.At(int(card))))
	first := true
	n := 0
	for _, other := range cs.view.Index.CardsOfSet(int(c.Cards.Set[card])) {
		number := c.Cards.Number.At(int(other))
		if cardvocab.Fold(index.BaseName(c.Cards.Name.At(int(other)), number)) != baseName {
			continue
		}

		n++
		earlier := cardvocab.CompareNumbers(number, c.Cards.Number.At(int(card)))
		if earlier < 0 || earlier == 0 && cs.qualifierLen(other) < cs.qualifierLen(card) {
			first = false
		}
	}
	return f.version <= n && first == (f.version == 1)
}

// wrongYear names the word that is a year other than the card's. The card's year is the year in its
// name or set, else the year of its set's release.
func (cs catalogLookup) wrongYear(words []word, card uint32) string {
	for i := range words {
		w := &words[i]
		if w.role == numberWord && cardvocab.IsYear(w.raw) && !cs.isNumbered(w, card) && !cs.isOfYear(w.raw, card) {
			return w.raw + " is not known to be the year of this card; leave it out if the card is right"
		}
	}
	return ""
}
