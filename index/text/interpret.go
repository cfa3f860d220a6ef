package text

import (
	"bytes"
	"slices"

	"golang.org/x/text/unicode/norm"

	"ninepocket/cardvocab"
)

// A NoteKind is the kind of a Note, such as a correction or a dropped word.
type NoteKind uint8

// The kinds of notes.
const (
	Dropped       NoteKind = iota // the words were not searched
	Replaced                      // an alias was replaced
	Corrected                     // a word was corrected
	Missing                       // the card does not have the word
	MatchedSet                    // the words are of the card's set
	MatchedNumber                 // the words are the card's number
	Preferred                     // cards that have this rarity, finish, edition or year come first
	InGame                        // the words name the game
	Sorted                        // cards are in this order, To as a sort parameter
	Bounded                       // prices have the bounds From and To, in cents
	InEra                         // the words name an era, To
	NoCard                        // the words name a product that holds cards
	matchedName                   // the word is of the card's name; never reported
)

// IsOfQuery reports whether a note concerns the query, independent of the first card.
func (kind NoteKind) IsOfQuery() bool { return kind == Dropped || kind >= Sorted }

// A Note explains how one part of a query was interpreted.
type Note struct {
	Kind     NoteKind
	From, To string // To is the text that the words were taken for, if it differs
}

// Interpret appends notes that explain how a query matched card, its first hit. There are none if
// all words are of the card's name (docs/dev/SEARCH.md, How a query is explained).
func (ix *Index) Interpret(dst []Note, query string, hit Hit) []Note {
	s := ix.take()
	defer ix.scratch.Put(s)
	q := &s.query
	q.parse(ix, query, hit.by.noAliases)

	for i := range q.rewrites {
		if of := &q.rewrites[i]; of.words != "" {
			dst = append(dst, Note{Kind: Replaced, From: of.typed(query), To: of.words})
		}
	}
	dst = ix.explainRoles(dst, q, hit.Card)
	if hit.isPlain() && q.optional == 0 && !hasUnknown(q.terms) {
		return dst
	}
	return s.explainTerms(dst, hit)
}

// typed returns the phrase as it stands in the query.
func (of *rewrite) typed(query string) string {
	if of.til == 0 {
		return norm.NFC.String(of.folded)
	}
	return cardvocab.Unescape(query)[of.from:of.til]
}

// isPlain reports whether, by the score, all words were found in the name as typed.
func (hit Hit) isPlain() bool {
	quality := QualityOf(hit.Score)
	exact := hit.Score>>inexactAt&(1<<(setAt-inexactAt)-1) == 0 || hit.by.pass == passExact
	return quality.Missing+quality.Typos+quality.OutsideName == 0 && exact && hit.Score>>numberAt&noNumber == noNumber
}

// spacedText returns the words of some tokens, separated by spaces.
func (q *query) spacedText(from, til int) string {
	var text []byte
	for i, tok := range q.norm.tokens[from:til] {
		if i > 0 {
			text = append(text, ' ')
		}
		text = append(text, q.norm.word(tok)...)
	}
	return string(text)
}

// explainRoles notes the words that were dropped, preferred, or taken for a game; neighbours
// share a note.
func (ix *Index) explainRoles(dst []Note, q *query, card uint32) []Note {
	for i := 0; i < len(q.roles); {
		til := i + 1
		for til < len(q.roles) && q.roles[til].kind == q.roles[i].kind && q.roles[til].preference.Exact == 0 {
			til++
		}

		switch q.roles[i].kind {
		case roleStop, roleCopy:
			dst = append(dst, Note{Kind: Dropped, From: q.spacedText(i, til)})
		case rolePreference:
			// If the first hit is not near it, no hit is.
			kind := Preferred
			switch {
			case ix.inSetOfCode(card, q.roles[i].wordID):
				kind = MatchedSet
			case !ix.comesNear(card, q.roles[i].preference):
				kind = Missing
			}
			dst = append(dst, Note{Kind: kind, From: q.spacedText(i, til)})
		case roleGame:
			dst = append(dst, Note{Kind: InGame, From: q.spacedText(i, til)})
		case roleTerm, roleYear:
		}

		i = til
	}

	return dst
}

// explainTerms repeats the round that found a hit, for this card alone. It notes how each term was
// matched, unless it is a word of the card's name.
func (s *search) explainTerms(dst []Note, hit Hit) []Note {
	s.expand(hit.by.pass, hit.by.partial)
	s.begin()
	s.collectSets()
	t := s.ix.groupOf[hit.Card]
	s.addGroup(t)
	s.hitGroups()
	name := &s.groups[t]
	var ev evidence
	ev.collect(s, hit.Card, name)

	number := uint8(0) // the terms of the number in the last note
	for i := range s.query.terms {
		text := s.query.terms[i].text
		note := Note{}
		c := ev.all.at(i)
		switch {
		case name.classes.at(i) <= exactQualifier:
			continue
		case ev.numbers>>i&1 != 0:
			// Words that form one number have one note: "swsh 039".
			if number>>i&1 != 0 {
				dst[len(dst)-1].From += " " + string(text)
				continue
			}
			note.Kind = MatchedNumber
			number = s.numberOf(hit.Card, i)
		case ev.set != nil && ev.set.classes.at(i) <= exactQualifier && c != missing:
			note.Kind = MatchedSet
		case c == missing:
			note.Kind = Missing
		case s.query.optional>>i&1 != 0:
			note.Kind = Preferred
		default:
			note.Kind, note.To = s.foundAs(hit.Card, i, ev.all)
		}
		if note.Kind == matchedName {
			continue
		}
		note.From = string(text)
		dst = append(dst, note)
	}

	return dst
}

// numberOf returns the terms of the card's numbers that contain term i.
func (s *search) numberOf(card uint32, i int) (terms uint8) {
	for k := range s.query.numbers {
		number := &s.query.numbers[k]
		if number.bits>>i&1 != 0 && s.numberLevel(card, number) != noNumber {
			terms |= number.bits
		}
	}
	return terms
}

// foundAs returns how term i matched, which no card has as typed, and as which word. A term that
// sounds like a word only together with a term that matches by itself is missing: "monkey ld"
// sounds like Monkey.
func (s *search) foundAs(card uint32, i int, all matchClasses) (NoteKind, string) {
	begins := all.at(i) <= prefixQualifier
	for k := range s.expansions.list {
		r := &s.expansions.list[k]
		alone := r.bits == 1<<i
		switch {
		case r.bits>>i&1 == 0 || !s.ix.NameHasTerm(card, r.lo) && !s.ix.SetHasTerm(card, r.lo):
		case begins && alone && !bytes.HasPrefix(s.ix.words.word(r.lo), s.query.terms[i].text):
			// The name in another language is being typed.
			return Replaced, s.wordsOf(r)
		case begins && !alone && r.class == prefixName:
			return MatchedSet, "" // a code that was typed as two words: "swsh 07"

		// A prefix is reported if it may also be a misspelling, except at the end, where the user
		// may still be typing.
		case begins && (r.class != typoName && r.class != twoTyposName || i == len(s.query.terms)-1):
		case r.class >= typoName && (alone || r.bits&^all.phonetic() == 0):
			return Corrected, string(s.ix.words.word(r.lo))
		}
	}

	if begins {
		return matchedName, ""
	}
	return Missing, ""
}

// wordsOf returns the words that an expansion takes its term for.
func (s *search) wordsOf(r *termExpansion) string {
	words := string(s.ix.words.word(r.lo))
	if r.second != none {
		words += " " + string(s.ix.words.word(r.second))
	}
	return words
}

// hasUnknown reports whether no card has some of the terms as a word.
func hasUnknown(terms []queryTerm) bool {
	return slices.ContainsFunc(terms, func(u queryTerm) bool { return u.id == none && !u.number })
}

// phonetic returns the words that were found by their sound.
func (cs matchClasses) phonetic() (terms uint8) {
	for word := range maxQueryTerms {
		if c := cs.at(word); c == phoneticName || c == phoneticQualifier {
			terms |= 1 << word
		}
	}
	return terms
}

// NameHasTerm reports whether a card's name or its qualifiers have a word.
func (ix *Index) NameHasTerm(card, word uint32) bool {
	return word != none && slices.Contains(ix.docTerms.docs(ix.groupOf[card]), word)
}

// SetHasTerm reports whether the name of a card's set has a word, or the word is one of its codes.
func (ix *Index) SetHasTerm(card, word uint32) bool {
	set := ix.setOf[card]
	return word != none && set >= 0 && (slices.Contains(ix.sets.docs(word), uint32(set)) ||
		slices.Contains(ix.codes.docs(word), uint32(set)))
}

// NumberGroup returns a number common to the cards of an equal collector number, parallels
// included; ok is false without a number.
func (ix *Index) NumberGroup(card uint32) (group uint32, ok bool) {
	return ix.baseOf[card], ix.baseOf[card] != none
}

// TermID returns the id of a folded word; ok is false for one that no name, number or set has.
func (ix *Index) TermID(folded string) (word uint32, ok bool) {
	word = ix.words.findString(folded)
	return word, word != none
}
