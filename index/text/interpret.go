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
	asName                    // the word is the card's name; never told
)

// A Note tells what was done to words of a query.
type Note struct {
	Kind     NoteKind
	From, To string // To is what the words were taken for, where that is something else
}

// Interpret appends what was done to the words of a query that found a hit; nothing where all words are
// the card's name (docs/SEARCH.md, What the answer tells).
func (ix *Index) Interpret(dst []Note, query string, hit Hit) []Note {
	s := ix.take()
	defer ix.scratch.Put(s)
	q := &s.query
	q.parse(ix, query, hit.by.asTyped)

	if q.rewrote {
		dst = append(dst, Note{Kind: ReadAs, From: query, To: q.spaced(0, len(q.norm.tokens))})
	}
	dst = ix.noteMarks(dst, q, hit.Card)
	if hit.isPlain() && q.optional == 0 {
		return dst
	}
	return s.noteUnits(dst, hit)
}

// isPlain says whether the score tells that all words were found in the name as they were typed.
func (hit Hit) isPlain() bool {
	fit := FitOf(hit.Score)
	exact := hit.Score>>inexactAt&(1<<(setAt-inexactAt)-1) == 0 || hit.by.effort == asTyped
	return fit.Missing+fit.Typos+fit.Borrowed == 0 && exact && hit.Score>>numberAt&noNumber == noNumber
}

// spaced are the words of some tokens, with spaces.
func (q *query) spaced(from, til int) string {
	var text []byte
	for i, tok := range q.norm.tokens[from:til] {
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

		switch q.marks[i].kind {
		case markQuiet, markGrade:
			dst = append(dst, Note{Kind: LeftOut, From: q.spaced(i, til)})
		case markWish:
			// Where the first hit does not come near it, none does.
			kind := Preferred
			if wish := q.marks[i].wish; !ix.comesNear(card, wish) {
				kind = Missing
			}
			dst = append(dst, Note{Kind: kind, From: q.spaced(i, til)})
		case markGame:
			dst = append(dst, Note{Kind: InGame, From: q.spaced(i, til)})
		case markPlain, markYear:
		}

		i = til
	}

	return dst
}

// noteUnits makes the round again that found a hit, for this card alone, and tells what each unit was
// found as, unless it is a word of the card's name.
func (s *search) noteUnits(dst []Note, hit Hit) []Note {
	s.expand(hit.by.effort, hit.by.lacking)
	s.begin()
	s.collectSets()
	t := s.ix.titleOf[hit.Card]
	s.title(t)
	s.hitTitles()
	name := &s.titles[t]
	var ev evidence
	ev.weigh(s, hit.Card, name)

	number := uint8(0) // the units of the number that was told last
	for i := range s.query.units {
		text := s.query.units[i].text
		note := Note{}
		c := ev.all.at(i)
		switch {
		case name.costs.at(i) <= exactBeside:
			continue
		case ev.numbers>>i&1 != 0:
			// Words that are one number together are told together: "swsh 039".
			if number>>i&1 != 0 {
				dst[len(dst)-1].From += " " + string(text)
				continue
			}
			note.Kind = AsNumber
			number = s.numberOf(hit.Card, i)
		case ev.set != nil && ev.set.costs.at(i) <= exactBeside && c != missing:
			note.Kind = AsSet
		case c == missing:
			note.Kind = Missing
		case s.query.optional>>i&1 != 0:
			note.Kind = Preferred
		default:
			note.Kind, note.To = s.foundAs(hit.Card, i, ev.all)
		}
		if note.Kind == asName {
			continue
		}
		note.From = string(text)
		dst = append(dst, note)
	}

	return dst
}

// numberOf are the units of the numbers that a card has, as which unit i was read.
func (s *search) numberOf(card uint32, i int) (units uint8) {
	for k := range s.query.numbers {
		number := &s.query.numbers[k]
		if number.bits>>i&1 != 0 && s.numberLevel(card, number) != noNumber {
			units |= number.bits
		}
	}
	return units
}

// foundAs says what unit i was found as that no card has as it was typed, and as which word. What was heard
// together with a word that is found by itself is missing: "monkey ld" sounds like Monkey.
func (s *search) foundAs(card uint32, i int, all costs) (NoteKind, string) {
	begins := all.at(i) <= prefixBeside
	for k := range s.readings.list {
		r := &s.readings.list[k]
		alone := r.bits == 1<<i
		switch {
		case r.bits>>i&1 == 0 || !s.ix.Names(card, r.lo) && !s.ix.IsOfSet(card, r.lo):
		case begins && !alone && r.class == prefixName:
			return AsSet, "" // a code that stands apart: "swsh 07"

		// A beginning is told where it may as well be a misspelling, but at the end, where it may go on.
		case begins && (r.class != typoName && r.class != typosName || i == len(s.query.units)-1):
		case r.class >= typoName && (alone || r.bits&^all.heard() == 0):
			return Respelt, string(s.ix.words.word(r.lo))
		}
	}

	if begins {
		return asName, ""
	}
	return Missing, ""
}

// heard are the words that were found by their sound.
func (cs costs) heard() (units uint8) {
	for word := range maxUnits {
		if c := cs.at(word); c == soundName || c == soundBeside {
			units |= 1 << word
		}
	}
	return units
}

// Names says whether a card's name, or what qualifies it, has a word.
func (ix *Index) Names(card, word uint32) bool {
	return word != none && slices.Contains(ix.held.holders(ix.titleOf[card]), word)
}

// IsOfSet says whether a card's set is called by a word, among others: of its name, or a code.
func (ix *Index) IsOfSet(card, word uint32) bool {
	set := ix.setOf[card]
	return word != none && set >= 0 && (slices.Contains(ix.sets.holders(word), uint32(set)) ||
		slices.Contains(ix.codes.holders(word), uint32(set)))
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
