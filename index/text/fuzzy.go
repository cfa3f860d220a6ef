package text

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync/atomic"

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
// The cache is a table of fixed size whose slots are overwritten: it needs no goroutine and no
// close, drops nothing that was just added, and is freed with its index. ristretto, which the
// engine uses for whole pages, would cost two goroutines per index to stop, and more time per
// lookup than the slot's load and compare.
type fuzzyExpander struct {
	words    *vocabulary
	names    *postings // words of more names rank higher
	aliases  *aliasTable
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

// allowedTypos is the largest distance at which a word may be misspelled (docs/SEARCH.md, Expand).
// It is 0 under four letters or with anything but letters, 1 up to six letters, 2 from seven. Words of
// three letters are compared with the suffixes only (see lookup). Of three syllables or Han, or four
// kana, each of three bytes, one may be another of its block.
func allowedTypos(w []byte) int {
	switch {
	case isWide(w) && len(w) <= maxWord && (len(w) >= 12 || len(w) >= 9 && w[0] != firstOfKana):
		return 2
	case len(w) < 4 || len(w) > maxWord || !isLetters(w):
		return 0
	case len(w) < 7:
		return 1
	}

	return 2
}

// expand returns the known words near w, nearest first, without w itself. The result is shared: do
// not change it.
func (ex *fuzzyExpander) expand(w []byte, kind fuzzyKind) []nearWord { return ex.entry(w, kind).near }

// entry returns the expansion of w with its aliases; do not change it.
func (ex *fuzzyExpander) entry(w []byte, kind fuzzyKind) *fuzzyEntry {
	// If two words share a slot, one of them is expanded again.
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

// lookupAliases returns the phrases of one first character that are nearer to a word, which the catalog does not have,
// than any word that it has: where both are as near, the catalog's is meant.
func (ex *fuzzyExpander) lookupAliases(w []byte, words []nearWord) (near []nearWord) {
	limit := allowedTypos(w)
	if len(words) > 0 {
		limit = min(limit, int(words[0].distance)-1)
	}
	if limit <= 0 || ex.aliases.maxName == 0 || ex.words.find(w) != none {
		return nil
	}

	_, size := cardvocab.DecodeRune(w)
	a := automaton{pattern: w, limit: limit}
	for id, end := ex.aliases.phrases.prefix(w[:size]); id < end; {
		phrase := ex.aliases.phrases.word(id)
		state := a.Start()
		at := 0
		for ; at < len(phrase) && state != rejected; at++ {
			state = a.Accept(state, phrase[at])
		}
		// Neighbours begin alike, and none that begins so is near.
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
// with a word of three letters (docs/SEARCH.md, Expand).
var suffixes = []string{
	"v", "ex", "gx", "vmax", "vstar", "break", "lv", "x", "lvx", "legend", "radiant", "star", "prism",
}
