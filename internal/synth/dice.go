package synth

import (
	"math"
	"math/bits"
)

// golden is the SplitMix64 increment; it also spreads day numbers over hash space.
const golden = 0x9e3779b97f4a7c15

// mix is the SplitMix64 finaliser: a bijection that makes neighbouring inputs unrelated.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// The streams of an entity. It draws from several streams, so that a further draw in one does not
// change the others.
const (
	forSet uint64 = iota + 1
	forCard
	forName
	forLanes
	forWalk
	forGaps
	forSealed
	forEdits
	forSetNames
)

// seedOf derives the seed of one stream of one entity.
func seedOf(parts ...uint64) uint64 {
	h := uint64(golden)
	for _, p := range parts {
		h = mix(h*3 + p + golden)
	}
	return h
}

// dayBits returns the random bits of one day (relative to day zero, negative before it) in the
// stream of seed.
func dayBits(seed uint64, day int) uint64 {
	return mix(seed + uint64(int64(day))*golden)
}

// dice is a SplitMix64 stream. The zero value is a valid stream.
type dice uint64

func roll(parts ...uint64) *dice {
	d := dice(seedOf(parts...))
	return &d
}

func (d *dice) next() uint64 {
	*d += golden
	return mix(uint64(*d))
}

// below returns a number in [0, n).
func (d *dice) below(n int) int {
	hi, _ := bits.Mul64(d.next(), uint64(n))
	return int(hi)
}

// between returns a number in [lo, hi].
func (d *dice) between(lo, hi int) int {
	return lo + d.below(hi-lo+1)
}

// chance returns true in n of a thousand draws.
func (d *dice) chance(n int) bool {
	return d.below(1000) < n
}

func (d *dice) pick(from []string) string {
	return from[d.below(len(from))]
}

// bell draws from a standard normal distribution (the sum of twelve uniform numbers).
func (d *dice) bell() float64 {
	var sum uint64
	for range 3 {
		for x := d.next(); x != 0; x >>= 16 {
			sum += x & 0xffff
		}
	}
	return float64(sum)/65536 - 6
}

// logNormal draws a price level in cents around the median, within [floorCents, ceilingCents].
func (d *dice) logNormal(median int64, sigma float64) int64 {
	level := int64(math.Round(float64(median) * math.Exp(sigma*d.bell())))
	return min(max(level, floorCents), ceilingCents)
}
