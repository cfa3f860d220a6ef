package loader

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ninepocket/loader/slug"
	"ninepocket/snapshot"
)

// Prefixes of the ids in a snapshot (decision 25). A server may show product ids with another prefix
// than sealedPrefix (ProductPrefix); the snapshot always has this one. A card that is also a product has
// one tail for both ids.
const (
	cardPrefix   = "card_"
	setPrefix    = "set_"
	sealedPrefix = "prd_"
)

// tailEncoding encodes 10 bytes as 16 characters of a-z and 2-7.
var tailEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// fullRef joins a namespace and a source's own key. A zero byte cannot be in either.
func fullRef(namespace, ref string) string { return namespace + "\x00" + ref }

// splitRef undoes fullRef.
func splitRef(full string) (namespace, ref string) {
	namespace, ref, _ = strings.Cut(full, "\x00")
	return namespace, ref
}

// tailOf derives the tail of an id from a full reference: the first 10 bytes of the SHA-256 of
// namespace, zero byte and ref, as 16 lower-case base32 characters (RFC 4648 alphabet, no padding).
// The derivation is frozen: ids are public and immutable.
func tailOf(full string) string {
	sum := sha256.Sum256([]byte(full))
	return tailEncoding.EncodeToString(sum[:10])
}

// registry has the ids and slugs of earlier builds. Items (cards and sealed products) and sets
// are distinguished by the prefix of the id.
type registry struct {
	items, sets map[string]string // full reference → tail
	former      map[string]string // former slug of a card → its id
	formerSets  map[string]string // the same of sets
	derive      func(full string) string
}

// newRegistry reads the registry of a base.
func newRegistry(base *snapshot.Catalog) *registry {
	registry := &registry{
		items: make(map[string]string, base.Registry.Ref.Len()), sets: map[string]string{},
		former: map[string]string{}, formerSets: map[string]string{}, derive: tailOf,
	}

	for i := range base.Registry.Ref.Len() {
		ref := base.Registry.Ref.At(i)
		id := base.Registry.RefID.At(i)
		if tail, ok := strings.CutPrefix(id, setPrefix); ok {
			registry.sets[ref] = tail
		} else if _, tail, ok := strings.Cut(id, "_"); ok {
			registry.items[ref] = tail
		}
	}

	for i := range base.Registry.Slug.Len() {
		slug := base.Registry.Slug.At(i)
		id := base.Registry.SlugID.At(i)
		if strings.HasPrefix(id, setPrefix) {
			registry.formerSets[slug] = id
		} else {
			registry.former[slug] = id
		}
	}

	return registry
}

// CollisionError says that two references would get one id tail. Either may be renamed by its
// operator; the build refuses to choose.
type CollisionError struct{ Tail, A, B string } // A and B are full references

func (e *CollisionError) Error() string {
	return fmt.Sprintf("cannot distinguish %q and %q: both derive the id tail %q", readable(e.A), readable(e.B), e.Tail)
}

func readable(full string) string { return strings.ReplaceAll(full, "\x00", "/") }

// assignTails returns the tail of every claim. A claim is the list of all references that lead to one
// item or set, the owner's first. known has the tails of earlier builds (full reference → tail); it is
// not changed. A claim gets the known tail of its first reference with a known tail, else the tail
// derived from its owner. So an id once published stays while any reference to it does. When a joined
// pair separates, both claims know one tail. It stays with the claim that it derives from, and the
// other gets the tail derived from its owner.
func (r *registry) assignTails(claims [][]string, known map[string]string) ([]string, error) {
	tails := make([]string, len(claims))
	var fresh []string
	for i, claim := range claims {
		for _, ref := range claim {
			tail, old := known[ref]
			tails[i] = cmp.Or(tails[i], tail)
			if !old {
				fresh = append(fresh, ref)
			}
		}
	}
	if err := r.checkCollisions(fresh, known); err != nil {
		return nil, err
	}

	holder := make(map[string]int, len(claims))
	for i, claim := range claims {
		// Published tails stay; only new ones are derived.
		if tails[i] == "" {
			tails[i] = r.derive(claim[0])
		}
		tail := tails[i]
		j, taken := holder[tail]
		if !taken {
			holder[tail] = i
			continue
		}

		winner := j
		give := i
		if r.derives(claim, tail) && !r.derives(claims[j], tail) {
			winner = i
			give = j
		}

		tails[winner] = tail
		holder[tail] = winner
		// The other was joined with it until now, and gets its own derived id.
		own := r.derive(claims[give][0])
		if own == tail {
			return nil, &CollisionError{Tail: tail, A: claims[winner][0], B: claims[give][0]}
		}
		if _, taken := holder[own]; taken {
			return nil, &CollisionError{Tail: own, A: claims[holder[own]][0], B: claims[give][0]}
		}

		tails[give] = own
		holder[own] = give
	}

	return tails, nil
}

func (r *registry) derives(claim []string, tail string) bool {
	return slices.ContainsFunc(claim, func(ref string) bool { return r.derive(ref) == tail })
}

// checkCollisions returns a CollisionError if a new reference derives the same tail as another reference, new
// or known.
func (r *registry) checkCollisions(fresh []string, known map[string]string) error {
	derived := make(map[string]string, len(fresh))
	collides := func(ref, tail string) error {
		if other, ok := derived[tail]; ok && other != ref {
			return &CollisionError{Tail: tail, A: min(ref, other), B: max(ref, other)}
		}
		return nil
	}

	for _, ref := range fresh {
		tail := r.derive(ref)
		if err := collides(ref, tail); err != nil {
			return err
		}
		derived[tail] = ref
	}

	// Past references count, too, because their ids lead to items. Earlier builds distinguished them.
	for ref := range known {
		if len(fresh) == 0 {
			break
		}
		if err := collides(ref, r.derive(ref)); err != nil {
			return err
		}
	}
	return nil
}

// pair is one row of a registry table, or a key of two parts: a reference and its kind, a slug and its id.
type pair struct{ key, id string }

// replaces reports whether a reference and its id are those of an earlier pair, which may have another id.
func (p pair) replaces(old pair) bool { return p.key == old.key && kindOf(p.id) == kindOf(old.id) }

func comparePairs(a, b pair) int {
	return cmp.Or(strings.Compare(a.key, b.key), strings.Compare(a.id, b.id))
}

// toColumns sorts pairs and writes them as two columns, each pair once.
func toColumns(pairs []pair) (keys, ids snapshot.Strings) {
	slices.SortFunc(pairs, comparePairs)
	for _, pair := range slices.Compact(pairs) {
		keys.Append(pair.key)
		ids.Append(pair.id)
	}
	return keys, ids
}

// idHistory returns the registry of the new catalog: all references and former slugs of the base, and
// the references and replaced slugs of this build, each with its id. A reference of the base that now
// leads elsewhere (its item was joined with another) is entered again, and the former slugs of its old
// id lead there, too.
func (b *builder) idHistory() snapshot.IDHistory {
	base := &b.o.Base.Registry
	now := make([]pair, 0, base.Ref.Len()*33/32)
	b.merged.eachID(func(refs []string, id, _ string) {
		for _, ref := range refs {
			now = append(now, pair{ref, id})
		}
	})
	slices.SortFunc(now, comparePairs)

	// Both lists ascend: of a reference and kind that both have, the new id stands.
	list := make([]pair, 0, len(now)*33/32)
	moved := map[string]string{}
	for i := range base.Ref.Len() {
		old := pair{base.Ref.At(i), base.RefID.At(i)}
		for len(now) > 0 && comparePairs(now[0], old) < 0 && !now[0].replaces(old) {
			list = append(list, now[0])
			now = now[1:]
		}
		switch {
		case len(now) == 0 || !now[0].replaces(old):
			list = append(list, old)
		case now[0].id != old.id:
			// If the old id is nobody's any more, its slugs follow the reference.
			moved[old.id] = now[0].id
		}
	}
	if len(moved) > 0 {
		b.merged.eachID(func(_ []string, id, _ string) { delete(moved, id) })
	}

	var out snapshot.IDHistory
	out.Ref, out.RefID = toColumns(append(list, now...))
	out.Slug, out.SlugID = toColumns(b.formerSlugs(moved))
	return out
}

// formerSlugs lists the slugs of the base, former and current, each with the id that it leads to now,
// unless that id still has the slug. moved maps ids that no longer exist to their replacements.
func (b *builder) formerSlugs(moved map[string]string) []pair {
	base := b.o.Base
	found := map[pair]bool{}
	add := func(slugs, ids *snapshot.Strings, i int) {
		// An id that was joined with another leads where its reference leads now.
		found[pair{slugs.At(i), cmp.Or(moved[ids.At(i)], ids.At(i))}] = true
	}

	for i := range base.Registry.Slug.Len() {
		add(&base.Registry.Slug, &base.Registry.SlugID, i)
	}
	for i := range base.Sets.Slug.Len() {
		add(&base.Sets.Slug, &base.Sets.ID, i)
	}
	for i := range base.Cards.Slug.Len() {
		if !b.staying[i] || b.merged.cards[b.itemOf[i]].slug != base.Cards.Slug.At(i) {
			add(&base.Cards.Slug, &base.Cards.ID, i)
		}
	}

	// A slug may lead to one item now and have led to another before.
	b.merged.eachID(func(_ []string, id, slug string) { delete(found, pair{slug, id}) })
	return slices.Collect(maps.Keys(found))
}

// kindOf returns the kind of an id, which is its prefix without the underscore.
func kindOf(id string) string {
	prefix, _, _ := strings.Cut(id, "_")
	return prefix
}

// applySlugs gives every set and card its slug. A slug that an item of the base has or had leads to
// that item for good: no other item gets it, but the item itself may get a former slug back.
func (b *builder) applySlugs() {
	m := b.merged
	base := b.o.Base
	sets := map[string]string{} // of the base, by id
	for i := range base.Sets.ID.Len() {
		sets[base.Sets.ID.At(i)] = base.Sets.Slug.At(i)
	}
	wants := make([]slug.Request, len(m.sets))
	for i, s := range m.sets {
		stem := slug.Of(s.name)
		wants[i] = slug.Request{ID: setPrefix + s.tail, Tail: s.tail, Prior: sets[setPrefix+s.tail]}
		wants[i].Stems = nonEmpty("set", stem, slug.Of(stem+" "+snapshot.Games[s.game].Slug))
	}

	for i, given := range slug.Assign(wants, withPrior(b.registry.formerSets, sets)) {
		m.sets[i].slug = given
	}

	wants = make([]slug.Request, len(m.cards))
	for i := range m.cards {
		c := &m.cards[i]
		// Names repeat from set to set, so that the set's name comes first.
		stem := c.name
		if c.set >= 0 {
			stem = m.sets[c.set].name + " " + stem
		}
		wants[i] = slug.Request{ID: cardPrefix + c.tail, Tail: c.tail}
		if row := b.rowOf[i]; row >= 0 {
			wants[i].Prior = base.Cards.Slug.At(int(row))
		}
		wants[i].Stems = nonEmpty("card", slug.Of(stem+" "+c.number))
	}

	left := map[string]string{}
	for i := range base.Cards.ID.Len() {
		if !b.staying[i] {
			left[base.Cards.ID.At(i)] = base.Cards.Slug.At(i)
		}
	}
	for i, given := range slug.Assign(wants, withPrior(b.registry.former, left)) {
		m.cards[i].slug = given
	}
}

// nonEmpty returns the stems. When the name has no letter that a slug can hold, so that the first
// stem is empty, it returns kind instead.
func nonEmpty(kind string, stems ...string) []string {
	if stems[0] == "" {
		return []string{kind}
	}
	return stems
}

// withPrior adds the base's current slugs to its former ones: from the point of view of this build
// both are slugs that lead to somebody.
func withPrior(former, prior map[string]string) map[string]string {
	all := maps.Clone(former)
	for id, slug := range prior {
		all[slug] = id
	}
	return all
}
