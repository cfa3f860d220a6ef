package index

import (
	"slices"
	"sort"
	"strings"
	"unsafe"

	"ninepocket/index/text"
	"ninepocket/snapshot"
)

// Products finds the verified products of one catalog: cards and sealed products that a batch of
// prices may ask for (docs/API.md, Product). It is immutable and safe for concurrent use.
type Products struct {
	ix *Index

	items    []uint32 // by public id ascending
	sealed   *table   // sealed products by public id
	partners *terms   // rows of items by partner id
}

// Products returns the verified products.
func (ix *Index) Products() *Products { return ix.products }

func newProducts(ix *Index, moved *moves, step func()) *Products {
	c := ix.c
	products := &Products{ix: ix}
	tails := &c.Sealed.Tail
	products.sealed = newTable(tails.Len(), func(row uint32) string { return tails.At(int(row)) })
	for row := range tails.Len() {
		text.Every(step, row)
		products.sealed.add(uint32(row))
	}

	n := c.Cards.ID.Len()
	if moved != nil {
		// The order of public ids stays.
		products.items = text.Gather(step, moved.to, moved.earlier.products.items)
		products.partners = moved.earlier.products.partners
		return products
	}

	for item := range c.NumItems() {
		if item >= n || c.Cards.Product[item] != 0 {
			products.items = append(products.items, uint32(item))
		}
	}

	text.Sort(step, products.items, func(a, b uint32) int {
		return strings.Compare(products.tail(a), products.tail(b))
	})

	// These namespaces partner_id searches (docs/NATIVE.md, source.toml).
	partners := slices.Collect(c.Feeds.Partner.All())
	// The rows are final now, so the table of partner ids can refer to them.
	products.partners = newTerms(step, len(products.items), func(row int, add func(string)) {
		ids := &c.Identifiers
		for from, to := ids.Of.Range(int(products.items[row])); from < to; from++ {
			if slices.Contains(partners, ids.Namespace.At(from)) {
				add(ids.Value.At(from))
			}
		}
	})
	return products
}

// Items returns the item numbers of the products, by public id ascending. A row is an index into
// this list. The list belongs to the index.
func (p *Products) Items() []uint32 { return p.items }

// Find returns the item number of a product by the tail of its public id. It serves batches of
// prices: cards are in the table of card ids, and the few sealed products have a table of their
// own.
func (p *Products) Find(tail string) (item int, ok bool) {
	// Ids are shorter than this; a longer text is no id, and may allocate.
	var buf [len(cardPrefix) + 64]byte
	id := append(append(buf[:0], cardPrefix...), tail...)
	card, ok := p.ix.cards.findID(unsafe.String(unsafe.SliceData(id), len(id)))
	if ok && p.ix.c.Cards.Product[card] != 0 {
		return card, true
	}

	row, ok := p.sealed.find(tail)
	return p.ix.c.Cards.ID.Len() + int(row), ok
}

// Row returns the row of a product by the tail of its public id.
func (p *Products) Row(tail string) (row int, ok bool) {
	return sort.Find(len(p.items), func(k int) int { return strings.Compare(tail, p.tail(p.items[k])) })
}

// tail returns the public id of a product's item without its prefix.
func (p *Products) tail(item uint32) string { return ProductTail(p.ix.c, int(item)) }

// ProductTail returns the public id of a product's item without its prefix. A card and its product
// have one tail (decision 25).
func ProductTail(c *snapshot.Catalog, item int) string {
	if n := c.Cards.ID.Len(); item >= n {
		return c.Sealed.Tail.At(item - n)
	}
	return c.Cards.ID.At(item)[len(cardPrefix):]
}

// cardPrefix begins the id of every card.
const cardPrefix = "card_"

// ProductFilter restricts a list of products.
type ProductFilter struct {
	Game    string // slug, "" for any
	Kind    string // card or sealed, "" for any
	Partner string // exact value of an identifier in a partner namespace, "" for any
}

// Page appends the rows of at most limit products that match the filter, by public id ascending,
// and reports whether more follow. The page begins after the tail of a public id, "" for the first.
func (p *Products) Page(dst []uint32, filter ProductFilter, after string, limit int) (rows []uint32, more bool) {
	from := 0
	if after != "" {
		from = sort.Search(len(p.items), func(k int) bool { return p.tail(p.items[k]) > after })
	}
	game, ok := p.ix.games.find(filter.Game)
	if !ok {
		return dst, false
	}

	cards := p.ix.c.Cards.ID.Len()
	passes := func(row uint32) bool {
		item := int(p.items[row])
		if item < cards {
			return filter.Kind != "sealed" && (game < 0 || game == int(p.ix.c.Cards.Game[item]))
		}
		return filter.Kind != "card" && (game < 0 || game == int(p.ix.c.Sealed.Game[item-cards]))
	}

	// A partner id has a list of its rows; otherwise every row is visited.
	n := len(p.items) - from
	row := func(k int) uint32 { return uint32(from + k) }
	if filter.Partner != "" {
		listed := sublist(p.partners.find(filter.Partner), uint32(from), uint32(len(p.items)))
		n = len(listed)
		row = func(k int) uint32 { return listed[k] }
	}

	rows = dst
	for k := range n {
		if !passes(row(k)) {
			continue
		}
		if len(rows)-len(dst) == limit {
			return rows, true
		}
		rows = append(rows, row(k))
	}
	return rows, false
}
