package engine

import (
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
)

// etags are hashes of pre-rendered JSON. Each is computed on first use and then cached, because
// the bytes never change. To hash them for each response would take as long as the rest of its
// lookup. A tag of 0 is not computed yet.
type etags []atomic.Uint64

func (t etags) of(i int, fragment []byte) uint64 {
	tag := t[i].Load()
	if tag == 0 {
		tag = xxhash.Sum64(fragment)
		t[i].Store(tag)
	}
	return tag
}

// DetailTag returns the xxHash64 of a card's Card detail.
func (v *View) DetailTag(card int) uint64 { return v.detailTags.of(card, v.details.at(card)) }
