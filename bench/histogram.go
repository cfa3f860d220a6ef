package bench

import (
	"math/bits"
	"time"
)

// Histogram counts durations in buckets that grow with the value, as HdrHistogram does: a quantile
// is exact to 1/64 of itself whatever its size. The zero value is empty.
type Histogram struct {
	counts [64 << subBits]uint64
	n      uint64
	max    time.Duration
}

// subBits is how many bits below the leading one tell buckets apart.
const subBits = 6

// Add counts one duration.
func (h *Histogram) Add(d time.Duration) {
	d = max(d, 0)
	h.counts[bucket(uint64(d))]++
	h.n++
	h.max = max(h.max, d)
}

// Merge adds what another histogram counted.
func (h *Histogram) Merge(other *Histogram) {
	for i, n := range &other.counts {
		h.counts[i] += n
	}
	h.n += other.n
	h.max = max(h.max, other.max)
}

// Len is how many durations were counted.
func (h *Histogram) Len() uint64 { return h.n }

// Max is the longest duration, exactly.
func (h *Histogram) Max() time.Duration { return h.max }

// Quantile is the duration that a share q of all counted ones do not exceed, 0 of an empty
// histogram.
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

// bucket is the number of the bucket of a value: values below 64 have one each, every later power
// of two has 64.
func bucket(v uint64) int {
	shift := max(bits.Len64(v)-subBits-1, 0)
	return shift<<subBits + int(v>>shift)
}

// upper is the largest value of a bucket.
func upper(i int) uint64 {
	shift := max(i>>subBits-1, 0)
	low := uint64(i-shift<<subBits) << shift
	return low + 1<<shift - 1
}
