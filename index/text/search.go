package text

import (
	"slices"

	"ninepocket/cardvocab"
)

// A Hit is a card that a query means. A smaller Score is a better hit: it packs the levels of the order
// in docs/dev/SEARCH.md, each of which breaks only the ties of earlier levels. Hits with equal scores
// match equally well; their order is the catalog's (decision 22).
type Hit struct {
	Card  uint32
	by    round
	Score uint64
}

// A round is how a search looks for hits: in one pass, and whether cards may lack words.
type round struct {
	pass      pass
	partial   bool // cards may lack words
	noAliases bool // no alias was replaced
}

// HasTerms reports whether a query contains a search term. "And" alone, or an apostrophe alone,
// leaves no term.
func (ix *Index) HasTerms(text string) bool {
	return ix.checkQuery(text, func(q *query) bool { return len(q.terms) > 0 })
}

// DropsCopyWords reports whether the search drops words that identify a copy: a grade, a condition,
// a language, or an alias that was replaced.
func (ix *Index) DropsCopyWords(text string) bool {
	return ix.checkQuery(text, func(q *query) bool { return q.leftOut || q.rewritten })
}

// checkQuery parses a query and reports whether is holds for it.
func (ix *Index) checkQuery(text string, is func(q *query) bool) bool {
	s := ix.take()
	defer ix.scratch.Put(s)
	s.query.parse(ix, text, false)
	return is(&s.query)
}

// Search appends to dst every card that q means and that accept accepts (nil accepts all), in no
// order. A query without a letter or digit means no card.
//
// The whole catalog decides the meaning of q: words count as misspelled only if no card has them
// all as typed. Of the accepted cards, those with the fewest missing words are hits, unless they
// lack more than half. So a filter narrows the result, and if it excludes the best cards, the next
// best count, but only in the games of the best: "roronoa zoro" means no Pokémon card.
func (ix *Index) Search(dst []Hit, q string, accept func(card uint32) bool) []Hit {
	return ix.search(dst, q, accept, passPhonetic)
}

// SearchAsTyped is Search without spelling correction, which costs most of a search.
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

// take returns a scratch search, which goes back to the pool after use.
func (ix *Index) take() *search {
	if s, ok := ix.scratch.Get().(*search); ok {
		return s
	}

	return newSearch(ix)
}

// A search is the working memory of one Search, reused by later ones. It runs in rounds: each makes
// one pass for cards that lack no more than its limit.
type search struct {
	ix         *Index
	query      query
	expansions termExpander

	// Found in a round: collect.
	stamp           uint32
	start           matchClasses // of a name group or set before any match
	groups          []candidate
	sets            []candidate
	candidates      []uint32                // name groups found
	candidateSets   []uint32                // sets found
	suppliable      uint8                   // terms that sets or numbers can supply
	suppliableBySet uint8                   // terms that sets can supply
	prefiltered     bool                    // the groups were prefiltered
	possible        []uint8                 // by name group: the terms that it may have, for the prefilter
	missingBounds   [1 << maxQueryTerms]int // by the terms that a group may have: the least weight that a card lacks

	// Made from this: gather.
	by          round
	accept      func(card uint32) bool
	dst         []Hit
	base        int    // where the round's hits begin in dst
	maxMissing  int    // the largest weight that a card may lack, equal to the missing weight of the hits in dst
	byNumber    bool   // fewer cards have the numbers than groups were found
	bestMissing int    // the least weight that any card lacks, accepted or not; above the query's weight without a card
	games       uint64 // games of the cards that lack least
	only        uint64 // games to which hits are restricted

	lastPass pass // the last pass that is made
	best     int  // the least weight that a card lacks in any round of the query
}

func newSearch(ix *Index) *search {
	s := &search{
		ix: ix, groups: make([]candidate, len(ix.groups)), sets: make([]candidate, len(ix.setWords)),
		only: ^uint64(0),
	}
	s.expansions = termExpander{ix: ix, query: &s.query}
	return s
}

// answer runs the query in the games that it names; if these have no hit, in all games.
func (s *search) answer() {
	s.by = round{}

	// The whole query is the alias or the name of these cards, so it means no other.
	if len(s.query.cards) > 0 {
		s.base = len(s.dst)
		s.bestMissing = 0
		s.maxMissing = 0
		for _, card := range s.query.cards {
			s.collectHit(card, 0, 0)
		}
		return
	}

	s.run()
	if s.best > s.query.total && s.query.games != ^uint64(0) {
		s.query.games = ^uint64(0)
		s.run()
	}
}

// answerWithAliases runs a query that contains an alias. If a card has all words as typed, that
// card is meant: "don big mom" is a card of this name.
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

// run makes passes until it finds cards with all words. If no card has all, it makes passes until
// none finds cards that lack less.
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

		// A further pass found nothing that lacks less.
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

// retryWithoutMinor searches cards that have all words as typed except minor terms, if pass e
// matched all words only by correction. So "pikachu staff" is no Pichu. It returns false, with the
// hits of e unchanged, if there are none.
func (s *search) retryWithoutMinor(e pass, begin int) bool {
	minor := s.query.minorTerms(s.ix)
	if minor == 0 || !s.allCorrected(begin) {
		return false
	}

	// No other term is as light as the minor terms together.
	weights := s.query.termWeights
	limit := s.query.reduceWeight(minor)
	found := s.runRound(passExact, limit, begin) && len(s.dst) > begin && s.maxMissing == s.bestMissing
	s.query.termWeights = weights
	if found {
		s.best = s.bestMissing
		return true
	}

	s.runRound(e, 0, begin)
	return false
}

// allCorrected reports whether there are hits behind begin, and each has a corrected word.
func (s *search) allCorrected(begin int) bool {
	return len(s.dst) > begin &&
		!slices.ContainsFunc(s.dst[begin:], func(hit Hit) bool { return QualityOf(hit.Score).Typos == 0 })
}

// expand lists the expansions of a round. It reports whether they can find more than those of the
// pass before.
func (s *search) expand(e pass, partial bool) bool {
	s.by.pass = e
	s.by.partial = partial
	return s.expansions.expand(s.by)
}

// runRound makes one pass, with its hits behind base. It returns false, without a search, if the
// pass equals the previous pass.
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

// searchUnfiltered searches further if the caller accepted none of the best hits, which pass e
// found. A word that no card has as a separate word may have been misspelled ("ninetails" is
// Nine-Tails in one game and Ninetales in the other). Then later passes may find cards that have
// all words. Otherwise the next best cards count, in the games of the best.
func (s *search) searchUnfiltered(e pass, begin int) {
	if len(s.dst) > begin && s.maxMissing == s.bestMissing {
		return
	}

	// The games of the best hits are fixed from here on.
	games := s.games
	if !s.allTermsKnown() {
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

// allTermsKnown reports whether each term is a number or a word that occurs alone.
func (s *search) allTermsKnown() bool {
	return !slices.ContainsFunc(s.query.terms, func(u queryTerm) bool {
		id := s.ix.words.find(u.text)
		return !u.number && !cardvocab.IsInteger(u.text) && (id == none || s.ix.isUsed(id, onlyJoined))
	})
}
