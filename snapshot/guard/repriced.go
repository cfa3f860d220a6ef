package guard

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"ninepocket/snapshot"
	"ninepocket/snapshot/diff"
)

// minInSet is how many prices a set must have in both snapshots before its middle one is judged: of
// fewer, a handful of thin listings is the middle.
const minInSet = 10

// maxRepriced is how far the days between two snapshots can raise the limit of sets_repriced: no
// real set went as far in half a year, and a wrong unit goes twice as far.
const maxRepriced = 50

// zeroPrice stands for a price of zero, in cents, where a factor is wanted: cheap cards whose cents
// are read as a hundredth of what they are come out as zero.
const zeroPrice = 0.1

// repricedLimit is the limit of sets_repriced over some days. Prices wander: over n days they go about
// √n times as far.
func repricedLimit(limit, days float64) float64 {
	return raised(limit, math.Sqrt(max(1, days)), maxRepriced)
}

// factorOf is by how much a price went up or down, 1 and more.
func factorOf(from, to int64) float64 {
	a := max(float64(from), zeroPrice)
	b := max(float64(to), zeroPrice)
	return max(a/b, b/a)
}

// middleFactor is the factor that more than half of a set's prices reach, false of too few.
func middleFactor(factors []float64) (middle float64, judged bool) {
	if len(factors) < minInSet {
		return 0, false
	}
	slices.Sort(factors)
	return factors[(len(factors)-1)/2], true
}

// setsRepriced finds sets more than half of whose prices went up or down by a large factor. A set
// that is read in a wrong unit hides among many: it is far below the share of all prices that may
// move. Its own prices all go one way by a hundred, and those of no real set do.
func (d *comparison) setsRepriced() finding {
	d.limit = repricedLimit(d.limit, d.days())
	sets := setPriceChanges(d.current.Catalog, d.next.Catalog)
	if len(sets) == 0 {
		return finding{}
	}

	// Sets are the farthest first.
	var far []string
	for _, s := range sets {
		if s.factor > d.limit {
			far = append(far, fmt.Sprintf("%q (more than half of its %d prices by %.1f times or more)", s.name,
				s.prices, s.factor))
		}
	}

	worst := sets[0]
	if n := len(far); n > 0 {
		return judged(worst.factor, "the prices of %d sets moved by more than %.1f times: %s", n, d.limit, join(far))
	}
	return judged(worst.factor, "in no set did more than half of the prices move by more than %.1f times; "+
		"in %q they did by %.1f times, at most", d.limit, worst.name, worst.factor)
}

// setPriceChange is how far the prices of a set moved.
type setPriceChange struct {
	name   string
	prices int     // of its cards, in both catalogs
	factor float64 // more than half of them moved by this much or more, up or down
}

// setPriceChanges are those of all sets with enough prices, the farthest first.
func setPriceChanges(a, b *snapshot.Catalog) []setPriceChange {
	factors := make([][]float64, b.Sets.ID.Len())
	for pair := range diff.NewPairs(a, b).All {
		if pair.From == snapshot.NoCents || pair.To == snapshot.NoCents || pair.ItemB >= b.Cards.ID.Len() {
			continue
		}
		if set := b.Cards.Set[pair.ItemB]; set != snapshot.NoSet {
			factors[set] = append(factors[set], factorOf(pair.From, pair.To))
		}
	}

	var all []setPriceChange
	for set, of := range factors {
		if middle, judged := middleFactor(of); judged {
			all = append(all, setPriceChange{b.Sets.Name.At(set), len(of), middle})
		}
	}

	slices.SortStableFunc(all, func(x, y setPriceChange) int { return cmp.Compare(y.factor, x.factor) })
	return all
}
