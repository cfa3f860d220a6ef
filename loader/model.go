package loader

import (
	"fmt"
	"slices"
	"strings"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// gameNumber is a game's row in the table of games, which is how the catalog being built names it.
func gameNumber(slug string) (uint8, bool) {
	row := slices.IndexFunc(snapshot.Games, func(game snapshot.Game) bool { return game.Slug == slug })

	return uint8(max(row, 0)), row >= 0
}

// gamesOfBase gives each of a base's games its number. A game that this program does not know is an
// error: the base was made by a newer program, and the game's cards could not be written.
func gamesOfBase(base *snapshot.Catalog) ([]uint8, error) {
	numbers := make([]uint8, base.Games.Slug.Len())
	for i := range numbers {
		// Numbers follow the table of games, which may have grown since the base was built.
		number, ok := gameNumber(base.Games.Slug.At(i))
		if !ok {
			return nil, fmt.Errorf("cannot build on the base: this program does not know its game %q",
				base.Games.Slug.At(i))
		}
		numbers[i] = number
	}

	return numbers, nil
}

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

// item has the common fields of cards and sealed products.
type item struct {
	refs        []string // full references, the owner's first
	tail        string
	name        string
	game        uint8
	identifiers []source.Identifier
	updatedAt   int64
	group       string // full reference of the group that a feed has its prices in, "" for none
	// unlisted is the first date that no source listed the item on, 0 for a listed one.
	unlisted snapshot.Day
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
	sealedAttrs
}

// merged is the catalog being built: items are numbered cards first, then sealed products, in the
// order of the inputs.
type merged struct {
	sets   []set
	cards  []card
	sealed []sealed
}

// numItems is the number of cards and sealed products.
func (m *merged) numItems() int { return len(m.cards) + len(m.sealed) }

// games reports for each game whether the catalog has any of its records.
func (m *merged) games() []bool {
	has := make([]bool, len(snapshot.Games))
	for i := range m.sets {
		has[m.sets[i].game] = true
	}
	for i := range m.numItems() {
		has[m.item(i).game] = true
	}
	return has
}

// item returns the common fields of item i.
func (m *merged) item(i int) *item {
	if i < len(m.cards) {
		return &m.cards[i].item
	}
	return &m.sealed[i-len(m.cards)].item
}

// idOf is the id of item i.
func (m *merged) idOf(i int) string {
	if i < len(m.cards) {
		return cardPrefix + m.cards[i].tail
	}
	return sealedPrefix + m.item(i).tail
}

// newestEntry is the time of the newest item's change or, if no source has that, the day of the
// newest set's release; NoTime when neither is known.
func (m *merged) newestEntry() int64 {
	at := snapshot.NoTime
	release := snapshot.NoDay
	for i := range m.numItems() {
		at = max(at, m.item(i).updatedAt)
	}

	for i := range m.sets {
		release = max(release, m.sets[i].release)
	}

	if at == snapshot.NoTime && release != snapshot.NoDay {
		return release.Start()
	}

	return at
}

// eachID calls f with the references, id and slug of every set, card and sealed product.
func (m *merged) eachID(f func(refs []string, id, slug string)) {
	for i := range m.sets {
		f(m.sets[i].refs, setPrefix+m.sets[i].tail, m.sets[i].slug)
	}

	for i := range m.numItems() {
		slug := ""
		if i < len(m.cards) {
			slug = m.cards[i].slug
		}
		f(m.item(i).refs, m.idOf(i), slug)
	}
}

// itemsByRef are the items by their references.
func (m *merged) itemsByRef() map[string]int32 {
	items := make(map[string]int32, m.numItems())
	for i := range m.numItems() {
		for _, ref := range m.item(i).refs {
			items[ref] = int32(i)
		}
	}
	return items
}

// setsByRef are the sets by their references.
func (m *merged) setsByRef() map[string]int32 {
	sets := map[string]int32{}
	for i := range m.sets {
		for _, ref := range m.sets[i].refs {
			sets[ref] = int32(i)
		}
	}
	return sets
}

// identify gives every set, card and sealed product its id.
func (m *merged) identify(registry *registry) error {
	// Sets have a registry of their own, apart from items.
	issue := func(n int, known map[string]string, of func(i int) (refs []string, tail *string)) error {
		claims := make([][]string, n)
		for i := range claims {
			claims[i], _ = of(i)
		}

		tails, err := registry.assignTails(claims, known)
		for i := range tails {
			_, tail := of(i)
			*tail = tails[i]
		}

		return err
	}

	// Cards and sealed products have one space of ids: a product's public id has its card's tail.
	err := issue(len(m.sets), registry.sets, func(i int) ([]string, *string) { return m.sets[i].refs, &m.sets[i].tail })
	if err != nil {
		return err
	}
	return issue(m.numItems(), registry.items,
		func(i int) ([]string, *string) { return m.item(i).refs, &m.item(i).tail })
}

// carryOver takes the items of the base as they are, for a build whose inputs are prices alone.
func (b *builder) carryOver() *merged {
	base := b.o.Base
	refs := b.refsOfBase(nil)
	m := &merged{}
	for i := range base.Sets.ID.Len() {
		m.sets = append(m.sets, b.carrySet(i, refs))
	}

	for i := range base.Cards.ID.Len() {
		c := b.carryCard(i, refs)
		if c.set >= 0 {
			c.group = refIn(m.sets[c.set].refs, source.KindTCGCSV)
		}
		m.cards = append(m.cards, c)
	}

	for i := range base.Sealed.Tail.Len() {
		m.sealed = append(m.sealed, b.carrySealed(i, refs))
	}
	return m
}

// refsOfBase are the references of the base's ids: of all sets, and of some items or, for nil, of all items.
func (b *builder) refsOfBase(some map[int]bool) map[string][]string {
	refs := map[string][]string{}
	registry := &b.o.Base.Registry
	for i, row := range b.rowOfRef {
		if row < 0 || some == nil || some[int(row)] {
			id := registry.RefID.At(i)
			refs[id] = append(refs[id], registry.Ref.At(i))
		}
	}
	return refs
}

func (b *builder) carryCard(i int, refs map[string][]string) card {
	base := b.o.Base
	id := base.Cards.ID.At(i)
	return card{
		item: item{
			refs: ownerFirst(refs[id], id), tail: id[len(cardPrefix):], name: base.Cards.Name.At(i),
			game: b.baseGames[base.Cards.Game[i]], identifiers: identifiersOf(base, i),
			updatedAt: base.Cards.UpdatedAt[i], unlisted: max(0, base.UnlistedSince(i)),
		},
		slug: base.Cards.Slug.At(i), set: base.Cards.Set[i], number: base.Cards.Number.At(i),
		rarity: base.Cards.Rarity.At(i), printing: base.Cards.Printing.At(i), image: base.Cards.Image.At(i),
		product: base.Cards.Product[i] != 0,
	}
}

func (b *builder) carrySealed(i int, refs map[string][]string) sealed {
	base := b.o.Base
	id := sealedPrefix + base.Sealed.Tail.At(i)
	return sealed{
		item: item{
			refs: ownerFirst(refs[id], id), tail: base.Sealed.Tail.At(i), name: base.Sealed.Name.At(i),
			game: b.baseGames[base.Sealed.Game[i]], identifiers: identifiersOf(base, base.Cards.ID.Len()+i),
			updatedAt: base.Sealed.UpdatedAt[i], unlisted: max(0, base.UnlistedSince(base.Cards.ID.Len()+i)),
		},
		sealedAttrs: sealedAttrs{
			packageType: base.Sealed.PackageType.At(i), unitKind: base.Sealed.UnitKind.At(i),
			edition: base.Sealed.Edition.At(i), units: int(base.Sealed.Units[i]),
		},
	}
}

func (b *builder) carrySet(i int, refs map[string][]string) set {
	base := b.o.Base
	id := base.Sets.ID.At(i)
	s := set{
		refs: ownerFirst(refs[id], id), tail: id[len(setPrefix):], slug: base.Sets.Slug.At(i),
		name: base.Sets.Name.At(i), series: base.Sets.Series.At(i), code: base.Sets.Code.At(i),
		game: b.baseGames[base.Sets.Game[i]], release: base.Sets.Release[i], total: int(base.Sets.Total[i]),
	}

	for a, to := base.Sets.Aliases.Range(i); a < to; a++ {
		s.aliases = append(s.aliases, base.Sets.Alias.At(a))
	}

	return s
}

// ownerFirst puts the reference that an id derives from before the others.
func ownerFirst(refs []string, id string) []string {
	// The registry sorts references by their text, so the order does not show which reference owns the id.
	for i, ref := range refs {
		if i > 0 && id[len(id)-len(tailOf(ref)):] == tailOf(ref) {
			refs[0], refs[i] = refs[i], refs[0] // air: a swap
		}
	}
	return refs
}

func identifiersOf(base *snapshot.Catalog, i int) []source.Identifier {
	var out []source.Identifier
	for k, to := base.Identifiers.Of.Range(i); k < to; k++ {
		out = append(out, source.Identifier{
			Namespace: base.Identifiers.Namespace.At(k), Value: base.Identifiers.Value.At(k),
		})
	}
	return out
}

// refIn is the first of some references that is of a namespace, "" for none.
func refIn(refs []string, namespace string) string {
	for _, ref := range refs {
		if strings.HasPrefix(ref, fullRef(namespace, "")) {
			return ref
		}
	}
	return ""
}
