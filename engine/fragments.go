package engine

import (
	"bytes"
	"slices"
)

// fragments are the pre-rendered JSON of n records, encoded when a View is made.
//
// They are in chunks, not in one arena. To clear and fill tens of megabytes at once would stall
// requests, and a growing arena leaves up to half of itself empty.
type fragments struct {
	chunks [][]byte
	ranges []chunkRange
	shared int // so many of the chunks are those of an earlier View
}

// chunkRange is the place of a record: bytes [from, to) of a chunk.
type chunkRange struct{ chunk, from, to uint32 }

// chunkSize is the size of a chunk, unless a single record is longer.
const chunkSize = 256 << 10

const (
	// maxUnused bounds the records in chunks of earlier Views that nobody reads any more: a quarter of the bytes.
	maxUnused = 4
	// maxSmall bounds the last chunks of earlier Views, which are small.
	maxSmall = 16
)

// newFragments encodes n records and calls step now and then. A record that is equal in those of an earlier
// View, nil for none, is taken over; before returns its index there. It encodes all records again if few
// are equal, or if too much would be unused.
func newFragments(
	earlier *fragments, before func(i int) (k int, ok bool), step func(), n int, encode func(dst []byte, i int) []byte,
) fragments {
	f := fragments{ranges: make([]chunkRange, n)}
	used := int64(0)
	taken := 0
	if earlier != nil {
		f.chunks = slices.Clone(earlier.chunks)
		f.shared = len(f.chunks)
	}

	var record, chunk []byte
	for i := range n {
		// Sixteen records take ten microseconds or so.
		if i&15 == 0 {
			step()
		}

		record = encode(record[:0], i)
		used += int64(len(record))
		if earlier != nil {
			if k, ok := before(i); ok && bytes.Equal(earlier.at(k), record) {
				f.ranges[i] = earlier.ranges[k]
				taken++
				continue
			}

			// All records may differ, with another site's URLs for example.
			if i&1023 == 1023 && taken < i/2 {
				return newFragments(nil, nil, step, n, encode)
			}
		}

		if len(chunk)+len(record) > cap(chunk) {
			f.add(chunk)
			chunk = make([]byte, 0, max(chunkSize, len(record)))
		}

		from := len(chunk)
		chunk = append(chunk, record...)
		f.ranges[i] = chunkRange{uint32(len(f.chunks)), uint32(from), uint32(len(chunk))}
	}

	// The last chunk is cut to its content.
	f.add(append(make([]byte, 0, len(chunk)), chunk...))
	if earlier != nil && (sizeOf(f.chunks) > used+used/maxUnused || len(f.chunks) > int(used/chunkSize)*2+maxSmall) {
		return newFragments(nil, nil, step, n, encode)
	}
	return f
}

// add adds a full chunk.
func (f *fragments) add(chunk []byte) {
	if len(chunk) > 0 {
		f.chunks = append(f.chunks, chunk)
	}
}

// at returns the JSON of record i, which the caller must not change.
func (f *fragments) at(i int) []byte {
	at := f.ranges[i]
	return f.chunks[at.chunk][at.from:at.to:at.to]
}

// size returns how much memory the JSON uses.
func (f *fragments) size() int64 {
	return int64(12*cap(f.ranges)) + sizeOf(f.chunks)
}

func sizeOf(chunks [][]byte) (bytes int64) {
	for _, chunk := range chunks {
		bytes += int64(cap(chunk))
	}
	return bytes
}
