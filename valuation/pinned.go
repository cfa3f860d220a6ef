package valuation

import (
	"slices"
	"strings"
	"unicode/utf8"

	"ninepocket/cardvocab"
	"ninepocket/index"
	"ninepocket/snapshot"
)

// byWords handles a line that has all words of a card, or several; false if it has none's.
func (a *Appraiser) byWords(r *Result, f *parsedLine) bool {
	fits, several := a.matchAnyBaseName(f)
	if len(fits) != 1 || f.acceptNear {
		pinned := fits
		if f.acceptNear {
			pinned = nil
		}
		pinned = a.addPinned(f, pinned)
		printed := a.lookup.printedWhole(f, pinned)
		if len(pinned) == 1 {
			printed = int(pinned[0])
		}
		if printed >= 0 && !a.lookup.hasHalfQualifier(f.words, uint32(printed)) {
			a.setResolved(r, f, printed)
			if len(pinned) > 1 {
				a.addOtherPrintings(r, f, pinned, uint32(printed))
			}
			return true
		}
		if len(pinned) > len(fits) {
			fits = pinned
			several = true
		}
	}

	switch {
	case len(fits) == 0:
		return false
	case f.acceptNear:
		a.setAmbiguousNear(r, f, fits)
	case several:
		a.setAmbiguous(r, f, fits)
	default:
		a.resolve(r, f, fits)
	}
	return true
}

// addPinned adds further cards to the cards that match a line: a number of the line names the card,
// and the card has every word of the line. The order of words and the way of writing the set do not
// matter. docs/VALUATION.md, One card: a card's printed text is read back as that card.
func (a *Appraiser) addPinned(f *parsedLine, fits []uint32) []uint32 {
	if f.item.Line == "" || f.noSet || f.noGame || !f.plain || len(f.words) > maxWords {
		return fits
	}

	words := slices.Clone(f.words)
	for i := range words {
		w := &words[i]
		if w.role == setWord {
			w.role = required
		}
		if w.role == required && isNumberLike(w.raw) {
			w.role = numberWord
		}
	}
	a.lookup.lookUp(words)

	matched := len(fits)
	var setOf []uint32
	if matched == 0 && slices.ContainsFunc(words, func(w word) bool { return w.role == numberWord && w.isBare() }) {
		setOf = setsIn(a.View.Index.SetNames(), words)
	}
	for i := range words {
		for n := 1; n <= min(2, len(words)-i); n++ {
			number := words[i].raw
			if n == 2 {
				number += " " + words[i+1].raw
			}
			bare := n == 1 && !strings.ContainsAny(number, "/-") && cardvocab.IsInteger(strings.Trim(number, letters))
			if words[i].role != required && words[i].role != numberWord || bare && matched > 0 {
				continue
			}

			cards := a.lookup.numbered(number)
			if bare {
				cards = slices.Concat(cards, a.lookup.numberedIn(setOf, &words[i]))
			}
			for _, card := range cards {
				if !slices.Contains(fits, card) && a.lookup.isPinned(f, words, setOf, i, n, card, bare) {
					fits = append(fits, card)
				}
			}
		}
	}
	return fits
}

// setsIn returns the sets of the widest name of a set in some words.
func setsIn(names *index.SetNames, words []word) []uint32 {
	for n := min(maxSetRun, len(words)); n > 0; n-- {
		for i := range words[:len(words)-n+1] {
			if sets := names.Exact(joinedWords(words[i : i+n])); len(sets) > 0 && !words[i].isBare() {
				return sets
			}
		}
	}

	// A misspelt name of a set is sought in short lines only: each is compared with every name.
	for n := min(maxMisspeltSet, len(words)); n > 0 && len(words) <= searchWords; n-- {
		for i := range words[:len(words)-n+1] {
			sets, corrected := names.ResolveFuzzy(spaced(words[i : i+n]))
			if corrected && len(sets) > 0 {
				return sets
			}
		}
	}
	return nil
}

// maxMisspeltSet is the maximum number of words of a misspelt set.
const maxMisspeltSet = 3

// numberedIn returns the cards of some sets with a bare number within the set: 053 for OP02-053.
func (cs catalogLookup) numberedIn(sets []uint32, w *word) (cards []uint32) {
	for _, set := range sets {
		for _, card := range cs.view.Index.CardsOfSet(int(set)) {
			if strings.Contains(cs.view.Catalog.Cards.Number.At(int(card)), "-") && cs.isNumbered(w, card) {
				cards = append(cards, card)
			}
		}
	}
	return cards
}

// letters may stand before a number's digits.
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// isPinned reports whether all words of a line may belong to a card whose number is the n words from
// at. A bare number needs a word of the set next to it.
func (cs catalogLookup) isPinned(
	f *parsedLine, words []word, setOf []uint32, at, n int, card uint32, bare bool,
) bool {
	if f.game >= 0 && int(cs.view.Catalog.Cards.Game[card]) != f.game ||
		f.item.Number != "" && !index.Contains(f.numbered, card) ||
		!slices.ContainsFunc(words, func(w word) bool { return cs.hasNameWord(&w, card) || !w.known }) {
		return false
	}

	own := slices.Clone(words)
	for k := range own[at : at+n] {
		own[at+k].role = setWord
	}
	widest := cs.markSet(own, card)
	inSet := f.hasSet() && (cs.isIn(card, f.sets) || cs.qualifiesName(f.setRun, card))
	if bare && widest == 0 && !cs.isIn(card, setOf) && f.item.Set == "" ||
		f.hasSet() && !inSet && (f.item.Set != "" || widest <= len(f.setRun)) {
		return false
	}
	named := cs.matcherOf(own, card, false)
	for i := range own {
		if own[i].role == required || own[i].role == baseNameWord {
			named.has(i)
		}
	}
	matcher := cs.matcherOf(own, card, true)
	alone := !bare && cs.qualifierLen(card) == 0 && cs.isOnlyOne(words[at].raw, card)
	for i := range own {
		w := &own[i]
		coloured := w.role == preferred && w.preference.Exact&(cardvocab.Rainbow|cardvocab.Gold) != 0
		if w.role == required && cs.isShort(w, card, matcher.name) ||
			coloured && alone && cs.hasTrait(w, card, true) {
			w.role = stopWord
		}
	}
	return named.found && cs.leftover(own, card, &matcher, false) < 0
}

// isShort reports whether a word is short for one of a card's: "C" for its rarity, "maj" for Majestic.
func (cs catalogLookup) isShort(w *word, card uint32, names []string) bool {
	if len(w.raw) < 3 {
		return w.raw == strings.ToUpper(w.raw) &&
			cardvocab.RarityTraits([]string{w.text})&cs.view.Index.Lookup().Traits(card) != 0
	}
	return !w.known && slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, w.text) })
}

// isOnlyOne reports whether no other card of a card's set has a number.
func (cs catalogLookup) isOnlyOne(number string, card uint32) bool {
	set := cs.view.Catalog.Cards.Set[card]
	return set != snapshot.NoSet && !slices.ContainsFunc(cs.numbered(number), func(other uint32) bool {
		return other != card && cs.view.Catalog.Cards.Set[other] == set
	})
}

// markSet marks the words that are a code or name of a card's set, and returns how many the widest
// of these has, 0 for none.
func (cs catalogLookup) markSet(words []word, card uint32) (widest int) {
	names := cs.view.Index.SetNames()
	for i := range words {
		for n := min(maxSetRun, len(words)-i); n > 0; n-- {
			run := words[i : i+n]
			key := joinedWords(run)
			if !cs.isIn(card, names.Exact(key)) && !cs.isIn(card, names.ByAppCode(key)) ||
				n == 1 && cs.hasNameWord(&run[0], card) && !isTwice(words, i) {
				continue
			}
			for k := range run {
				if as := run[k].role; as == required || as == numberWord || as == preferred {
					run[k].role = setWord
				}
			}
			widest = max(widest, n)
			break
		}
	}

	// Two words that only the set has are enough: "Anime 25th Collection".
	n := 0
	for i := range words {
		w := &words[i]
		if w.known && w.role != numberWord && !cs.hasNameWord(w, card) &&
			cs.view.Index.Lookup().SetHasTerm(card, w.id) {
			n++
		}
	}
	if n > 1 {
		return max(widest, n)
	}
	return widest
}

// isTwice reports whether a word stands in a line before: "Mew ex MEW 205".
func isTwice(words []word, i int) bool {
	return slices.ContainsFunc(words[:i], func(w word) bool { return w.text == words[i].text })
}

// maxSetRun is the maximum number of words of a set's name next to a card.
const maxSetRun = 8

// hasNameWord reports whether a word is of a card's name.
func (cs catalogLookup) hasNameWord(w *word, card uint32) bool {
	return w.known && cs.view.Index.Lookup().NameHasTerm(card, w.id)
}

// printedWhole returns the card whose whole name stands in a line with its set and number. It is -1 if
// there is none or two have names of one length. A name in its own field must be the card's.
func (cs catalogLookup) printedWhole(f *parsedLine, fits []uint32) int {
	best := -1
	if f.item.Line == "" || f.nameVersion > 0 {
		return best
	}

	whole := foldedWords(nil, f.item.Name)
	highest := 0
	for _, card := range fits {
		printed := cs.view.Catalog.Cards.Name.At(int(card))
		name := foldedWords(nil, printed)
		line := withoutSet(whole, foldedWords(nil, cs.view.Index.SetName(card)))
		isMissing := func(w string) bool { return !slices.Contains(line, w) }
		score := 2*len(name) + cs.saysSetAndNumber(f, card)
		if slices.ContainsFunc(name, isMissing) || score <= 2*len(name) || score < highest ||
			f.item.fromRow && cardvocab.Fold(f.item.Name) != cardvocab.Fold(printed) {
			continue
		}

		best = int(card)
		if score == highest {
			best = -1
		}
		highest = score
	}
	if best < 0 && !f.item.fromRow {
		best = cs.ofItsSet(f, fits)
	}
	return best
}

// ofItsSet returns the only plain card whose whole number stands in a line and names the card's set. OP14-102 is of
// OP14, and 040/086 is of a set of 86 cards. It is -1 for none or several.
func (cs catalogLookup) ofItsSet(f *parsedLine, fits []uint32) int {
	only := -1
	for _, card := range fits {
		number := cs.view.Catalog.Cards.Number.At(int(card))
		own := cs.view.Index.Lookup().NumberNamesSet(card) || cs.isTotalOfSet(cardvocab.NumberTotal(number), card)
		said := func(w word) bool { return w.role == numberWord && w.text == cardvocab.Fold(number) }
		if !own || !slices.ContainsFunc(f.words, said) {
			continue
		}
		if only >= 0 {
			return -1
		}
		only = int(card)
	}

	if only >= 0 && cs.qualifierLen(uint32(only)) > 0 {
		return -1
	}
	return only
}

// withoutSet returns the words of a line without a set's words, if the line has most of these: they
// may be another card's name.
func withoutSet(line, set []string) []string {
	rest := slices.Clone(line)
	for _, w := range set {
		if at := slices.Index(rest, w); at >= 0 {
			rest = slices.Delete(rest, at, at+1)
		}
	}
	if 4*(len(line)-len(rest)) > 3*len(set) {
		return rest
	}
	return line
}

// saysSetAndNumber returns 0 if a line lacks a card's set or number, 2 if it has the whole number, and
// 1 if only the total is missing.
func (cs catalogLookup) saysSetAndNumber(f *parsedLine, card uint32) (score int) {
	number := cs.view.Catalog.Cards.Number.At(int(card))
	words := slices.Clone(f.words)
	if cs.markSet(words, card) == 0 && (!f.hasSet() || !cs.isIn(card, f.sets)) {
		return 0
	}

	for i := -1; i < len(words); i++ {
		said := f.number
		if i >= 0 {
			said = words[i].raw
		}
		switch {
		case i >= 0 && words[i].role == setWord:
		case cardvocab.Fold(said) == cardvocab.Fold(number),
			i > 0 && words[i-1].text+words[i].text == cardvocab.Fold(number):
			return 2
		case cardvocab.NumberKey(said) == cardvocab.NumberKey(number) && !strings.Contains(said, "/"):
			score = 1
		}
	}
	return score
}

// hasHalfQualifier reports whether a line has some words of a qualifier of a card, but not all: "art" is
// not "(Alternate Art)".
func (cs catalogLookup) hasHalfQualifier(words []word, card uint32) bool {
	name := cs.view.Catalog.Cards.Name.At(int(card))
	for group := range strings.FieldsFuncSeq(name[len(index.PlainName(name)):], isBracket) {
		parts := foldedWords(nil, group)
		isMissing := func(part string) bool {
			return !slices.ContainsFunc(words, func(w word) bool {
				return w.text == part || w.role == numberWord && strings.Contains(w.text, part)
			})
		}

		isOf := func(w word) bool {
			return (w.role == required || w.role == setWord) && slices.Contains(parts, w.text)
		}
		if slices.ContainsFunc(words, isOf) && slices.ContainsFunc(parts, isMissing) {
			return true
		}
	}
	return false
}

func isBracket(r rune) bool { return r < utf8.RuneSelf && (isOpen(byte(r)) || isClose(byte(r))) }

// joinedWords returns the joined folded text of some words.
func joinedWords(run []word) string {
	var key strings.Builder
	for i := range run {
		key.WriteString(run[i].text)
	}
	return key.String()
}
