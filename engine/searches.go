package engine

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/dgraph-io/ristretto/v2"

	"ninepocket/index"
)

// SearchPage is one page of cards in order, with what was done to the words of the query.
type SearchPage struct {
	index.Page
	Interpretation []index.Note // beside the first hit of a query by words; on the first page alone
}

// searchCache remembers pages of word searches. A key has the snapshot's hash in it, so a swap
// clears nothing. An entry holds card numbers, a position and notes with texts of their own, so
// that it keeps nothing of a View. The cache may lose an entry: then the search runs again.
type searchCache struct {
	pages *ristretto.Cache[string, SearchPage]
	// The cache has metrics of its own, which cost a hash and a sharded counter for each call.
	// These two are enough.
	hits, misses atomic.Uint64
}

// newSearches returns a cache with a limit in bytes. It runs goroutines until it is closed.
func newSearches(bytes int64) *searchCache {
	const perPage = 400 // about what a page of 50 takes
	pages, err := ristretto.NewCache(&ristretto.Config[string, SearchPage]{
		NumCounters: max(10*bytes/perPage, 1000), MaxCost: bytes, BufferItems: 64, IgnoreInternalCost: true,
	})
	if err != nil {
		panic(err) // the settings above are positive, which is all that is asked of them
	}

	return &searchCache{pages: pages}
}

// Cards appends to dst the page that follows the position after, at most limit cards. For the first
// page after is nil. A search by words is remembered when the engine has a cache. Without words a
// search is cheaper than the cache.
func (v *View) Cards(dst []uint32, q index.Query, after *index.Position, limit int) index.Page {
	return v.cached(dst, &q, after, limit, false).Page
}

// CardsInterpreted is Cards with what was done to the words, which takes reading them once more.
// Nobody changes the notes: all who ask the same have them.
func (v *View) CardsInterpreted(dst []uint32, q index.Query, after *index.Position, limit int) SearchPage {
	return v.cached(dst, &q, after, limit, after == nil)
}

// cached finds a page in the cache, or finds it and keeps it there.
func (v *View) cached(dst []uint32, q *index.Query, after *index.Position, limit int, interpret bool) SearchPage {
	if v.searches == nil || !q.HasWords {
		return v.search(dst, q, after, limit, interpret)
	}

	key := string(v.appendSearchKey(make([]byte, 0, 128), q, after, limit, interpret))
	if found, ok := v.searches.pages.Get(key); ok {
		v.searches.hits.Add(1)
		found.Cards = append(dst, found.Cards...)
		return found
	}

	v.searches.misses.Add(1)
	found := v.search(dst, q, after, limit, interpret)
	stored := found
	stored.Cards = slices.Clone(found.Cards[len(dst):])
	stored.Last = found.Last.Clone()

	interpretation, size := cloneInterpretation(found.Interpretation)
	stored.Interpretation = interpretation
	v.searches.pages.Set(key, stored, int64(len(key)+4*len(stored.Cards)+size+entryCost))
	return found
}

// search finds a page, and what was done to the words if that is to be told.
func (v *View) search(dst []uint32, q *index.Query, after *index.Position, limit int, interpret bool) SearchPage {
	if !interpret || !q.HasWords {
		return SearchPage{Page: v.Index.Cards(dst, *q, after, limit)}
	}

	page, interpretation := v.Index.CardsInterpreted(dst, *q, limit)
	return SearchPage{Page: page, Interpretation: interpretation}
}

// cloneInterpretation copies notes with their texts, which may be of a request that ends, or of a
// catalog that is let go; size is about what they take in bytes.
func cloneInterpretation(all []index.Note) (copies []index.Note, size int) {
	copies = slices.Clone(all)
	for i := range copies {
		copied := &copies[i]
		copied.From = strings.Clone(copied.From)
		copied.To = strings.Clone(copied.To)
		size += interpretationCost + len(copied.From) + len(copied.To)
	}
	return copies, size
}

// What an entry takes in bytes: about so much beside its key, cards and notes, and for each note
// beside its texts.
const (
	entryCost          = 220
	interpretationCost = 40
)

// appendSearchKey spells everything that a page depends on. Each part has its own end, so that
// different parts never make the same key.
func (v *View) appendSearchKey(key []byte, q *index.Query, after *index.Position, limit int, interpret bool) []byte {
	key = binary.LittleEndian.AppendUint64(key, v.Hash)
	key = binary.AppendUvarint(key, uint64(limit))
	key = strconv.AppendBool(key, interpret)
	key = q.AppendKey(key)
	if after != nil {
		key = after.AppendBinary(key)
	}
	return key
}
