package engine

import (
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
)

// etags are hashes of pre-rendered JSON. Each is computed on first use and then cached, because
// the bytes never change. To hash them for each response would take as long as the rest of its
// lookup. A tag of 0 is not computed yet.
type etags []atomic.Uint64

// DetailTag returns the xxHash64 of a card's Card detail.
func (v *View) DetailTag(card int) uint64 {
	tag := v.detailTags[card].Load()
	if tag == 0 {
		hash := xxhash.New()
		for _, part := range v.detailParts(card) {
			_, _ = hash.Write(part) // it cannot fail
		}
		tag = hash.Sum64()
		v.detailTags[card].Store(tag)
	}
	return tag
}
