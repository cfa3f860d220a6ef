package valuation

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"ninepocket/collector"
	"ninepocket/index"
	"ninepocket/snapshot"
)

// addCopy takes what says that the copy is another one: the card must be called by all of it.
func (f *facts) addCopy(phrase string) { f.another = strings.TrimSpace(f.another + " " + phrase) }

// addState takes a condition. A line has one.
func (f *facts) addState(phrase string) {
	if f.condition == "" {
		f.condition = phrase
		return
	}
	x, _ := ParseCondition(phrase)
	if y, ok := ParseCondition(f.condition); ok && x != y {
		f.doubt = `the line has two conditions, "` + clip(f.condition) + `" and "` + phrase + `"`
	}
}

// addFinish takes a finish or an edition: both together are one variant. What contradicts the variant
// is kept for the card, which may have it in its name.
func (f *facts) addFinish(phrase string, words []word) {
	if f.variant == "" {
		f.variant = phrase
		return
	}
	have, known := collector.Finish(f.variant)
	more, _ := collector.Finish(phrase)
	both := have | more

	const edition = collector.First | collector.Unlimited
	switch one := func(of collector.Traits) bool { return both&of&(both&of-1) == 0 }; {
	case known && both == have:
	case known && one(anyFinish) && one(edition):
		f.variant += " " + phrase
	default:
		f.clash = words
	}
}

// isNegation reports whether a word says that what follows is not so.
func isNegation(w string) bool { return w == "no" || w == "not" || w == "non" || w == "without" }

// denied reads what follows a negation: "no rev" asks for no reverse holo.
func (f *facts) denied(a *Appraiser, words []word, i int) {
	if i+1 == len(words) {
		return
	}
	f.readAside(a, words, i+1)
	if kind := words[i+1].kind; kind == wished || kind == ofState {
		f.doubt = `"` + words[i].raw + " " + words[i+1].raw + `" does not say what the copy is`
	}
}

// isGlued reports whether a word is a grade with its company: "psa10".
func isGlued(w string) bool {
	if w == "" || !collector.IsDigit(w[len(w)-1]) {
		return false
	}

	return slices.ContainsFunc(graders, func(grader string) bool {
		grade, ok := strings.CutPrefix(w, grader)
		return ok && collector.IsInteger(grade) && len(grade) <= 3
	})
}

// cellGroup is the pair of brackets that cells behind the name are read as: no name has so many.
const cellGroup = 100

// readCells reads cells that are no field of their own as words that the card must have.
func (f *facts) readCells(cells string) {
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

// doubtOf says why a line that means a card cannot be priced: "" for no reason.
func (a *Appraiser) doubtOf(f *facts, card uint32) string {
	// A grade or a language is another copy, unless the card's own name says it (decision 2207).
	if f.another != "" && !a.cards.isNamed(f.another, card) {
		return `no price for "` + clip(f.another) + `"`
	}
	if f.doubt != "" {
		return f.doubt
	}
	if len(f.clash) > 0 && !a.cards.saysAll(f.clash, card) {
		return `"` + f.clash[0].raw + `" contradicts the variant "` + clip(f.variant) + `"`
	}

	for _, words := range [][]word{f.words, f.beside} {
		if doubt := a.doubtCopies(f, words, card); doubt != "" {
			return doubt
		}
	}

	if f.version > 0 && !a.cards.isVersionOf(f, card) {
		return `"V.` + strconv.Itoa(f.version) + `" is not certain to be this card; give its number without the version`
	}
	return cmp.Or(a.cards.wrongYear(f.words, card), a.cards.wrongSet(f.words, card), a.denial(f, card))
}

// doubtCopies says why copies that stand among words are not those of the line, "" where they are.
func (a *Appraiser) doubtCopies(f *facts, words []word, card uint32) string {
	for i := range words {
		w := &words[i]
		if w.kind != idle || !isCopies(w.raw) || a.cards.says(w, card) {
			continue
		}

		item := Item{Quantity: f.item.Quantity}
		if item.count(w.raw); item.doubt != "" || f.item.Quantity == 0 {
			return cmp.Or(item.doubt, `"`+w.raw+`" stands in the name; give it as the quantity`)
		}
	}
	return ""
}

// wrongSet says which of some words are the name of a set that is not a card's, although each by itself
// says nothing or is granted: "WoTC Promo".
func (cs cards) wrongSet(words []word, card uint32) string {
	var key []byte
	for from := range words {
		telling := true
		key = key[:0]
		for to := from; to < len(words); to++ {
			w := &words[to]
			if w.kind != idle && w.kind != wished && w.kind != told || w.suffix {
				break
			}
			key = append(key, w.text...)
			telling = telling && w.kind == told
			if to == from || telling {
				continue
			}

			sets := cs.view.Index.SetNames().Spelt(string(key))
			if run := words[from : to+1]; len(sets) > 0 && !cs.isIn(card, sets) && !cs.saysAll(run, card) {
				return notOfCard(run[0].raw + " " + run[len(run)-1].raw)
			}
		}
	}
	return ""
}

// isVersionOf reports whether a card may be the version of its set that Cardmarket counts: the first is
// the plain card or the one of the lowest number, and there are as many as are counted.
func (cs cards) isVersionOf(f *facts, card uint32) bool {
	c := cs.view.Catalog
	if c.Cards.Set[card] == snapshot.NoSet {
		return false
	}
	core := collector.Fold(index.Core(c.Cards.Name.At(int(card)), c.Cards.Number.At(int(card))))
	first := true
	n := 0
	for _, other := range cs.view.Index.Facts().InSet(uint32(c.Cards.Set[card])) {
		number := c.Cards.Number.At(int(other))
		if collector.Fold(index.Core(c.Cards.Name.At(int(other)), number)) != core {
			continue
		}

		n++
		earlier := collector.CompareNumbers(number, c.Cards.Number.At(int(card)))
		if earlier < 0 || earlier == 0 && cs.spare(other) < cs.spare(card) {
			first = false
		}
	}
	return f.version <= n && first == (f.version == 1)
}

// wrongYear says which of some words is a year and not that of a card: the one of its name or set, else
// that of its set's release.
func (cs cards) wrongYear(words []word, card uint32) string {
	for i := range words {
		w := &words[i]
		if w.kind == asNumber && collector.IsYear(w.raw) && !cs.isNumbered(w, card) && !cs.isOfYear(w.raw, card) {
			return w.raw + " is not known to be the year of this card; leave it out if the card is right"
		}
	}
	return ""
}
