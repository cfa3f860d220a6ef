package index

import (
	"slices"
	"sort"
	"strings"
	"unsafe"

	"ninepocket/snapshot"
)

// refs finds rows of one kind by id, slug or former slug, in that order of precedence (decision
// 24). A row of the table is an id (below n), a slug (below 2n) or a former slug of the registry.
type refs struct {
	table  *table
	n      uint32
	former []uint32 // of registry row k: the row its id leads to
}

// buildRefs makes what finds cards, sets and products by their ids.
func (ix *Index) buildRefs(step func()) error {
	c := ix.c
	ix.cards = newRefs(&c.Cards.ID, &c.Cards.Slug, &c.Registry, step)
	ix.sets = newRefs(&c.Sets.ID, &c.Sets.Slug, &c.Registry, step)
	ix.buildProducts(step)

	return nil
}

func newRefs(ids, slugs *snapshot.Strings, registry *snapshot.Registry, step func()) *refs {
	n := uint32(ids.Len())
	r := &refs{n: n, former: make([]uint32, registry.Slug.Len())}
	// One table for all three: what is added first is found first.
	r.table = newTable(2*int(n)+registry.Slug.Len(), func(row uint32) string {
		switch {
		case row < n:
			return ids.At(int(row))
		case row < 2*n:
			return slugs.At(int(row - n))
		default:
			return registry.Slug.At(int(row - 2*n))
		}
	})

	for row := range 2 * n {
		every(step, int(row))
		r.table.add(row)
	}

	for k := range registry.Slug.Len() {
		every(step, k)
		// A former slug leads to its card while that is in the catalog.
		if row, ok := r.table.find(registry.SlugID.At(k)); ok && row < n {
			r.former[k] = row
			r.table.add(2*n + uint32(k))
		}
	}

	return r
}

func (r *refs) find(ref string) (row int, ok bool) {
	at, ok := r.table.find(ref)
	switch {
	case !ok:
		return 0, false
	case at < r.n:
		return int(at), true
	case at < 2*r.n:
		return int(at - r.n), true
	default:
		return int(r.former[at-2*r.n]), true
	}
}

// id finds a row by its id alone.
func (r *refs) id(id string) (row int, ok bool) {
	at, ok := r.table.find(id)
	return int(at), ok && at < r.n
}

// Card finds a card by id, slug or former slug.
func (ix *Index) Card(ref string) (card int, ok bool) { return ix.cards.find(ref) }

// Set finds a set by id, slug or former slug.
func (ix *Index) Set(ref string) (set int, ok bool) { return ix.sets.find(ref) }

// Product finds a verified product by the tail of its public id: an item number. It is what a batch
// of prices asks for: the table of card ids has cards, and the few sealed products have one of
// their own.
func (ix *Index) Product(tail string) (item int, ok bool) {
	// As long as ids are; a longer one is none, and may allocate.
	var buf [len(cardPrefix) + 64]byte
	id := append(append(buf[:0], cardPrefix...), tail...)
	if card, ok := ix.cards.id(unsafe.String(unsafe.SliceData(id), len(id))); ok && ix.c.Cards.Product[card] != 0 {
		return card, true
	}
	row, ok := ix.sealed.find(tail)
	return ix.c.Cards.ID.Len() + int(row), ok
}

// ProductRow finds a verified product by the tail of its public id: its row in Products.
func (ix *Index) ProductRow(tail string) (row int, ok bool) {
	return sort.Find(len(ix.products), func(k int) int { return strings.Compare(tail, ix.tail(ix.products[k])) })
}

// Products are the items that are verified products, by public id ascending (docs/API.md, GET
// /v1/products).
func (ix *Index) Products() []uint32 { return ix.products }

// tail is the public id of a product's item without its prefix; a card and its product share it
// (decision 25).
func (ix *Index) tail(item uint32) string { return ProductTail(ix.c, int(item)) }

// ProductTail is the public id of a product's item without its prefix; a card and its product share
// it (decision 25).
func ProductTail(c *snapshot.Catalog, item int) string {
	if n := c.Cards.ID.Len(); item >= n {
		return c.Sealed.Tail.At(item - n)
	}
	return c.Cards.ID.At(item)[len(cardPrefix):]
}

// cardPrefix begins the id of every card.
const cardPrefix = "card_"

func (ix *Index) buildProducts(step func()) {
	n := ix.c.Cards.ID.Len()
	for item := range ix.c.NumItems() {
		if item >= n || ix.c.Cards.Product[item] != 0 {
			ix.products = append(ix.products, uint32(item))
		}
	}

	tails := &ix.c.Sealed.Tail
	ix.sealed = newTable(tails.Len(), func(row uint32) string { return tails.At(int(row)) })
	for row := range tails.Len() {
		every(step, row)
		ix.sealed.add(uint32(row))
	}

	compared := 0
	slices.SortFunc(ix.products, func(a, b uint32) int {
		compared++
		every(step, compared)
		return strings.Compare(ix.tail(a), ix.tail(b))
	})
}

// ProductFilter narrows products down.
type ProductFilter struct {
	Game    string // slug, "" for any
	Kind    string // card or sealed, "" for any
	Partner string // exact value of an identifier in a partner namespace, "" for any
}

// ProductPage appends the rows of at most limit products after the tail of a public id ("" for the
// first page) that pass the filter, by public id ascending, and says whether more follow.
func (ix *Index) ProductPage(dst []uint32, f ProductFilter, after string, limit int) (rows []uint32, more bool) {
	from := 0
	if after != "" {
		from = sort.Search(len(ix.products), func(k int) bool { return ix.tail(ix.products[k]) > after })
	}
	game, ok := ix.game(f.Game)
	if !ok {
		return dst, false
	}

	cards := ix.c.Cards.ID.Len()
	passes := func(row uint32) bool {
		item := int(ix.products[row])
		if item < cards {
			return f.Kind != "sealed" && (game < 0 || game == int(ix.c.Cards.Game[item]))
		}
		return f.Kind != "card" && (game < 0 || game == int(ix.c.Sealed.Game[item-cards]))
	}

	// A partner's id has a list of its rows; else every row is looked at.
	n := len(ix.products) - from
	row := func(k int) uint32 { return uint32(from + k) }
	if f.Partner != "" {
		listed := cut(ix.partners.find(f.Partner), uint32(from), uint32(len(ix.products)))
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
