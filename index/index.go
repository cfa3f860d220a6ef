package index

import (
	"context"
	"fmt"

	"ninepocket/cardvocab"
	"ninepocket/index/text"
	"ninepocket/snapshot"
)

// Index finds cards, sets and products of one catalog. It is immutable and safe for concurrent use.
type Index struct {
	c        *snapshot.Catalog
	games    games
	cards    *refs
	sets     *refs
	products *Products
	setNames *SetNames

	bySet       text.Grouping // cards of a set
	rarities    *terms        // cards by folded rarity
	numbers     *terms        // cards by collector number and by the number's base: see cardsNumbered
	series      *terms        // sets by folded series
	names       *terms        // cards by folded plain name
	baseNames   *terms        // cards by baseNameKey of their base name
	variants    *terms        // cards by the variants of their prices
	sameVariant []int         // by variant: the first equivalent variant

	identifiers *terms   // cards by NAMESPACE:VALUE
	namespaces  []string // of identifiers, ascending
	updated     []int64  // by card: the last change of its entry or of a price's value, Unix milliseconds

	orders sortOrders
	words  *text.Index
	eras   map[*cardvocab.Era]eraSets
}

// Build indexes a catalog; the index keeps the catalog. It calls step every ten microseconds or so, so
// that background work can pause; a nil step never pauses. If the context ends, Build stops before
// the next stage.
func Build(ctx context.Context, c *snapshot.Catalog, step func()) (*Index, error) {
	if step == nil {
		step = func() {}
	}

	ix := &Index{c: c}
	for _, build := range []func(step func()){
		ix.buildRefs, ix.buildFilters, ix.buildValueFilters, ix.buildIdentifiers,
	} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		build(step)
	}

	ix.eras = newEras(c, step)
	var err error
	ix.orders, err = newOrders(c, step)
	if err != nil {
		return nil, err
	}

	ix.words, err = text.Build(ctx, corpus(c, ix.setNames), step)
	if err != nil {
		return nil, fmt.Errorf("cannot index words: %w", err)
	}
	return ix, nil
}
