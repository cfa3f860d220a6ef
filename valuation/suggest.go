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

// allWordsMatch reports whether every word of a line matches a card, its name misspelled or not.
// Search drops words, but a price must not. named reports that a word is of its name and more than
// a suffix.
func (cs catalogLookup) allWordsMatch(f *parsedLine, card uint32) (like, named bool) {
	matcher := cs.matcherOf(f.words, card, false)
	like = cs.leftover(f.words, card, &matcher, f.acceptNear) < 0
	return like, matcher.found
}

// searchWords is how many words of a query search reads; it ignores the rest of a longer name.
const searchWords = 8

// maxMatches is how many cards a search returns at most.
const maxMatches = 100

// searchExact returns the cards whose whole name is the line's. Search accepts words in another
// order, signs, and other spellings. Cards with every word in their names come before cards
// that need a word of their set's name, or a bare integer as their number. The other search
// results stay in a.matches, for suggest.
func (a *Appraiser) searchExact(f *parsedLine) []uint32 {
	words := strings.Fields(f.query())
	significant, all := a.significantWords(words)
	long := len(words) > searchWords || !f.plain && !strings.ContainsAny(f.item.Name, signs)
	if long && (f.plain || len(words) > maxWords) {
		// A correct name of so many words was found by its base name, and no name has more words.
		a.search(f, significant[:min(len(significant), longNameWords)], false)
		return nil
	}

	// If a name has several unknown words, search finds no certain card.
	if !all {
		a.search(f, significant[:min(len(significant), suggestWords)], false)
		return nil
	}
	a.search(f, significant, false)

	// The card of a common name may come after a hundred others: set or number brings it forward.
	if len(a.matches) == maxMatches && (f.hasSet() || f.hasNumber()) {
		a.search(f, words, true)
	}

	a.matching = a.matching[:0]
	for _, match := range a.matches {
		if !match.WholeName || match.Missing > 0 || match.Typos > 0 || long && !match.ExactName || !f.plain &&
			match.OutsideName > 0 ||
			!a.lookup.passesFilters(f, match.Card) {
			continue
		}
		if like, _ := a.lookup.allWordsMatch(f, match.Card); like || match.ExactName {
			a.matching = append(a.matching, match.Card)
		}
	}
	return a.matching
}

// search searches words, among the cards of the line's set and number or among all.
func (a *Appraiser) search(f *parsedLine, words []string, narrow bool) {
	a.matches = a.matches[:0]
	if len(words) == 0 {
		return
	}

	q := index.Query{Filter: index.NoFilter, Words: strings.Join(words, " "), HasWords: true}
	q.Filter.Game = f.item.Game
	if narrow {
		q.Filter.Number = f.number

		// A set that was found only by similarity has a name that search does not know.
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

// maxFuzzyLines is the number of unmatched lines of a list for which search corrects typing
// errors: that costs most, and only finds candidates. A price does not depend on other lines:
// if set and number identify the card, errors are corrected on every line.
const maxFuzzyLines = 25

// maxSearchedUnknown is the number of unknown words that a search gets: each is compared with all words of
// the catalog (docs/dev/SEARCH.md, Cost). One or two words of a card's name may be misspelled. A name with
// more than maxNameUnknown unknown words is no card's name, and is not searched.
//
// If a text has more than maxTextUnknown, more than three belong to the name: no line has so many
// about its copy and its condition.
const (
	maxSearchedUnknown = 2
	maxNameUnknown     = 3
	maxTextUnknown     = 10
)

// reject sets the result of a line that is not searched.
func (r *Result) reject(why string) {
	r.Needed = cardFields
	r.Remark = why + "; give " + r.Needed.Text()
}

// tooManyUnknown reports whether a line has so many unknown words that it can mean no card.
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

// mayBeMisspelt reports whether a folded unknown word may be a misspelling of a known one.
func mayBeMisspelt(w string) bool {
	return len(w) > maxSuffixLen && !strings.ContainsAny(w, "0123456789")
}

// significantWords returns the words of a name that a search gets: the known ones, and the first
// few of the others. all reports that none was dropped. The result for a line does not depend on
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

// unknownWords counts the unknown words of a text that may be misspelled.
func (a *Appraiser) unknownWords(text string) (n int) {
	a.parts = foldedWords(a.parts[:0], text)
	for _, w := range a.parts {
		if _, known := a.View.Index.Lookup().TermID(w); !known && mayBeMisspelt(w) {
			n++
		}
	}
	return n
}

// query returns the line's name without the words of other fields.
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

// suggestWords is the number of a name's words that suffice for candidates: a search corrects
// the errors of each word, which costs time.
const suggestWords = 4

// longNameWords is how many words are enough of a name with more words than search reads.
const longNameWords = 3

// suggest sets the result of a line that no card matches, with the nearest cards and the fields
// that would settle it.
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

	// Search again if there was no search yet, or one by more words than a card has.
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

// explainNoSet sets the remark that no set has this name, and which names are similar.
func (a *Appraiser) explainNoSet(r *Result, f *parsedLine) {
	r.Remark = `no set is called "` + clip(f.item.Set) + `"` + a.nearestSets(f.item.Set)

	// Without the set, the rest of the line still finds candidates.
	rest := f.withoutSet()
	if fits := a.matchAll(rest); len(fits) > 0 {
		r.Needed = SetField | a.neededFields(rest, fits)
		if card, ok := a.lookup.byFuzzySetName(f.item.Set, fits); ok {
			r.addCandidates(card)
		}
		r.addCandidates(a.topCandidates(rest, fits)...)
	}
}

// maxComparedCards is the maximum number of cards whose sets are compared with a misspelled name.
const maxComparedCards = 12

// byFuzzySetName returns the card among a few whose set's name is most similar to a name; false if
// none is.
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

// nearestSets names the sets with similar names, after a comma. It compares the name of every set,
// so it does that for some lines of a list only: the result affects nothing but the remark.
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

// maxNearestLen bounds the names of the nearest sets in a remark, in bytes, except the first. The
// candidates next to it say more.
const maxNearestLen = 100

// maxNearestSetLines is for how many lines of a list the nearest sets are searched.
const maxNearestSetLines = 10

// explainContradiction sets the remark which field the cards of a name do not match.
func (a *Appraiser) explainContradiction(r *Result, f *parsedLine) {
	r.Remark = "no card fits all that the line says"

	// If a card of this name has number and set, a word is wrong.
	word := a.excludingWord(f)
	if word != nil && f.hasNumber() {
		r.Remark += `: no card of this name and number has "` + clip(word.raw) + `"`
		a.matching = a.matching[:0]
		for _, card := range a.View.Index.Lookup().ByBaseName(f.baseName) {
			if a.lookup.passesFilters(f, card) {
				a.matching = append(a.matching, card)
			}
		}

		// The wrong word may be a misspelt one, of which the search has the nearest card.
		isMatching := func(match index.Match) bool { return slices.Contains(a.matching, match.Card) }
		if at := slices.IndexFunc(a.matches, isMatching); at >= 0 {
			r.addCandidates(a.matches[at].Card)
		}
		r.addCandidates(a.topCandidates(f, a.matching)...)
		return
	}

	// Each field is dropped in turn: if cards match without it, it is the wrong one.
	if f.hasNumber() {
		a.suggestMatching(r, f.withoutNumber(), NumberField, "no card of this name has the number "+clip(f.number))
	}
	if f.hasSet() && len(r.Candidates) == 0 {
		a.suggestMatching(r, f.withoutSet(), SetField, "no card of this name is in that set")
	}

	if word != nil && len(r.Candidates) == 0 {
		r.Remark += `: no card of this name has "` + clip(word.raw) + `"`
	}
}

// suggestMatching adds the cards that match a line without one of its fields, the needed fields,
// and a remark.
func (a *Appraiser) suggestMatching(r *Result, rest *parsedLine, wrong FieldSet, text string) {
	if fits := a.matchAll(rest); len(fits) > 0 {
		r.Remark = text
		r.Needed = wrong | a.neededFields(rest, fits)
		r.addCandidates(a.topCandidates(rest, fits)...)
	}
}

// excludingWord returns the word that excludes the card which matches most of a line, nil for none.
func (a *Appraiser) excludingWord(f *parsedLine) *word {
	last := -1
	for _, card := range a.View.Index.Lookup().ByBaseName(f.baseName) {
		if a.lookup.passesFilters(f, card) {
			last = max(last, a.lookup.leftover(f.words, card, nil, f.acceptNear))
		}
	}
	if last < 0 {
		return nil
	}
	return &f.words[last]
}

// addCandidates adds candidates, each once, up to the limit.
func (r *Result) addCandidates(cards ...uint32) {
	for _, card := range cards {
		if len(r.Candidates) < MaxCandidates && !slices.Contains(r.Candidates, card) {
			r.Candidates = append(r.Candidates, card)
		}
	}
}

// addNearest adds the cards that a line may mean. These are the results of the search, with cards
// of the line's set or number first, and then the cards that have both.
func (a *Appraiser) addNearest(r *Result, f *parsedLine) {
	slices.SortStableFunc(a.matches, func(x, y index.Match) int {
		return a.lookup.agreement(f, y.Card) - a.lookup.agreement(f, x.Card)
	})

	// The name or the number may be mistyped: the three candidates have a card for each case.
	if len(a.matches) > 0 {
		r.addCandidates(a.matches[0].Card)
	}

	if f.hasSet() && f.hasNumber() {
		if found := a.bySetNumber(f); len(found) <= MaxCandidates {
			r.addCandidates(found...)
		}
	}

	a.addNumbered(r, f)
	for _, match := range a.matches[:min(len(a.matches), MaxCandidates)] {
		r.addCandidates(match.Card)
	}
}

// addNumbered adds the cards with a whole number of a line, regardless of the name: the name may be in
// another language, or misheard.
func (a *Appraiser) addNumbered(r *Result, f *parsedLine) {
	for i := range f.words {
		w := &f.words[i]
		if w.role == numberWord && !w.isBare() && len(w.cards) > 0 {
			r.addCandidates(a.topCandidates(f, w.cards)...)
		}
	}
}

// sealedProducts are the products that hold cards.
var sealedProducts = regexp.MustCompile(`(?i)\b(?:booster\s+(?:box|pack|bundle|case|display)(?:e?s)?|` +
	`elite\s+trainer\s+box(?:es)?|etbs?|tins?|blisters?|bundles?|displays?|case|upc|premium\s+collection|` +
	`collection\s+box(?:es)?|build\s*(?:&|and)\s*battle|theme\s+decks?)\b`)

// isSealed reports whether a line is of a sealed product: it has no collector number.
func (f *parsedLine) isSealed() bool {
	isWhole := func(w word) bool { return w.role == numberWord && !w.isBare() && len(w.cards) > 0 }
	return !f.hasNumber() && !slices.ContainsFunc(f.words, isWhole) &&
		sealedProducts.MatchString(cmp.Or(f.item.Line, f.item.Name))
}

// agreement counts which of a line's set and number a card has.
func (cs catalogLookup) agreement(f *parsedLine, card uint32) (n int) {
	if f.hasSet() && cs.isIn(card, f.sets) {
		n++
	}
	if f.hasNumber() && index.Contains(f.numbered, card) {
		n++
	}
	return n
}
