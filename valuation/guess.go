package valuation

import (
	"slices"
	"strings"

	"ninepocket/collector"
	"ninepocket/index"
	"ninepocket/snapshot"
)

// isLike reports whether every word of a line is something of a card, its name misspelt or not: search
// leaves words out, and a price may not. named says that one is of its name and no mere suffix.
func (cs cards) isLike(f *facts, card uint32) (like, named bool) {
	sp := cs.spellingOf(f.words, card, false)
	like = cs.leftover(f, f.words, card, &sp) < 0
	return like, sp.found
}

// isElsewhere reports whether a card of the line's set has the very name and another number: then the
// line contradicts itself.
func (a *Appraiser) isElsewhere(f *facts) bool {
	return len(a.fitting(f.withoutNumber())) > 0
}

// searchWords is how many words of a query search reads; what else a longer name says, it does not
// see.
const searchWords = 8

// mostMatches is how many cards search is asked for.
const mostMatches = 100

// searched are the cards whose whole name is the line's, as search reads names: words in another
// order, signs, other spellings. Cards that have every word in their names go before those that need
// a word of their set's name or a bare integer as their number. What search found besides stays in
// a.matches, for guess.
func (a *Appraiser) searched(f *facts) []uint32 {
	words := strings.Fields(f.query())
	kept, all := a.telling(words)
	long := len(words) > searchWords || !f.plain && !strings.ContainsAny(f.item.Name, signs)
	if long && (f.plain || len(words) > mostWords) {
		// A name of so many words that is right was found by its core, and no name has more.
		a.search(f, kept[:min(len(kept), fewWords)], false)
		return nil
	}

	// Of a name that is made of words which nobody has, search makes no certain card.
	if !all {
		a.search(f, kept[:min(len(kept), guessWords)], false)
		return nil
	}
	a.search(f, kept, false)

	// The card of a common name may come behind a hundred others: set or number brings it up.
	if len(a.matches) == mostMatches && (f.hasSet() || f.hasNumber()) {
		a.search(f, words, true)
	}

	a.fits = a.fits[:0]
	for _, match := range a.matches {
		if !match.Whole || match.Missing > 0 || match.Typos > 0 || long && !match.Same || !f.plain &&
			match.Borrowed > 0 ||
			!a.cards.passes(f, match.Card) {
			continue
		}
		if like, _ := a.cards.isLike(f, match.Card); like || match.Same {
			a.fits = append(a.fits, match.Card)
		}
	}
	return a.fits
}

// search looks for words, among the cards of the line's set and number or all.
func (a *Appraiser) search(f *facts, words []string, narrow bool) {
	a.matches = a.matches[:0]
	if len(words) == 0 {
		return
	}

	q := index.Query{Filter: index.NoFilter, Words: strings.Join(words, " "), HasWords: true}
	q.Filter.Game = f.item.Game
	if narrow {
		q.Filter.Number = f.number

		// A set that was told by likeness alone has no name that search would know.
		if f.hasSet() && len(a.View.Index.SetNames().Named(f.item.Set)) > 0 {
			q.Filter.Set = f.item.Set
		}
	}
	guess := a.guesses < mostGuessed
	if !guess {
		_, guess = a.onlyThere(f)
	}
	if guess {
		a.matches = a.View.Index.Matches(a.matches, q, mostMatches)
	} else {
		a.matches = a.View.Index.MatchesAsTyped(a.matches, q, mostMatches)
	}
}

// mostGuessed is for how many lines of a list that no card fits misspellings are looked for: they cost
// most, and tell candidates only. What is priced does not depend on other lines: a name that set and
// number respell is looked for on every line.
const mostGuessed = 25

// mostStrange is how many words that the catalog does not have a search is given: each is compared with
// all that it has (docs/SEARCH.md, Cost). Of a card's name one or two are misspelt. What has more than
// hopeless of them is no card's name, and nothing is looked for.
//
// Of mostUnread, more than three must be of the name: no line has as many of its copy and its condition.
const (
	mostStrange = 2
	hopeless    = 3
	mostUnread  = 10
)

// reject leaves a line that no card is looked for to the caller.
func (r *Result) reject(why string) {
	r.Ask = askAll
	r.Note = why + "; give " + r.Ask.Text()
}

// isHopeless reports whether so many words of a line are none of the catalog's that it can mean no card.
func (f *facts) isHopeless() bool {
	strange := 0
	for i := range f.words {
		w := &f.words[i]
		if w.kind == told && !w.known && mayBeMisspelt(w.text) {
			strange++
		}
	}
	return strange > hopeless
}

// mayBeMisspelt reports whether a folded word that the catalog does not have may be one that it has.
func mayBeMisspelt(w string) bool {
	return len(w) > longestSuffix && !strings.ContainsAny(w, "0123456789")
}

// telling are the words that a search is given of a name: those that the catalog has, and the first few
// of the others. all says that none was left out. A line's answer does not depend on other lines.
func (a *Appraiser) telling(words []string) (kept []string, all bool) {
	given := 0
	for _, w := range words {
		strange := a.strange(w)
		if strange == 0 || given+strange <= mostStrange {
			given += strange
			kept = append(kept, w)
		}
	}
	return kept, len(kept) == len(words)
}

// strange is how many words of a text the catalog does not have, of those that may be misspelt.
func (a *Appraiser) strange(text string) (n int) {
	a.parts = foldedWords(a.parts[:0], text)
	for _, w := range a.parts {
		if _, known := a.View.Index.Facts().Word(w); !known && mayBeMisspelt(w) {
			n++
		}
	}
	return n
}

// query is the line's name without what was read as something else.
func (f *facts) query() string {
	if !f.plain {
		return f.item.Name
	}

	var words []string
	for i := range f.words {
		switch w := &f.words[i]; w.kind {
		case told, inCore, wished, ofSet:
			words = append(words, w.raw)
		case asNumber:
			if w.raw != f.number {
				words = append(words, w.raw)
			}
		case idle, ofCopy, ofState:
		}
	}
	return strings.Join(words, " ")
}

// guessWords is how many words of a name are enough for candidates: each costs a search its
// misspellings.
const guessWords = 4

// fewWords are enough of a name of more words than any search reads.
const fewWords = 3

// guess leaves a line that no card fits to the caller, with the nearest cards and what would settle
// it.
func (a *Appraiser) guess(r *Result, f *facts) {
	a.guesses++
	r.Ask = askAll
	switch {
	case r.Note != "":
	case f.noSet:
		a.tellNoSet(r, f)
	case f.core == "":
		r.Note = "no card has this name"
	default:
		a.tellContradiction(r, f)
	}

	// What was not looked for yet, or by more words than one card has.
	words, all := a.telling(strings.Fields(f.query()))
	fewer := all && len(words) > guessWords && len(words) <= searchWords
	if len(a.matches) == 0 && (f.noSet || f.noGame || fewer) {
		a.search(f, words[:min(len(words), guessWords)], false)
	}

	a.addNearest(r, f)
	r.Note += "; give "
	if len(r.Candidates) > 0 {
		r.Note += "a candidate's id, or "
	}
	r.Note += r.Ask.Text()
}

// tellNoSet says that no set is called so, and which are nearly.
func (a *Appraiser) tellNoSet(r *Result, f *facts) {
	r.Note = `no set is called "` + clip(f.item.Set) + `"` + a.nearestSets(f.item.Set)

	// Without the set, the rest of the line still tells candidates.
	rest := f.withoutSet()
	if fits := a.fitting(rest); len(fits) > 0 {
		r.Ask = AskSet | a.ask(rest, fits)
		if card, ok := a.cards.ofMisspelt(f.item.Set, fits); ok {
			r.add(card)
		}
		r.add(a.likeliest(rest, fits)...)
	}
}

// mostCompared is of how many cards the sets are compared with a misspelt name.
const mostCompared = 12

// ofMisspelt is the card of a few whose set a name may be a misspelling of; false for none.
func (cs cards) ofMisspelt(name string, cards []uint32) (card uint32, ok bool) {
	folded := collector.Fold(name)
	if len(cards) > mostCompared || len(folded) > longestNearest {
		return 0, false
	}

	least := len(folded)/8 + 2
	for _, one := range cards {
		set := cs.view.Catalog.Cards.Set[one]
		if set == snapshot.NoSet {
			continue
		}
		far := collector.Distance(collector.Fold(cs.view.Catalog.Sets.Name.At(int(set))), folded, least)
		if far < least {
			least = far
			card = one
			ok = true
		}
	}
	return card, ok
}

// nearestSets names the sets that are nearly called so, behind a comma. It compares the name of every set,
// so that it is done for some lines of a list only: nothing but the note tells.
func (a *Appraiser) nearestSets(name string) string {
	a.noSets++
	if a.noSets > mostNoSets {
		return ""
	}

	perhaps := ""
	for _, set := range a.View.Index.SetNames().Nearest(name) {
		text := `, "` + a.View.Catalog.Sets.Name.At(int(set)) + `"`
		if perhaps != "" && len(perhaps)+len(text) > longestNearest {
			break
		}
		perhaps += text
	}
	return strings.Replace(perhaps, ", ", ", perhaps ", 1)
}

// longestNearest is how many bytes the names of the nearest sets have in a note, but for the first: it
// stands beside candidates, which tell more.
const longestNearest = 100

// mostNoSets is for how many lines of a list the nearest sets are looked for.
const mostNoSets = 10

// tellContradiction says which fact the cards of a name do not have.
func (a *Appraiser) tellContradiction(r *Result, f *facts) {
	r.Note = "no card fits all that the line says"

	// One fact is left out at a time: where cards fit without it, it is the wrong one.
	if f.hasNumber() {
		a.tellFitting(r, f.withoutNumber(), AskNumber, "no card of this name has the number "+clip(f.number))
	}
	if f.hasSet() && len(r.Candidates) == 0 {
		a.tellFitting(r, f.withoutSet(), AskSet, "no card of this name is in that set")
	}

	if w := a.odd(f); w != nil && len(r.Candidates) == 0 {
		r.Note += `: no card of this name has "` + clip(w.raw) + `"`
	}
}

// tellFitting tells the cards that fit a line without one of its facts, what to ask for and why.
func (a *Appraiser) tellFitting(r *Result, rest *facts, wrong Ask, note string) {
	if fits := a.fitting(rest); len(fits) > 0 {
		r.Note = note
		r.Ask = wrong | a.ask(rest, fits)
		r.add(a.likeliest(rest, fits)...)
	}
}

// odd is the word that keeps a line from the card which has most of it, nil for none.
func (a *Appraiser) odd(f *facts) *word {
	last := -1
	for _, card := range a.View.Index.Facts().Cored(f.core) {
		if a.cards.passes(f, card) {
			last = max(last, a.cards.leftover(f, f.words, card, nil))
		}
	}
	if last < 0 {
		return nil
	}
	return &f.words[last]
}

// add adds candidates, each once, until there are enough.
func (r *Result) add(cards ...uint32) {
	for _, card := range cards {
		if len(r.Candidates) < MaxCandidates && !slices.Contains(r.Candidates, card) {
			r.Candidates = append(r.Candidates, card)
		}
	}
}

// addNearest adds the cards that a line may mean: what search found, sooner where it is of the line's
// set or number, and what has both.
func (a *Appraiser) addNearest(r *Result, f *facts) {
	slices.SortStableFunc(a.matches, func(x, y index.Match) int {
		return a.cards.agreement(f, y.Card) - a.cards.agreement(f, x.Card)
	})

	// Name or number may be the one mistyped: a card of each is to be among the three.
	if len(a.matches) > 0 {
		r.add(a.matches[0].Card)
	}

	if f.hasSet() && f.hasNumber() {
		if there := a.there(f); len(there) <= MaxCandidates {
			r.add(there...)
		}
	}

	for _, match := range a.matches[:min(len(a.matches), MaxCandidates)] {
		r.add(match.Card)
	}
}

// agreement is how many of a line's set and number a card has.
func (cs cards) agreement(f *facts, card uint32) (n int) {
	if f.hasSet() && cs.isIn(card, f.sets) {
		n++
	}
	if f.hasNumber() && holds(f.numbered, card) {
		n++
	}
	return n
}
