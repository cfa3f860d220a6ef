package text

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"ninepocket/cardvocab"
)

// Bounds of how many words one word is expanded to, so that the worst query stays cheap. The
// nearest and then the most common words win.
const (
	maxNear       = 48
	maxNearPrefix = 24
)

// A nearWord is a known word with its distance from the typed word.
type nearWord struct {
	id       uint32
	distance uint8
}

// A fuzzyExpander returns the known words near a word, and caches them.
//
// The cache is a table of fixed size whose slots are overwritten. It needs no goroutine and no
// close, drops no new entry at once, and is freed with its index. The engine's ristretto for
// whole pages would cost two goroutines per index to stop, and more time per lookup than the
// slot's load and compare.
type fuzzyExpander struct {
	*lexicon
	near     dictionary
	suffixes []uint32
	seed     maphash.Seed
	cache    [1 << cacheBits]atomic.Pointer[fuzzyEntry]
}

const cacheBits = 12

// A fuzzyEntry is a word and its expansion. It never changes.
type fuzzyEntry struct {
	word string
	kind fuzzyKind
	near []nearWord
	// aliases are phrases that are nearer than near, of typos.
	aliases []nearWord
}

type fuzzyKind uint8

const (
	typos      fuzzyKind = iota // words within the distance that the word's length allows
	typoPrefix                  // words with a prefix that is one error away
)

// allowedTypos is the largest distance at which a word may be misspelled (docs/dev/SEARCH.md, Expand). It
// is 0 under four letters, and for a word with other characters than letters and digits that may be
// misread letters. It is 1 up to six letters, and 2 from seven. Words of three letters are compared with
// the suffixes only (see lookup). It is also 2 for three syllables or Han, and for four kana: each has
// three bytes, so that one may be another of its block.
func allowedTypos(w []byte) int {
	switch {
	case isWide(w) && len(w) <= maxWord && (characters(w) >= 4 || characters(w) == 3 && w[0] != firstOfKana):
		return 2
	case len(w) < 4 || len(w) > maxWord || !isMisread(w):
		return 0
	case len(w) < 7:
		return 1
	}

	return 2
}

// characters counts the characters of a wide word, voicing marks aside.
func characters(w []byte) (n int) {
	for at := 0; at < len(w); n++ {
		at = nextCharacter(w, at)
	}
	return n
}

// expand returns the known words near w, nearest first, without w itself. The result is shared: do
// not change it.
func (ex *fuzzyExpander) expand(w []byte, kind fuzzyKind) []nearWord { return ex.entry(w, kind).near }

// entry returns the expansion of w with its aliases; do not change it.
func (ex *fuzzyExpander) entry(w []byte, kind fuzzyKind) *fuzzyEntry {
	// If two words have one slot, one of them is expanded again.
	slot := &ex.cache[(maphash.Bytes(ex.seed, w)^uint64(kind))&(1<<cacheBits-1)]
	if known := slot.Load(); known != nil && known.kind == kind && known.word == string(w) {
		return known
	}
	fresh := &fuzzyEntry{word: string(w), kind: kind, near: ex.lookup(w, kind)}
	if kind == typos {
		fresh.aliases = ex.lookupAliases(w, fresh.near)
	}
	slot.Store(fresh)
	return fresh
}

// firstOfKana is the first byte of kana.
const firstOfKana = 0xe3

func (ex *fuzzyExpander) lookup(w []byte, kind fuzzyKind) []nearWord {
	a := automaton{pattern: w, limit: allowedTypos(w)}
	limit := maxNear
	switch {
	case kind == typoPrefix:
		a.limit = 1
		a.prefix = true
		limit = maxNearPrefix
	case a.limit == 0:
		return ex.lookupSuffix(w)
	}

	var near []nearWord
	// The dictionary is plain memory, so the search of it cannot fail.
	_ = ex.near(&a, func(word string, distance uint8) {
		if id := ex.words.findString(word); id != none && distance > 0 {
			near = append(near, nearWord{id: id, distance: distance})
		}
	})

	return ex.best(near, limit)
}

// lookupSuffix returns the suffixes near a word of three letters: "vmx" is vmax.
func (ex *fuzzyExpander) lookupSuffix(w []byte) []nearWord {
	if len(w) != 3 {
		return nil
	}

	var near []nearWord
	a := automaton{pattern: w, limit: 1}
	for _, id := range ex.suffixes {
		if ok, distance := a.MatchAndDistance(string(ex.words.word(id))); ok && distance > 0 {
			near = append(near, nearWord{id: id, distance: distance})
		}
	}

	return ex.best(near, maxNear)
}

// isNear reports whether a word is one error away from a word of the catalog.
func (ex *fuzzyExpander) isNear(w []byte) bool {
	near := ex.expand(w, typos)
	return len(near) > 0 && near[0].distance == 1
}

// lookupAliases returns phrases near a word that the catalog does not have. They have one first character, and must be
// nearer than any word of the catalog: if both are as near, the catalog's is meant.
func (ex *fuzzyExpander) lookupAliases(w []byte, words []nearWord) (near []nearWord) {
	limit := allowedTypos(w)
	if len(words) > 0 {
		limit = min(limit, int(words[0].distance)-1)
	}
	if limit <= 0 || ex.aliases.maxName == 0 || ex.words.find(w) != none {
		return nil
	}

	_, size := utf8.DecodeRune(w)
	a := automaton{pattern: w, limit: limit}
	for id, end := ex.aliases.phrases.prefix(w[:size]); id < end; {
		phrase := ex.aliases.phrases.word(id)
		state := a.Start()
		at := 0
		for ; at < len(phrase) && state != rejected; at++ {
			state = a.Accept(state, phrase[at])
		}
		// Neighbours have a common prefix, and no near phrase has this prefix.
		if state == rejected {
			id = ex.aliases.phrases.prefixEnd(id, phrase[:at])
			continue
		}
		if a.IsMatch(state) {
			near = append(near, nearWord{id: id, distance: a.EditDistance(state)})
		}
		id++
	}
	return near
}

func (ex *fuzzyExpander) best(near []nearWord, limit int) []nearWord {
	slices.SortFunc(near, func(a, b nearWord) int {
		return cmp.Or(
			cmp.Compare(a.distance, b.distance),
			-cmp.Compare(len(ex.names.docs(a.id)), len(ex.names.docs(b.id))),
			cmp.Compare(a.id, b.id),
		)
	})

	return slices.Clip(near[:min(limit, len(near))])
}

// suffixes is the closed list of words that follow (or precede) a name. Only these are compared
// with a word of three letters (docs/dev/SEARCH.md, Expand).
var suffixes = []string{
	"v", "ex", "gx", "vmax", "vstar", "break", "lv", "x", "lvx", "legend", "radiant", "star", "prism",
}

// The letters and digits of a number that a scanner mistakes for each other, in pairs: the typed one and
// the one that is meant.
const (
	asDigits  = "o0l1i1s5b8"
	asLetters = "0o5s8b"
)

// minLookalikes is the least length of a number without a total whose letters are read as digits.
const minLookalikes = 3

// readLookalikes corrects numbers with letters in place of digits, or digits in place of letters, if no
// card has the number as typed (docs/dev/SEARCH.md, Numbers). Examples: "O11/198", "OPO5-119", "4/lO2".
func (q *query) readLookalikes(ix *Index) {
	tokens := q.norm.tokens
	for i := 0; i < len(tokens); {
		til := i + 1
		for til < len(tokens) && (tokens[til].before == '-' || tokens[til].before == '_') {
			til++
		}

		switch {
		case i > 0 && tokens[i].before == '/':
			q.correctTotal(i)
		case til < len(tokens) && tokens[til].before == '/':
			q.correctNumber(ix, i, til)
		case len(q.span(i, til)) >= minLookalikes && isNumberWord(q.span(i, til)) && !ix.isKnownWord(q.span(i, til)):
			q.correctNumber(ix, i, til)
		}
		i = til
	}
}

// correctNumber makes the tokens from i to til the known number that they look like, which has
// letters and then digits; it changes nothing if there is none.
func (q *query) correctNumber(ix *Index, i, til int) {
	if ix.numbers.find(q.numberKey(i, til)) != none {
		return
	}

	text := q.span(i, til)
	typed := slices.Clone(text)
	for head := range text {
		if readAs(text[:head], asLetters, isLetter) && readAs(text[head:], asDigits, cardvocab.IsDigit) &&
			ix.numbers.find(q.numberKey(i, til)) != none {
			return
		}
		copy(text, typed)
	}
}

// correctTotal makes the token behind a slash the total that it looks like. It may begin with the
// letters of the number: "GG69/GG7O".
func (q *query) correctTotal(i int) {
	number := q.norm.word(q.norm.tokens[i-1])
	text := q.norm.word(q.norm.tokens[i])
	head := 0
	for head < min(len(text), len(number)) && text[head] == number[head] && isLetter(text[head]) {
		head++
	}

	if cardvocab.IsInteger(text[head:]) {
		return
	}
	typed := slices.Clone(text)
	if !readAs(text[head:], asDigits, cardvocab.IsDigit) {
		copy(text, typed)
	}
}

// readAs replaces characters by their lookalikes in pairs, unless they are already correct. It reports
// whether all are correct then.
func readAs(text []byte, pairs string, right func(byte) bool) bool {
	for i, b := range text {
		if right(b) {
			continue
		}
		at := strings.IndexByte(pairs, b)
		if at < 0 {
			return false
		}
		text[i] = pairs[at+1]
	}
	return true
}

func isLetter(b byte) bool { return b >= 'a' && b <= 'z' }

// maxMisreadDigits is how many digits of a word may be misread letters.
const maxMisreadDigits = 2

// isMisread reports whether a word may consist of letters, some of them read as digits by a
// scanner: "squirt1e". Two digits at the end are a number.
func isMisread(w []byte) bool {
	digits := 0
	for _, b := range w {
		switch {
		case isLetter(b):
		case b == '0', b == '1', b == '5', b == '8':
			digits++
		default:
			return false
		}
	}

	n := len(w)
	return digits <= maxMisreadDigits && n-digits >= 3 && (isLetter(w[n-1]) || isLetter(w[n-2]))
}
