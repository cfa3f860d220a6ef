package loader

import (
	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// games are the games that are served, in the order in which they are listed (decision 22).
var games = [...]struct{ slug, name string }{{"pokemon", "Pokémon"}, {"one-piece", "One Piece"}}

const (
	pokemon = iota
	onePiece
)

// identifier is an alias of an item in another namespace.
type identifier = source.Identifier

// set is a set of the catalog being built. Its number never changes after it was added.
type set struct {
	refs               []string // full references, the owner's first
	tail, slug         string
	name, series, code string
	game               uint8
	release            snapshot.Day
	aliases            []string
	total              int // printed, 0 when not known
}

// item is what cards and sealed products have in common.
type item struct {
	refs        []string // full references, the owner's first
	tail        string
	name        string
	game        uint8
	identifiers []source.Identifier
	updatedAt   int64
}

// card is a card of the catalog being built.
type card struct {
	item
	slug                            string
	set                             int32 // index of its set, -1 for none
	number, rarity, printing, image string
	product                         bool
}

// sealed is a sealed product of the catalog being built.
type sealed struct {
	item
	packageType, unitKind, edition string
	units                          int
}

// merged is the catalog being built: items are numbered cards first, then sealed products, in the order in which the
// inputs brought them.
type merged struct {
	sets   []set
	cards  []card
	sealed []sealed
}

// numItems is the number of cards and sealed products.
func (m *merged) numItems() int { return len(m.cards) + len(m.sealed) }

// item returns what item i has in common with all others.
func (m *merged) item(i int) *item {
	if i < len(m.cards) {
		return &m.cards[i].item
	}
	return &m.sealed[i-len(m.cards)].item
}

// eachID calls f with the references, id and slug of every set, card and sealed product.
func (m *merged) eachID(f func(refs []string, id, slug string)) {
	for i := range m.sets {
		f(m.sets[i].refs, setPrefix+m.sets[i].tail, m.sets[i].slug)
	}
	for i := range m.cards {
		f(m.cards[i].refs, cardPrefix+m.cards[i].tail, m.cards[i].slug)
	}
	for i := range m.sealed {
		f(m.sealed[i].refs, sealedPrefix+m.sealed[i].tail, "")
	}
}

// identify gives every set, card and sealed product its id.
func (m *merged) identify(r *registry) error {
	claims := make([]claim, len(m.sets))
	for i := range m.sets {
		claims[i] = claim{m.sets[i].refs}
	}
	tails, err := r.assign(claims, r.sets)
	if err != nil {
		return err
	}
	for i := range m.sets {
		m.sets[i].tail = tails[i]
	}
	claims = make([]claim, m.numItems())
	for i := range claims {
		claims[i] = claim{m.item(i).refs}
	}
	if tails, err = r.assign(claims, r.items); err != nil {
		return err
	}
	for i := range claims {
		m.item(i).tail = tails[i]
	}
	return nil
}

// carryOver takes the items of a base as they are, for a build whose inputs are prices alone.
func carryOver(base *snapshot.Catalog) *merged {
	refs := map[string][]string{}
	for i := range base.Registry.Ref.Len() {
		id := base.Registry.RefID.At(i)
		refs[id] = append(refs[id], base.Registry.Ref.At(i))
	}
	m := &merged{}
	for i := range base.Sets.ID.Len() {
		m.sets = append(m.sets, carrySet(base, i, refs))
	}
	for i := range base.Cards.ID.Len() {
		id := base.Cards.ID.At(i)
		m.cards = append(m.cards, card{
			item: item{
				refs: ownerFirst(refs[id], id), tail: id[len(cardPrefix):], name: base.Cards.Name.At(i),
				game: gameOf(base, base.Cards.Game[i]), identifiers: identifiersOf(base, i), updatedAt: base.Cards.UpdatedAt[i],
			},
			slug: base.Cards.Slug.At(i), set: base.Cards.Set[i], number: base.Cards.Number.At(i), rarity: base.Cards.Rarity.At(i),
			printing: base.Cards.Printing.At(i), image: base.Cards.Image.At(i), product: base.Cards.Product[i] != 0,
		})
	}
	for i := range base.Sealed.Tail.Len() {
		id := sealedPrefix + base.Sealed.Tail.At(i)
		m.sealed = append(m.sealed, sealed{
			item: item{
				refs: ownerFirst(refs[id], id), tail: base.Sealed.Tail.At(i), name: base.Sealed.Name.At(i),
				game: gameOf(base, base.Sealed.Game[i]), identifiers: identifiersOf(base, base.Cards.ID.Len()+i),
				updatedAt: base.Sealed.UpdatedAt[i],
			},
			packageType: base.Sealed.PackageType.At(i), unitKind: base.Sealed.UnitKind.At(i),
			edition: base.Sealed.Edition.At(i), units: int(base.Sealed.Units[i]),
		})
	}
	return m
}

func carrySet(base *snapshot.Catalog, i int, refs map[string][]string) set {
	id := base.Sets.ID.At(i)
	s := set{
		refs: ownerFirst(refs[id], id), tail: id[len(setPrefix):], slug: base.Sets.Slug.At(i), name: base.Sets.Name.At(i),
		series: base.Sets.Series.At(i), code: base.Sets.Code.At(i), game: gameOf(base, base.Sets.Game[i]), release: base.Sets.Release[i],
		total: int(base.Sets.Total[i]),
	}
	from, to := base.Sets.Aliases.Range(i)
	for a := from; a < to; a++ {
		s.aliases = append(s.aliases, base.Sets.Alias.At(a))
	}
	return s
}

// ownerFirst puts the reference that an id derives from before the others.
func ownerFirst(refs []string, id string) []string {
	for i, ref := range refs {
		if i > 0 && id[len(id)-len(tailOf(ref)):] == tailOf(ref) {
			refs[0], refs[i] = refs[i], refs[0]
		}
	}
	return refs
}

// gameOf finds the builder's number of a base's game.
func gameOf(base *snapshot.Catalog, g uint8) uint8 {
	for i := range games {
		if games[i].slug == base.Games.Slug.At(int(g)) {
			return uint8(i)
		}
	}
	return pokemon
}

func identifiersOf(base *snapshot.Catalog, i int) []source.Identifier {
	var out []source.Identifier
	from, to := base.Identifiers.Of.Range(i)
	for k := from; k < to; k++ {
		out = append(out, source.Identifier{Namespace: base.Identifiers.Namespace.At(k), Value: base.Identifiers.Value.At(k)})
	}
	return out
}
