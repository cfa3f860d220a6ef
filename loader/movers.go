package loader

import (
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

	order := func(a, b uint32) int { return c.CompareMoves(c.Lanes.Base7, int(a), int(b)) }
	slices.SortFunc(m.Up, order)
	slices.SortFunc(m.Down, order)
	return m
}
