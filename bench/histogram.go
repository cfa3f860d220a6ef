package bench

import (
	"math/bits"
	"time"
)

// Histogram counts durations in buckets that grow with the value, as HdrHistogram does. A quantile
// of any size is exact to 1/64 of its value. The zero value is empty.
type Histogram struct {
	counts [64 << subBits]uint64
	n      uint64
	max    time.Duration
}

// subBits is how many bits below the leading one select the bucket.
const subBits = 6

// Add counts one duration.
func (h *Histogram) Add(d time.Duration) {
	d = max(d, 0)
	h.counts[bucket(uint64(d))]++
	h.n++
	h.max = max(h.max, d)
}

// Merge adds the counts of another histogram.
func (h *Histogram) Merge(other *Histogram) {
	for i, n := range &other.counts {
		h.counts[i] += n
	}
	h.n += other.n
	h.max = max(h.max, other.max)
}

// Len returns how many durations were counted.
func (h *Histogram) Len() uint64 { return h.n }

// Max returns the exact maximum.
func (h *Histogram) Max() time.Duration { return h.max }

// Quantile returns the duration that a fraction q of all counted durations do not exceed, 0 for
// an empty histogram.
func (h *Histogram) Quantile(q float64) time.Duration {
	want := max(uint64(q*float64(h.n)+0.5), 1)
	var seen uint64
	for i, n := range &h.counts {
		seen += n
		if seen >= want {
			return min(time.Duration(upper(i)), h.max)
		}
	}
	return h.max
}

// bucket returns the index of the bucket of a value. Values below 64 have one bucket each; every
// further power of two has 64.
func bucket(v uint64) int {
	shift := max(bits.Len64(v)-subBits-1, 0)
	return shift<<subBits + int(v>>shift)
}

// upper returns the largest value of a bucket.
func upper(i int) uint64 {
	shift := max(i>>subBits-1, 0)
	low := uint64(i-shift<<subBits) << shift
	return low + 1<<shift - 1
}
