package text

import (
	"math/bits"

	"ninepocket/cardvocab"
)

// collect finds the words of the query that each name group and set has. It need not find groups
// that lack more than limit.
func (s *search) collect(limit int) {
	s.begin()
	s.collectSets()

	// Groups are found by the rarest words alone, and then checked for all words.
	rare, size := s.rarestTerms(limit)
	if size >= prefilterMin && len(s.query.terms) >= prefilterTerms {
		s.prefilter(rare, limit)
	} else {
		s.addGroups(rare)
	}
	s.hitGroups()
}

// begin clears the results of the last round.
func (s *search) begin() {
	s.start = allMissing(len(s.query.terms))
	s.prefiltered = false
	s.stamp++

	// The counter wrapped around: old stamps would look new.
	if s.stamp == 0 {
		clear(s.groups)
		clear(s.sets)
		s.stamp = 1
	}

	s.candidates = s.candidates[:0]
	s.candidateSets = s.candidateSets[:0]
}

// hitGroups records all expansions, and the tie terms, in the groups found.
func (s *search) hitGroups() {
	for i := range s.expansions.list {
		s.hitNames(&s.expansions.list[i])
	}
	for i, id := range s.query.tieTerms {
		s.hitNames(&termExpansion{tieTerms: 1 << i, lo: id, hi: id + 1, second: none})
	}
}

// rarestTerms selects terms with few postings that weigh more than limit together. A group without
// any of them lacks too much. "charizard ex" need not visit the thousand names with "ex": with both
// words, a name is among those with "charizard".
//
// Terms that sets or numbers can supply do not count, and if these may be too many, all terms are
// returned. A group without any key term is no hit either, so the key terms are returned if they
// have fewer postings. The second result is the number of postings.
func (s *search) rarestTerms(limit int) (rare uint8, postings int) {
	var size [maxQueryTerms]int
	for i := range s.expansions.list {
		r := &s.expansions.list[i]
		for set := r.bits; set != 0; set &= set - 1 {
			size[bits.TrailingZeros8(set)] += s.ix.names.size(r.lo, r.hi)
		}
	}

	sum := func(terms uint8) (n int) {
		for ; terms != 0; terms &= terms - 1 {
			n += size[bits.TrailingZeros8(terms)]
		}
		return n
	}

	rare = s.heavyTerms(limit, &size)
	postings = sum(rare)
	if limit == 0 {
		return rare, postings
	}

	keyTerms := s.query.keyTerms.terms()
	if keyPostings := sum(keyTerms); keyTerms&(s.suppliable|s.query.optional) == 0 && keyPostings < postings {
		return keyTerms, keyPostings
	}
	return rare, postings
}

// heavyTerms selects the terms with the fewest postings that weigh more than limit together; all
// terms if sets and numbers can supply too many.
func (s *search) heavyTerms(limit int, size *[maxQueryTerms]int) (rare uint8) {
	all := uint8(1<<len(s.query.terms) - 1)
	// A group may lack the weight of limit, so terms that weigh a little more are enough to find
	// it.
	for weight := 0; weight <= limit; {
		pick := -1
		for word := range s.query.terms {
			if bit := uint8(1) << word; (rare|s.suppliable|s.query.optional)&bit == 0 &&
				(pick < 0 || size[word] < size[pick]) {
				pick = word
			}
		}

		if pick < 0 {
			return all
		}

		rare |= 1 << pick
		weight += int(s.query.weight[pick])
	}

	return rare
}

// prefilterMin is the least number of postings, and prefilterTerms the least number of terms, for
// which the prefilter pays. For fewer, recording them costs less.
const prefilterMin, prefilterTerms = 1000, 3

// markPossible records which terms each name group may have, one byte per group.
func (s *search) markPossible() {
	if s.possible == nil {
		s.possible = make([]uint8, len(s.ix.groups))
	}
	clear(s.possible)

	names := &s.ix.names
	for i := range s.expansions.list {
		r := &s.expansions.list[i]
		if r.second != none {
			names.adjacent(r.lo, r.second, func(t, _ uint32) { s.possible[t] |= r.bits })
			continue
		}

		for _, t := range names.doc[names.start[r.lo]:names.start[r.hi]] {
			s.possible[t] |= r.bits
		}
	}
}

// prefilter adds the groups that have a rare term and lack no more than limit, for any class of
// their terms and any contribution of sets. Groups that also need a number are found by the
// number: few cards have it.
func (s *search) prefilter(rare uint8, limit int) {
	s.prefiltered = true
	s.markPossible()
	s.fillMissingBounds()
	numbers := s.numberBits()
	optional := s.query.optional
	var fits [1 << maxQueryTerms]bool
	for terms := range fits {
		fits[terms] = uint8(terms)&rare != 0 && s.missingBounds[uint8(terms)|optional] <= limit
	}

	for t, terms := range s.possible {
		if fits[terms] {
			s.addGroup(uint32(t))
		}
	}

	for _, number := range s.query.numbers {
		for _, id := range [...]uint32{number.exact, number.tail} {
			for _, card := range s.ix.cardsOf(id) {
				t := s.ix.groupOf[card]
				if terms := s.possible[t]; terms&rare != 0 && s.missingBounds[terms|numbers|optional] <= limit {
					s.addGroup(t)
				}
			}
		}
	}
}

// fillMissingBounds computes, for every combination of terms that a group may have, the least
// weight that a card lacks, in any of the sets found.
func (s *search) fillMissingBounds() {
	var inSets [1 << maxQueryTerms]bool
	inSets[0] = true
	for _, set := range s.candidateSets {
		inSets[^s.sets[set].classes.unmatched().terms()&(1<<len(s.query.terms)-1)] = true
	}

	weights := s.query.missingTable()
	s.missingBounds = weights
	for set, is := range inSets {
		if !is || set == 0 {
			continue
		}
		for found := range s.missingBounds {
			s.missingBounds[found] = min(s.missingBounds[found], weights[found|set])
		}
	}
}

// numberBits returns the terms that may be numbers.
func (s *search) numberBits() (numbers uint8) {
	for i := range s.query.numbers {
		numbers |= s.query.numbers[i].bits
	}
	return numbers
}

// addGroups adds the groups of the expansions of rare terms to the candidates.
func (s *search) addGroups(rare uint8) {
	names := &s.ix.names
	for i := range s.expansions.list {
		r := &s.expansions.list[i]
		if r.bits&rare == 0 {
			continue
		}
		if r.second != none {
			names.adjacent(r.lo, r.second, func(t, _ uint32) { s.addGroup(t) })
			continue
		}

		for _, t := range names.doc[names.start[r.lo]:names.start[r.hi]] {
			s.addGroup(t)
		}
	}
}

// hitNames records an expansion in the groups found. It reads the expansion's postings, or the
// words of the groups if these are fewer.
func (s *search) hitNames(r *termExpansion) {
	names := &s.ix.names
	docTerms := &s.ix.docTerms
	switch {
	case r.second != none:
		names.adjacent(r.lo, r.second, func(t, mask uint32) { s.hitName(t, r, mask) })
	case names.size(r.lo, r.hi) > 2*len(s.candidates):
		// Few groups were found, so their words are fewer than the groups of the word.
		for _, t := range s.candidates {
			for i := docTerms.start[t]; i < docTerms.start[t+1]; i++ {
				if w := docTerms.doc[i]; w >= r.lo && w < r.hi {
					s.hitName(t, r, docTerms.mask[i])
				}
			}
		}

	default:
		for i := names.start[r.lo]; i < names.start[r.hi]; i++ {
			s.hitName(names.doc[i], r, names.mask[i])
		}
	}
}

func (s *search) hitName(t uint32, r *termExpansion, mask uint32) {
	f := &s.groups[t]
	switch {
	case f.stamp != s.stamp:
	case r.tieTerms != 0:
		f.tieTerms |= r.tieTerms
		f.covered |= mask &^ qualifierBit
	default:
		f.hit(r.bits, r.class, mask, s.query.repeated)
	}
}

func (s *search) addGroup(t uint32) {
	if f := &s.groups[t]; f.stamp != s.stamp {
		*f = candidate{stamp: s.stamp, classes: s.start, last: -1}
		s.candidates = append(s.candidates, t)
	}
}

// collectSets finds the words of the query that each set has. In the first pass, sets count only by
// their whole names.
func (s *search) collectSets() {
	e := s.by.pass
	for i := range s.expansions.list {
		r := &s.expansions.list[i]
		sets := &s.ix.sets
		codes := &s.ix.codes
		switch {
		case r.second != none:
			sets.adjacent(r.lo, r.second, func(set, mask uint32) { s.hitSet(set, r, mask) })
			continue
		case r.class == exactName || r.class == prefixName || e > passExact:
			for i := sets.start[r.lo]; i < sets.start[r.hi]; i++ {
				s.hitSet(sets.doc[i], r, sets.mask[i])
			}
		}

		// Two words that may be a code together are a guess.
		guess := r.class == prefixName && bits.OnesCount8(r.bits) > 1
		if r.class != exactName && !guess {
			continue
		}

		for i := codes.start[r.lo]; i < codes.start[r.hi]; i++ {
			set := codes.doc[i]
			mask := uint32(0)
			// A code names the set, unless it is the whole query or a suffix of names: then it may
			// be an ordinary word.
			if r.class == exactName && (e > passExact || len(s.query.terms) > 1) && !s.ix.isSuffix(r.lo) {
				mask = s.ix.setWords[set].nameBits
			}
			s.hitSet(set, r, mask)
		}
	}

	for i, id := range s.query.tieTerms {
		for k := s.ix.sets.start[id]; k < s.ix.sets.start[id+1]; k++ {
			if f := &s.sets[s.ix.sets.doc[k]]; f.stamp == s.stamp {
				f.tieTerms |= 1 << i
				f.covered |= s.ix.sets.mask[k]
			}
		}
	}

	s.finishSets()
}

func (s *search) hitSet(set uint32, r *termExpansion, mask uint32) {
	f := &s.sets[set]
	if f.stamp != s.stamp {
		*f = candidate{stamp: s.stamp, classes: s.start, last: -1}
		s.candidateSets = append(s.candidateSets, set)
	}
	f.hit(r.bits, qualifierClass(r.class), mask, s.query.repeated)
}

// finishSets drops the sets that do not count yet and adds the word "set" to the others. It records
// which terms can come from sets and numbers.
func (s *search) finishSets() {
	s.suppliable = 0
	word := uint8(0)
	if i := s.query.index(s.ix.words.word(s.ix.setWord)); i >= 0 {
		word = 1 << i
	}
	remaining := s.candidateSets[:0]
	for _, set := range s.candidateSets {
		f := &s.sets[set]
		core := s.ix.setWords[set].nameBits
		// Part of a set's name is no set if the query has nothing else: "base" alone is an ordinary
		// word.
		if s.by.pass == passExact && f.covered&core != core && !s.hasLongNumber(f) && !s.mayNarrow(f) {
			f.stamp = s.stamp - 1
			continue
		}

		if word != 0 {
			f.classes = f.classes.improve(word, exactQualifier)
		}

		f.named = f.covered&core == core &&
			bits.OnesCount32(f.covered)+bits.OnesCount8(word) >= len(s.query.terms) &&
			s.query.missingWeight(f.classes) == 0
		for word := range s.query.terms {
			if f.classes.at(word) != missing {
				s.suppliable |= 1 << word
			}
		}

		remaining = append(remaining, set)
	}

	s.candidateSets = remaining
	s.suppliableBySet = s.suppliable
	for _, number := range s.query.numbers {
		s.suppliable |= number.bits
	}
}

// mayNarrow reports whether the words found of a set may restrict others. That is so if one of them
// is more than a suffix, and another word that is no integer is left.
func (s *search) mayNarrow(f *candidate) bool {
	hasKeyTerm := false
	others := false
	for word := range s.query.terms {
		switch {
		case f.classes.at(word) == missing:
			others = others || !cardvocab.IsInteger(s.query.terms[word].text)
		case s.query.weight[word] != weightSuffix:
			hasKeyTerm = true
		}
	}

	return hasKeyTerm && others
}

// hasLongNumber reports whether the set was found by a number of three digits or more: 151, 2016.
func (s *search) hasLongNumber(f *candidate) bool {
	for word := range s.query.terms {
		text := s.query.terms[word].text
		if f.classes.at(word) != missing && len(text) >= 3 && cardvocab.IsInteger(text) {
			return true
		}
	}
	return false
}
