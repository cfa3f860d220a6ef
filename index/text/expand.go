package text

import (
	"bytes"

	"ninepocket/cardvocab"
)

// A termExpansion takes some terms of a query for known words: all those from lo up to hi, matched
// as class. A split takes one term for two words that are neighbours.
type termExpansion struct {
	bits     uint8
	class    matchClass
	tieTerms uint16 // the bit of a tie term, in which case bits is 0
	lo, hi   uint32
	second   uint32 // of a split; else none
}

// A pass is one of the searches for a query, from exact to tolerant. Each pass runs only if words
// are still missing after the previous pass.
type pass uint8

const (
	// passExact takes words as typed: exact, the last also as a prefix, neighbours joined,
	// unknown words split; sets count by their whole names.
	passExact pass = iota
	// passFuzzy takes every word as a prefix or misspelled, and sets by any word of their names,
	// and by codes.
	passFuzzy
	// passFuzzyPrefix takes the last word as the misspelled prefix of a word.
	passFuzzyPrefix
	// passPhonetic takes words for those that sound like them.
	passPhonetic
)

// maxSplits bounds how many splits of one word are tried.
const maxSplits = 4

// A termExpander expands the terms of a query to known words. It reuses its memory for later
// queries.
type termExpander struct {
	ix    *Index
	query *query
	list  []termExpansion
	phoneticScratch
}

// expand lists the expansions of every term, term by term, the best first (docs/dev/SEARCH.md, Expand).
// It reports whether the pass can find more than the previous pass.
func (rd *termExpander) expand(by round) bool {
	e := by.pass
	rd.list = rd.list[:0]
	terms := rd.query.terms
	if e == passFuzzyPrefix && !rd.query.allowFuzzyPrefix() || e == passPhonetic && !rd.query.allowPhonetic() {
		return false
	}

	for i := range terms {
		u := &terms[i]
		bit := uint8(1) << i
		// Words that were typed apart may be one: "pika chu".
		rd.expandJoined(i)
		id := u.id
		if id != none {
			rd.add(bit, exactName, id)
		}

		// And a word that was typed as one may be two: "darkcharizard".
		if id == none || rd.ix.isUsed(id, onlyJoined) {
			rd.expandSplit(bit, u.text)
		}

		// The name may have no possessive.
		if u.stem > 0 {
			if stem := rd.ix.words.find(u.text[:u.stem]); stem != none {
				rd.add(bit, prefixQualifier, stem)
			}
		}

		// If other words may be missing, three letters are too few to guess by.
		if i == len(terms)-1 || e >= passFuzzy && (!by.partial || len(u.text) > 3) {
			known := rd.expandPrefix(bit, u.text, id) || id != none
			if !known && (isWide(u.text) || e >= passFuzzy && !rd.ix.expander.isNear(u.text)) {
				rd.expandTranslatedPrefix(bit, u.text)
			}
		}

		if e >= passFuzzy && !u.number && !u.stopClass.isTradeTerm() {
			rd.expandTypos(bit, u.text, e == passFuzzyPrefix && i == len(terms)-1)
		}

		rd.expandCode(bit, u)
	}

	if e == passPhonetic {
		rd.expandPhonetic()
	}

	return true
}

// allowFuzzyPrefix reports whether the last word is long enough to be the misspelled prefix of
// another.
func (q *query) allowFuzzyPrefix() bool {
	last := &q.terms[len(q.terms)-1]
	return !last.number && len(last.text) >= 5 && allowedTypos(last.text) > 0
}

// expandCode takes a word for a set's code with other padding zeros: sv03, sv3.
func (rd *termExpander) expandCode(bit uint8, u *queryTerm) {
	if u.number || !isNumberWord(u.text) || cardvocab.IsDigit(u.text[0]) {
		return
	}

	short := rd.query.numberKey(u.first, u.til)
	if id := rd.ix.words.find(short); id != none && !bytes.Equal(short, u.text) {
		rd.add(bit, exactName, id)
	}
}

func (rd *termExpander) add(bits uint8, c matchClass, id uint32) {
	rd.list = append(rd.list, termExpansion{bits: bits, class: c, lo: id, hi: id + 1, second: none})
}

// expandJoined takes term i and the next for one word, if that is known.
func (rd *termExpander) expandJoined(i int) {
	if i+1 >= len(rd.query.terms) {
		return
	}

	u := &rd.query.terms[i]
	next := &rd.query.terms[i+1]
	if u.end != next.start || next.end-u.start > maxWord {
		return
	}

	id := rd.ix.words.find(rd.query.norm.text[u.start:next.end])
	switch {
	case id == none:
	case rd.query.norm.tokens[next.first].before == ' ' && cardvocab.IsInteger(next.text) && !rd.ix.isUsed(id, inName):
		// A set and a number with a space between are more likely these than a code: "charizard
		// base 4".
		rd.add(3<<i, prefixName, id)
	default:
		rd.add(3<<i, exactName, id)
	}
}

// expandSplit takes a word of five letters or more that never occurs alone for two known ones.
func (rd *termExpander) expandSplit(bit uint8, w []byte) {
	found := 0
	for at := 1; len(w) >= 5 && at < len(w) && found < maxSplits; at++ {
		a := rd.ix.words.find(w[:at])
		if a == none {
			continue
		}
		if b := rd.ix.words.find(w[at:]); b != none {
			rd.list = append(rd.list, termExpansion{bits: bit, class: exactName, lo: a, hi: a + 1, second: b})
			found++
		}
	}
}

// expandPrefix takes a word of two letters or more for the prefix of others. id is the word itself,
// or none. It reports whether there are such words.
func (rd *termExpander) expandPrefix(bit uint8, w []byte, id uint32) bool {
	if len(w) < 2 || cardvocab.IsInteger(w) {
		return false
	}

	// The words with one prefix are neighbours; the word itself is the first of them.
	words := &rd.ix.words
	var lo, hi uint32
	if id == none {
		lo, hi = words.prefix(w)
	} else {
		lo = id + 1
		hi = words.prefixEnd(lo, w)
	}

	if lo < hi {
		rd.list = append(rd.list, termExpansion{bits: bit, class: prefixName, lo: lo, hi: hi, second: none})
	}
	return lo < hi
}

// expandTypos takes a word for similar words, of which it may be a misspelling.
func (rd *termExpander) expandTypos(bit uint8, w []byte, starts bool) {
	if allowedTypos(w) == 0 && len(w) != 3 {
		return
	}

	// Words with one error come before fuzzy prefixes, and those before words with two errors.
	known := rd.ix.expander.entry(w, typos)
	near := known.near
	i := 0
	for ; i < len(near) && near[i].distance == 1; i++ {
		rd.add(bit, typoName, near[i].id)
	}

	if starts {
		for _, near := range rd.ix.expander.expand(w, typoPrefix) {
			rd.add(bit, fuzzyPrefixName, near.id)
		}
	}

	for ; i < len(near); i++ {
		rd.add(bit, twoTyposName, near[i].id)
	}
	rd.addTranslatedTypos(bit, known.aliases)
}
