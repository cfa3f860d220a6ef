package loader

import (
	"cmp"
	"math/bits"
	"slices"

	"ninepocket/snapshot"
)

// moversOf finds the cards whose display price differs from that of 7 days before (decision 21):
// both ends exist, and the earlier one is above zero, because a change from nothing has no
// percentage. Biggest first: by percent, compared as exact fractions, then cents, then id.
func moversOf(c *snapshot.Catalog) snapshot.Movers {
	var m snapshot.Movers
	for i, lane := range c.Cards.Display {
		if lane < 0 || c.Lanes.Base7[lane] <= 0 {
			continue
		}
		switch change := c.Lanes.Cents[lane] - c.Lanes.Base7[lane]; {
		case change > 0:
			m.Up = append(m.Up, uint32(i))
		case change < 0:
			m.Down = append(m.Down, uint32(i))
		}
	}

	size := func(i uint32) (change, from uint64) {
		lane := c.Cards.Display[i]
		d := c.Lanes.Cents[lane] - c.Lanes.Base7[lane]
		return uint64(max(d, -d)), uint64(c.Lanes.Base7[lane])
	}

	order := func(a, b uint32) int {
		changeA, fromA := size(a)
		changeB, fromB := size(b)
		return cmp.Or(
			compareProducts(changeB, fromA, changeA, fromB),
			cmp.Compare(changeB, changeA),
			cmp.Compare(c.Cards.ID.At(int(a)), c.Cards.ID.At(int(b))),
		)
	}

	slices.SortFunc(m.Up, order)
	slices.SortFunc(m.Down, order)
	return m
}

// compareProducts compares a*b with c*d without overflow.
func compareProducts(a, b, c, d uint64) int {
	hi1, lo1 := bits.Mul64(a, b)
	hi2, lo2 := bits.Mul64(c, d)
	return cmp.Or(cmp.Compare(hi1, hi2), cmp.Compare(lo1, lo2))
}
