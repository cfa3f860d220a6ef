package engine

import (
	"encoding/binary"
	"slices"
	"sync/atomic"

	"github.com/dgraph-io/ristretto/v2"

	"ninepocket/index"
)

// searches remembers pages of word searches. A key has the snapshot's hash in it, so a swap clears
// nothing. An entry holds card numbers and a position with texts of its own, so that it keeps nothing
// of a View. The cache may lose an entry: then the search runs again.
type searches struct {
	pages *ristretto.Cache[string, index.Page]
	// The cache has metrics of its own, which cost a hash and a sharded counter for each call.
	// These two are enough.
	hits, misses atomic.Uint64
}

// newSearches returns a cache with a limit in bytes. It runs goroutines until it is closed.
func newSearches(bytes int64) *searches {
	const perPage = 400 // about what a page of 50 takes
	pages, err := ristretto.NewCache(&ristretto.Config[string, index.Page]{
		NumCounters: max(10*bytes/perPage, 1000), MaxCost: bytes, BufferItems: 64, IgnoreInternalCost: true,
	})
	if err != nil {
		panic(err) // the settings above are positive, which is all that is asked of them
	}

	return &searches{pages: pages}
}

// Cards appends to dst the page that follows the position after, at most limit cards. For the first
// page after is nil. A search by words is remembered when the engine has a cache. Without words a
// search is cheaper than the cache.
func (v *View) Cards(dst []uint32, q index.Query, after *index.Position, limit int) index.Page {
	if v.searches == nil || !q.HasWords {
		return v.Index.Cards(dst, q, after, limit)
	}

	key := string(v.appendSearchKey(make([]byte, 0, 128), &q, after, limit))
	if page, ok := v.searches.pages.Get(key); ok {
		v.searches.hits.Add(1)
		page.Cards = append(dst, page.Cards...)
		return page
	}

	v.searches.misses.Add(1)
	page := v.Index.Cards(dst, q, after, limit)
	kept := page
	kept.Cards = slices.Clone(page.Cards[len(dst):])
	kept.Last = page.Last.Clone()
	v.searches.pages.Set(key, kept, int64(len(key)+4*len(kept.Cards)+entryCost))
	return page
}

// entryCost is about what an entry takes beside its key and cards, in bytes.
const entryCost = 200

// appendSearchKey spells everything that a page depends on. Each part has its own end, so that
// different parts never make the same key.
func (v *View) appendSearchKey(key []byte, q *index.Query, after *index.Position, limit int) []byte {
	key = binary.LittleEndian.AppendUint64(key, v.Hash)
	key = binary.AppendUvarint(key, uint64(limit))
	key = q.AppendKey(key)
	if after != nil {
		key = after.AppendBinary(key)
	}
	return key
}
