package text

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync/atomic"
)

// Bounds of what a word may be expanded to, so that the worst query stays cheap. The nearest and
// then the most common words are kept.
const (
	maxNear       = 48
	maxNearPrefix = 24
)

// A nearWord is a known word and how far it is from the one asked for.
type nearWord struct {
	id       uint32
	distance uint8
}

// An expander answers which known words are near a word, and remembers it.
//
// The memory is a table of fixed size whose slots are overwritten: it needs no goroutine and no
// closing, drops nothing that was just put in, and is freed with its index. ristretto, which the
// engine uses for whole answers, would cost two goroutines per index to stop, and more time per
// lookup than the slot's load and compare.
type fuzzyExpander struct {
	words    *vocabulary
	names    *postings // what more names hold is nearer
	near     dictionary
	suffixes []uint32
	seed     maphash.Seed
	cache    [1 << cacheBits]atomic.Pointer[fuzzyEntry]
}

const cacheBits = 12

// An expansion is what a word was expanded to. It never changes.
type fuzzyEntry struct {
	word string
	kind fuzzyKind
	near []nearWord
}

type fuzzyKind uint8

const (
	typos      fuzzyKind = iota // words within the distance that the word's length allows
	typoPrefix                  // words of which a beginning is one error away
)

// allowedTypos is the greatest distance at which a word may be misspelled (docs/SEARCH.md, Expand):
// none under four letters or with digits, one up to six, two from seven. Words of three letters are
// compared with the suffixes only (see look).
func allowedTypos(w []byte) int {
	switch {
	case len(w) < 4 || len(w) > maxWord || !isLetters(w):
		return 0
	case len(w) < 7:
		return 1
	}

	return 2
}

// expand returns the known words near w, nearest first, without w itself. The result is shared: do
// not change it.
func (ex *fuzzyExpander) expand(w []byte, kind fuzzyKind) []nearWord {
	// Two words may fight for a slot; then one of them is expanded again.
	slot := &ex.cache[(maphash.Bytes(ex.seed, w)^uint64(kind))&(1<<cacheBits-1)]
	if known := slot.Load(); known != nil && known.kind == kind && known.word == string(w) {
		return known.near
	}
	fresh := &fuzzyEntry{word: string(w), kind: kind, near: ex.lookup(w, kind)}
	slot.Store(fresh)
	return fresh.near
}

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
	// The dictionary is plain memory, so that walking it does not fail; what was found would stand.
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

// suffixes is the closed list of words that follow (or precede) a name, the only ones for which a
// word of three letters may be a misspelling (docs/SEARCH.md, Expand).
var suffixes = []string{
	"v", "ex", "gx", "vmax", "vstar", "break", "lv", "x", "lvx", "legend", "radiant", "star", "prism",
}
