package text

import "slices"

// A NoteKind says what was done to words of a query.
type NoteKind uint8

// The kinds of notes.
const (
	LeftOut   NoteKind = iota // the words were not looked for
	ReadAs                    // another name was read as what it stands for
	Respelt                   // a word was taken for another
	Missing                   // the card does not have the word
	AsSet                     // the words are of the card's set
	AsNumber                  // the words are the card's number
	Preferred                 // cards that have this rarity, finish, edition or year come first
	InGame                    // the game that was meant
)

// A Note tells what was done to words of a query.
type Note struct {
	Kind     NoteKind
	From, To string // To is what the words were taken for, where that is something else
}

// Interpret appends what was done to the words of a query whose first hit is card; nothing where all
// words are the card's name (docs/SEARCH.md, What the answer tells).
func (ix *Index) Interpret(dst []Note, query string, card uint32) []Note {
	s := ix.take()
	defer ix.scratch.Put(s)
	q := &s.query
	q.parse(ix, query)
	if q.rewrote && !q.wholly {
		// As in Search: words that a card has as they were typed are meant.
		q.parseAsTyped(ix, query)
		if !ix.hasAll(q, card) {
			q.parse(ix, query)
		}
	}

	if q.rewrote {
		dst = append(dst, Note{Kind: ReadAs, From: query, To: q.typedText()})
	}

	dst = ix.noteMarks(dst, q, card)
	numbers := uint8(0)
	for i := range q.numbers {
		if number := &q.numbers[i]; ix.hasNumber(card, number) {
			numbers |= number.bits
		}
	}

	for i := range q.units {
		// Words that are one number together are told together: "swsh 039".
		if numbers>>i&1 != 0 && ix.joinsNumber(q, i, card) {
			last := &dst[len(dst)-1]
			last.From += " " + string(q.units[i].text)
			continue
		}
		dst = ix.noteUnit(dst, q, i, numbers, card)
	}

	return dst
}

// joinsNumber says whether unit i goes on with a number of a card that the one before it begins.
func (ix *Index) joinsNumber(q *query, i int, card uint32) bool {
	return i > 0 && !ix.holds(card, q.units[i].id) && !ix.holds(card, q.units[i-1].id) &&
		slices.ContainsFunc(q.numbers, func(number numberReading) bool {
			return number.bits>>(i-1)&3 == 3 && ix.hasNumber(card, &number)
		})
}

// typedText is the query as it was read, with spaces.
func (q *query) typedText() string {
	var text []byte
	for i, tok := range q.norm.tokens {
		if i > 0 {
			text = append(text, ' ')
		}
		text = append(text, q.norm.word(tok)...)
	}
	return string(text)
}

// noteMarks tells what was left out, preferred and taken for a game; neighbours are told together.
func (ix *Index) noteMarks(dst []Note, q *query, card uint32) []Note {
	for i := 0; i < len(q.marks); {
		til := i + 1
		for til < len(q.marks) && q.marks[til].kind == q.marks[i].kind && q.marks[til].wish.Have == 0 {
			til++
		}

		var text []byte
		for k := i; k < til; k++ {
			if k > i {
				text = append(text, ' ')
			}
			text = append(text, q.norm.word(q.norm.tokens[k])...)
		}

		switch q.marks[i].kind {
		case markQuiet, markGrade:
			dst = append(dst, Note{Kind: LeftOut, From: string(text)})
		case markWish:
			// Where the first hit does not come near it, none does.
			kind := Preferred
			if wish := q.marks[i].wish; !ix.comesNear(card, wish) {
				kind = Missing
			}
			dst = append(dst, Note{Kind: kind, From: string(text)})
		case markGame:
			dst = append(dst, Note{Kind: InGame, From: string(text)})
		case markPlain, markYear:
		}

		i = til
	}

	return dst
}

// noteUnit tells what unit i is to a card, unless it is a word of its name.
func (ix *Index) noteUnit(dst []Note, q *query, i int, numbers uint8, card uint32) []Note {
	u := &q.units[i]
	switch {
	case ix.holds(card, u.id), u.stem > 0 && ix.hasWord(card, u.text[:u.stem]):
		return dst
	case numbers>>i&1 != 0:
		return append(dst, Note{Kind: AsNumber, From: string(u.text)})
	case ix.setHolds(card, u.id), isNumberWord(u.text) && ix.setHas(card, q.numberKey(u.first, u.til)):
		return append(dst, Note{Kind: AsSet, From: string(u.text)})
	case q.optional>>i&1 != 0 && ix.isOfYear(card, u):
		return append(dst, Note{Kind: Preferred, From: string(u.text)})
	case q.optional>>i&1 != 0:
		// Where the first hit is not of the year, none that fits as well is.
		return append(dst, Note{Kind: Missing, From: string(u.text)})
	case i == len(q.units)-1 && ix.beginsWord(card, u.text), ix.isJoined(card, u.text):
		return dst
	case ix.holds(card, q.joined(ix, i, i+1)), ix.holds(card, q.joined(ix, i-1, i)):
		return dst
	case q.joinsInSet(ix, i, i+1, card), q.joinsInSet(ix, i-1, i, card):
		return append(dst, Note{Kind: AsSet, From: string(u.text)})
	}

	for _, near := range ix.expander.expand(u.text, typos) {
		if ix.holds(card, near.id) || ix.setHolds(card, near.id) {
			return append(dst, Note{Kind: Respelt, From: string(u.text), To: string(ix.words.word(near.id))})
		}
	}

	if ix.beginsWord(card, u.text) {
		return dst
	}
	if word := ix.soundsIn(card, u.text); word != nil {
		return append(dst, Note{Kind: Respelt, From: string(u.text), To: string(word)})
	}
	return append(dst, Note{Kind: Missing, From: string(u.text)})
}

// isOfYear says whether the set of a card was released in the year that a unit is.
func (ix *Index) isOfYear(card uint32, u *unit) bool {
	set := ix.setOf[card]
	return set >= 0 && ix.setYear[set] != 0 && trailingInt(string(u.text)) == ix.setYear[set]
}

// joined is the word that two units are which were typed apart, none where nobody knows it: "mew two".
func (q *query) joined(ix *Index, i, next int) uint32 {
	if i < 0 || next >= len(q.units) || q.units[i].end != q.units[next].start {
		return none
	}
	return ix.words.find(q.norm.text[q.units[i].start:q.units[next].end])
}

// joinsInSet says whether two units that were typed apart are one word of a card's set: "op-05".
func (q *query) joinsInSet(ix *Index, i, next int, card uint32) bool {
	return ix.setHolds(card, q.joined(ix, i, next))
}

// soundsIn returns the word of a card's name that another sounds like, nil for none.
func (ix *Index) soundsIn(card uint32, w []byte) []byte {
	if !isLetters(w) || len(w) < shortestSound || len(w) > longestSound {
		return nil
	}

	wanted := appendRuns(nil, appendSound(nil, w))
	t := ix.titleOf[card]
	for _, id := range ix.held.word[ix.held.start[t]:ix.held.start[t+1]] {
		word := ix.words.word(id)
		if !isLetters(word) || len(word) < shortestSound {
			continue
		}

		runs := appendRuns(nil, appendSound(nil, word))
		shared := 0
		for _, run := range wanted {
			if slices.Contains(runs, run) {
				shared++
			}
		}
		if 2*shared >= len(runs)+len(wanted)-shared {
			return word
		}
	}

	return nil
}

// hasAll says whether a card has every unit of a query as it was typed.
func (ix *Index) hasAll(q *query, card uint32) bool {
	for i := range q.units {
		if !ix.hasWord(card, q.units[i].text) && !ix.setHas(card, q.units[i].text) {
			return false
		}
	}
	return true
}

// hasWord says whether a word is part of a card's name or of what qualifies it.
func (ix *Index) hasWord(card uint32, w []byte) bool { return ix.holds(card, ix.words.find(w)) }

// holds is hasWord of a word's number.
func (ix *Index) holds(card, id uint32) bool {
	if id == none {
		return false
	}

	t := ix.titleOf[card]
	for i := ix.held.start[t]; i < ix.held.start[t+1]; i++ {
		if ix.held.word[i] == id {
			return true
		}
	}
	return false
}

// beginsWord says whether a word of a card's name or set begins so.
func (ix *Index) beginsWord(card uint32, w []byte) bool {
	lo, hi := ix.words.prefix(w)
	t := ix.titleOf[card]
	for i := ix.held.start[t]; i < ix.held.start[t+1]; i++ {
		if id := ix.held.word[i]; id >= lo && id < hi {
			return true
		}
	}

	return ix.ofSet(card, &ix.sets, lo, hi)
}

// isJoined says whether a word is two neighbours of a card's name, or a part of one.
func (ix *Index) isJoined(card uint32, w []byte) bool {
	if len(w) < 5 {
		return false
	}
	for at := 1; at < len(w); at++ {
		if ix.hasWord(card, w[:at]) && ix.hasWord(card, w[at:]) {
			return true
		}
	}
	return false
}

// setHas says whether a word is of a card's set: of its name, or a code.
func (ix *Index) setHas(card uint32, w []byte) bool { return ix.setHolds(card, ix.words.find(w)) }

// setHolds is setHas of a word's number.
func (ix *Index) setHolds(card, id uint32) bool {
	return id != none && (ix.ofSet(card, &ix.sets, id, id+1) || ix.ofSet(card, &ix.codes, id, id+1))
}

// ofSet says whether the card's set has one of the words from lo up to hi.
func (ix *Index) ofSet(card uint32, ps *postings, lo, hi uint32) bool {
	set := ix.setOf[card]
	if set < 0 || lo >= hi {
		return false
	}
	for i := ps.start[lo]; i < ps.start[hi]; i++ {
		if ps.holder[i] == uint32(set) {
			return true
		}
	}
	return false
}

// hasNumber says whether a card's number is the one that a reading asks for.
func (ix *Index) hasNumber(card uint32, number *numberReading) bool {
	return ix.numberOf[card] != none && (ix.numberOf[card] == number.exact || ix.baseOf[card] == number.exact ||
		number.tail != none && ix.tailOf[card] == number.tail)
}

// NumberGroup is a number that cards of one collector number, parallels included, have in common;
// false without a number.
func (ix *Index) NumberGroup(card uint32) (group uint32, ok bool) {
	return ix.baseOf[card], ix.baseOf[card] != none
}

// Word is the number of a folded word; false for one that no name, number or set has.
func (ix *Index) Word(folded string) (word uint32, ok bool) {
	word = ix.words.findString(folded)
	return word, word != none
}

// Names says whether a card's name, or what qualifies it, has a word.
func (ix *Index) Names(card, word uint32) bool { return ix.holds(card, word) }

// IsOfSet says whether a card's set is called by a word, among others.
func (ix *Index) IsOfSet(card, word uint32) bool { return ix.setHolds(card, word) }
