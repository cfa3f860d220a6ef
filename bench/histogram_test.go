package bench

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestBuckets checks values of every size: each is in a bucket that ends at most a 64th above it,
// and buckets ascend.
func TestBuckets(t *testing.T) {
	last := -1
	for v := uint64(0); v < 1<<62; v += 1 + v/97 {
		i := bucket(v)
		if i < last || upper(i) < v || upper(i)-v > v>>subBits {
			t.Fatalf("%d falls into bucket %d up to %d, the value before into %d", v, i, upper(i), last)
		}
		last = i
	}
}

func TestQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var whole, half Histogram
	var all []time.Duration
	for i := range 20_000 {
		d := time.Duration(rng.ExpFloat64() * float64(100*time.Microsecond))
		all = append(all, d)
		if i%2 == 0 {
			whole.Add(d)
		} else {
			half.Add(d)
		}
	}

	whole.Merge(&half)
	slices.Sort(all)
	for _, q := range []float64{0, 0.001, 0.5, 0.9, 0.99, 0.999, 1} {
		exact := all[max(int(q*float64(len(all))+0.5), 1)-1]
		if got := whole.Quantile(q); got < exact || got > exact+exact/64+1 {
			t.Errorf("quantile %g is %v, want %v", q, got, exact)
		}
	}

	if whole.Len() != 20_000 || whole.Max() != all[len(all)-1] {
		t.Errorf("counted %d up to %v", whole.Len(), whole.Max())
	}
	if got := new(Histogram).Quantile(0.99); got != 0 {
		t.Errorf("an empty histogram has quantile %v", got)
	}
}
