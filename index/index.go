package index

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"

	"ninepocket/index/text"
	"ninepocket/snapshot"
)

// Index finds cards, sets and products of one catalog. It is immutable and safe for concurrent use.
type Index struct {
	c        *snapshot.Catalog
	cards    *refs
	sets     *refs
	products []uint32 // items by public id
	sealed   *table   // sealed products by public id

	bySet    postings // cards of a set
	rarities *terms   // cards by folded rarity
	numbers  *terms   // cards by collector number and by its base, see cardsNumbered
	series   *terms   // sets by folded series
	setNames *terms   // sets by folded name, code or alias
	partners *terms   // products by partner id
	names    *terms   // cards by folded plain name
	book     setBook
	variants *terms // cards by folded variant that they have a price in

	identifiers *terms   // cards by NAMESPACE:VALUE
	namespaces  []string // of identifiers, ascending
	games       []string // folded slugs
	updated     []int64  // when a card's entry or a price of it last changed, ms

	asc     []uint32 // cards in price_asc order
	ascRank []uint32 // the rank in asc of each card
	likely  []uint32 // cards by fit, the likeliest first, equal ones in catalog order
	rankFit []uint32 // the rank in likely of each card
	newest  []uint32 // cards in catalog order, which is newest
	priced  int      // cards below this number have a display price
	words   *text.Index
}

// Build indexes a catalog, which the index keeps. It calls step every ten microseconds or so, where
// work beside requests may rest; nil never rests. When the context ends, Build does so at the next
// stage.
func Build(ctx context.Context, c *snapshot.Catalog, step func()) (*Index, error) {
	if step == nil {
		step = func() {}
	}

	ix := &Index{c: c}
	for _, build := range []func(step func()) error{
		ix.buildRefs, ix.buildFilters, ix.buildNarrow, ix.buildIdentifiers, ix.buildOrders,
	} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := build(step); err != nil {
			return nil, err
		}
	}

	words, err := text.Build(ctx, ix.corpus(), step)
	if err != nil {
		return nil, fmt.Errorf("cannot index words: %w", err)
	}

	ix.words = words

	return ix, nil
}

// every calls step at element i of a loop over small ones, once in 256.
func every(step func(), i int) {
	if i&255 == 0 {
		step()
	}
}

// corpus shows the catalog to the word index.
func (ix *Index) corpus() text.Corpus {
	c := ix.c
	ofSet := func(column *snapshot.Strings) func(int) string {
		return func(card int) string {
			if set := c.Cards.Set[card]; set != snapshot.NoSet {
				return column.At(int(set))
			}
			return ""
		}
	}

	return text.Corpus{
		Len:      c.Cards.ID.Len(),
		Name:     c.Cards.Name.At,
		Number:   c.Cards.Number.At,
		SetName:  ofSet(&c.Sets.Name),
		SetCode:  ofSet(&c.Sets.Code),
		Printing: c.Cards.Printing.At,
		Game:     func(card int) uint8 { return c.Cards.Game[card] },
		Set:      func(card int) int32 { return c.Cards.Set[card] },
		Rarity:   c.Cards.Rarity.At,
		Finishes: func(card int, each func(string)) {
			from, to := c.Lanes.Of.Range(card)
			for lane := from; lane < to; lane++ {
				// Lanes of one variant stand together.
				if lane == from || c.Lanes.Variant[lane] != c.Lanes.Variant[lane-1] {
					each(c.Variants.At(int(c.Lanes.Variant[lane])))
				}
			}
		},
		SetAliases: func(card int, each func(string)) {
			if set := c.Cards.Set[card]; set != snapshot.NoSet {
				for from, to := c.Sets.Aliases.Range(int(set)); from < to; from++ {
					each(c.Sets.Alias.At(from))
				}
			}
		},
		Series: ofSet(&c.Sets.Series),
		Year: func(card int) int {
			if set := c.Cards.Set[card]; set != snapshot.NoSet && c.Sets.Release[set] != snapshot.NoDay {
				return c.Sets.Release[set].Time().Year()
			}
			return 0
		},
		Games:   ix.gameNames(),
		Aliases: ix.aliases(),
		Total: func(card int) int {
			if set := c.Cards.Set[card]; set != snapshot.NoSet {
				return int(c.Sets.Total[set])
			}
			return 0
		},
	}
}

// aliases are the phrases that stand for other words or for a card.
func (ix *Index) aliases() []text.Alias {
	a := &ix.c.Aliases
	all := make([]text.Alias, a.Phrase.Len())
	for i := range all {
		all[i] = text.Alias{
			Phrase: a.Phrase.At(i), Replacement: a.Replacement.At(i), Card: int(a.Card[i]), Game: -1,
		}
		if a.Game[i] != snapshot.AnyGame {
			all[i].Game = int(a.Game[i])
		}
	}
	return all
}

// gameNames are the games' names by their numbers.
func (ix *Index) gameNames() []string {
	names := make([]string, ix.c.Games.Name.Len())
	for game := range names {
		names[game] = ix.c.Games.Name.At(game)
	}
	return names
}

// buildOrders makes the permutations of the sort orders and checks that the catalog is numbered as
// it says.
func (ix *Index) buildOrders(step func()) error {
	c := ix.c
	n := c.Cards.ID.Len()
	ix.newest = make([]uint32, n)
	for card, rank := range c.Cards.Order {
		ix.newest[rank] = uint32(card)
	}

	// A rank that two cards share leaves another one out.
	for rank, card := range ix.newest {
		if c.Cards.Order[card] != uint32(rank) {
			return fmt.Errorf("cards share rank %d of the catalog order", rank)
		}
	}

	ix.orderByFit(step)

	// Prices must fall with the numbers, and cards without one come last.
	ix.priced = n
	for card := range n {
		every(step, card)
		if c.Cards.Display[card] < 0 {
			ix.priced = min(ix.priced, card)
		} else if card > ix.priced || card > 0 && ix.price(uint32(card-1)) < ix.price(uint32(card)) {
			return fmt.Errorf("card %d is not in price order", card)
		}
	}

	// Prices ascend as the numbers descend, but equal prices stay in catalog order.
	ix.asc = make([]uint32, 0, n)
	for end := ix.priced; end > 0; {
		start := end - 1
		for start > 0 && ix.price(uint32(start-1)) == ix.price(uint32(start)) {
			start--
		}
		for card := start; card < end; card++ {
			ix.asc = append(ix.asc, uint32(card))
		}
		end = start
	}

	for card := ix.priced; card < n; card++ {
		ix.asc = append(ix.asc, uint32(card))
	}

	ix.ascRank = make([]uint32, n)
	for rank, card := range ix.asc {
		ix.ascRank[card] = uint32(rank)
	}

	return nil
}

// orderByFit orders the cards by how likely each is to be meant; without that column in the order of
// the catalog.
func (ix *Index) orderByFit(step func()) {
	ix.likely = ix.newest
	ix.rankFit = ix.c.Cards.Order
	fit := ix.c.Fit
	if len(fit) == 0 {
		return
	}

	ix.likely = slices.Clone(ix.newest)
	compared := 0
	slices.SortStableFunc(ix.likely, func(a, b uint32) int {
		compared++
		every(step, compared)
		return cmp.Compare(fit[b], fit[a])
	})

	ix.rankFit = make([]uint32, len(ix.likely))
	for rank, card := range ix.likely {
		ix.rankFit[card] = uint32(rank)
	}
}

// fit is how likely a card is to be meant, 0 when the catalog does not say.
func (ix *Index) fit(card uint32) uint32 {
	if len(ix.c.Fit) == 0 {
		return 0
	}
	return ix.c.Fit[card]
}

// price is a card's display price, NoCents without one.
func (ix *Index) price(card uint32) int64 { return ix.c.DisplayCents(int(card)) }

// priceRange is the range of numbers of cards with lo <= price <= hi.
func (ix *Index) priceRange(lo, hi int64) (from, to int) {
	from = sort.Search(ix.priced, func(card int) bool { return ix.price(uint32(card)) <= hi })
	to = sort.Search(ix.priced, func(card int) bool { return ix.price(uint32(card)) < lo })
	return from, max(from, to)
}
