package httpconn

import (
	"bytes"
	"hash/maphash"
	"sync/atomic"

	"github.com/dgraph-io/ristretto/v2"
)

// CompressedCache remembers bodies in their encodings, so that one that many ask for is compressed
// once in its life. Compressing is most of what an answer of some size costs a client that takes it
// compressed.
//
// What is asked for is the body itself, and an entry holds it: what comes back was compressed from
// the same bytes, whatever hashes collide, whichever snapshot they are of and whoever asked first.
// A body that a new snapshot does not change stays remembered. The price is memory for the plain
// bytes beside the compressed ones, and comparing them, some hundredths of what compressing costs.
type CompressedCache struct {
	cache *ristretto.Cache[uint64, *compressedBody]
	seed  maphash.Seed // secret: nobody can make entries push each other out
	// seen has a part of the hash of bodies that were compressed once: the second time a body is
	// kept. A walk through the catalog asks for everything once, and copying all of it would be in
	// vain.
	seen [1 << 14]atomic.Uint32

	hits, misses atomic.Uint64
}

// compressedBody is the beginning of a body in an encoding (see appendPacked). It is never written
// to.
type compressedBody struct {
	plain, packed []byte
	sum           uint32
}

// entryOverhead is about what an entry takes beside its bytes.
const entryOverhead = 200

// NewCompressedCache returns a cache of at most limit bytes, which runs goroutines until closed; 0
// remembers nothing.
func NewCompressedCache(limit int64) *CompressedCache {
	p := &CompressedCache{seed: maphash.MakeSeed()}
	if limit <= 0 {
		return p
	}

	const perBody = 8 << 10 // about what one takes
	var err error

	// A key is a hash that was made here, and entries are compared: that ristretto does not tell
	// apart what collides does no harm.
	p.cache, err = ristretto.NewCache(&ristretto.Config[uint64, *compressedBody]{
		NumCounters: max(10*limit/perBody, 1000), MaxCost: limit, BufferItems: 64, IgnoreInternalCost: true,
	})
	if err != nil {
		panic(err) // the settings above are positive, which is all that is asked of them
	}
	return p
}

// Close ends the cache's goroutines. Bodies are compressed as before, and none is remembered.
func (p *CompressedCache) Close() {
	if p.cache != nil {
		p.cache.Close()
	}
}

// append appends the beginning of a body in an encoding, remembered or compressed anew, and its
// checksum. keep lets it be remembered.
func (p *CompressedCache) append(dst, plain []byte, encoding string, store bool) (out []byte, sum uint32) {
	if p.cache == nil || !store {
		return appendPacked(dst, plain, encoding), checksum(plain, encoding)
	}

	key := maphash.Bytes(p.seed, plain) ^ uint64(encoding[0]) // of gzip or zstd
	if one, ok := p.cache.Get(key); ok && bytes.Equal(one.plain, plain) {
		p.hits.Add(1)
		return append(dst, one.packed...), one.sum
	}

	p.misses.Add(1)
	from := len(dst)
	dst = appendPacked(dst, plain, encoding)
	sum = checksum(plain, encoding)

	// The second time a body is compressed, it is kept.
	if mark := uint32(key>>32) | 1; p.seen[key%uint64(len(p.seen))].Swap(mark) == mark {
		one := &compressedBody{plain: bytes.Clone(plain), packed: bytes.Clone(dst[from:]), sum: sum}
		p.cache.Set(key, one, int64(len(one.plain)+len(one.packed)+entryOverhead))
	}
	return dst, sum
}

// Figures are how many bodies were remembered, and how many might have been.
func (p *CompressedCache) Figures() (hits, misses uint64) { return p.hits.Load(), p.misses.Load() }
