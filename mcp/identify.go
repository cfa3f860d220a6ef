package mcp

import (
	"slices"
	"strings"
	"unicode"

	"ninepocket/index"
)

// maxCandidates is how many candidates a line gets.
const maxCandidates = 3

// manyMatches is how many cards that fit are told apart; beyond it there are "100 or more".
const manyMatches = 100

// wanted is a card as a line describes it; "" for what it does not say.
type wanted struct {
	id, name, set, number, game string
}

func (w *wanted) filter() index.Filter {
	filter := index.NoFilter
	filter.Set = w.set
	filter.Number = w.number
	filter.Game = w.game
	return filter
}

// query asks for the cards that the line's words and facts mean.
func (w *wanted) query() index.Query {
	return index.Query{Filter: w.filter(), Words: w.name, HasWords: true}
}

// finding is which card a line means, or which it may mean.
type finding struct {
	card       int // -1 when it is not certain
	fits       int // how many cards fit, when more than one does
	candidates []uint32
	why        string // what the caller is to know
}

// among is the finding of cards that fit equally: certain when there is one.
func among(cards []uint32) finding {
	if len(cards) == 1 {
		return finding{card: int(cards[0])}
	}

	// Three are enough to choose from; the caller is told how many there are.
	found := finding{card: -1, fits: len(cards)}
	found.add(cards)
	return found
}

// add adds candidates, each once, until there are enough.
func (found *finding) add(cards []uint32) {
	for _, card := range cards {
		if len(found.candidates) < maxCandidates && !slices.Contains(found.candidates, card) {
			found.candidates = append(found.candidates, card)
		}
	}
}

// finder finds cards in the View of a request.
type finder struct{ *request }

// identify finds the card that a line means. It is certain of
//   - the card with the id,
//   - the only card whose whole name is the line's, within the line's set, number and game,
//   - the only card with the line's number in the line's set, when the name may be a misspelling of its name.
//
// Everything else is left to the caller: several cards are ambiguous, and none is unmatched with
// the nearest ones. A name fits a card that only qualifies it, as "Pikachu" does "Pikachu (Cosmos
// Holo)": the name that is printed on both does not tell which one a person holds.
func (fd finder) identify(w wanted) finding {
	if w.id != "" {
		return fd.identifyByID(w)
	}

	// A set that is none would make every search find nothing.
	w.name = strings.TrimSpace(w.name)
	if w.set != "" && len(fd.View.Index.SetsNamed(w.set)) == 0 {
		return fd.identifyWithoutSet(w)
	}
	if w.name == "" {
		return fd.identifyByNumber(w)
	}

	fitting, nearest := fd.fitting(w)
	if len(fitting) == 0 {
		return fd.identifyMisspelt(w, nearest)
	}
	return among(fitting)
}

// identifyByID takes a line with an id. The words of one that is a slug of nothing, and the rest of
// the line, may still say which card is meant.
func (fd finder) identifyByID(w wanted) finding {
	if card, ok := fd.View.Index.Card(w.id); ok {
		return finding{card: card}
	}
	if cards := fd.View.Index.Identified(w.id); len(cards) > 0 {
		return among(cards)
	}

	found := finding{card: -1, why: "no card has this id, slug or identifier"}
	fd.addMatches(&found, wanted{name: wordsOf(w.id)})
	fd.addMatches(&found, wanted{name: w.name, set: w.set, number: w.number, game: w.game})
	return found
}

// identifyWithoutSet takes a line whose set is none: its words may be a misspelling of one.
func (fd finder) identifyWithoutSet(w wanted) finding {
	found := finding{card: -1, why: `no set is called "` + readable(w.set) + `"`}
	fd.withoutSet++
	if fd.withoutSet <= maxNearest {
		if near := nearestSets(fd.request, w.set); near != "" {
			found.why += "." + near
		}
	}
	name := firstWords(w.name)
	fd.addMatches(&found, wanted{name: name + " " + firstWords(w.set), number: w.number, game: w.game})
	fd.addMatches(&found, wanted{name: name, game: w.game})
	return found
}

// maxNearest is for how many lines of a call the nearest sets are looked for: each is compared with
// the name of every set.
const maxNearest = 10

// readWords is how many words of a query search reads; what else a longer name says, it does not
// see.
const readWords = 8

// fitting are the cards whose whole name is the line's. Cards that have every word in their names
// go before those that need a word of their set's name or a bare integer as their number. A name of
// more words than search reads must be the card's to the last letter. nearest is all that search
// found, the best first.
func (fd finder) fitting(w wanted) (fitting []uint32, nearest []index.Match) {
	fd.matches = fd.View.Index.Matches(fd.matches[:0], w.query(), manyMatches)

	// The fewer words a card borrows from its set or number, the better its own name fits.
	least := 0
	long := countWords(w.name) > readWords
	for _, m := range fd.matches {
		if !m.Whole || m.Missing > 0 || m.Typos > 0 || long && !m.Same {
			continue
		}
		if len(fitting) == 0 || m.Borrowed < least {
			fitting = fitting[:0]
			least = m.Borrowed
		}
		if m.Borrowed == least {
			fitting = append(fitting, m.Card)
		}
	}
	return fitting, fd.matches
}

// countWords counts runs of letters and digits: at least as many as search counts words.
func countWords(s string) int {
	return len(strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
}

// identifyByNumber takes a line without a name: set and number may still say which card it is.
func (fd finder) identifyByNumber(w wanted) finding {
	if w.number == "" || w.set == "" {
		return finding{card: -1, why: "give an id, a name, or a set and a number"}
	}

	cards := fd.numbered(w, manyMatches)
	if len(cards) == 0 {
		return finding{card: -1, why: "the set has no card with this number"}
	}
	return among(cards)
}

// numbered are at most n of the cards that pass a line's filters, whatever their names.
func (fd finder) numbered(w wanted, n int) []uint32 {
	fd.cards = fd.View.Index.Cards(fd.cards[:0], index.Query{Filter: w.filter()}, nil, n).Cards
	return fd.cards
}

// identifyMisspelt takes a line whose name is no card's whole name within its filters; nearest are
// the best there.
func (fd finder) identifyMisspelt(w wanted, nearest []index.Match) finding {
	found := finding{card: -1, why: "no card has this name"}
	if w.set != "" || w.number != "" || w.game != "" {
		found.why = "no card fits all that the line says"
	}

	// One card with this number in this set, found by a misspelt name, is certain: two facts and
	// most of a third.
	found.add(cardsOf(nearest))
	if w.set != "" && w.number != "" {
		there := fd.numbered(w, maxCandidates+1)
		if len(there) == 1 && countWords(w.name) <= readWords &&
			len(nearest) > 0 && nearest[0].Missing == 0 && nearest[0].Card == there[0] {
			return among(there)
		}
		if len(there) <= maxCandidates {
			found.add(there)
		}
	}
	if len(found.candidates) == maxCandidates || w.filter() == index.NoFilter {
		return found
	}

	// Then what one fact less would leave, and at last the name alone; where that is nobody's,
	// nothing else helps.
	w.name = firstWords(w.name)
	anywhere := slices.Clone(fd.search(wanted{name: w.name}))
	if len(anywhere) == 0 {
		return found
	}
	if anywhere[0].Missing == 0 { // else the words are no card's, and a filter finds nothing better
		for _, less := range w.relaxed() {
			fd.addMatches(&found, less)
		}
	}
	found.add(cardsOf(anywhere))
	return found
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

// addMatches adds the cards that search finds for w to the candidates, unless there are enough.
func (fd finder) addMatches(found *finding, w wanted) {
	if len(found.candidates) < maxCandidates {
		found.add(cardsOf(fd.search(w)))
	}
}

func cardsOf(matches []index.Match) []uint32 {
	cards := make([]uint32, 0, maxCandidates)
	for _, m := range matches[:min(len(matches), maxCandidates)] {
		cards = append(cards, m.Card)
	}
	return cards
}

// search finds the nearest cards for a line with a name; the next search uses their memory again.
func (fd finder) search(w wanted) []index.Match {
	fd.matches = fd.matches[:0]
	if strings.TrimSpace(w.name) != "" {
		fd.matches = fd.View.Index.Matches(fd.matches, w.query(), maxCandidates)
	}
	return fd.matches
}

// guessWords is how many words of a name are enough for candidates: each costs a search its
// misspellings.
const guessWords = 4

// firstWords are the first guessWords words of a text.
func firstWords(s string) string {
	words := strings.Fields(s)
	return strings.Join(words[:min(len(words), guessWords)], " ")
}

// wordsOf makes words of what was meant as a slug; an id has none.
func wordsOf(ref string) string {
	if strings.HasPrefix(ref, "card_") {
		return ""
	}
	return strings.ReplaceAll(ref, "-", " ")
}
