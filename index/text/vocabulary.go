package text

import (
	"bytes"
	"hash/maphash"
	"slices"
	"sort"
	"strings"
)

// A vocabulary is a set of distinct words in byte order: a word's index is its id. So the words
// with a common prefix are a range of ids. Its columns contain no pointers.
type vocabulary struct {
	arena []byte
	start []uint32 // len = words + 1
	slots []uint32 // open addressing: word number + 1, 0 is free
	seed  maphash.Seed
}

// none is the id of a word that is not in the vocabulary.
const none = ^uint32(0)

// Every calls step at element i of a loop over small elements, once in 256.
func Every(step func(), i int) {
	if i&255 == 0 {
		step()
	}
}

// Sort sorts as slices.SortFunc does, and calls step now and then.
func Sort[T any](step func(), all []T, compare func(a, b T) int) {
	compared := 0
	slices.SortFunc(all, func(a, b T) int {
		compared++
		Every(step, compared)
		return compare(a, b)
	})
}

// newVocabulary numbers the distinct words, which it sorts.
func newVocabulary(words []string, step func()) vocabulary {
	Sort(step, words, strings.Compare)
	words = slices.Compact(words)
	v := vocabulary{start: make([]uint32, 1, len(words)+1), seed: maphash.MakeSeed()}
	// Half of the slots stay free, so that chains are short.
	size := 8
	for size < 2*len(words) {
		size *= 2
	}

	v.slots = make([]uint32, size)
	for i, w := range words {
		Every(step, i)
		v.arena = append(v.arena, w...)
		v.start = append(v.start, uint32(len(v.arena)))
		at := v.slot(maphash.String(v.seed, w))
		for v.slots[at] != 0 {
			at = v.slot(uint64(at) + 1)
		}
		v.slots[at] = uint32(i) + 1
	}

	return v
}

func (v *vocabulary) len() int { return len(v.start) - 1 }

func (v *vocabulary) word(id uint32) []byte { return v.arena[v.start[id]:v.start[id+1]] }

func (v *vocabulary) slot(hash uint64) uint32 { return uint32(hash) & uint32(len(v.slots)-1) }

// find returns the id of w, or none.
func (v *vocabulary) find(w []byte) uint32 { return probe(v, maphash.Bytes(v.seed, w), w) }

func (v *vocabulary) findString(w string) uint32 { return probe(v, maphash.String(v.seed, w), w) }

func probe[T string | []byte](v *vocabulary, hash uint64, w T) uint32 {
	at := v.slot(hash)
	for v.slots[at] != 0 {
		if id := v.slots[at] - 1; string(v.word(id)) == string(w) {
			return id
		}
		at = v.slot(uint64(at) + 1)
	}

	return none
}

// prefix returns the range of words that begin with head, which is one of them if it is a word.
func (v *vocabulary) prefix(head []byte) (lo, hi uint32) {
	begin := sort.Search(v.len(), func(i int) bool { return bytes.Compare(v.word(uint32(i)), head) >= 0 })
	return uint32(begin), v.prefixEnd(uint32(begin), head)
}

// prefixEnd returns the end of the words from lo on that begin with head. For most words they are
// few, so it searches near lo first.
func (v *vocabulary) prefixEnd(lo uint32, head []byte) uint32 {
	begins := func(i int) bool { return i < v.len() && bytes.HasPrefix(v.word(uint32(i)), head) }
	from := int(lo)
	step := 1
	for begins(from + step - 1) {
		from += step
		step *= 2
	}

	return uint32(from + sort.Search(step-1, func(i int) bool { return !begins(from + i) }))
}
