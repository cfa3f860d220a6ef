package engine

import (
	"cmp"
	"slices"

	"ninepocket/cardvocab"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// Facets returns the body of list facets.
func (v *View) Facets() []byte { return v.facets }

// facetKey identifies a facet. Values that fold alike are one facet, because a filter does not
// distinguish them.
type facetKey struct {
	game   int
	folded string
}

// facetTally counts the cards of each value of a filter, by the value's form.
type facetTally map[facetKey]map[string]int

// add counts cards of a game that have a value. A value without letters and digits is not counted,
// because no filter can select it.
func (t facetTally) add(game int, value string, cards int) {
	of := facetKey{game, cardvocab.Fold(value)}
	if of.folded == "" {
		return
	}
	if t[of] == nil {
		t[of] = map[string]int{}
	}
	t[of][value] += cards
}

// sorted returns the facets, most cards first. Each has its most frequent form, or the first in
// byte order among equals.
func (t facetTally) sorted() (facets []wire.Facet) {
	for of, counts := range t {
		facet := wire.Facet{Game: of.game}
		for value, cards := range counts {
			facet.Cards += cards
			if best := counts[facet.Value]; facet.Value == "" || cards > best || cards == best && value < facet.Value {
				facet.Value = value
			}
		}
		facets = append(facets, facet)
	}

	slices.SortFunc(facets, func(a, b wire.Facet) int {
		return cmp.Or(cmp.Compare(b.Cards, a.Cards), cmp.Compare(a.Game, b.Game), cmp.Compare(a.Value, b.Value))
	})
	return facets
}

// countFacets counts the facets of GET /v1/facets, once for each snapshot.
func (v *View) countFacets(step func()) {
	c := v.Catalog
	rarities := facetTally{}
	variants := facetTally{}
	series := facetTally{}
	conditions := make([]int, snapshot.FactorySealed)

	for card, game := range c.Cards.Game {
		if card&15 == 0 {
			step()
		}

		rarities.add(int(game), c.Cards.Rarity.At(card), 1)

		// A card counts once for each variant and each condition of its prices.
		variant := uint16(0)
		had := [snapshot.FactorySealed]bool{}
		for lane, to := c.Lanes.Of.Range(card); lane < to; lane++ {
			if c.Lanes.Cents[lane] < 0 {
				continue
			}

			// Lanes are in variant order, so a variant is new if it differs from the last one.
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
