package text

import (
	"bytes"

	"ninepocket/collector"
)

// A reading takes some words of a query for known words: all those from lo up to hi, found as
// class. A split reading takes one word for two that stand next to each other.
type reading struct {
	bits    uint8
	class   class
	further uint16 // of the words beyond the units: the one that this is, and bits are none
	lo, hi  uint32
	second  uint32 // of a split; else none
}

// An effort is how far a search goes. Each goes on only where the one before left words missing.
type effort uint8

const (
	// asTyped takes words as they are: exact, the last one also as a beginning, neighbours joined,
	// unknown words split; sets count by their whole names.
	asTyped effort = iota
	// respelled takes every word as a beginning or misspelled, and sets by any word of their names,
	// and by codes.
	respelled
	// guessed takes the last word as the misspelled beginning of a word.
	guessed
	// sounded takes words for those that sound like them.
	sounded
)

// Longest list of splits tried for one word.
const maxSplits = 4

// expand lists the readings of every unit, unit by unit, the best first (docs/SEARCH.md, Expand).
// It says whether the effort can find more than the one before.
func (s *search) expand(e effort, lacking bool) bool {
	s.by.effort = e
	s.by.lacking = lacking
	s.readings = s.readings[:0]
	units := s.query.units
	if e == guessed && !s.query.mayGuess() || e == sounded && !s.query.maySound() {
		return false
	}

	for i := range units {
		u := &units[i]
		bit := uint8(1) << i
		// Words that were typed apart may be one: "pika chu".
		s.expandJoined(i)
		id := u.id
		if id != none {
			s.add(bit, exactName, id)
		}

		// And what was typed as one may be two: "darkcharizard".
		if id == none || s.ix.isUsed(id, onlyJoined) {
			s.expandSplit(bit, u.text)
		}

		// The name may have no possessive.
		if u.stem > 0 {
			if stem := s.ix.words.find(u.text[:u.stem]); stem != none {
				s.add(bit, prefixBeside, stem)
			}
		}

		// Where words may be missing besides, three letters are too few to guess by.
		if i == len(units)-1 || e >= respelled && (!lacking || len(u.text) > 3) {
			s.expandPrefix(bit, u.text, id)
		}

		if e >= respelled && !u.number && !u.noise.isTrade() {
			s.expandTypos(bit, u.text, e == guessed && i == len(units)-1)
		}

		s.expandCode(bit, u)
	}

	if e == sounded {
		s.expandSounds()
	}

	return true
}

// mayGuess says whether the last word is long enough to be the misspelled beginning of another.
func (q *query) mayGuess() bool {
	last := &q.units[len(q.units)-1]
	return !last.number && len(last.text) >= 5 && allowedTypos(last.text) > 0
}

// expandCode takes a word for a set's code whose padding zeros it has, or has not: sv03, sv3.
func (s *search) expandCode(bit uint8, u *unit) {
	if u.number || !isNumberWord(u.text) || collector.IsDigit(u.text[0]) {
		return
	}

	short := s.query.numberKey(u.first, u.til)
	if id := s.ix.words.find(short); id != none && !bytes.Equal(short, u.text) {
		s.add(bit, exactName, id)
	}
}

func (s *search) add(bits uint8, c class, id uint32) {
	s.readings = append(s.readings, reading{bits: bits, class: c, lo: id, hi: id + 1, second: none})
}

// expandJoined takes unit i and the next for one word, when that is known.
func (s *search) expandJoined(i int) {
	if i+1 >= len(s.query.units) {
		return
	}

	u := &s.query.units[i]
	next := &s.query.units[i+1]
	if u.end != next.start || next.end-u.start > maxWord {
		return
	}

	id := s.ix.words.find(s.query.norm.text[u.start:next.end])
	switch {
	case id == none:
	case s.query.norm.tokens[next.first].before == ' ' && collector.IsInteger(next.text) && !s.ix.isUsed(id, inName):
		// A set and a number behind a space are rather these than a code: "charizard base 4".
		s.add(3<<i, prefixName, id)
	default:
		s.add(3<<i, exactName, id)
	}
}

// expandSplit takes a word of five letters or more that stands nowhere alone for two known ones.
func (s *search) expandSplit(bit uint8, w []byte) {
	found := 0
	for at := 1; len(w) >= 5 && at < len(w) && found < maxSplits; at++ {
		a := s.ix.words.find(w[:at])
		if a == none {
			continue
		}
		if b := s.ix.words.find(w[at:]); b != none {
			s.readings = append(s.readings, reading{bits: bit, class: exactName, lo: a, hi: a + 1, second: b})
			found++
		}
	}
}

// expandPrefix takes a word of two letters or more for the beginning of others. id is the word
// itself, or none.
func (s *search) expandPrefix(bit uint8, w []byte, id uint32) {
	if len(w) < 2 || collector.IsInteger(w) {
		return
	}

	// The words with one beginning are neighbours; the word itself is the first of them.
	words := &s.ix.words
	var lo, hi uint32
	if id == none {
		lo, hi = words.prefix(w)
	} else {
		lo = id + 1
		hi = words.prefixEnd(lo, w)
	}

	if lo < hi {
		s.readings = append(s.readings, reading{bits: bit, class: prefixName, lo: lo, hi: hi, second: none})
	}
}

// expandTypos takes a word for those that it may be a misspelling of.
func (s *search) expandTypos(bit uint8, w []byte, starts bool) {
	if allowedTypos(w) == 0 && len(w) != 3 {
		return
	}

	// Words with one error come before guesses at a beginning, and those before two errors.
	near := s.ix.expander.expand(w, typos)
	i := 0
	for ; i < len(near) && near[i].distance == 1; i++ {
		s.add(bit, typoName, near[i].id)
	}

	if starts {
		for _, near := range s.ix.expander.expand(w, typoPrefix) {
			s.add(bit, startName, near.id)
		}
	}

	for ; i < len(near); i++ {
		s.add(bit, typosName, near[i].id)
	}
}
