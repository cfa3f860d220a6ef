package engine

import (
	"cmp"
	"slices"

	"ninepocket/collector"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// Facets is the body of list facets.
func (v *View) Facets() []byte { return v.facets }

// facetOf tells one facet from another. Values that fold alike are one facet, because a filter
// takes each of them for the other.
type facetOf struct {
	game   int
	folded string
}

// facetTally counts the cards of each value of a filter.
type facetTally struct {
	rows   map[facetOf]int
	facets []wire.Facet
	spelt  []map[string]int // for each facet: how many cards have each spelling
}

// add counts cards of a game that have a value. A value without letters and digits is not counted,
// because no filter can ask for it.
func (t *facetTally) add(game int, value string, cards int) {
	folded := collector.Fold(value)
	if folded == "" {
		return
	}

	k, known := t.rows[facetOf{game, folded}]
	if !known {
		k = len(t.facets)
		t.rows[facetOf{game, folded}] = k
		t.facets = append(t.facets, wire.Facet{Game: game})
		t.spelt = append(t.spelt, map[string]int{})
	}

	t.facets[k].Cards += cards
	t.spelt[k][value] += cards
}

// sorted are the facets, those with the most cards first. Each has its commonest spelling; of two
// equally common ones it has the first in byte order.
func (t *facetTally) sorted() []wire.Facet {
	for k := range t.facets {
		for value, cards := range t.spelt[k] {
			facet := &t.facets[k]
			if most := t.spelt[k][facet.Value]; facet.Value == "" || cards > most || cards == most &&
				value < facet.Value {
				facet.Value = value
			}
		}
	}

	slices.SortFunc(t.facets, func(a, b wire.Facet) int {
		return cmp.Or(cmp.Compare(b.Cards, a.Cards), cmp.Compare(a.Game, b.Game), cmp.Compare(a.Value, b.Value))
	})
	return t.facets
}

// countFacets counts what GET /v1/facets lists, once for each snapshot.
func (v *View) countFacets(step func()) {
	c := v.Catalog
	rarities := facetTally{rows: map[facetOf]int{}}
	variants := facetTally{rows: map[facetOf]int{}}
	series := facetTally{rows: map[facetOf]int{}}
	conditions := make([]int, snapshot.FactorySealed)

	for card, game := range c.Cards.Game {
		if card&15 == 0 {
			step()
		}

		rarities.add(int(game), c.Cards.Rarity.At(card), 1)

		// A card counts once for each variant and each condition that it has a price in.
		variant := uint16(0)
		had := [snapshot.FactorySealed]bool{}
		for lane, to := c.Lanes.Of.Range(card); lane < to; lane++ {
			if c.Lanes.Cents[lane] < 0 {
				continue
			}

			// Lanes are in variant order, so a variant is new when it is not the last one.
			if c.Lanes.Variant[lane] != variant {
				variant = c.Lanes.Variant[lane]
				variants.add(int(game), c.Variants.At(int(variant)), 1)
			}

			if k := c.Lanes.Condition[lane]; !had[k] {
				had[k] = true
				conditions[k]++
			}
		}
	}

	for set, game := range c.Sets.Game {
		series.add(int(game), c.Sets.Series.At(set), int(c.Sets.Cards[set]))
	}

	v.facets = wire.AppendFacets(nil, c, wire.Facets{
		Series: series.sorted(), Rarities: rarities.sorted(), Variants: variants.sorted(), Conditions: conditions,
	})
}
