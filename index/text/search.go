package text

import (
	"slices"

	"ninepocket/cardvocab"
)

// A Hit is a card that a query means. A smaller Score is a better hit: it packs the levels of the
// order in docs/SEARCH.md, each of which only breaks the ties of those before. Hits with equal
// scores fit equally well; their order is the catalog's (decision 22).
type Hit struct {
	Card  uint32
	by    round
	Score uint64
}

// A round is how a search looks for hits: by one effort, at all cards that lack no more than a limit.
type round struct {
	pass      pass
	partial   bool // the limit is more than nothing
	noAliases bool // no word was read as another name
}

// HasTerms reports whether a query has anything to look for. "And", or an apostrophe alone, has
// not: nothing is left of it.
func (ix *Index) HasTerms(text string) bool {
	return ix.asked(text, func(q *query) bool { return len(q.terms) > 0 })
}

// DropsCopyWords reports whether the search drops words that identify a copy: a grade, a condition,
// a language, or another name for what was looked for.
func (ix *Index) DropsCopyWords(text string) bool {
	return ix.asked(text, func(q *query) bool { return q.leftOut || q.rewritten })
}

// asked takes a query apart and reports what is said of it.
func (ix *Index) asked(text string, is func(q *query) bool) bool {
	s := ix.take()
	defer ix.scratch.Put(s)
	s.query.parse(ix, text, false)
	return is(&s.query)
}

// Search appends to dst every card that q means and that keep accepts (nil keeps all), in no order.
// A query without a letter or digit means no card.
//
// What q means is decided by the whole catalog: words are taken for misspelled only where no card
// has them all as they were typed. Of the cards kept, those with the fewest missing words are hits,
// and never one that lacks more than half. So a filter narrows the answer, and where it leaves
// nothing of the best answer, the next best one counts; but only in the games of the best: "roronoa
// zoro" means no Pokémon card.
func (ix *Index) Search(dst []Hit, q string, accept func(card uint32) bool) []Hit {
	return ix.search(dst, q, accept, passPhonetic)
}

// SearchAsTyped is Search without spelling correction, which is most of its cost.
func (ix *Index) SearchAsTyped(dst []Hit, q string, accept func(card uint32) bool) []Hit {
	return ix.search(dst, q, accept, passExact)
}

func (ix *Index) search(dst []Hit, q string, accept func(card uint32) bool, lastPass pass) []Hit {
	s := ix.take()
	s.lastPass = lastPass
	s.accept = accept
	s.dst = dst
	s.query.parse(ix, q, false)
	switch {
	case len(s.query.terms) == 0:
	case s.query.rewritten && !s.query.rewrittenWhole:
		s.answerWithAliases(q)
	default:
		s.answer()
	}

	dst = s.dst
	s.accept = nil
	s.dst = nil
	ix.scratch.Put(s)
	return dst
}

// take returns scratch memory, which goes back to the pool after use.
func (ix *Index) take() *search {
	if s, ok := ix.scratch.Get().(*search); ok {
		return s
	}

	return newSearch(ix)
}

// A search is the scratch memory of one Search, reused by later ones. It goes on in rounds: each
// makes one effort to find cards that lack no more words than its limit.
type search struct {
	ix         *Index
	query      query
	expansions termExpander

	// What a round found out: collect.
	stamp           uint32
	start           matchClasses // of a title or set of which nothing was found
	groups          []candidate
	sets            []candidate
	candidates      []uint32                // titles found
	candidateSets   []uint32                // sets found
	suppliable      uint8                   // words that sets or numbers can supply
	suppliableBySet uint8                   // those of sets
	prefiltered     bool                    // the titles were thinned
	possible        []uint8                 // by title: the units that it may have, while titles are thinned
	missingBounds   [1 << maxQueryTerms]int // by the units that a title may have: what a card lacks at least

	// What it makes of that: gather.
	by          round
	accept      func(card uint32) bool
	dst         []Hit
	base        int    // where the round's hits begin in dst
	maxMissing  int    // the most that a card may lack, and what the hits in dst do lack
	byNumber    bool   // fewer cards have the numbers than titles were found
	bestMissing int    // the least that any card lacks, kept or not; more than the query's weight for no card
	games       uint64 // games of the cards that lack least
	only        uint64 // games to which hits are restricted

	lastPass pass // that is made
	best     int  // the least that a card lacks in any round of the query
}

func newSearch(ix *Index) *search {
	s := &search{
		ix: ix, groups: make([]candidate, len(ix.groups)), sets: make([]candidate, len(ix.setWords)),
		lastPass: passPhonetic,
		only:     ^uint64(0),
	}
	s.expansions = termExpander{ix: ix, query: &s.query}
	return s
}

// answer runs the query, in the games that it names; where these have nothing, in all.
func (s *search) answer() {
	s.by = round{}

	// The whole query is another name of one card, so that no other is meant.
	if s.query.card != none {
		s.base = len(s.dst)
		s.bestMissing = 0
		s.maxMissing = 0
		s.collectHit(s.query.card, 0, 0)
		return
	}

	s.run()
	if s.best > s.query.total && s.query.games != ^uint64(0) {
		s.query.games = ^uint64(0)
		s.run()
	}
}

// answerWithAliases runs a query in which words are another name. Where a card has all of them as
// they were typed, that is meant: "don big mom" is a card of this name.
func (s *search) answerWithAliases(text string) {
	begin := len(s.dst)
	s.query.parse(s.ix, text, true)
	s.by.noAliases = true
	if s.runRound(passExact, 0, begin) && s.bestMissing == 0 && len(s.dst) > begin {
		s.best = 0
		return
	}

	s.query.parse(s.ix, text, false)
	s.dst = s.dst[:begin]
	s.answer()
}

// run makes efforts until cards with all words are found, then, when none has them, until no effort
// finds cards that lack less.
func (s *search) run() {
	begin := len(s.dst)
	s.best = s.query.total + 1
	for e := passExact; e <= s.lastPass; e++ {
		if !s.runRound(e, 0, begin) {
			continue
		}
		if s.bestMissing == 0 {
			if e >= passFuzzy && s.retryWithoutMinor(e, begin) {
				return
			}
			s.best = 0
			s.searchUnfiltered(e, begin)
			return
		}
	}

	for e := passExact; e <= min(passFuzzyPrefix, s.lastPass) && s.best > s.query.minWeight &&
		len(s.query.terms) > 1; e++ {
		end := len(s.dst)
		if !s.runRound(e, min(s.query.total/2, s.best-1), end) {
			continue
		}

		// More effort found nothing that lacks less.
		if s.bestMissing >= s.best {
			s.dst = s.dst[:end]
			continue
		}

		s.best = s.bestMissing
		s.dst = append(s.dst[:begin], s.dst[end:]...)
		s.base = begin
		s.searchUnfiltered(e, begin)
	}
}

// retryWithoutMinor looks for cards that have all words as they were typed but some that only
// qualify names, where effort e found all words by respelling: "pikachu staff" is no Pichu. It says
// false, the hits of e being what they were, where there are none.
func (s *search) retryWithoutMinor(e pass, begin int) bool {
	minor := s.query.minorTerms(s.ix)
	if minor == 0 || !s.allCorrected(begin) {
		return false
	}

	// No word but a note is as light as they together.
	weight := s.query.weight
	total := s.query.total
	limit := s.query.reduceWeight(minor)
	found := s.runRound(passExact, limit, begin) && len(s.dst) > begin && s.maxMissing == s.bestMissing
	s.query.weight = weight
	s.query.total = total
	if found {
		s.best = s.bestMissing
		return true
	}

	s.runRound(e, 0, begin)
	return false
}

// allCorrected says whether each hit behind begin, of which there are some, has a word that was
// typed otherwise.
func (s *search) allCorrected(begin int) bool {
	return len(s.dst) > begin &&
		!slices.ContainsFunc(s.dst[begin:], func(hit Hit) bool { return QualityOf(hit.Score).Typos == 0 })
}

// expand lists the readings of a round. It says whether they can find more than those of the effort before.
func (s *search) expand(e pass, partial bool) bool {
	s.by.pass = e
	s.by.partial = partial
	return s.expansions.expand(s.by)
}

// runRound makes one effort, its hits behind base. It says false, having done nothing, where the
// effort is the same as the one before.
func (s *search) runRound(e pass, limit, base int) bool {
	if !s.expand(e, limit > 0) {
		return false
	}

	s.dst = s.dst[:base]
	s.base = base
	s.collect(limit)
	s.gather(limit)
	return true
}

// searchUnfiltered looks for other hits where keep left none of the best ones, which effort e
// found. A word that no card knows as a word of its own may have been misspelled after all
// ("ninetails" is Nine-Tails in one game and Ninetales in the other): then further efforts may find
// cards that have all words. Else the next best cards count, in the games of the best.
func (s *search) searchUnfiltered(e pass, begin int) {
	if len(s.dst) > begin && s.maxMissing == s.bestMissing {
		return
	}

	// Whatever is looked for from here on, the games of the best stay what they were.
	games := s.games
	if !s.knowsAll() {
		for next := e + 1; next <= passFuzzyPrefix; next++ {
			if s.runRound(next, 0, begin) && len(s.dst) > begin {
				return
			}
		}
	}

	s.only = games
	s.runRound(e, s.query.total/2, begin)
	s.only = ^uint64(0)
}

// knowsAll says whether each unit is a word that stands alone somewhere, or a number.
func (s *search) knowsAll() bool {
	for i := range s.query.terms {
		u := &s.query.terms[i]
		id := s.ix.words.find(u.text)
		if !u.number && !cardvocab.IsInteger(u.text) && (id == none || s.ix.isUsed(id, onlyJoined)) {
			return false
		}
	}

	return true
}
