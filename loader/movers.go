package loader

import (
	"slices"

	"ninepocket/snapshot"
)

// moversOf finds the cards whose display price differs from that of 7 days before (decision 21):
// both ends exist, and the earlier one is above zero, because a change from nothing has no
// percentage. Biggest first: by percent, compared as exact fractions, then cents, then id.
func moversOf(catalog *snapshot.Catalog) snapshot.Movers {
	var movers snapshot.Movers
	for i, lane := range catalog.Cards.Display {
		if lane < 0 || catalog.Lanes.Base7[lane] <= 0 {
			continue
		}
		switch change := catalog.Lanes.Cents[lane] - catalog.Lanes.Base7[lane]; {
		case change > 0:
			movers.Up = append(movers.Up, uint32(i))
		case change < 0:
			movers.Down = append(movers.Down, uint32(i))
		}
	}

	order := func(a, b uint32) int { return catalog.CompareMoves(catalog.Lanes.Base7, int(a), int(b)) }
	slices.SortFunc(movers.Up, order)
	slices.SortFunc(movers.Down, order)
	return movers
}
