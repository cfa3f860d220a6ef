package text

// gather appends the hits among the cards of the titles, sets and numbers found: those that lack
// the fewest words, and at most limit.
func (s *search) gather(limit int) {
	n := len(s.query.units)
	s.level = limit
	s.least = n + 1
	s.games = 0
	// The titles that may be best go first, so that the others are soon out of the question.
	s.steps += 3 * len(s.touched)
	own := n
	for _, t := range s.touched {
		own = min(own, s.titles[t].costs.missing())
	}

	for _, first := range []bool{true, false} {
		for _, t := range s.touched {
			if first == (s.titles[t].costs.missing() == own) {
				s.gatherTitle(t)
			}
		}
	}

	// Sets and numbers bring cards whose titles have none of the words.
	numbers := uint8(0)
	for _, r := range s.query.numbers {
		numbers |= r.bits
	}

	for _, set := range s.inSets {
		if s.sets[set].costs.improve(numbers, exactName).missing() > s.level {
			continue
		}
		for _, card := range s.ix.setCard.of(set) {
			if s.titles[s.ix.titleOf[card]].stamp != s.stamp {
				s.gatherCard(card, nil)
			}
		}
	}

	for i, r := range s.query.numbers {
		if s.start.improve(numbers, exactName).missing() <= s.level {
			s.gatherNumber(i, r.exact)
			s.gatherNumber(i, r.tail)
		}
	}
}

func (s *search) gatherTitle(t uint32) {
	f := &s.titles[t]
	if s.aided == 0 {
		lost := f.costs.missing()
		if lost > s.level {
			return
		}

		// Nothing but the name speaks for these cards, so that all of them score alike.
		sc := score(f.costs, len(s.query.units), &s.ix.titles[t], f, nil, nil, noNumber)
		for _, card := range s.ix.titleCard.of(t) {
			s.offer(card, lost, sc)
		}

		return
	}

	if f.costs.improve(s.aided, exactName).missing() > s.level {
		return
	}

	for _, card := range s.ix.titleCard.of(t) {
		s.gatherCard(card, f)
	}
}

// gatherNumber offers the cards filed under a number whose titles and sets were not found, each
// once.
func (s *search) gatherNumber(reading int, number uint32) {
	if number == none {
		return
	}

	for _, card := range s.ix.numberCard.of(number) {
		if s.titles[s.ix.titleOf[card]].stamp == s.stamp || s.setOf(card) != nil {
			continue
		}

		// A card that an earlier number found is not offered again.
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

// gatherCard offers a card whose title was found as f, nil for not at all, with what its set and
// number add.
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

	// The best number counts: "4/102" is the number itself, "4" a bare one.
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
	if lost > s.level {
		return
	}

	t := &s.ix.titles[s.ix.titleOf[card]]
	s.offer(card, lost, score(all, len(s.query.units), t, f, set, core, number))
}

// numberLevel says how well the card's number is the one that r asks for.
func (s *search) numberLevel(card uint32, r *numberReading) uint64 {
	ix := s.ix
	level := numberAlone
	switch {
	case ix.numberOf[card] == none:
		return noNumber
	case ix.numberOf[card] == r.exact, ix.tailOf[card] == r.tail && r.tail != none:
	case ix.baseOf[card] == r.exact:
		level = numberLoose
	default:
		return noNumber
	}

	if r.total == 0 {
		return level
	}

	total := ix.totalOf[card]
	// A total that is known must agree.
	if total != 0 && total != r.total {
		return noNumber
	}
	if level == numberLoose {
		return level
	}

	return s.totalLevel(card, r.total, total)
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

// offer takes a card with so many words missing: it counts for what the query means, and is a hit
// when it is kept and no card lacks fewer.
func (s *search) offer(card uint32, lost int, sc uint64) {
	s.steps++
	game := uint64(1) << min(s.ix.gameOf[card], 63)
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

	s.dst = append(s.dst, Hit{Card: card, Score: sc})
}
