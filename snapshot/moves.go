package snapshot

import (
	"cmp"
	"math/bits"
)

// ComparePriceChange orders two cards by how much their display price has moved, the bigger move
// first (decision 21). It compares percent as exact fractions, then cents, then ids. base is
// Lanes.Price7DaysAgo or Lanes.Price30DaysAgo; for both cards it must be above zero.
func (c *Catalog) ComparePriceChange(base []int64, a, b int) int {
	changeOf := func(card int) (change, from uint64) {
		lane := c.Cards.Display[card]
		d := c.Lanes.Cents[lane] - base[lane]
		return uint64(max(d, -d)), uint64(base[lane])
	}

	changeA, fromA := changeOf(a)
	changeB, fromB := changeOf(b)
	// Products of two of these need more than 64 bits.
	highB, lowB := bits.Mul64(changeB, fromA)
	highA, lowA := bits.Mul64(changeA, fromB)
	size := cmp.Or(cmp.Compare(highB, highA), cmp.Compare(lowB, lowA), cmp.Compare(changeB, changeA))
	if size != 0 {
		return size
	}
	return cmp.Compare(c.Cards.ID.At(a), c.Cards.ID.At(b))
}
