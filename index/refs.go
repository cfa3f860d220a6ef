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
func (x *Index) buildRefs(step func()) error {
	c := x.c
	x.cards = newRefs(&c.Cards.ID, &c.Cards.Slug, &c.Registry, step)
	x.sets = newRefs(&c.Sets.ID, &c.Sets.Slug, &c.Registry, step)
	x.buildProducts(step)

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
func (x *Index) Card(ref string) (card int, ok bool) { return x.cards.find(ref) }

// Set finds a set by id, slug or former slug.
func (x *Index) Set(ref string) (set int, ok bool) { return x.sets.find(ref) }

// Product finds a verified product by the tail of its public id: an item number. It is what a batch
// of prices asks for: the table of card ids has cards, and the few sealed products have one of
// their own.
func (x *Index) Product(tail string) (item int, ok bool) {
	// As long as ids are; a longer one is none, and may allocate.
	var buf [len(cardPrefix) + 64]byte
	id := append(append(buf[:0], cardPrefix...), tail...)
	if card, ok := x.cards.id(unsafe.String(unsafe.SliceData(id), len(id))); ok && x.c.Cards.Product[card] != 0 {
		return card, true
	}
	row, ok := x.sealed.find(tail)
	return x.c.Cards.ID.Len() + int(row), ok
}

// ProductRow finds a verified product by the tail of its public id: its row in Products.
func (x *Index) ProductRow(tail string) (row int, ok bool) {
	return sort.Find(len(x.products), func(k int) int { return strings.Compare(tail, x.tail(x.products[k])) })
}

// Products are the items that are verified products, by public id ascending (docs/API.md, GET
// /v1/products).
func (x *Index) Products() []uint32 { return x.products }

// tail is the public id of a product's item without its prefix; a card and its product share it
// (decision 25).
func (x *Index) tail(item uint32) string { return ProductTail(x.c, int(item)) }

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

func (x *Index) buildProducts(step func()) {
	n := x.c.Cards.ID.Len()
	for item := range x.c.NumItems() {
		if item >= n || x.c.Cards.Product[item] != 0 {
			x.products = append(x.products, uint32(item))
		}
	}

	tails := &x.c.Sealed.Tail
	x.sealed = newTable(tails.Len(), func(row uint32) string { return tails.At(int(row)) })
	for row := range tails.Len() {
		every(step, row)
		x.sealed.add(uint32(row))
	}

	compared := 0
	slices.SortFunc(x.products, func(a, b uint32) int {
		compared++
		every(step, compared)
		return strings.Compare(x.tail(a), x.tail(b))
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
func (x *Index) ProductPage(dst []uint32, f ProductFilter, after string, limit int) (rows []uint32, more bool) {
	from := 0
	if after != "" {
		from = sort.Search(len(x.products), func(k int) bool { return x.tail(x.products[k]) > after })
	}
	game, ok := x.game(f.Game)
	if !ok {
		return dst, false
	}

	cards := x.c.Cards.ID.Len()
	passes := func(row uint32) bool {
		item := int(x.products[row])
		if item < cards {
			return f.Kind != "sealed" && (game < 0 || game == int(x.c.Cards.Game[item]))
		}
		return f.Kind != "card" && (game < 0 || game == int(x.c.Sealed.Game[item-cards]))
	}

	// A partner's id has a list of its rows; else every row is looked at.
	n := len(x.products) - from
	row := func(k int) uint32 { return uint32(from + k) }
	if f.Partner != "" {
		listed := cut(x.partners.find(f.Partner), uint32(from), uint32(len(x.products)))
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
