package site

import (
	"cmp"
	"slices"

	"ninepocket/engine"
	"ninepocket/index"
	"ninepocket/snapshot"
)

// maxListBytes is how many cards of a search are counted, so that a search for everything costs no
// more than others.
const maxCounted = 1000

// filters are what a search can be narrowed down by, each value with how many cards have it.
type filters struct {
	sets, rarities, variants []facet
	truncated                bool // there are more cards than were counted
}

// facet is a value of a filter.
type facet struct {
	value, name string
	cards       int
}

// facetsShown is how many values a filter offers.
const facetsShown = 60

// countFilters counts the values of each filter among the cards that pass all other filters, so that another value can
// be chosen in place of one. found are those that pass all of them.
func (p *Pages) countFilters(
	v *engine.View, searchQuery *SearchQuery, query index.Query, found []uint32, cut bool,
) filters {
	c := v.Catalog
	f := filters{truncated: cut}

	// Only where a filter is set, another search is needed.
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

	f.sets = counts(without(searchQuery.Set != "", func(q *index.Query) { q.Set = "" }),
		func(card int, add func(string, string)) {
			if set := c.Cards.Set[card]; set != snapshot.NoSet {
				add(c.Sets.Slug.At(int(set)), c.Sets.Name.At(int(set)))
			}
		})
	f.rarities = counts(without(searchQuery.Rarity != "", func(q *index.Query) { q.Rarity = "" }),
		func(card int, add func(string, string)) {
			if rarity := c.Cards.Rarity.At(card); rarity != "" {
				add(rarity, rarity)
			}
		})
	f.variants = counts(without(searchQuery.Variant != "", func(q *index.Query) { q.Variant = "" }),
		func(card int, add func(string, string)) {
			last := uint16(0)
			for lane, to := c.Lanes.Of.Range(card); lane < to; lane++ {
				if variant := c.Lanes.Variant[lane]; variant != last && c.Lanes.Cents[lane] >= 0 {
					last = variant
					add(c.Variants.At(int(variant)), title(c.Variants.At(int(variant))))
				}
			}
		})
	return f
}

// counts are the values that cards have, the most frequent first.
func counts(cards []uint32, of func(card int, add func(value, name string))) (all []facet) {
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
		of(int(card), add)
	}

	slices.SortStableFunc(all, func(a, b facet) int {
		return cmp.Or(cmp.Compare(b.cards, a.cards), cmp.Compare(a.name, b.name))
	})
	return all[:min(len(all), facetsShown)]
}
