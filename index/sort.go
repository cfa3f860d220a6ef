package index

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"ninepocket/cardvocab"
	"ninepocket/index/text"
	"ninepocket/snapshot"
)

// sortOrders are the cards of one catalog in each sort order. Cards are numbered by price, the most
// expensive first, so that this order needs no list.
type sortOrders struct {
	c *snapshot.Catalog

	byPriceAsc   []uint32 // cards in price_asc order
	priceAscRank []uint32 // by card: its rank in byPriceAsc
	byPrior      []uint32 // cards by relevance prior, the highest first, ties in catalog order
	priorRank    []uint32 // by card: its rank in byPrior
	byName       []uint32 // cards by nameKey, ties by id
	nameRank     []uint32 // by card: its rank in byName
	newest       []uint32 // cards in catalog order, which is newest
	priced       int      // cards below this number have a display price
}

// newOrders makes the permutations of the sort orders. It checks that the catalog's numbering
// agrees with its prices.
func newOrders(c *snapshot.Catalog, moved *moves, step func()) (sortOrders, error) {
	n := c.Cards.ID.Len()
	o := sortOrders{c: c, newest: inverse(c.Cards.Order)}

	// If two cards have one rank, another rank is missing.
	for rank, card := range o.newest {
		if c.Cards.Order[card] != uint32(rank) {
			return sortOrders{}, fmt.Errorf("cards share rank %d of the catalog order", rank)
		}
	}

	o.orderByPrior(step)
	if moved != nil {
		o.byName = text.Gather(step, moved.to, moved.earlier.orders.byName)
	} else {
		o.orderByName(step)
	}
	o.nameRank = inverse(o.byName)

	// Prices must fall with the numbers, and cards without one come last.
	o.priced = n
	for card := range n {
		text.Every(step, card)
		if c.Cards.Display[card] < 0 {
			o.priced = min(o.priced, card)
		} else if card > o.priced || card > 0 && o.price(uint32(card-1)) < o.price(uint32(card)) {
			return sortOrders{}, fmt.Errorf("card %d is not in price order", card)
		}
	}

	// Prices ascend as the numbers descend, but equal prices stay in catalog order.
	o.byPriceAsc = make([]uint32, n)
	for card := range o.byPriceAsc {
		o.byPriceAsc[card] = uint32(card)
	}
	text.Sort(step, o.byPriceAsc[:o.priced], func(a, b uint32) int {
		return cmp.Or(cmp.Compare(o.price(a), o.price(b)), cmp.Compare(a, b))
	})

	o.priceAscRank = inverse(o.byPriceAsc)
	return o, nil
}

// inverse returns the rank of each card in an order.
func inverse(cards []uint32) []uint32 {
	ranks := make([]uint32, len(cards))
	for rank, card := range cards {
		ranks[card] = uint32(rank)
	}
	return ranks
}

// orderByPrior orders the cards by relevance prior; without that column by the order of the
// catalog.
func (o *sortOrders) orderByPrior(step func()) {
	o.byPrior = o.newest
	o.priorRank = o.c.Cards.Order
	prior := o.c.Prior
	if len(prior) == 0 {
		return
	}

	o.byPrior = slices.Clone(o.newest)
	text.Sort(step, o.byPrior, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(prior[b], prior[a]), cmp.Compare(o.c.Cards.Order[a], o.c.Cards.Order[b]))
	})

	o.priorRank = inverse(o.byPrior)
}

// orderByName orders the cards by name.
func (o *sortOrders) orderByName(step func()) {
	o.byName = make([]uint32, len(o.newest))
	names := make([]string, len(o.newest))
	for card := range names {
		text.Every(step, card)
		o.byName[card] = uint32(card)
		names[card] = o.nameKey(uint32(card))
	}

	text.Sort(step, o.byName, func(a, b uint32) int { return o.compareNames(names[a], a, names[b], o.id(b)) })
}

// compareNames compares a card, which has a name, with a name and an id. A card without a name comes
// last.
func (o *sortOrders) compareNames(name string, card uint32, other, id string) int {
	if (name == "") != (other == "") {
		return cmp.Compare(other, name)
	}
	return cmp.Or(cmp.Compare(name, other), cmp.Compare(o.id(card), id))
}

// nameKey returns a card's name as it is ordered, cut so that a cursor has room for it.
func (o *sortOrders) nameKey(card uint32) string {
	const maxBytes = 200
	return cutTo(cardvocab.Fold(o.c.Cards.Name.At(int(card))), maxBytes)
}

func (o *sortOrders) id(card uint32) string { return o.c.Cards.ID.At(int(card)) }

// nameAfter returns the rank by name of the first card after a name and an id.
func (o *sortOrders) nameAfter(name, id string) int {
	return sort.Search(len(o.byName), func(i int) bool {
		card := o.byName[i]
		return o.compareNames(o.nameKey(card), card, name, id) > 0
	})
}

// prior returns a card's relevance prior, 0 when the catalog has none.
func (o *sortOrders) prior(card uint32) uint32 {
	if len(o.c.Prior) == 0 {
		return 0
	}
	return o.c.Prior[card]
}

// price returns a card's display price, NoCents without one.
func (o *sortOrders) price(card uint32) int64 { return o.c.DisplayCents(int(card)) }

// priceRange returns the range of numbers of cards with lo <= price <= hi.
func (o *sortOrders) priceRange(lo, hi int64) (from, to int) {
	from = sort.Search(o.priced, func(card int) bool { return o.price(uint32(card)) <= hi })
	to = sort.Search(o.priced, func(card int) bool { return o.price(uint32(card)) < lo })
	return from, max(from, to)
}

// firstOfPrice returns the rank in price_asc of the first card with the same price as card.
func (o *sortOrders) firstOfPrice(card uint32) uint32 {
	rank := o.priceAscRank[card]
	for rank > 0 && o.price(o.byPriceAsc[rank-1]) == o.price(card) {
		rank--
	}
	return rank
}

// rank returns a card's rank in an order.
func (o *sortOrders) rank(order Sort, card uint32) uint32 {
	switch order {
	case PriceAsc:
		return o.priceAscRank[card]
	case ByName:
		return o.nameRank[card]
	case Newest, ByNumber:
		return o.c.Cards.Order[card]
	case Relevance, PriceDesc:
	}

	return card
}

// cardAt returns the card at a rank in an order.
func (o *sortOrders) cardAt(order Sort, rank uint32) uint32 {
	switch order {
	case PriceAsc:
		return o.byPriceAsc[rank]
	case ByName:
		return o.byName[rank]
	case Newest, ByNumber:
		return o.newest[rank]
	case Relevance, PriceDesc:
	}

	return rank
}
