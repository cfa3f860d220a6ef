package text

import "math/bits"

// A Hit is a card that a query means. A smaller Score is a better hit: it packs the levels of search.md's order, each
// of which only breaks the ties of those before. Hits with equal scores fit equally well; their order is the
// catalog's (decision 22).
type Hit struct {
	Card  uint32
	Score uint64
}

// Search appends to dst every card that q means and that keep accepts (nil keeps all), in no order. A query without a
// letter or digit means no card.
//
// What q means is decided by the whole catalog: words are taken for misspelled only when no card has them all as they
// were typed. Of the cards kept, those with the fewest missing words are hits, and never one that lacks more than half.
// So a filter narrows the answer, and where it leaves nothing of the best answer, the next best one counts; but only
// in the games of the best: "roronoa zoro" means no Pokémon card.
func (ix *Index) Search(dst []Hit, q string, keep func(card uint32) bool) []Hit {
	s := ix.scratch.Get()
	sr, ok := s.(*search)
	if !ok {
		sr = newSearch(ix)
	}
	sr.query.parse(ix, q)
	if len(sr.query.units) > 0 {
		dst = sr.answer(dst, keep)
	}
	sr.keep, sr.dst = nil, nil
	ix.scratch.Put(sr)
	return dst
}

// A search is the scratch memory of one Search, reused by later ones.
type search struct {
	ix       *Index
	query    query
	readings []reading

	stamp   uint32
	start   costs // of a title or set of which nothing was found
	titles  []finding
	sets    []finding
	touched []uint32 // titles found
	inSets  []uint32 // sets found
	aided   uint8    // words that sets or numbers can supply

	keep  func(card uint32) bool
	dst   []Hit
	base  int    // where this effort's hits begin in dst
	limit int    // the most words that may be missing
	level int    // missing words of the hits in dst
	best  int    // missing words of the best cards of the query, kept or not; more than it has words for none
	least int    // fewest missing words of any card in this round
	games uint64 // games of the cards with the fewest missing words
	only  uint64 // games to which hits are restricted
	wide  bool   // never look narrowly; for tests
}

func newSearch(ix *Index) *search {
	return &search{ix: ix, titles: make([]finding, len(ix.titles)), sets: make([]finding, len(ix.setWords))}
}

// answer runs the query. Where no card has all its words, the words that only describe a printing are dropped first:
// "full art lillie" means Lillie in a catalog that does not tell its printings apart.
func (s *search) answer(dst []Hit, keep func(card uint32) bool) []Hit {
	begin := len(dst)
	dst = s.run(dst, keep)
	if s.best == 0 || !s.query.dropPrinting(s.ix) {
		return dst
	}
	best, end := s.best, len(dst)
	dst = s.run(dst, keep)
	if s.best >= best {
		return dst[:end]
	}
	return append(dst[:begin], dst[end:]...)
}

func (s *search) run(dst []Hit, keep func(card uint32) bool) []Hit {
	n := len(s.query.units)
	s.keep, s.dst, s.start, s.limit = keep, dst, allMissing(n), n/2
	begin := len(dst)
	s.best = 0
	if n > 1 && !s.wide && s.runNarrow(begin) {
		return s.dst
	}
	s.best = n + 1
	for e := asTyped; e <= guessed && s.best > 0; e++ {
		s.round(e, len(s.dst))
		if s.least >= s.best {
			s.dst = s.dst[:s.base] // respelling led nowhere
			continue
		}
		s.best = s.least
		s.dst = append(s.dst[:begin], s.dst[s.base:]...)
		s.widen(begin, e)
	}
	return s.dst
}

// runNarrow looks for cards that have all words of the query, which need not look at the names that lack its rarest
// word: "charizard ex" never visits the thousand names with "ex". It says whether there are any.
func (s *search) runNarrow(begin int) bool {
	for e := asTyped; e <= guessed; e++ {
		s.base, s.only = begin, ^uint64(0)
		s.expand(e)
		if !s.collectNarrow(e) {
			return false
		}
		s.gather()
		if s.least > 0 {
			s.dst = s.dst[:begin]
			continue
		}
		if s.level > 0 || len(s.dst) == begin {
			s.round(e, begin)
			s.widen(begin, e)
		}
		return true
	}
	return false
}

// widen looks for other hits where keep left none of the best ones of effort e. A word that no card knows as a word of
// its own may have been misspelled after all ("ninetails" is Nine-Tails in one game and Ninetales in the other): then
// further efforts may find cards that have all words. Else the next best cards count, in the games of the best.
func (s *search) widen(begin int, e effort) {
	if s.level <= s.least && len(s.dst) > begin {
		return
	}
	games := s.games
	if e < guessed && !s.knowsAll() {
		for further := e + 1; further <= guessed; further++ {
			s.round(further, begin)
			if s.level == 0 && len(s.dst) > begin {
				return
			}
		}
		s.expand(e)
		s.collect(e)
	}
	s.dst, s.base, s.only = s.dst[:begin], begin, games
	s.gather()
}

// round makes one effort, its hits behind base.
func (s *search) round(e effort, base int) {
	s.dst, s.base, s.only = s.dst[:base], base, ^uint64(0)
	s.expand(e)
	s.collect(e)
	s.gather()
}

// knowsAll says whether each unit is a word that stands alone somewhere, or a number.
func (s *search) knowsAll() bool {
	for i := range s.query.units {
		u := &s.query.units[i]
		id := s.ix.words.find(u.text)
		if !u.number && !isInteger(u.text) && (id == none || s.ix.joined[id]) {
			return false
		}
	}
	return true
}

// reset begins a new round of findings.
func (s *search) reset() {
	s.stamp++
	if s.stamp == 0 { // the counter went round: old stamps would look new
		clear(s.titles)
		clear(s.sets)
		s.stamp = 1
	}
	s.touched, s.inSets = s.touched[:0], s.inSets[:0]
}

// collect finds out which words of the query each title and set has.
func (s *search) collect(e effort) {
	s.reset()
	s.collectSets(e)
	for i := range s.readings {
		r := &s.readings[i]
		if r.second != none {
			s.splitNames(r, true)
			continue
		}
		names := &s.ix.names
		for p := names.start[r.lo]; p < names.start[r.hi]; p++ {
			s.title(names.holder[p]).hit(r.bits, r.class, names.mask[p], s.query.again)
		}
	}
}

// collectNarrow is collect for the titles that have the rarest word of the query, which no set or number can supply.
// It says false when there is no such word, or nothing to gain.
func (s *search) collectNarrow(e effort) bool {
	s.reset()
	s.collectSets(e)
	pivot, all := s.rarest()
	if pivot == 0 || all < 64 {
		return false
	}
	names := &s.ix.names
	for i := range s.readings {
		r := &s.readings[i]
		switch {
		case r.bits&pivot == 0:
		case r.second != none:
			s.splitNames(r, true)
		default:
			for p := names.start[r.lo]; p < names.start[r.hi]; p++ {
				s.title(names.holder[p])
			}
		}
	}
	for i := range s.readings {
		r := &s.readings[i]
		switch {
		case r.second != none:
			s.splitNames(r, false)
		case names.size(r.lo, r.hi) > 2*len(s.touched):
			s.probe(r)
		default:
			for p := names.start[r.lo]; p < names.start[r.hi]; p++ {
				if f := &s.titles[names.holder[p]]; f.stamp == s.stamp {
					f.hit(r.bits, r.class, names.mask[p], s.query.again)
				}
			}
		}
	}
	return true
}

// probe looks up a reading in the words of the titles found, where that is less than its postings.
func (s *search) probe(r *reading) {
	held := &s.ix.held
	for _, t := range s.touched {
		for i := held.start[t]; i < held.start[t+1]; i++ {
			if w := held.word[i]; w >= r.lo && w < r.hi {
				s.titles[t].hit(r.bits, r.class, held.mask[i], s.query.again)
			}
		}
	}
}

// rarest returns the bit of the word with the fewest postings of those that only names can supply, 0 when there is
// none, and how many postings all words have.
func (s *search) rarest() (bit uint8, all int) {
	var size [maxUnits]int
	for i := range s.readings {
		r := &s.readings[i]
		n := s.ix.names.size(r.lo, r.hi)
		all += n
		for set := r.bits; set != 0; set &= set - 1 {
			size[bits.TrailingZeros8(set)] += n
		}
	}
	least := all + 1
	for w := range s.query.units {
		if s.aided>>w&1 == 0 && size[w] < least {
			least, bit = size[w], 1<<w
		}
	}
	return bit, all
}

// collectSets finds out which words of the query each set has.
func (s *search) collectSets(e effort) {
	for i := range s.readings {
		r := &s.readings[i]
		switch {
		case r.second != none:
			s.splitSets(r)
		case r.class == exactName || e > asTyped:
			sets := &s.ix.sets
			for p := sets.start[r.lo]; p < sets.start[r.hi]; p++ {
				s.set(sets.holder[p]).hit(r.bits, asideOf(r.class), sets.mask[p], s.query.again)
			}
		}
		if r.class != exactName || r.second != none {
			continue
		}
		codes := &s.ix.codes
		for p := codes.start[r.lo]; p < codes.start[r.hi]; p++ {
			set, mask := codes.holder[p], uint32(0)
			if e > asTyped { // a code alone names the set
				mask = s.ix.setWords[set].core
			}
			s.set(set).hit(r.bits, exactBeside, mask, s.query.again)
		}
	}
	s.finishSets(e)
}

// splitNames notes the names that hold the two words of a split next to each other; without create only those that
// were found before.
func (s *search) splitNames(r *reading, create bool) {
	s.ix.names.adjacent(r.lo, r.second, func(t, mask uint32) {
		if create || s.titles[t].stamp == s.stamp {
			s.title(t).hit(r.bits, r.class, mask, s.query.again)
		}
	})
}

func (s *search) splitSets(r *reading) {
	s.ix.sets.adjacent(r.lo, r.second, func(set, mask uint32) {
		s.set(set).hit(r.bits, asideOf(r.class), mask, s.query.again)
	})
}

func (s *search) title(t uint32) *finding {
	f := &s.titles[t]
	if f.stamp != s.stamp {
		*f = finding{stamp: s.stamp, costs: s.start, last: -1}
		s.touched = append(s.touched, t)
	}
	return f
}

func (s *search) set(set uint32) *finding {
	f := &s.sets[set]
	if f.stamp != s.stamp {
		*f = finding{stamp: s.stamp, costs: s.start, last: -1}
		s.inSets = append(s.inSets, set)
	}
	return f
}

// finishSets drops the sets that do not count yet, gives the word "set" to those that do, and notes which words can
// come from sets and numbers.
func (s *search) finishSets(e effort) {
	s.aided = 0
	word := s.unitOf(s.ix.setWord)
	kept := s.inSets[:0]
	for _, set := range s.inSets {
		f := &s.sets[set]
		core := s.ix.setWords[set].core
		if e == asTyped && f.cover&core != core && !s.longNumber(f) {
			f.stamp = s.stamp - 1
			continue
		}
		if word != 0 {
			f.costs = f.costs.improve(word, exactBeside)
		}
		for w := range s.query.units {
			if f.costs.at(w) != missing {
				s.aided |= 1 << w
			}
		}
		kept = append(kept, set)
	}
	s.inSets = kept
	for _, r := range s.query.numbers {
		s.aided |= r.bits
	}
}

// unitOf returns the bit of the unit that is the given word, 0 when none is.
func (s *search) unitOf(word uint32) uint8 {
	for i := range s.query.units {
		if string(s.query.units[i].text) == string(s.ix.words.word(word)) {
			return 1 << i
		}
	}
	return 0
}

// longNumber says whether the set was found by a number of three digits or more: 151, 2016.
func (s *search) longNumber(f *finding) bool {
	for w := range s.query.units {
		if f.costs.at(w) != missing && len(s.query.units[w].text) >= 3 && isInteger(s.query.units[w].text) {
			return true
		}
	}
	return false
}

// gather appends the hits among the cards of the titles, sets and numbers found.
func (s *search) gather() {
	n := len(s.query.units)
	s.level, s.least, s.games = s.limit, n+1, 0
	own := n
	for _, t := range s.touched {
		own = min(own, s.titles[t].costs.missing())
	}
	for _, t := range s.touched {
		if s.titles[t].costs.missing() == own {
			s.gatherTitle(t)
		}
	}
	for _, t := range s.touched {
		if s.titles[t].costs.missing() != own {
			s.gatherTitle(t)
		}
	}
	for _, set := range s.inSets {
		if s.sets[set].costs.improve(s.numberBits(), exactName).missing() > s.bound() {
			continue
		}
		for _, card := range s.ix.setCard.of(set) {
			if s.titles[s.ix.titleOf[card]].stamp != s.stamp {
				s.gatherCard(card, nil)
			}
		}
	}
	for i, r := range s.query.numbers {
		if s.start.improve(r.bits, exactName).missing() > s.bound() {
			continue
		}
		s.gatherNumber(i, r.exact)
		s.gatherNumber(i, r.tail)
	}
}

// bound is the most words that a card may lack and still matter.
func (s *search) bound() int { return s.level }

func (s *search) numberBits() (set uint8) {
	for _, r := range s.query.numbers {
		set |= r.bits
	}
	return set
}

func (s *search) gatherTitle(t uint32) {
	f := &s.titles[t]
	if s.aided == 0 {
		lost := f.costs.missing()
		if lost > s.bound() {
			return
		}
		sc := score(f.costs, len(s.query.units), &s.ix.titles[t], f, nil, nil, noNumber)
		for _, card := range s.ix.titleCard.of(t) {
			s.offer(card, lost, sc)
		}
		return
	}
	if f.costs.improve(s.aided, exactName).missing() > s.bound() {
		return
	}
	for _, card := range s.ix.titleCard.of(t) {
		s.gatherCard(card, f)
	}
}

// gatherNumber offers the cards filed under a number whose titles and sets were not found, each once.
func (s *search) gatherNumber(reading int, number uint32) {
	if number == none {
		return
	}
	for _, card := range s.ix.numberCard.of(number) {
		if s.titles[s.ix.titleOf[card]].stamp == s.stamp || s.setOf(card) != nil {
			continue
		}
		first := 0
		for first < reading && s.numberLevel(card, &s.query.numbers[first]) == noNumber {
			first++
		}
		if first == reading {
			s.gatherCard(card, nil)
		}
	}
}

func (s *search) setOf(card uint32) *finding {
	set := s.ix.setOf[card]
	if set < 0 || s.sets[set].stamp != s.stamp {
		return nil
	}
	return &s.sets[set]
}

// gatherCard offers a card whose title was found as f, nil for not at all, with what its set and number add.
func (s *search) gatherCard(card uint32, f *finding) {
	all := s.start
	if f != nil {
		all = f.costs
	}
	set := s.setOf(card)
	var core *wordCover
	if set != nil {
		all = all.best(set.costs)
		core = &s.ix.setWords[s.ix.setOf[card]]
	}
	number := noNumber
	for i := range s.query.numbers {
		r := &s.query.numbers[i]
		if level := s.numberLevel(card, r); level != noNumber {
			all = all.improve(r.bits, r.class)
			if r.class != bareNumber {
				number = min(number, level)
			}
		}
	}
	lost := all.missing()
	if lost > s.bound() {
		return
	}
	t := &s.ix.titles[s.ix.titleOf[card]]
	s.offer(card, lost, score(all, len(s.query.units), t, f, set, core, number))
}

// numberLevel says how well the card's number is the one that r asks for.
func (s *search) numberLevel(card uint32, r *numberReading) uint64 {
	ix := s.ix
	level := noNumber
	switch {
	case ix.numberOf[card] == none:
		return noNumber
	case ix.numberOf[card] == r.exact, ix.tailOf[card] == r.tail && r.tail != none:
		level = numberAlone
	case ix.baseOf[card] == r.exact:
		level = numberLoose
	default:
		return noNumber
	}
	total := ix.totalOf[card]
	if r.total == 0 || level != numberAlone {
		return level
	}
	if total != 0 && total != r.total {
		return noNumber
	}
	return s.totalLevel(card, r.total, total)
}

// totalLevel says how well a card whose number is right fits the total that was asked for. Its own total is the same
// or unknown (0).
func (s *search) totalLevel(card uint32, wanted, own uint16) uint64 {
	set := s.ix.setOf[card]
	if set < 0 {
		return numberAlone
	}
	switch most := s.ix.setTotal[set]; {
	case most == wanted:
		return numberAndTotal
	case own == 0 && most != 0 && most < wanted:
		return numberLoose
	}
	return numberAlone
}

// offer takes a card with so many words missing: it counts for what the query means, and is a hit when it is kept and
// no card lacks fewer.
func (s *search) offer(card uint32, lost int, sc uint64) {
	game := uint64(1) << min(s.ix.gameOf[card], 63)
	if lost < s.least {
		s.least, s.games = lost, 0
	}
	if lost == s.least {
		s.games |= game
	}
	if s.only&game == 0 || s.keep != nil && !s.keep(card) {
		return
	}
	if lost < s.level {
		s.level, s.dst = lost, s.dst[:s.base]
	}
	s.dst = append(s.dst, Hit{Card: card, Score: sc})
}
