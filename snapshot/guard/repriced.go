package guard

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"ninepocket/snapshot"
	"ninepocket/snapshot/diff"
)

// minInSet is the number of prices that a set must have in both snapshots before its middle price
// is judged: with fewer, a handful of thin listings is the middle.
const minInSet = 10

// maxRepriced is how far the days between two snapshots can raise the limit of sets_repriced. No
// real set went as far in half a year, and a wrong currency unit goes twice as far.
const maxRepriced = 50

// zeroPrice stands for a price of zero, in cents, in a factor: cheap cards whose cents are read as
// a hundredth of their value become zero.
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
func middleFactor(changes []Change) (middle float64, judged bool) {
	if len(changes) < minInSet {
		return 0, false
	}
	var factors []float64
	for _, change := range changes {
		factors = append(factors, factorOf(change.From, change.To))
	}
	slices.Sort(factors)
	return factors[(len(factors)-1)/2], true
}

// setsRepriced finds sets more than half of whose prices went up or down by a large factor. A set that is
// read in a wrong currency unit hides among many: it is far below the fraction of all prices that may move.
// Its own prices all change a hundredfold in one direction, unlike those of any real set.
func (d *comparison) setsRepriced() finding {
	d.limit = repricedLimit(d.limit, d.days())
	sets := d.changesBySet(func(int) bool { return true })
	factors := map[int32]float64{}
	for set, changes := range sets {
		if middle, judged := middleFactor(changes); judged {
			factors[set] = middle
		}
	}
	if len(factors) == 0 {
		return finding{}
	}

	// The farthest first.
	order := slices.SortedFunc(maps.Keys(factors),
		func(x, y int32) int { return cmp.Or(cmp.Compare(factors[y], factors[x]), cmp.Compare(x, y)) })
	names := &d.next.Catalog.Sets.Name
	var far []string
	for _, set := range order {
		if factors[set] > d.limit {
			far = append(far, fmt.Sprintf("%q (more than half of its %d prices by %.1f times or more)",
				names.At(int(set)), len(sets[set]), factors[set]))
		}
	}

	worst := factors[order[0]]
	if n := len(far); n > 0 {
		return judged(worst, "the prices of %d sets moved by more than %.1f times: %s", n, d.limit, join(far))
	}
	return judged(worst, "in no set did more than half of the prices move by more than %.1f times; "+
		"in %q they did by %.1f times, at most", d.limit, names.At(int(order[0])), worst)
}

// changesBySet are the changes of the prices that are in both catalogs, by set, of the cards that are
// wanted.
func (d *comparison) changesBySet(wanted func(card int) bool) map[int32][]Change {
	b := d.next.Catalog
	sets := map[int32][]Change{}
	for pair := range diff.NewPairs(d.current.Catalog, b).All {
		card := pair.ItemB
		if pair.From == snapshot.NoCents || pair.To == snapshot.NoCents || card >= b.Cards.ID.Len() || !wanted(card) {
			continue
		}

		if set := b.Cards.Set[card]; set != snapshot.NoSet {
			change := Change{Game: b.Cards.Game[card], Set: set, From: pair.From, To: pair.To}
			sets[set] = append(sets[set], change)
		}
	}
	return sets
}
