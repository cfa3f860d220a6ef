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

// SearchPage is one page of cards in order, with notes that explain how the query was interpreted.
type SearchPage struct {
	index.Page
	Interpretation []index.Note // for the first hit of a query by words; only on the first page
	suggestions    []byte       // a body in place of a page
}

// searchCache caches pages of word searches, and suggestions. A key contains the snapshot's hash, so a swap clears
// nothing. An entry has card numbers, a position and notes with copies of their texts, so it refers
// to no View. The cache may drop an entry: then the search runs again.
type searchCache struct {
	pages *ristretto.Cache[string, SearchPage]
	// The cache's own metrics cost a hash and a sharded counter for each call. These two are
	// enough.
	hits, misses atomic.Uint64
}

// newSearchCache returns a cache with a limit in bytes. It runs goroutines until it is closed.
func newSearchCache(bytes int64) *searchCache {
	const perPage = 400 // the approximate size of a page of 50
	pages, err := ristretto.NewCache(&ristretto.Config[string, SearchPage]{
		NumCounters: max(10*bytes/perPage, 1000), MaxCost: bytes, BufferItems: 64, IgnoreInternalCost: true,
	})
	if err != nil {
		panic(err) // the settings above are positive, as required
	}

	return &searchCache{pages: pages}
}

// Cards appends to dst the page that follows the position after, at most limit cards. For the first
// page after is nil. A search by words is cached if the engine has a cache. Without words a search
// is cheaper than the cache.
func (v *View) Cards(dst []uint32, q index.Query, after *index.Position, limit int) index.Page {
	return v.cached(dst, &q, after, limit, false).Page
}

// CardsInterpreted is Cards with notes, for which the words are parsed once more. All callers
// of one query use these notes, so nobody may change them.
func (v *View) CardsInterpreted(dst []uint32, q index.Query, after *index.Position, limit int) SearchPage {
	return v.cached(dst, &q, after, limit, after == nil)
}

// cached returns a page from the cache, or searches it and caches it.
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

// search finds a page, with notes if interpret is set.
func (v *View) search(dst []uint32, q *index.Query, after *index.Position, limit int, interpret bool) SearchPage {
	if !interpret || !q.HasWords {
		return SearchPage{Page: v.Index.Cards(dst, *q, after, limit)}
	}

	page, interpretation := v.Index.CardsInterpreted(dst, *q, limit)
	return SearchPage{Page: page, Interpretation: interpretation}
}

// cloneInterpretation copies notes with their texts, which may belong to a request that ends, or to
// a catalog that is released. size is their approximate size in bytes.
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

// About how many bytes an entry takes in addition to its key, cards and notes, and each note in
// addition to its texts.
const (
	entryCost          = 220
	interpretationCost = 40
)

// appendSearchKey appends everything that a page depends on. Each part has a length or a fixed
// size, so different queries never have the same key.
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
