package loader

import (
	"math/bits"
	"slices"
	"strings"

	"ninepocket/cardvocab"
	"ninepocket/snapshot"
)

// minExpansion is how many cards a set has at least that people open packs of; smaller ones are promos
// and decks.
const minExpansion = 60

// expansionBonus is the lead of an expansion's card over all others, whatever these cost.
const expansionBonus = 64

// writePrior writes how likely each card is to be meant among equally good matches. Cards of
// expansions come before promos, decks and prizes. Then more expensive cards come first, in steps
// of twice the price, so that small changes of price leave the order alone. The order of the
// catalog decides the rest.
func (a *assembly) writePrior() {
	catalog := a.c
	catalog.Prior = make([]uint32, catalog.Cards.ID.Len())
	for card := range catalog.Prior {
		if cents := catalog.DisplayCents(card); cents > 0 {
			catalog.Prior[card] = uint32(bits.Len64(uint64(cents)))
		}
		if set := catalog.Cards.Set[card]; set != snapshot.NoSet && isExpansion(catalog, int(set)) {
			catalog.Prior[card] += expansionBonus
		}
	}
}

func isExpansion(catalog *snapshot.Catalog, set int) bool {
	name := cardvocab.Fold(catalog.Sets.Name.At(set))
	isIn := func(word string) bool { return strings.Contains(name, word) }
	return catalog.Sets.Cards[set] >= minExpansion && !slices.ContainsFunc(otherSets, isIn)
}

// otherSets are words in the names of sets that are no expansions.
var otherSets = []string{"promo", "deck", "jumbo", "miscellaneous", "prizepack", "worldchampionship", "exclusives"}

// findMovers finds the cards whose display price differs from 7 days earlier (decision 21). Both
// prices exist, and the earlier one is above zero, because a change from nothing has no
// percentage. Biggest first: by percent, compared as exact fractions, then cents, then id.
func findMovers(catalog *snapshot.Catalog) snapshot.Movers {
	var movers snapshot.Movers
	for i, lane := range catalog.Cards.Display {
		if lane < 0 || catalog.Lanes.Price7DaysAgo[lane] <= 0 {
			continue
		}
		switch change := catalog.Lanes.Cents[lane] - catalog.Lanes.Price7DaysAgo[lane]; {
		case change > 0:
			movers.Up = append(movers.Up, uint32(i))
		case change < 0:
			movers.Down = append(movers.Down, uint32(i))
		}
	}

	order := func(a, b uint32) int { return catalog.ComparePriceChange(catalog.Lanes.Price7DaysAgo, int(a), int(b)) }
	slices.SortFunc(movers.Up, order)
	slices.SortFunc(movers.Down, order)
	return movers
}
