package valuation

import (
	"slices"
	"strings"

	"ninepocket/cardvocab"
	"ninepocket/index"
	"ninepocket/snapshot"
)

// allWordsMatch reports whether every word of a line is something of a card, its name misspelt or
// not: search leaves words out, and a price may not. named says that one is of its name and no mere
// suffix.
func (cs catalogLookup) allWordsMatch(f *parsedLine, card uint32) (like, named bool) {
	sp := cs.matcherOf(f.words, card, false)
	like = cs.leftover(f, f.words, card, &sp) < 0
	return like, sp.found
}

// hasOtherNumber reports whether a card of the line's set has the very name and another number:
// then the line contradicts itself.
func (a *Appraiser) hasOtherNumber(f *parsedLine) bool {
	return len(a.matchAll(f.withoutNumber())) > 0
}

// searchWords is how many words of a query search reads; what else a longer name says, it does not
// see.
const searchWords = 8

// maxMatches is how many cards search is asked for.
const maxMatches = 100

// searchExact are the cards whose whole name is the line's, as search reads names: words in another
// order, signs, other spellings. Cards that have every word in their names go before those that
// need a word of their set's name or a bare integer as their number. What search found besides
// stays in a.matches, for guess.
func (a *Appraiser) searchExact(f *parsedLine) []uint32 {
	words := strings.Fields(f.query())
	significant, all := a.significantWords(words)
	long := len(words) > searchWords || !f.plain && !strings.ContainsAny(f.item.Name, signs)
	if long && (f.plain || len(words) > maxWords) {
		// A name of so many words that is right was found by its core, and no name has more.
		a.search(f, significant[:min(len(significant), longNameWords)], false)
		return nil
	}

	// Of a name that is made of words which nobody has, search makes no certain card.
	if !all {
		a.search(f, significant[:min(len(significant), suggestWords)], false)
		return nil
	}
	a.search(f, significant, false)

	// The card of a common name may come behind a hundred others: set or number brings it up.
	if len(a.matches) == maxMatches && (f.hasSet() || f.hasNumber()) {
		a.search(f, words, true)
	}

	a.matching = a.matching[:0]
	for _, match := range a.matches {
		if !match.Whole || match.Missing > 0 || match.Typos > 0 || long && !match.Same || !f.plain &&
			match.OutsideName > 0 ||
			!a.lookup.passesFilters(f, match.Card) {
			continue
		}
		if like, _ := a.lookup.allWordsMatch(f, match.Card); like || match.Same {
			a.matching = append(a.matching, match.Card)
		}
	}
	return a.matching
}

// search looks for words, among the cards of the line's set and number or all.
func (a *Appraiser) search(f *parsedLine, words []string, narrow bool) {
	a.matches = a.matches[:0]
	if len(words) == 0 {
		return
	}

	q := index.Query{Filter: index.NoFilter, Words: strings.Join(words, " "), HasWords: true}
	q.Filter.Game = f.item.Game
	if narrow {
		q.Filter.Number = f.number

		// A set that was told by likeness alone has no name that search would know.
		if f.hasSet() && len(a.View.Index.SetNames().Resolve(f.item.Set)) > 0 {
			q.Filter.Set = f.item.Set
		}
	}
	guess := a.suggested < maxFuzzyLines
	if !guess {
		_, guess = a.uniqueBySetNumber(f)
	}
	if guess {
		a.matches = a.View.Index.Matches(a.matches, q, maxMatches)
	} else {
		a.matches = a.View.Index.MatchesAsTyped(a.matches, q, maxMatches)
	}
}

// maxFuzzyLines is for how many lines of a list that no card fits misspellings are looked for: they
// cost most, and tell candidates only. What is priced does not depend on other lines: a name that
// set and number respell is looked for on every line.
const maxFuzzyLines = 25

// maxSearchedUnknown is how many words that the catalog does not have a search is given: each is
// compared with all that it has (docs/SEARCH.md, Cost). Of a card's name one or two are misspelt.
// What has more than hopeless of them is no card's name, and nothing is looked for.
//
// Of maxTextUnknown, more than three must be of the name: no line has as many of its copy and its
// condition.
const (
	maxSearchedUnknown = 2
	maxNameUnknown     = 3
	maxTextUnknown     = 10
)

// reject leaves a line that no card is looked for to the caller.
func (r *Result) reject(why string) {
	r.Needed = cardFields
	r.Remark = why + "; give " + r.Needed.Text()
}

// tooManyUnknown reports whether so many words of a line are none of the catalog's that it can mean
// no card.
func (f *parsedLine) tooManyUnknown() bool {
	unknown := 0
	for i := range f.words {
		w := &f.words[i]
		if w.role == required && !w.known && mayBeMisspelt(w.text) {
			unknown++
		}
	}
	return unknown > maxNameUnknown
}

// mayBeMisspelt reports whether a folded word that the catalog does not have may be one that it
// has.
func mayBeMisspelt(w string) bool {
	return len(w) > maxSuffixLen && !strings.ContainsAny(w, "0123456789")
}

// significantWords are the words that a search is given of a name: those that the catalog has, and
// the first few of the others. all says that none was left out. A line's answer does not depend on
// other lines.
func (a *Appraiser) significantWords(words []string) (significant []string, all bool) {
	given := 0
	for _, w := range words {
		unknown := a.unknownWords(w)
		if unknown == 0 || given+unknown <= maxSearchedUnknown {
			given += unknown
			significant = append(significant, w)
		}
	}
	return significant, len(significant) == len(words)
}

// unknownWords is how many words of a text the catalog does not have, of those that may be
// misspelt.
func (a *Appraiser) unknownWords(text string) (n int) {
	a.parts = foldedWords(a.parts[:0], text)
	for _, w := range a.parts {
		if _, known := a.View.Index.Lookup().TermID(w); !known && mayBeMisspelt(w) {
			n++
		}
	}
	return n
}

// query is the line's name without what was read as something else.
func (f *parsedLine) query() string {
	if !f.plain {
		return f.item.Name
	}

	var words []string
	for i := range f.words {
		switch w := &f.words[i]; w.role {
		case required, baseNameWord, preferred, setWord:
			words = append(words, w.raw)
		case numberWord:
			if w.raw != f.number {
				words = append(words, w.raw)
			}
		case stopWord, copyWord, conditionWord:
		}
	}
	return strings.Join(words, " ")
}

// suggestWords is how many words of a name are enough for candidates: each costs a search its
// misspellings.
const suggestWords = 4

// longNameWords are enough of a name of more words than any search reads.
const longNameWords = 3

// suggest leaves a line that no card fits to the caller, with the nearest cards and what would
// settle it.
func (a *Appraiser) suggest(r *Result, f *parsedLine) {
	a.suggested++
	r.Needed = cardFields
	switch {
	case r.Remark != "":
	case f.noSet:
		a.explainNoSet(r, f)
	case f.baseName == "":
		r.Remark = "no card has this name"
	default:
		a.explainContradiction(r, f)
	}

	// What was not looked for yet, or by more words than one card has.
	words, all := a.significantWords(strings.Fields(f.query()))
	fewer := all && len(words) > suggestWords && len(words) <= searchWords
	if len(a.matches) == 0 && (f.noSet || f.noGame || fewer) {
		a.search(f, words[:min(len(words), suggestWords)], false)
	}

	a.addNearest(r, f)
	r.Remark += "; give "
	if len(r.Candidates) > 0 {
		r.Remark += "a candidate's id, or "
	}
	r.Remark += r.Needed.Text()
}

// explainNoSet says that no set is called so, and which are nearly.
func (a *Appraiser) explainNoSet(r *Result, f *parsedLine) {
	r.Remark = `no set is called "` + clip(f.item.Set) + `"` + a.nearestSets(f.item.Set)

	// Without the set, the rest of the line still tells candidates.
	rest := f.withoutSet()
	if fits := a.matchAll(rest); len(fits) > 0 {
		r.Needed = SetField | a.neededFields(rest, fits)
		if card, ok := a.lookup.byFuzzySetName(f.item.Set, fits); ok {
			r.add(card)
		}
		r.add(a.topCandidates(rest, fits)...)
	}
}

// maxComparedCards is of how many cards the sets are compared with a misspelt name.
const maxComparedCards = 12

// byFuzzySetName is the card of a few whose set a name may be a misspelling of; false for none.
func (cs catalogLookup) byFuzzySetName(name string, cards []uint32) (card uint32, ok bool) {
	folded := cardvocab.Fold(name)
	if len(cards) > maxComparedCards || len(folded) > maxNearestLen {
		return 0, false
	}

	limit := len(folded)/8 + 2
	for _, one := range cards {
		set := cs.view.Catalog.Cards.Set[one]
		if set == snapshot.NoSet {
			continue
		}
		far := cardvocab.Distance(cardvocab.Fold(cs.view.Catalog.Sets.Name.At(int(set))), folded, limit)
		if far < limit {
			limit = far
			card = one
			ok = true
		}
	}
	return card, ok
}

// nearestSets names the sets that are nearly called so, behind a comma. It compares the name of
// every set, so that it is done for some lines of a list only: nothing but the note tells.
func (a *Appraiser) nearestSets(name string) string {
	a.unknownSets++
	if a.unknownSets > maxNearestSetLines {
		return ""
	}

	perhaps := ""
	for _, set := range a.View.Index.SetNames().Nearest(name) {
		text := `, "` + a.View.Catalog.Sets.Name.At(int(set)) + `"`
		if perhaps != "" && len(perhaps)+len(text) > maxNearestLen {
			break
		}
		perhaps += text
	}
	return strings.Replace(perhaps, ", ", ", perhaps ", 1)
}

// maxNearestLen is how many bytes the names of the nearest sets have in a note, but for the first:
// it stands beside candidates, which tell more.
const maxNearestLen = 100

// maxNearestSetLines is for how many lines of a list the nearest sets are looked for.
const maxNearestSetLines = 10

// explainContradiction says which fact the cards of a name do not have.
func (a *Appraiser) explainContradiction(r *Result, f *parsedLine) {
	r.Remark = "no card fits all that the line says"

	// One fact is left out at a time: where cards fit without it, it is the wrong one.
	if f.hasNumber() {
		a.suggestMatching(r, f.withoutNumber(), NumberField, "no card of this name has the number "+clip(f.number))
	}
	if f.hasSet() && len(r.Candidates) == 0 {
		a.suggestMatching(r, f.withoutSet(), SetField, "no card of this name is in that set")
	}

	if w := a.excludingWord(f); w != nil && len(r.Candidates) == 0 {
		r.Remark += `: no card of this name has "` + clip(w.raw) + `"`
	}
}

// suggestMatching tells the cards that fit a line without one of its facts, what to ask for and
// why.
func (a *Appraiser) suggestMatching(r *Result, rest *parsedLine, wrong FieldSet, text string) {
	if fits := a.matchAll(rest); len(fits) > 0 {
		r.Remark = text
		r.Needed = wrong | a.neededFields(rest, fits)
		r.add(a.topCandidates(rest, fits)...)
	}
}

// excludingWord is the word that keeps a line from the card which has most of it, nil for none.
func (a *Appraiser) excludingWord(f *parsedLine) *word {
	last := -1
	for _, card := range a.View.Index.Lookup().ByBaseName(f.baseName) {
		if a.lookup.passesFilters(f, card) {
			last = max(last, a.lookup.leftover(f, f.words, card, nil))
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

// addNearest adds the cards that a line may mean: what search found, sooner where it is of the
// line's set or number, and what has both.
func (a *Appraiser) addNearest(r *Result, f *parsedLine) {
	slices.SortStableFunc(a.matches, func(x, y index.Match) int {
		return a.lookup.agreement(f, y.Card) - a.lookup.agreement(f, x.Card)
	})

	// Name or number may be the one mistyped: a card of each is to be among the three.
	if len(a.matches) > 0 {
		r.add(a.matches[0].Card)
	}

	if f.hasSet() && f.hasNumber() {
		if found := a.bySetNumber(f); len(found) <= MaxCandidates {
			r.add(found...)
		}
	}

	for _, match := range a.matches[:min(len(a.matches), MaxCandidates)] {
		r.add(match.Card)
	}
}

// agreement is how many of a line's set and number a card has.
func (cs catalogLookup) agreement(f *parsedLine, card uint32) (n int) {
	if f.hasSet() && cs.isIn(card, f.sets) {
		n++
	}
	if f.hasNumber() && contains(f.numbered, card) {
		n++
	}
	return n
}
