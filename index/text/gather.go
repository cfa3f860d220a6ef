package text

import "math/bits"

// gather appends the hits among the cards of the titles, sets and numbers found: those that lack
// the least, and at most limit.
func (s *search) gather(limit int) {
	n := s.query.total + 1
	s.level = limit
	s.least = n
	s.games = 0
	s.byNumber = s.numberCards() < len(s.touched)
	// The titles that may be best go first, so that the others are soon out of the question.
	own := n
	first := 0 // the titles that lack own
	known := s.start
	lost := s.query.lost(known)
	for _, t := range s.touched {
		f := &s.titles[t]
		// Many titles of few words are found alike.
		if f.costs != known {
			known = f.costs
			lost = s.query.lost(known)
		}

		f.lost = uint8(lost)
		switch {
		case lost < own:
			own = lost
			first = 1
		case lost == own:
			first++
		}
	}

	for _, t := range s.touched {
		if int(s.titles[t].lost) == own {
			s.gatherTitle(t)
		}
	}
	if first < len(s.touched) {
		for _, t := range s.touched {
			if int(s.titles[t].lost) != own {
				s.gatherTitle(t)
			}
		}
	}

	// Sets and numbers bring cards whose titles have none of the words.
	numbers := s.numberBits()
	for _, set := range s.inSets {
		if s.query.lost(s.sets[set].costs.improve(numbers, exactName)) > s.level {
			continue
		}
		for _, card := range s.ix.setCard.Of(set) {
			if s.titles[s.ix.titleOf[card]].stamp != s.stamp {
				s.gatherCard(card, nil)
			}
		}
	}

	// Of most queries, a number without a name or a set is not enough.
	if s.byNumber || s.query.lost(s.start.improve(numbers|s.query.optional, exactName)) <= s.level {
		for i, number := range s.query.numbers {
			s.gatherNumber(i, number.exact)
			s.gatherNumber(i, number.tail)
		}
	}
}

// numberCards is how many cards have the numbers of the query.
func (s *search) numberCards() (n int) {
	for _, number := range s.query.numbers {
		n += len(s.ix.cardsOf(number.exact)) + len(s.ix.cardsOf(number.tail))
	}
	return n
}

// cardsOf are the cards filed under a number, none for no number.
func (ix *Index) cardsOf(number uint32) []uint32 {
	if number == none {
		return nil
	}
	return ix.numberCard.Of(number)
}

func (s *search) gatherTitle(t uint32) {
	f := &s.titles[t]
	if s.aided == 0 && s.query.optional == 0 {
		lost := int(f.lost)
		title := &s.ix.titles[t]
		if lost > s.level || lost > 0 && (isScrap(title, f) || s.query.isVague(f.costs, title, f)) {
			return
		}

		// Nothing but the name speaks for these cards, so that all of them score alike, but for
		// preferences.
		score := s.query.score(&evidence{all: f.costs, lost: lost, number: noNumber}, 0, title, f)
		wishes := len(s.query.wishes) > 0
		for _, card := range s.ix.titleCard.Of(t) {
			unmet := uint64(0)
			if wishes {
				unmet = min(s.unmet(card), 15)
			}
			s.offer(card, lost, score|unmet<<unmetAt)
		}

		return
	}

	if f.lost > 0 {
		if s.lostAided(t, s.aided, s.numberBits()) > s.level {
			return
		}
		// Where a set cannot bring enough, a number must.
		if s.byNumber && s.lostAided(t, s.setAided, 0) > s.level {
			f.byNumber = true
			return
		}
	}

	for _, card := range s.ix.titleCard.Of(t) {
		s.gatherCard(card, f)
	}
}

// lostAided is what a card of a title lacks at least, to which sets add some units and numbers others.
func (s *search) lostAided(t uint32, sets, numbers uint8) int {
	if s.thinned {
		return s.need[s.may[t]|numbers|s.query.optional]
	}
	return s.query.lost(s.titles[t].costs.improve(sets|numbers|s.query.optional, exactName))
}

// gatherNumber offers the cards filed under a number whose titles and sets were not found, or whose
// titles lack too much without it, each once.
func (s *search) gatherNumber(reading int, number uint32) {
	for _, card := range s.ix.cardsOf(number) {
		f := &s.titles[s.ix.titleOf[card]]
		switch {
		case f.stamp != s.stamp:
			f = nil
			if s.setOf(card) != nil {
				continue
			}
		case !f.byNumber:
			continue
		}

		// A card that an earlier number found is not offered again.
		first := 0
		for first < reading && s.numberLevel(card, &s.query.numbers[first]) == noNumber {
			first++
		}

		if first == reading {
			s.gatherCard(card, f)
		}
	}
}

func (s *search) setOf(card uint32) *finding {
	// No card of many is looked up where no set was found.
	if len(s.inSets) == 0 {
		return nil
	}

	set := s.ix.setOf[card]
	if set < 0 || s.sets[set].stamp != s.stamp {
		return nil
	}
	return &s.sets[set]
}

// evidence is what a card has of a query.
type evidence struct {
	all      costs
	lost     int      // what the missing words weigh
	set      *finding // nil where its set was not found
	wholeSet bool     // the query has the set's whole name, or a word of its own
	number   uint64   // how well its number is the one asked for
	numbers  uint8    // the units that are its number
}

// weigh finds out what a card has whose title was found as f, nil for not at all.
func (ev *evidence) weigh(s *search, card uint32, f *finding) {
	own := s.start
	if f != nil {
		own = f.costs
	}

	if s.query.optional != 0 {
		own = s.improveYear(card, own)
	}

	// The best number counts: "4/102" is the number itself, "4" a bare one.
	number := noNumber
	numbers := uint8(0)
	for i := range s.query.numbers {
		wanted := &s.query.numbers[i]
		level := s.numberLevel(card, wanted)
		switch level {
		case noNumber:
			continue
		case numberOff:
			// The total is another one: it may be mistyped.
			own = own.improve(wanted.bits, typoBeside)
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
		all = own.best(set.costs)
		wholeSet = s.isWhole(uint32(s.ix.setOf[card]), set)
	}

	lost := s.query.lost(all)
	if lost > 0 && set != nil && !wholeSet {
		// Where words are missing, everyday words of a part of a set's name tell nothing.
		all = own.best(set.costs | s.query.everyday)
		lost = s.query.lost(all)
	}
	*ev = evidence{all, lost, set, wholeSet, number, numbers}
}

// gatherCard offers a card whose title was found as f, nil for not at all, with what its set and
// number add.
func (s *search) gatherCard(card uint32, f *finding) {
	var ev evidence
	ev.weigh(s, card, f)
	if ev.lost > s.level {
		return
	}

	t := &s.ix.titles[s.ix.titleOf[card]]
	if ev.lost > 0 && ev.number == noNumber {
		if f != nil && ev.set == nil && isScrap(t, f) {
			return
		}
		if (!ev.wholeSet || !s.hasSetName(card)) && s.query.isVague(ev.all, t, f) {
			return
		}
	}

	s.offer(card, ev.lost, s.query.score(&ev, s.unmet(card), t, f))
}

// isScrap says whether less than a third of a name was found: where words of the query are missing
// besides, that is no hit.
func isScrap(t *title, f *finding) bool {
	return 3*bits.OnesCount32(f.cover&t.core) < bits.OnesCount32(t.core)
}

// isVague says whether a word that tells is missing from a query of three or more, and less than half
// of a name was found: "blue eyes white dragon" is no Blue Dragon Seal Water Stream.
func (q *query) isVague(all costs, t *title, f *finding) bool {
	if len(q.units) < 3 || all.away()&q.heavy == 0 {
		return false
	}
	if f == nil || (^f.costs.away()&0x11111111)&q.telling == 0 {
		return true
	}
	strong := t.core &^ t.slight
	return 2*bits.OnesCount32(f.cover&strong) < bits.OnesCount32(strong)
}

// isWhole says whether the query has a set's whole name, or a word of it that no other set has.
func (s *search) isWhole(set uint32, f *finding) bool {
	core := s.ix.setWords[set].core
	return core != 0 && (f.cover&core == core || f.cover&s.ix.setOwn[set] != 0)
}

// hasSetName says whether the query has all words of the name of a card's set, which was found.
func (s *search) hasSetName(card uint32) bool {
	set := s.ix.setOf[card]
	core := s.ix.setWords[set].core
	return s.sets[set].cover&core == core
}

// improveYear counts a year as found in cards whose set was released in it.
func (s *search) improveYear(card uint32, all costs) costs {
	set := s.ix.setOf[card]
	if set < 0 || s.ix.setYear[set] == 0 {
		return all
	}

	for word := range s.query.units {
		if s.query.optional>>word&1 != 0 && trailingInt(string(s.query.units[word].text)) == s.ix.setYear[set] {
			all = all.improve(1<<word, exactBeside)
		}
	}

	return all
}

// numberLevel says how well the card's number is the one that is asked for.
func (s *search) numberLevel(card uint32, number *numberReading) uint64 {
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
	// A total that is known must agree.
	if total != 0 && total != number.total {
		if s.by.effort >= respelled {
			return numberOff
		}
		return noNumber
	}
	if level == numberLoose {
		return level
	}

	return s.totalLevel(card, number.total, total)
}

// totalLevel says how well a card whose number is right fits the total that was asked for. Its own
// total is the same, or unknown (0).
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

// offer takes a card that lacks so much: it counts for what the query means, and is a hit
// when it is kept and no card lacks less.
func (s *search) offer(card uint32, lost int, score uint64) {
	game := uint64(1) << min(s.ix.gameOf[card], 63)
	if game&s.query.games == 0 {
		return
	}

	if lost < s.least {
		s.least = lost
		s.games = 0
	}

	if lost == s.least {
		s.games |= game
	}

	// What the query means was noted above; what the caller wants to see is judged here.
	if s.only&game == 0 || s.keep != nil && !s.keep(card) {
		return
	}

	if lost < s.level {
		s.level = lost
		s.dst = s.dst[:s.base]
	}

	s.dst = append(s.dst, Hit{Card: card, by: s.by, Score: score})
}
