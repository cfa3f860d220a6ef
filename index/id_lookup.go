package index

import (
	"ninepocket/index/text"
	"ninepocket/snapshot"
)

// refs finds rows of one kind by id, slug or former slug, in that order of precedence (decision
// 24). A row of the table is an id (below n), a slug (below 2n) or a former slug of the registry.
type refs struct {
	table  *table
	n      uint32
	former []uint32 // of registry row k: the row of its id
}

// buildRefs makes the tables that find games, cards, sets and products by id.
func (ix *Index) buildRefs(moved *moves, step func()) {
	c := ix.c
	ix.cards = newRefs(&c.Cards.ID, &c.Cards.Slug, &c.Registry, step)
	ix.sets = newRefs(&c.Sets.ID, &c.Sets.Slug, &c.Registry, step)
	ix.games = newGames(c)
	ix.products = newProducts(ix, moved, step)
}

func newRefs(ids, slugs *snapshot.Strings, registry *snapshot.IDHistory, step func()) *refs {
	n := uint32(ids.Len())
	refs := &refs{n: n, former: make([]uint32, registry.Slug.Len())}
	// One table serves all three: the string that is added first wins.
	refs.table = newTable(2*int(n)+registry.Slug.Len(), func(row uint32) string {
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
		text.Every(step, int(row))
		refs.table.add(row)
	}

	for k := range registry.Slug.Len() {
		text.Every(step, k)
		// A former slug finds its card while the catalog has that card.
		if row, ok := refs.table.find(registry.SlugID.At(k)); ok && row < n {
			refs.former[k] = row
			refs.table.add(2*n + uint32(k))
		}
	}

	return refs
}

func (r *refs) find(ref string) (row int, ok bool) {
	at, ok := r.table.find(ref)
	switch {
	case !ok:
		return 0, false
	case at < 2*r.n:
		return int(at % r.n), true
	}
	return int(r.former[at-2*r.n]), true
}

// findID finds a row by its id, but not by a slug.
func (r *refs) findID(id string) (row int, ok bool) {
	at, ok := r.table.find(id)
	return int(at), ok && at < r.n
}

// Card finds a card by id, slug or former slug.
func (ix *Index) Card(ref string) (card int, ok bool) { return ix.cards.find(ref) }

// Set finds a set by id, slug or former slug.
func (ix *Index) Set(ref string) (set int, ok bool) { return ix.sets.find(ref) }
