package engine

import (
	"encoding/binary"
	"slices"
	"sync/atomic"

	"github.com/dgraph-io/ristretto/v2"

	"ninepocket/index"
)

// searches remembers pages of word searches. Keys hold the snapshot's hash, so that a swap needs no
// clearing, and entries hold card numbers alone, never anything of a View. An entry that was lost
// is found again.
type searches struct {
	pages *ristretto.Cache[string, index.Page]
	// The cache's own metrics cost a hash and a sharded counter for each call, kept or not; these
	// two are enough.
	hits, misses atomic.Uint64
}

// newSearches returns a cache of at most bytes bytes; it runs goroutines until closed.
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

// Cards appends the page of at most limit cards that follows after (nil for the first page) to dst.
// Searches by words are remembered where the engine has a cache; filters and orders alone are
// cheaper than remembering.
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
	v.searches.pages.Set(key, kept, int64(len(key)+4*len(kept.Cards)+entryCost))
	return page
}

// entryCost is about what an entry takes beside its key and cards, in bytes.
const entryCost = 200

// appendSearchKey spells everything that a page depends on; parts cannot run into each other.
func (v *View) appendSearchKey(key []byte, q *index.Query, after *index.Position, limit int) []byte {
	key = binary.LittleEndian.AppendUint64(key, v.Hash)
	key = binary.AppendUvarint(key, uint64(limit))
	key = q.AppendKey(key)
	if after != nil {
		key = after.AppendBinary(key)
	}
	return key
}
