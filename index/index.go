package index

import (
	"context"
	"fmt"
	"reflect"
	"slices"

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

// Build indexes a catalog; the index keeps the catalog. earlier is the index of an earlier catalog, nil for
// none. If both catalogs have the same texts, both indexes share all that does not depend on prices, and
// Build takes a fifth of the time. The result is equal to that without earlier (decision 4301).
//
// Build calls step every ten microseconds or so, so that background work can pause; a nil step never
// pauses. If the context ends, Build stops before the next stage.
func Build(ctx context.Context, earlier *Index, c *snapshot.Catalog, step func()) (*Index, error) {
	if step == nil {
		step = func() {}
	}

	ix := &Index{c: c}
	moved := newMoves(earlier, c, step)
	var err error
	ix.orders, err = newOrders(c, moved, step)
	if err != nil {
		return nil, err
	}

	for _, build := range []func(moved *moves, step func()){
		ix.buildRefs, ix.buildFilters, ix.buildValueFilters, ix.buildIdentifiers,
	} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		build(moved, step)
	}

	ix.eras = newEras(c, step)
	if moved != nil {
		ix.words = earlier.words.Renumber(corpus(ix), moved.from, moved.to, step)
		return ix, ctx.Err()
	}
	ix.words, err = text.Build(ctx, corpus(ix), step)
	if err != nil {
		return nil, fmt.Errorf("cannot index words: %w", err)
	}
	return ix, nil
}

// moves says which rows the cards of an earlier index have in a catalog with the same texts. Cards are
// numbered by price, so that most numbers change every day.
type moves struct {
	earlier  *Index
	from, to []uint32 // by later row the earlier one, and by earlier item the later one
}

// newMoves compares a catalog with that of an earlier index. It returns nil if one of them has a card, a
// set, a product or an identifier that the other lacks, or another text of one.
func newMoves(earlier *Index, c *snapshot.Catalog, step func()) *moves {
	if earlier == nil || !sameTables(earlier.c, c) {
		return nil
	}

	n := c.Cards.ID.Len()
	const none = ^uint32(0)
	moved := &moves{earlier, make([]uint32, n), slices.Repeat([]uint32{none}, n)}
	for row := range n {
		text.Every(step, row)
		before, ok := earlier.cards.findID(c.Cards.ID.At(row))
		if !ok || moved.to[before] != none || !sameCard(earlier.c, before, c, row) {
			return nil
		}
		moved.from[row] = uint32(before)
		moved.to[before] = uint32(row)
	}

	// Sealed products come behind the cards, in one order.
	for item := n; item < c.NumItems(); item++ {
		if !sameIdentifiers(earlier.c, item, c, item) {
			return nil
		}
		moved.to = append(moved.to, uint32(item))
	}

	// An alias may stand for a card.
	for i, card := range c.Aliases.Card {
		before := earlier.c.Aliases.Card[i]
		if before >= 0 {
			before = int32(moved.to[before])
		}
		if card != before {
			return nil
		}
	}
	return moved
}

// sameTables compares the tables that do not depend on the numbers of cards. A former slug of a set may be
// what an app calls it (set_codes.txt).
func sameTables(a, b *snapshot.Catalog) bool {
	if !a.Registry.Slug.Equal(&b.Registry.Slug) || !a.Registry.SlugID.Equal(&b.Registry.SlugID) {
		return false
	}

	for _, table := range [][2]any{
		{a.Cards.ID.Len(), b.Cards.ID.Len()},
		{a.Games, b.Games},
		{a.Sets, b.Sets},
		{a.Sealed.Tail, b.Sealed.Tail},
		{a.Feeds.Partner, b.Feeds.Partner},
		{a.Names, b.Names},
		{a.Aliases.Phrase, b.Aliases.Phrase},
		{a.Aliases.Replacement, b.Aliases.Replacement},
		{a.Aliases.Game, b.Aliases.Game},
	} {
		if !reflect.DeepEqual(table[0], table[1]) {
			return false
		}
	}
	return true
}

// sameCard compares all of a card but its slug, its image and what it costs.
func sameCard(a *snapshot.Catalog, i int, b *snapshot.Catalog, k int) bool {
	x := &a.Cards
	y := &b.Cards
	return x.Name.At(i) == y.Name.At(k) && x.Number.At(i) == y.Number.At(k) &&
		x.Rarity.At(i) == y.Rarity.At(k) && x.Printing.At(i) == y.Printing.At(k) &&
		x.Game[i] == y.Game[k] && x.Set[i] == y.Set[k] && x.Order[i] == y.Order[k] && x.Product[i] == y.Product[k] &&
		sameIdentifiers(a, i, b, k)
}

func sameIdentifiers(a *snapshot.Catalog, i int, b *snapshot.Catalog, k int) bool {
	at, end := a.Identifiers.Of.Range(i)
	other, otherEnd := b.Identifiers.Of.Range(k)
	same := end-at == otherEnd-other
	for ; same && at < end; at++ {
		same = a.Identifiers.Namespace.At(at) == b.Identifiers.Namespace.At(other) &&
			a.Identifiers.Value.At(at) == b.Identifiers.Value.At(other)
		other++
	}
	return same
}
