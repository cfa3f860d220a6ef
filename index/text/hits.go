package text

import "math/bits"

// gather appends the hits among the cards of the groups, sets and numbers found: those that lack
// the least, and at most limit.
func (s *search) gather(limit int) {
	n := s.query.total + 1
	s.maxMissing = limit
	s.bestMissing = n
	s.games = 0
	s.byNumber = s.numberCards() < len(s.candidates)
	// The groups that may be best come first, so that the others are soon excluded.
	own := n
	first := 0 // how many groups lack own
	known := s.start
	weight := s.query.missingWeight(known)
	for _, t := range s.candidates {
		f := &s.groups[t]
		// Many groups of few words have the same classes.
		if f.classes != known {
			known = f.classes
			weight = s.query.missingWeight(known)
		}

		f.missingWeight = uint8(weight)
		switch {
		case weight < own:
			own = weight
			first = 1
		case weight == own:
			first++
		}
	}

	for _, t := range s.candidates {
		if int(s.groups[t].missingWeight) == own {
			s.gatherGroup(t)
		}
	}
	if first < len(s.candidates) {
		for _, t := range s.candidates {
			if int(s.groups[t].missingWeight) != own {
				s.gatherGroup(t)
			}
		}
	}

	// Sets and numbers add cards whose names have none of the words.
	numbers := s.numberBits()
	for _, set := range s.candidateSets {
		if s.query.missingWeight(s.sets[set].classes.improve(numbers, exactName)) > s.maxMissing {
			continue
		}
		for _, card := range s.ix.setCard.Of(set) {
			if s.groups[s.ix.groupOf[card]].stamp != s.stamp {
				s.gatherCard(card, nil)
			}
		}
	}

	// For most queries, a number without a name or a set is not enough.
	if s.byNumber || s.query.missingWeight(s.start.improve(numbers|s.query.optional, exactName)) <= s.maxMissing {
		for i, number := range s.query.numbers {
			s.gatherNumber(i, number.exact)
			s.gatherNumber(i, number.tail)
		}
	}
}

// numberCards counts the cards that have a number of the query.
func (s *search) numberCards() (n int) {
	for _, number := range s.query.numbers {
		n += len(s.ix.cardsOf(number.exact)) + len(s.ix.cardsOf(number.tail))
	}
	return n
}

// cardsOf returns the cards that are indexed under a number, none for no number.
func (ix *Index) cardsOf(number uint32) []uint32 {
	if number == none {
		return nil
	}
	return ix.numberCard.Of(number)
}

func (s *search) gatherGroup(t uint32) {
	f := &s.groups[t]
	if s.suppliable == 0 && s.query.optional == 0 {
		weight := int(f.missingWeight)
		group := &s.ix.groups[t]
		if weight > s.maxMissing ||
			weight > 0 && (matchesTooLittle(group, f) || s.query.missesKeyTerm(f.classes, group, f)) {
			return
		}

		// Only the name matches these cards, so all of them have the same score, except for
		// preferences.
		score := s.query.score(&evidence{all: f.classes, missingWeight: weight, number: noNumber}, 0, group, f)
		hasPreferences := len(s.query.preferences) > 0
		for _, card := range s.ix.groupCards.Of(t) {
			unmet := uint64(0)
			level := uint64(0)
			if hasPreferences {
				unmet, level = s.unmet(card)
			}
			s.collectHit(card, weight, score|unmet<<unmetAt|level)
		}

		return
	}

	if f.missingWeight > 0 {
		if s.minMissing(t, s.suppliable, s.numberBits()) > s.maxMissing {
			return
		}
		// If a set cannot supply enough, a number must.
		if s.byNumber && s.minMissing(t, s.suppliableBySet, 0) > s.maxMissing {
			f.byNumber = true
			return
		}
	}

	for _, card := range s.ix.groupCards.Of(t) {
		s.gatherCard(card, f)
	}
}

// minMissing is the least weight that a card of a name group lacks, if sets add some terms and
// numbers others.
func (s *search) minMissing(t uint32, sets, numbers uint8) int {
	if s.prefiltered {
		return s.missingBounds[s.possible[t]|numbers|s.query.optional]
	}
	return s.query.missingWeight(s.groups[t].classes.improve(sets|numbers|s.query.optional, exactName))
}

// gatherNumber offers the cards with a number whose groups and sets were not found, or whose groups
// lack too much without it, each once.
func (s *search) gatherNumber(index int, number uint32) {
	for _, card := range s.ix.cardsOf(number) {
		f := &s.groups[s.ix.groupOf[card]]
		switch {
		case f.stamp != s.stamp:
			f = nil
			if s.setOf(card) != nil {
				continue
			}
		case !f.byNumber:
			continue
		}

		// A card of an earlier number is not offered again.
		first := 0
		for first < index && s.numberLevel(card, &s.query.numbers[first]) == noNumber {
			first++
		}

		if first == index {
			s.gatherCard(card, f)
		}
	}
}

func (s *search) setOf(card uint32) *candidate {
	// Without a set, none of the many cards is looked up.
	if len(s.candidateSets) == 0 {
		return nil
	}

	set := s.ix.setOf[card]
	if set < 0 || s.sets[set].stamp != s.stamp {
		return nil
	}
	return &s.sets[set]
}

// evidence is the part of a query that a card matches.
type evidence struct {
	all           matchClasses
	missingWeight int        // the weight of the missing words
	set           *candidate // nil where its set was not found
	wholeSet      bool       // the query has the set's whole name, or a word that only this set has
	number        uint64     // how well its number matches: numberAndTotal and so on
	numbers       uint8      // the terms that are its number
}

// collect computes the matches of a card whose name group was found as f, nil if it was not found.
func (ev *evidence) collect(s *search, card uint32, f *candidate) {
	own := s.start
	if f != nil {
		own = f.classes
	}

	if s.query.optional != 0 {
		own = s.improveYear(card, own)
	}

	// The best match counts: "4/102" is the number itself, "4" a bare integer.
	number := noNumber
	numbers := uint8(0)
	for i := range s.query.numbers {
		wanted := &s.query.numbers[i]
		level := s.numberLevel(card, wanted)
		switch level {
		case noNumber:
			continue
		case numberOff:
			// The total differs: it may be mistyped.
			own = own.improve(wanted.bits, typoQualifier)
			level = numberLoose
		default:
			own = own.improve(wanted.bits, wanted.class)
		}

		numbers |= wanted.bits
		if wanted.class != bareNumber {
			number = min(number, level)
		}
	}

	set := s.setOf(card)
	all := own
	wholeSet := false
	if set != nil {
		all = own.best(set.classes)
		wholeSet = s.isWhole(uint32(s.ix.setOf[card]), set)
	}

	weight := s.query.missingWeight(all)
	if weight > 0 && set != nil && !wholeSet {
		// If words are missing, common words in part of a set's name do not count.
		all = own.best(set.classes | s.query.stopTerms)
		weight = s.query.missingWeight(all)
	}
	*ev = evidence{all, weight, set, wholeSet, number, numbers}
}

// gatherCard offers a card with the contributions of its set and number. f is its name group, nil
// if that was not found.
func (s *search) gatherCard(card uint32, f *candidate) {
	var ev evidence
	ev.collect(s, card, f)
	if ev.missingWeight > s.maxMissing {
		return
	}

	t := &s.ix.groups[s.ix.groupOf[card]]
	if ev.missingWeight > 0 && ev.number == noNumber {
		if f != nil && ev.set == nil && matchesTooLittle(t, f) {
			return
		}
		if (!ev.wholeSet || !s.hasSetName(card)) && s.query.missesKeyTerm(ev.all, t, f) {
			return
		}
	}

	unmet, level := s.unmet(card)
	s.collectHit(card, ev.missingWeight, s.query.score(&ev, unmet, t, f)|level)
}

// matchesTooLittle reports whether less than a third of a name was found: if words of the query are
// also missing, that is no hit.
func matchesTooLittle(t *nameGroup, f *candidate) bool {
	return 3*bits.OnesCount32(f.covered&t.nameBits) < bits.OnesCount32(t.nameBits)
}

// missesKeyTerm reports whether a heavy term is missing from a query of three or more, and less than half
// of a name was found. So "blue eyes white dragon" is no card named "Blue Dragon" and more.
func (q *query) missesKeyTerm(all matchClasses, t *nameGroup, f *candidate) bool {
	if len(q.terms) < 3 || all.unmatched()&q.heavy == 0 {
		return false
	}
	if f == nil || (^f.classes.unmatched()&0x11111111)&q.keyTerms == 0 {
		return true
	}
	strong := t.nameBits &^ t.suffixBits
	return 2*bits.OnesCount32(f.covered&strong) < bits.OnesCount32(strong)
}

// isWhole reports whether the query has a set's whole name, or a word that only this set has.
func (s *search) isWhole(set uint32, f *candidate) bool {
	core := s.ix.setWords[set].nameBits
	return core != 0 && (f.covered&core == core || f.covered&s.ix.setOwn[set] != 0)
}

// hasSetName reports whether the query has all words of the name of a card's set, which was found.
func (s *search) hasSetName(card uint32) bool {
	set := s.ix.setOf[card]
	core := s.ix.setWords[set].nameBits
	return s.sets[set].covered&core == core
}

// improveYear counts a year as matched by cards whose set was released in it.
func (s *search) improveYear(card uint32, all matchClasses) matchClasses {
	set := s.ix.setOf[card]
	if set < 0 || s.ix.setYear[set] == 0 {
		return all
	}

	for word := range s.query.terms {
		if s.query.optional>>word&1 != 0 && trailingInt(string(s.query.terms[word].text)) == s.ix.setYear[set] {
			all = all.improve(1<<word, exactQualifier)
		}
	}

	return all
}

// numberLevel returns how well the card's number matches the number of the query.
func (s *search) numberLevel(card uint32, number *numberCandidate) uint64 {
	ix := s.ix
	level := numberAlone
	switch {
	case ix.numberOf[card] == none:
		return noNumber
	case ix.numberOf[card] == number.exact, ix.tailOf[card] == number.tail && number.tail != none:
	case ix.baseOf[card] == number.exact:
		level = numberLoose
	default:
		return noNumber
	}

	if number.total == 0 {
		return level
	}

	total := ix.totalOf[card]
	// A known total must agree.
	if total != 0 && total != number.total {
		if s.by.pass >= passFuzzy {
			return numberOff
		}
		return noNumber
	}
	if level == numberLoose {
		return level
	}

	return s.totalLevel(card, number.total, total)
}

// totalLevel returns how well a card with the correct number matches the total of the query. Its
// own total is equal, or unknown (0).
func (s *search) totalLevel(card uint32, wanted, own uint16) uint64 {
	set := s.ix.setOf[card]
	if set < 0 {
		return numberAlone
	}

	switch setTotal := s.ix.setTotal[set]; {
	case setTotal == wanted:
		return numberAndTotal
	case own == 0 && setTotal != 0 && setTotal < wanted:
		return numberLoose
	}

	return numberAlone
}

// collectHit takes a card that lacks weight. The card counts for the meaning of the query; it is a
// hit if the caller accepts it and no card lacks less.
func (s *search) collectHit(card uint32, weight int, score uint64) {
	game := uint64(1) << min(s.ix.gameOf[card], 63)
	if game&s.query.games == 0 {
		return
	}

	if weight < s.bestMissing {
		s.bestMissing = weight
		s.games = 0
	}

	if weight == s.bestMissing {
		s.games |= game
	}

	// The card was counted for the query's meaning above; here the caller's filter applies.
	if s.only&game == 0 || s.accept != nil && !s.accept(card) {
		return
	}

	if weight < s.maxMissing {
		s.maxMissing = weight
		s.dst = s.dst[:s.base]
	}

	s.dst = append(s.dst, Hit{Card: card, by: s.by, Score: score})
}
