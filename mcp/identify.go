package mcp

import (
	"slices"
	"strings"
	"unicode"

	"ninepocket/engine"
	"ninepocket/index"
	"ninepocket/snapshot"
)

// status is what became of a line of a list.
type status uint8

const (
	priced status = iota
	unpriced
	ambiguous
	unmatched
	statuses
)

var statusNames = [statuses]string{"priced", "unpriced", "ambiguous", "unmatched"}

// maxCandidates is how many candidates a line gets (specification, catalog_value_cards).
const maxCandidates = 3

// manyMatches is how many cards that fit are told apart; beyond it there are "100 or more".
const manyMatches = 100

// wanted is a card as a line describes it; "" for what it does not say.
type wanted struct {
	id, name, set, number, game string
}

// finding is which card a line means, or which it may mean.
type finding struct {
	card       int // -1 when it is not certain
	fits       int // how many cards fit, when more than one does
	candidates []uint32
	why        string // what the caller is to know
}

func (w *wanted) filter() index.Filter {
	f := index.NoFilter
	f.Set, f.Number, f.Game = w.set, w.number, w.game
	return f
}

// identify finds the card that a line means. It is certain of
//   - the card with the id,
//   - the only card whose whole name is the line's, within the line's set, number and game,
//   - the only card with the line's number in the line's set, when the name may be a misspelling of its name.
//
// Everything else is left to the caller: several cards are ambiguous, and none is unmatched with the nearest ones. A
// name fits a card that only qualifies it, as "Pikachu" does "Pikachu (Cosmos Holo)": which one a person holds cannot be
// told from the name that is printed on both.
func (c *call) identify(w wanted) finding {
	if w.id != "" {
		if card, ok := c.View.Index.Card(w.id); ok {
			return finding{card: card}
		}
		f := finding{card: -1, why: "no card has this id or slug"}
		c.addCandidates(&f, wanted{name: wordsOf(w.id)})
		c.addCandidates(&f, wanted{name: w.name, set: w.set, number: w.number, game: w.game})
		return f
	}
	w.name = strings.TrimSpace(w.name)
	if w.set != "" && len(c.View.Index.SetsNamed(w.set)) == 0 {
		f := finding{card: -1, why: `no set is called "` + readable(w.set) + `"`}
		w.name = firstWords(w.name)
		c.addCandidates(&f, wanted{name: w.name + " " + firstWords(w.set), number: w.number, game: w.game})
		c.addCandidates(&f, wanted{name: w.name, game: w.game})
		return f
	}
	if w.name == "" {
		return c.identifyByNumber(w)
	}
	fitting := c.fitting(w)
	switch {
	case len(fitting) == 1:
		return finding{card: int(fitting[0].Card)}
	case len(fitting) > 1:
		f := finding{card: -1, fits: len(fitting)}
		for _, m := range fitting[:min(len(fitting), maxCandidates)] {
			f.candidates = append(f.candidates, m.Card)
		}
		return f
	}
	return c.identifyMisspelt(w)
}

// readWords is how many words of a query search reads; what else a longer name says, it does not see.
const readWords = 8

// fitting are the cards whose whole name is the line's. Cards that have every word in their names go before those that
// need a word of their set's name or a bare integer as their number. A name of more words than search reads must be
// the card's to the last letter.
func (c *call) fitting(w wanted) []index.Match {
	q := index.Query{Filter: w.filter(), Words: w.name, HasWords: true}
	c.matches = c.View.Index.Matches(c.matches[:0], q, manyMatches)
	whole := c.matches[:0]
	least, long := 0, countWords(w.name) > readWords
	for _, m := range c.matches {
		if !m.Whole || m.Missing > 0 || m.Typos > 0 || long && !m.Same {
			continue
		}
		if len(whole) == 0 || m.Borrowed < least {
			least, whole = m.Borrowed, whole[:0]
		}
		if m.Borrowed == least {
			whole = append(whole, m)
		}
	}
	return whole
}

// countWords counts runs of letters and digits: at least as many as search counts words.
func countWords(s string) int {
	return len(strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
}

// identifyByNumber takes a line without a name: set and number may still say which card it is.
func (c *call) identifyByNumber(w wanted) finding {
	if w.number == "" || w.set == "" {
		return finding{card: -1, why: "give an id, a name, or a set and a number"}
	}
	cards := c.numbered(w, manyMatches)
	switch len(cards) {
	case 0:
		return finding{card: -1, why: "the set has no card with this number"}
	case 1:
		return finding{card: int(cards[0])}
	}
	return finding{card: -1, fits: len(cards), candidates: slices.Clone(cards[:min(len(cards), maxCandidates)])}
}

// numbered are at most n of the cards that pass a line's filters, whatever their names.
func (c *call) numbered(w wanted, n int) []uint32 {
	page := c.View.Index.Cards(c.cards[:0], index.Query{Filter: w.filter()}, nil, n)
	c.cards = page.Cards
	return page.Cards
}

// identifyMisspelt takes a line whose name is no card's whole name within its filters; c.matches are the nearest there.
func (c *call) identifyMisspelt(w wanted) finding {
	f := finding{card: -1, why: "no card has this name"}
	if w.set != "" || w.number != "" || w.game != "" {
		f.why = "no card fits all that the line says"
	}
	nearest := c.matches
	f.addMatches(nearest)
	if w.set != "" && w.number != "" {
		there := slices.Clone(c.numbered(w, maxCandidates+1))
		if len(there) == 1 && len(nearest) > 0 && nearest[0].Missing == 0 && countWords(w.name) <= readWords && nearest[0].Card == there[0] {
			return finding{card: int(there[0])}
		}
		if len(there) <= maxCandidates {
			f.add(there)
		}
	}
	if len(f.candidates) == maxCandidates || w.filter() == index.NoFilter {
		return f
	}
	// Then what one fact less would leave, and at last the name alone; where that is nobody's, nothing else helps.
	w.name = firstWords(w.name)
	c.matches = c.suggest(c.matches[:0], w.name)
	if len(c.matches) == 0 {
		return f
	}
	anywhere := slices.Clone(c.matches)
	if anywhere[0].Missing == 0 { // else the words are no card's, and a filter finds nothing better
		for _, less := range w.relaxed() {
			c.addCandidates(&f, less)
		}
	}
	f.addMatches(anywhere)
	return f
}

// relaxed are the line with one fact less, each once.
func (w *wanted) relaxed() []wanted {
	var all []wanted
	for _, less := range []wanted{
		{name: w.name, set: w.set, game: w.game},
		{name: w.name, number: w.number, game: w.game},
		{name: w.name, game: w.game},
	} {
		if less != *w && less.filter() != index.NoFilter && !slices.Contains(all, less) {
			all = append(all, less)
		}
	}
	return all
}

// addCandidates adds the cards that search finds for w, until there are enough.
func (c *call) addCandidates(f *finding, w wanted) {
	if strings.TrimSpace(w.name) == "" || len(f.candidates) >= maxCandidates {
		return
	}
	q := index.Query{Filter: w.filter(), Words: w.name, HasWords: true}
	c.matches = c.View.Index.Matches(c.matches[:0], q, maxCandidates)
	f.addMatches(c.matches)
}

// guessWords is how many words of a name are enough for candidates: each costs a search its misspellings.
const guessWords = 4

// firstWords cuts a text after guessWords words.
func firstWords(s string) string {
	n := 0
	for i := range len(s) {
		if s[i] == ' ' && i > 0 && s[i-1] != ' ' {
			if n++; n == guessWords {
				return s[:i]
			}
		}
	}
	return s
}

func (f *finding) addMatches(matches []index.Match) {
	for _, m := range matches[:min(len(matches), maxCandidates)] {
		f.add([]uint32{m.Card})
	}
}

func (f *finding) add(cards []uint32) {
	for _, card := range cards {
		if len(f.candidates) < maxCandidates && !slices.Contains(f.candidates, card) {
			f.candidates = append(f.candidates, card)
		}
	}
}

// suggest appends the cards that search finds for words.
func (c *call) suggest(dst []index.Match, words string) []index.Match {
	if strings.TrimSpace(words) == "" {
		return dst
	}
	return c.View.Index.Matches(dst, index.Query{Filter: index.NoFilter, Words: words, HasWords: true}, maxCandidates)
}

// wordsOf makes words of what was meant as a slug; an id has none.
func wordsOf(ref string) string {
	if strings.HasPrefix(ref, "card_") {
		return ""
	}
	return strings.ReplaceAll(ref, "-", " ")
}

// choose picks the lane that a line is priced by: of the variant asked for or else of the display price, in the
// condition asked for or else the variant's display condition (decision 19). -1 says that there is no price, and why.
func (c *call) choose(card int, variant, condition string) (lane int, why string) {
	l := &c.c.Lanes
	from, to := l.Of.Range(card)
	want, known := parseCondition(condition)
	if condition != "" && !known {
		return -1, `"` + readable(condition) + `" is not a condition: use ` + conditionTexts()
	}
	display := int(c.c.Cards.Display[card])
	for lane := from; lane < to; lane++ {
		switch {
		case variant != "" && !engine.SameVariant(c.variantOf(lane), variant),
			variant == "" && (display < 0 || l.Variant[lane] != l.Variant[display]),
			condition != "" && snapshot.Condition(l.Condition[lane]) != want,
			condition == "" && l.Flags[lane]&snapshot.LaneDisplay == 0,
			l.Cents[lane] < 0:
			continue
		}
		return lane, ""
	}
	return -1, c.pricedInstead(card, variant, condition)
}

// pricedInstead says what of a card does have a price.
func (c *call) pricedInstead(card int, variant, condition string) string {
	var have []string
	from, to := c.c.Lanes.Of.Range(card)
	for lane := from; lane < to && len(have) < 8; lane++ {
		if c.c.Lanes.Cents[lane] >= 0 {
			have = append(have, c.variantOf(lane)+" "+c.conditionOf(lane))
		}
	}
	if len(have) == 0 {
		return "the card has no current price"
	}
	var asked []string
	for _, s := range []string{variant, condition} {
		if s != "" {
			asked = append(asked, readable(s))
		}
	}
	return "no price for " + strings.Join(asked, ", ") + "; there is one for " + strings.Join(have, ", ")
}

func (c *call) variantOf(lane int) string { return c.c.Variants.At(int(c.c.Lanes.Variant[lane])) }

func (c *call) conditionOf(lane int) string {
	return snapshot.Condition(c.c.Lanes.Condition[lane]).Text()
}

// abbreviations are what traders call the conditions.
var abbreviations = map[string]snapshot.Condition{
	"nm": snapshot.NearMint, "lp": snapshot.LightlyPlayed, "mp": snapshot.ModeratelyPlayed, "hp": snapshot.HeavilyPlayed,
	"dmg": snapshot.Damaged, "raw": snapshot.Ungraded,
}

// parseCondition reads a condition's text or code as variants are read, or its abbreviation.
func parseCondition(s string) (snapshot.Condition, bool) {
	for c := range snapshot.FactorySealed {
		if engine.SameVariant(c.Code(), s) {
			return c, true
		}
	}
	c, ok := abbreviations[strings.ToLower(strings.TrimSpace(s))]
	return c, ok
}

func conditionTexts() string {
	var all []string
	for c := range snapshot.FactorySealed {
		all = append(all, c.Text())
	}
	return strings.Join(all, ", ")
}
