package engine

import (
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
)

// etags are hashes of fragments. Each is made when it is first asked for, and is then kept, because
// the bytes never change. To hash them for each answer would take as long as everything else that
// is looked up for it. A tag of 0 was not made yet.
type etags []atomic.Uint64

func (t etags) of(i int, fragment []byte) uint64 {
	tag := t[i].Load()
	if tag == 0 {
		tag = xxhash.Sum64(fragment)
		t[i].Store(tag)
	}
	return tag
}

// DetailTag is the xxHash64 of a card's Card detail.
func (v *View) DetailTag(card int) uint64 { return v.detailTags.of(card, v.details.at(card)) }
