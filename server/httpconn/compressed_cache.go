package httpconn

import (
	"bytes"
	"hash/maphash"
	"sync/atomic"

	"github.com/dgraph-io/ristretto/v2"
)

// CompressedCache caches bodies in their encodings, so that a body that many clients request is
// compressed once. Compression is most of the cost of a larger response for a client that accepts
// it.
//
// An entry has the plain body as well, and a hit is compared with it. So the result was compressed
// from the same bytes, even if hashes collide, and it does not matter which snapshot or client they
// were for. A body that a new snapshot does not change stays cached. The price is memory for the
// plain bytes in addition to the compressed ones, and comparing them, some hundredths of the cost
// of compression.
type CompressedCache struct {
	cache *ristretto.Cache[uint64, *compressedBody]
	seed  maphash.Seed // secret: no client can make entries evict each other
	// compressedOnce has a part of the hash of bodies that were compressed once: the second time a
	// body is cached. Pagination through the catalog requests everything once, and copying all of
	// it would be useless.
	compressedOnce [1 << 14]atomic.Uint32

	hits, misses atomic.Uint64
}

// compressedBody is the beginning of a body in an encoding (see appendCompressed). It is never
// written to.
type compressedBody struct {
	plain, compressed []byte
	sum               uint32
}

// entryOverhead is about how many bytes an entry takes in addition to its content.
const entryOverhead = 200

// NewCompressedCache returns a cache of at most limit bytes, which runs goroutines until closed; 0
// caches nothing.
func NewCompressedCache(limit int64) *CompressedCache {
	p := &CompressedCache{seed: maphash.MakeSeed()}
	if limit <= 0 {
		return p
	}

	const perBody = 8 << 10 // about the size of one
	var err error

	// A key is a hash, and entries are compared: colliding keys in ristretto do no harm.
	p.cache, err = ristretto.NewCache(&ristretto.Config[uint64, *compressedBody]{
		NumCounters: max(10*limit/perBody, 1000), MaxCost: limit, BufferItems: 64, IgnoreInternalCost: true,
	})
	if err != nil {
		panic(err) // ristretto requires only positive settings
	}
	return p
}

// Close ends the cache's goroutines, if it has any. Bodies are compressed as before, and not cached.
func (p *CompressedCache) Close() { p.cache.Close() }

// append appends the beginning of a body in an encoding, cached or compressed now, and returns its
// checksum. store lets it be cached.
func (p *CompressedCache) append(dst, plain []byte, encoding string, store bool) (out []byte, sum uint32) {
	if p.cache == nil || !store {
		return appendCompressed(dst, plain, encoding), checksum(plain, encoding)
	}

	key := maphash.Bytes(p.seed, plain) ^ uint64(encoding[0]) // of gzip or zstd
	if one, ok := p.cache.Get(key); ok && bytes.Equal(one.plain, plain) {
		p.hits.Add(1)
		return append(dst, one.compressed...), one.sum
	}

	p.misses.Add(1)
	from := len(dst)
	dst = appendCompressed(dst, plain, encoding)
	sum = checksum(plain, encoding)

	// The second time a body is compressed, it is cached.
	if mark := uint32(key>>32) | 1; p.compressedOnce[key%uint64(len(p.compressedOnce))].Swap(mark) == mark {
		one := &compressedBody{plain: bytes.Clone(plain), compressed: bytes.Clone(dst[from:]), sum: sum}
		p.cache.Set(key, one, int64(len(one.plain)+len(one.compressed)+entryOverhead))
	}
	return dst, sum
}

// Stats returns the number of cache hits and misses.
func (p *CompressedCache) Stats() (hits, misses uint64) { return p.hits.Load(), p.misses.Load() }
