package text

import (
	"math/bits"

	"ninepocket/collector"
)

// collect finds out which words of the query each title and set has. Titles that lack more than
// limit words need not be found.
func (s *search) collect(limit int) {
	s.begin()
	s.collectSets()

	// Titles are found by their rarest words alone, and then looked at with all of them.
	rare, size := s.rarest(limit)
	if size >= thinFrom && len(s.query.units) >= thinUnits {
		s.thin(rare, limit)
	} else {
		s.touch(rare)
	}
	s.hitTitles()
}

// begin forgets what the round before found.
func (s *search) begin() {
	s.start = allMissing(len(s.query.units))
	s.thinned = false
	s.stamp++

	// The counter went round: old stamps would look new.
	if s.stamp == 0 {
		clear(s.titles)
		clear(s.sets)
		s.stamp = 1
	}

	s.touched = s.touched[:0]
	s.inSets = s.inSets[:0]
}

// hitTitles notes all readings, and the words beyond the units, in the titles found.
func (s *search) hitTitles() {
	for i := range s.readings.list {
		s.hitNames(&s.readings.list[i])
	}
	for i, id := range s.query.further {
		s.hitNames(&reading{further: 1 << i, lo: id, hi: id + 1, second: none})
	}
}

// rarest picks words with few postings that weigh more than limit together. A title without any of
// them lacks too much. "charizard ex" need not visit the thousand names with "ex": with both words,
// a name is among those with "charizard". Words that sets or numbers can supply do not count, and
// where they may be too many, all words are returned. A title without any word that tells is no hit
// either, so that these are enough where they have fewer postings. It returns how many these are, too.
func (s *search) rarest(limit int) (rare uint8, postings int) {
	var size [maxUnits]int
	for i := range s.readings.list {
		r := &s.readings.list[i]
		for set := r.bits; set != 0; set &= set - 1 {
			size[bits.TrailingZeros8(set)] += s.ix.names.size(r.lo, r.hi)
		}
	}

	sum := func(units uint8) (n int) {
		for ; units != 0; units &= units - 1 {
			n += size[bits.TrailingZeros8(units)]
		}
		return n
	}

	rare = s.heavier(limit, &size)
	postings = sum(rare)
	if limit == 0 {
		return rare, postings
	}

	tell := s.query.telling.units()
	if telling := sum(tell); tell&(s.aided|s.query.optional) == 0 && telling < postings {
		return tell, telling
	}
	return rare, postings
}

// heavier picks the words with the fewest postings that weigh more than limit together, all where
// sets and numbers can supply too many.
func (s *search) heavier(limit int, size *[maxUnits]int) (rare uint8) {
	all := uint8(1<<len(s.query.units) - 1)
	// A title may lack the weight of limit, so that words of a little more are enough to find it by.
	for weight := 0; weight <= limit; {
		pick := -1
		for word := range s.query.units {
			if bit := uint8(1) << word; (rare|s.aided|s.query.optional)&bit == 0 &&
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

// thinFrom is how many postings are worth to be thinned, and thinUnits of how many units: of fewer,
// noting their words costs less.
const thinFrom, thinUnits = 1000, 3

// mark notes for all titles which units each may have, a byte a title.
func (s *search) mark() {
	if s.may == nil {
		s.may = make([]uint8, len(s.ix.titles))
	}
	clear(s.may)

	names := &s.ix.names
	for i := range s.readings.list {
		r := &s.readings.list[i]
		if r.second != none {
			names.adjacent(r.lo, r.second, func(t, _ uint32) { s.may[t] |= r.bits })
			continue
		}

		for _, t := range names.holder[names.start[r.lo]:names.start[r.hi]] {
			s.may[t] |= r.bits
		}
	}
}

// thin finds the marked titles that have a rare word and lack no more than limit, whatever their words
// are found as and whatever sets add. Those that need a number besides are found by it: few cards
// have it.
func (s *search) thin(rare uint8, limit int) {
	s.thinned = true
	s.mark()
	s.fillNeed()
	numbers := s.numberBits()
	optional := s.query.optional
	var fits [1 << maxUnits]bool
	for units := range fits {
		fits[units] = uint8(units)&rare != 0 && s.need[uint8(units)|optional] <= limit
	}

	for t, units := range s.may {
		if fits[units] {
			s.title(uint32(t))
		}
	}

	for _, number := range s.query.numbers {
		for _, id := range [...]uint32{number.exact, number.tail} {
			for _, card := range s.ix.cardsOf(id) {
				t := s.ix.titleOf[card]
				if units := s.may[t]; units&rare != 0 && s.need[units|numbers|optional] <= limit {
					s.title(t)
				}
			}
		}
	}
}

// fillNeed notes for all units that a title may have what a card lacks at least, whichever of the sets
// found it is in.
func (s *search) fillNeed() {
	var inSets [1 << maxUnits]bool
	inSets[0] = true
	for _, set := range s.inSets {
		inSets[^s.sets[set].costs.away().units()&(1<<len(s.query.units)-1)] = true
	}

	lacks := s.query.lackTable()
	s.need = lacks
	for set, is := range inSets {
		if !is || set == 0 {
			continue
		}
		for found := range s.need {
			s.need[found] = min(s.need[found], lacks[found|set])
		}
	}
}

// numberBits are the units that are numbers.
func (s *search) numberBits() (numbers uint8) {
	for i := range s.query.numbers {
		numbers |= s.query.numbers[i].bits
	}
	return numbers
}

// touch counts the titles of the readings of rare words among those found.
func (s *search) touch(rare uint8) {
	names := &s.ix.names
	for i := range s.readings.list {
		r := &s.readings.list[i]
		if r.bits&rare == 0 {
			continue
		}
		if r.second != none {
			names.adjacent(r.lo, r.second, func(t, _ uint32) { s.title(t) })
			continue
		}

		for _, t := range names.holder[names.start[r.lo]:names.start[r.hi]] {
			s.title(t)
		}
	}
}

// hitNames notes a reading in the titles found: by its postings, or by the words of the titles
// where that is less.
func (s *search) hitNames(r *reading) {
	names := &s.ix.names
	held := &s.ix.held
	switch {
	case r.second != none:
		names.adjacent(r.lo, r.second, func(t, mask uint32) { s.hitName(t, r, mask) })
	case names.size(r.lo, r.hi) > 2*len(s.touched):
		// Few titles were found: to go through their words is less than all titles of the word.
		for _, t := range s.touched {
			for i := held.start[t]; i < held.start[t+1]; i++ {
				if w := held.holder[i]; w >= r.lo && w < r.hi {
					s.hitName(t, r, held.mask[i])
				}
			}
		}

	default:
		for i := names.start[r.lo]; i < names.start[r.hi]; i++ {
			s.hitName(names.holder[i], r, names.mask[i])
		}
	}
}

func (s *search) hitName(t uint32, r *reading, mask uint32) {
	f := &s.titles[t]
	switch {
	case f.stamp != s.stamp:
	case r.further != 0:
		f.further |= r.further
		f.cover |= mask &^ beside
	default:
		f.hit(r.bits, r.class, mask, s.query.again)
	}
}

func (s *search) title(t uint32) {
	if f := &s.titles[t]; f.stamp != s.stamp {
		*f = finding{stamp: s.stamp, costs: s.start, last: -1}
		s.touched = append(s.touched, t)
	}
}

// collectSets finds out which words of the query each set has. Until words are respelled, sets
// count by their whole names only.
func (s *search) collectSets() {
	e := s.by.effort
	for i := range s.readings.list {
		r := &s.readings.list[i]
		sets := &s.ix.sets
		codes := &s.ix.codes
		switch {
		case r.second != none:
			sets.adjacent(r.lo, r.second, func(set, mask uint32) { s.hitSet(set, r, mask) })
			continue
		case r.class == exactName || r.class == prefixName || e > asTyped:
			for i := sets.start[r.lo]; i < sets.start[r.hi]; i++ {
				s.hitSet(sets.holder[i], r, sets.mask[i])
			}
		}

		// Two words that may be a code are a guess.
		guess := r.class == prefixName && bits.OnesCount8(r.bits) > 1
		if r.class != exactName && !guess {
			continue
		}

		for i := codes.start[r.lo]; i < codes.start[r.hi]; i++ {
			set := codes.holder[i]
			mask := uint32(0)
			// A code names the set; alone, or where names have it, it may be a word like any other.
			if r.class == exactName && (e > asTyped || len(s.query.units) > 1) && !s.ix.isUsed(r.lo, inName) {
				mask = s.ix.setWords[set].core
			}
			s.hitSet(set, r, mask)
		}
	}

	for i, id := range s.query.further {
		for k := s.ix.sets.start[id]; k < s.ix.sets.start[id+1]; k++ {
			if f := &s.sets[s.ix.sets.holder[k]]; f.stamp == s.stamp {
				f.further |= 1 << i
				f.cover |= s.ix.sets.mask[k]
			}
		}
	}

	s.finishSets()
}

func (s *search) hitSet(set uint32, r *reading, mask uint32) {
	f := &s.sets[set]
	if f.stamp != s.stamp {
		*f = finding{stamp: s.stamp, costs: s.start, last: -1}
		s.inSets = append(s.inSets, set)
	}
	f.hit(r.bits, asideOf(r.class), mask, s.query.again)
}

// finishSets drops the sets that do not count yet, gives the word "set" to those that do, and notes
// which words can come from sets and numbers.
func (s *search) finishSets() {
	s.aided = 0
	word := uint8(0)
	if i := s.query.index(s.ix.words.word(s.ix.setWord)); i >= 0 {
		word = 1 << i
	}
	kept := s.inSets[:0]
	for _, set := range s.inSets {
		f := &s.sets[set]
		core := s.ix.setWords[set].core
		// Part of a set's name is no set yet where nothing stands beside it: "base" alone is a word
		// like any other.
		if s.by.effort == asTyped && f.cover&core != core && !s.longNumber(f) && !s.mayNarrow(f) {
			f.stamp = s.stamp - 1
			continue
		}

		if word != 0 {
			f.costs = f.costs.improve(word, exactBeside)
		}

		f.named = f.cover&core == core &&
			bits.OnesCount32(f.cover)+bits.OnesCount8(word) >= len(s.query.units) && s.query.lost(f.costs) == 0
		for word := range s.query.units {
			if f.costs.at(word) != missing {
				s.aided |= 1 << word
			}
		}

		kept = append(kept, set)
	}

	s.inSets = kept
	s.setAided = s.aided
	for _, number := range s.query.numbers {
		s.aided |= number.bits
	}
}

// mayNarrow says whether the words found of a set may narrow others down: one of them is more than a
// suffix, and another word that is no integer is left.
func (s *search) mayNarrow(f *finding) bool {
	tells := false
	others := false
	for word := range s.query.units {
		switch {
		case f.costs.at(word) == missing:
			others = others || !collector.IsInteger(s.query.units[word].text)
		case s.query.weight[word] != weightSuffix:
			tells = true
		}
	}

	return tells && others
}

// longNumber says whether the set was found by a number of three digits or more: 151, 2016.
func (s *search) longNumber(f *finding) bool {
	for word := range s.query.units {
		text := s.query.units[word].text
		if f.costs.at(word) != missing && len(text) >= 3 && collector.IsInteger(text) {
			return true
		}
	}
	return false
}
