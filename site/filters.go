package site

import (
	"cmp"
	"slices"

	"ninepocket/engine"
	"ninepocket/index"
	"ninepocket/snapshot"
)

// maxCounted is the largest number of cards of a search that are counted, so that a search for
// everything costs no more than others.
const maxCounted = 1000

// filters has the values of each filter of a search, with the number of cards that have them.
type filters struct {
	sets, rarities, variants []facet
	truncated                bool // there are more cards than maxCounted
}

// facet is a value of a filter.
type facet struct {
	value, name string
	cards       int
}

// facetsShown is the largest number of values that a filter offers.
const facetsShown = 60

// countFilters counts the values of each filter among the cards that pass all other filters, so
// that a visitor can choose another value. found has the cards that pass all filters.
func (p *Pages) countFilters(
	v *engine.View, searchQuery *SearchQuery, query index.Query, found []uint32, truncated bool,
) filters {
	c := v.Catalog
	f := filters{truncated: truncated}

	// Only for a filter that is set, another search is needed.
	without := func(set bool, leave func(*index.Query)) []uint32 {
		if !set {
			return found
		}
		wider := query
		leave(&wider)
		page := v.Cards(nil, wider, nil, maxCounted)
		f.truncated = f.truncated || page.More
		return page.Cards
	}

	f.sets = countValues(without(searchQuery.Set != "", func(query *index.Query) { query.Set = "" }),
		func(card int, add func(string, string)) {
			if set := c.Cards.Set[card]; set != snapshot.NoSet {
				add(c.Sets.Slug.At(int(set)), c.Sets.Name.At(int(set)))
			}
		})
	f.rarities = countValues(without(searchQuery.Rarity != "", func(query *index.Query) { query.Rarity = "" }),
		func(card int, add func(string, string)) {
			if rarity := c.Cards.Rarity.At(card); rarity != "" {
				add(rarity, rarity)
			}
		})
	f.variants = countValues(without(searchQuery.Variant != "", func(query *index.Query) { query.Variant = "" }),
		func(card int, add func(string, string)) {
			last := uint16(0)
			for lane, to := c.Lanes.Of.Range(card); lane < to; lane++ {
				if variant := c.Lanes.Variant[lane]; variant != last && c.Lanes.Cents[lane] >= 0 {
					last = variant
					add(c.Variants.At(int(variant)), displayName(c.Variants.At(int(variant))))
				}
			}
		})
	return f
}

// countValues returns the values that cards have, the most frequent first.
func countValues(cards []uint32, valuesOf func(card int, add func(value, name string))) (all []facet) {
	at := map[string]int{}
	add := func(value, name string) {
		k, known := at[value]
		if !known {
			k = len(all)
			at[value] = k
			all = append(all, facet{value: value, name: name})
		}
		all[k].cards++
	}
	for _, card := range cards {
		valuesOf(int(card), add)
	}

	slices.SortStableFunc(all, func(a, b facet) int {
		return cmp.Or(cmp.Compare(b.cards, a.cards), cmp.Compare(a.name, b.name))
	})
	return all[:min(len(all), facetsShown)]
}
