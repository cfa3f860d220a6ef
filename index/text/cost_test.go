package text

import (
	"math/rand/v2"
	"testing"
)

// TestWorstCost checks that the steps of any search stay within a few passes over the words of all
// names, and that queries with one rare word do not pay for their common ones.
func TestWorstCost(t *testing.T) {
	ix := syntheticIndex(t, 30_000)
	all := len(ix.names.doc) + len(ix.groupOf)
	cost := func(q string) int { return stepsOf(newSearch(ix), q) }

	for _, q := range []string{
		longQuery, broadQuery(ix), commonQuery, "ex vmax", "ex v gx", "v", "1",
		"full art ex v",
	} {
		if steps := cost(q); steps > 3*all {
			t.Errorf("%.40q takes %d steps, over three times the %d words and cards", q, steps, all)
		}
	}

	rng := rand.New(rand.NewPCG(2, 2))
	for range 2000 {
		q := make([]byte, 200)
		for i := range q {
			q[i] = "abdeghiorsvxz 14/#-'"[rng.IntN(20)]
		}
		if steps := cost(string(q)); steps > 3*all {
			t.Errorf("%q takes %d steps, over three times the %d words and cards", q, steps, all)
		}
	}

	for _, q := range []string{"charizard ex", "charizrd ex", "ex charizard", "charizard 1/150"} {
		if steps := cost(q); steps > 500 {
			t.Errorf("%q takes %d steps", q, steps)
		}
	}
}

// stepsOf is the number of postings and cards that a search for q visits. It makes the rounds of run:
// until cards with all words are found, then for cards that lack some.
func stepsOf(s *search, q string) (steps int) {
	s.query.parse(s.ix, q, false)
	if len(s.query.terms) == 0 {
		return 0
	}

	s.accept = func(uint32) bool {
		steps++
		return true
	}
	for e := passExact; e <= passPhonetic; e++ {
		if !s.runRound(e, 0, 0) {
			continue
		}
		steps += s.lookedAt(0)
		if s.bestMissing == 0 {
			return steps
		}
	}
	for e := passExact; e <= passFuzzyPrefix && len(s.query.terms) > 1; e++ {
		if s.runRound(e, s.query.total/2, 0) {
			steps += s.lookedAt(s.query.total / 2)
		}
	}
	return steps
}

// lookedAt is how many postings and name groups the current round visited.
func (s *search) lookedAt(limit int) int {
	rare, _ := s.rarestTerms(limit)
	steps := 3 * len(s.candidates)
	for i := range s.expansions.list {
		r := &s.expansions.list[i]
		size := s.ix.names.size(r.lo, r.hi)
		steps += min(size, 2*len(s.candidates))
		if s.prefiltered || r.bits&rare != 0 {
			steps += size
		}
	}
	return steps
}

// TestBoundedExpansion holds that a query is read up to eight terms of forty bytes, and a word
// expanded to no more words than its bounds.
func TestBoundedExpansion(t *testing.T) {
	ix := syntheticIndex(t, 30_000)
	var q query
	q.parse(ix, longQuery+" one two three four five six seven eight nine ten eleven twelve", false)
	if len(q.terms) > maxQueryTerms {
		t.Errorf("%d units", len(q.terms))
	}

	for _, u := range q.terms {
		if len(u.text) > maxWord {
			t.Errorf("a unit has %d bytes", len(u.text))
		}
	}

	for w := range uint32(ix.words.len()) {
		if w%50 != 0 {
			continue
		}

		word := ix.words.word(w)
		if n := len(ix.expander.expand(word, typos)); n > maxNear {
			t.Fatalf("%q expands to %d words", word, n)
		}

		if n := len(ix.expander.expand(word, typoPrefix)); n > maxNearPrefix {
			t.Fatalf("%q begins %d words", word, n)
		}
	}
}
