package loader

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ninepocket/cardvocab"
	"ninepocket/loader/clean"
	"ninepocket/loader/slug"
	"ninepocket/snapshot"
)

// merger joins the catalogs of several sources into one. The first source that has a game owns its
// sets and cards. A later source joins equal records and enriches them. It adds records without a
// partner only if the operator asks for this.
type merger struct {
	b *builder
	m *merged
}

// add merges one source's records.
func (g *merger) add(records *merged, report *SourceReport) {
	owned := g.m.games()
	// Sets first: cards are matched within them.
	sets := g.addSets(records, owned, report)
	g.addCards(records.cards, sets, owned, report)
	g.addSealed(records.sealed, owned, report)
}

// pairing is a one-to-one match between the rows of a later source and those of the catalog.
type pairing[T any] struct {
	have, rows []T            // of the catalog and of the later source
	to         []int32        // row of the later source → row of the catalog, -1 for none yet
	taken      map[int32]bool // rows of the catalog that have a partner
}

func newPairing[T any](have, rows []T) *pairing[T] {
	return &pairing[T]{have: have, rows: rows, to: slices.Repeat([]int32{-1}, len(rows)), taken: map[int32]bool{}}
}

// join pairs row i with a row of the catalog unless either has a partner.
func (p *pairing[T]) join(i int, to int32) {
	if to >= 0 && p.to[i] < 0 && !p.taken[to] {
		p.to[i] = to
		p.taken[to] = true
	}
}

// byKeys pairs rows without a partner by a common key, if the key leads to one such row on either
// side and the rows match. An empty key never matches.
func (p *pairing[T]) byKeys(keysOf func(*T) []string, fit func(old, fresh *T) bool) {
	if len(p.have) == 0 {
		return
	}

	const several = -2
	add := func(rows map[string]int32, key string, i int) {
		other, dup := rows[key]
		switch {
		case dup && other != int32(i):
			rows[key] = several
		case key != "":
			rows[key] = int32(i)
		}
	}

	// Keys of new rows are stored: they are looked up again below, and cost more than their room.
	keys := make([][]string, len(p.to))
	fresh := map[string]int32{}
	for i := range p.to {
		if p.to[i] < 0 {
			keys[i] = keysOf(&p.rows[i])
		}
		for _, key := range keys[i] {
			add(fresh, key, i)
		}
	}

	// A key that two rows of a side have says nothing about either.
	old := map[string]int32{}
	for i := range p.have {
		if len(fresh) == 0 || p.taken[int32(i)] {
			continue
		}
		for _, key := range keysOf(&p.have[i]) {
			if _, wanted := fresh[key]; wanted {
				add(old, key, i)
			}
		}
	}

	// In the order of the rows, so that the same inputs always join the same way.
	for i := range p.to {
		for _, key := range keys[i] {
			if j, ok := old[key]; ok && j >= 0 && fresh[key] == int32(i) && fit(&p.have[j], &p.rows[i]) {
				p.join(i, j)
			}
		}
	}
}

// byKey pairs rows by one key. The key includes the game; an empty one pairs nothing.
func (p *pairing[T]) byKey(keyOf func(*T) string) {
	p.byKeys(func(row *T) []string { return []string{keyOf(row)} }, func(_, _ *T) bool { return true })
}

// byIdentifier pairs items with a common identifier, or if one item's identifier names the other's reference.
func (p *pairing[T]) byIdentifier(itemOf func(*T) *item) {
	keys := func(row *T) []string {
		it := itemOf(row)
		list := slices.Clone(it.refs)
		for _, id := range it.identifiers {
			list = append(list, fullRef(id.Namespace, id.Value))
		}
		return list
	}
	p.byKeys(keys, func(old, fresh *T) bool { return itemOf(old).game == itemOf(fresh).game })
}

// byRef pairs rows with the rows that have their reference, or an equal one by the operator's aliases.
func (p *pairing[T]) byRef(aliases map[string][]string, itemOf func(*T) *item) {
	if len(p.have) == 0 {
		return
	}
	known := map[string]int32{}
	for i := range p.have {
		for _, ref := range itemOf(&p.have[i]).refs {
			known[ref] = int32(i)
		}
	}

	for i := range p.rows {
		it := itemOf(&p.rows[i])
		for _, ref := range append([]string{it.refs[0]}, aliases[it.refs[0]]...) {
			if to, ok := known[ref]; ok && itemOf(&p.have[to]).game == it.game {
				p.join(i, to)
			}
		}
	}
}

// addCards joins or adds the cards of a source; sets says where the source's sets went.
func (g *merger) addCards(cards []card, sets []int32, owned []bool, report *SourceReport) {
	// Cards are matched within the sets of the catalog, so that theirs are named first.
	for i := range cards {
		if cards[i].set >= 0 {
			cards[i].set = sets[cards[i].set]
		}
	}

	have := g.m.cards
	if len(have) == 0 {
		// The first source's list becomes the catalog's.
		g.m.cards = cards[:0]
	}
	p := newPairing(have, cards)
	itemOf := func(c *card) *item { return &c.item }
	p.byRef(g.b.mapping.aliases[aliasCard], itemOf)
	p.byIdentifier(itemOf)
	p.byKey(wholeKey)
	p.byKey(baseKey)

	for i := range cards {
		c := &cards[i]
		switch to := p.to[i]; {
		case to >= 0:
			report.CardsJoined++
			if g.m.cards[to].enrich(c) {
				report.CardsEnriched++
			}
			continue

		case owned[c.game]:
			// Its prices are no mistakes: they are counted as left out.
			report.CardsUnmatched++
			if !g.b.o.IncludeUnmatched {
				g.b.excludedRefs[c.refs[0]] = true
				continue
			}
		}

		report.CardsAdded++
		g.m.cards = append(g.m.cards, *c)
	}
}

// wholeKey is a card by its set, its number as printed and its whole name.
func wholeKey(c *card) string { return cardKey(c, cardvocab.NumberKey(c.number), foldName(c.name)) }

// baseKey is a card by its set, the number that a parallel belongs to, and its name without
// qualifiers.
func baseKey(c *card) string { return cardKey(c, cardvocab.NumberBase(c.number), plainName(c.name)) }

// plainName is a folded name without its qualifiers.
func plainName(name string) string { return foldName(bracketed.ReplaceAllString(name, "")) }

// cardKey is "" for cards that number and name do not identify.
func cardKey(c *card, number, name string) string {
	if c.set < 0 || number == "" || name == "" {
		return ""
	}
	return strconv.Itoa(int(c.set)) + " " + number + " " + name
}

// enrich copies fields that this card lacks from another source's record of the card, and
// reports whether it copied any.
func (c *card) enrich(from *card) bool {
	c.refs = append(c.refs, from.refs[0])
	took := false
	fill := func(to *string, value string) {
		if *to == "" && value != "" {
			*to = value
			took = true
		}
	}

	fill(&c.number, from.number)
	fill(&c.rarity, from.rarity)
	fill(&c.printing, from.printing)
	fill(&c.image, from.image)
	if c.set < 0 && from.set >= 0 {
		c.set = from.set
		took = true
	}

	return c.item.enrich(&from.item) || took
}

func (it *item) enrich(from *item) bool {
	before := len(it.identifiers)
	for _, id := range from.identifiers {
		it.identifiers = clean.AddIdentifier(it.identifiers, id.Namespace, id.Value)
	}

	if it.updatedAt == snapshot.NoTime {
		it.updatedAt = from.updatedAt
	}
	it.group = cmp.Or(it.group, from.group)

	return len(it.identifiers) > before
}

// addSealed joins or adds sealed products. They have no number, so that only references, aliases
// and identifiers join them.
func (g *merger) addSealed(list []sealed, owned []bool, report *SourceReport) {
	p := newPairing(g.m.sealed, list)
	itemOf := func(sealed *sealed) *item { return &sealed.item }
	p.byRef(g.b.mapping.aliases[aliasCard], itemOf)
	p.byIdentifier(itemOf)
	for i := range list {
		sealed := &list[i]
		if to := p.to[i]; to >= 0 {
			report.SealedJoined++
			g.m.sealed[to].enrich(sealed)
			continue
		}

		// Like a card that no earlier source has.
		if owned[sealed.game] && !g.b.o.IncludeUnmatched {
			g.b.excludedRefs[sealed.refs[0]] = true
			continue
		}

		g.m.sealed = append(g.m.sealed, *sealed)
	}
}

// enrich copies fields that this product lacks from another source's record of the product.
func (s *sealed) enrich(from *sealed) {
	s.refs = append(s.refs, from.refs[0])
	s.sealedAttrs = s.sealedAttrs.withDefaults(from.sealedAttrs)
	s.item.enrich(&from.item)
}

// addSets joins or adds the sets of a source and returns the index of each in the catalog. It is -1 for a
// set that is left out: it joins none, and an earlier source has its game.
func (g *merger) addSets(records *merged, owned []bool, report *SourceReport) []int32 {
	sets := records.sets
	p := newPairing(g.m.sets, sets)
	byRef := g.m.setsByRef()
	for i := range sets {
		ref := sets[i].refs[0]
		if to, ok := byRef[ref]; ok {
			p.join(i, to)
		}
		for _, same := range g.b.mapping.aliases[aliasSet][ref] {
			if to, ok := byRef[same]; ok && g.m.sets[to].game == sets[i].game {
				p.join(i, to)
			}
		}
	}

	// A weak key pairs only rows without a stronger pair.
	for _, key := range []func(*set) string{setName, setCode, setShortName, setCoreName} {
		p.byKey(key)
	}

	g.joinByContent(p, records)
	g.reportUnmatched(p, records, owned)
	for i := range sets {
		s := &sets[i]
		switch to := p.to[i]; {
		case to >= 0:
			report.SetsJoined++
			g.m.sets[to].enrich(s)
		case !owned[s.game] || g.b.o.IncludeUnmatched:
			p.to[i] = int32(len(g.m.sets))
			g.m.sets = append(g.m.sets, *s)
		default:
			report.SetsUnmatched++
		}
	}

	return p.to
}

// reportUnmatched passes on the sets that join none of a game that an earlier source has.
func (g *merger) reportUnmatched(p *pairing[set], records *merged, owned []bool) {
	if g.b.onUnmatched == nil {
		return
	}
	cards := contents(records.cards, func(set int32) bool { return p.to[set] < 0 })
	for i := range records.sets {
		if s := &records.sets[i]; p.to[i] < 0 && owned[s.game] {
			g.b.onUnmatched(unmatchedSet{s, cards[int32(i)]})
		}
	}
}

// Keys that identify sets of one game, strongest first.
func setName(s *set) string { return nameKey(s.game, s.name) }

func setCode(s *set) string {
	if s.code == "" {
		return ""
	}
	return snapshot.Games[s.game].Slug + " code " + cardvocab.Fold(s.code)
}

// codeBefore is the code that a shop puts before a set's name, as in "SWSH04: Vivid Voltage"
// and "XY - Evolutions".
var codeBefore = regexp.MustCompile(`^[A-Z][A-Za-z0-9&.]{0,7}(: | - )`)

func setShortName(s *set) string { return nameKey(s.game, codeBefore.ReplaceAllString(s.name, "")) }

// setCoreName drops the words "Base Set" too: "Scarlet & Violet" is "SV01: Scarlet & Violet Base
// Set".
func setCoreName(s *set) string {
	name := setShortName(s)
	for _, words := range []string{"baseset", "set"} {
		if core := strings.TrimSuffix(name, words); !strings.HasSuffix(core, " ") {
			return core
		}
	}
	return name
}

// joinByContent pairs the sets that still have no partner by their contents. Two sets are equal if
// at least three cards agree in number and name, these are most of either set, and no other set of
// either side agrees with as many. It finds sets that shops and databases simply name differently
// ("EX Dragon" and "Dragon", "WoTC Promo" and "Wizards Black Star Promos").
func (g *merger) joinByContent(p *pairing[set], records *merged) {
	if len(p.have) == 0 {
		return
	}
	old := contents(g.m.cards, func(set int32) bool { return !p.taken[set] })
	fresh := contents(records.cards, func(set int32) bool { return p.to[set] < 0 })
	shared := map[[2]int32]int{}
	// Only sets with a common card are compared, by way of the card.
	where := map[string][]int32{}
	for set, keys := range old {
		for key := range keys {
			where[key] = append(where[key], set)
		}
	}

	for set, keys := range fresh {
		for key := range keys {
			for _, to := range where[key] {
				shared[[2]int32{set, to}]++
			}
		}
	}

	bestOfNew := map[int32]bestMatch{}
	bestOfOld := map[int32]bestMatch{}
	for pair, n := range shared {
		bestOfNew[pair[0]] = bestOfNew[pair[0]].against(pair[1], n)
		bestOfOld[pair[1]] = bestOfOld[pair[1]].against(pair[0], n)
	}

	for set, best := range bestOfNew {
		// The best match must be mutual, or a reprint set would take the original's place.
		back := bestOfOld[best.set]
		if best.tied || back.tied || back.set != set || best.n < 3 {
			continue
		}
		if best.n*2 > len(fresh[set]) && best.n*2 > len(old[best.set]) {
			p.join(int(set), best.set)
		}
	}
}

// bestMatch is the set that has the most cards in common with another.
type bestMatch struct {
	set  int32
	n    int
	tied bool
}

func (r bestMatch) against(set int32, n int) bestMatch {
	switch {
	case n > r.n:
		return bestMatch{set: set, n: n}
	case n == r.n:
		r.tied = true
	}
	return r
}

// contents are the cards of the sets that are wanted, by game, number and name.
func contents(cards []card, wanted func(int32) bool) map[int32]map[string]bool {
	sets := map[int32]map[string]bool{}
	for i := range cards {
		c := &cards[i]
		number := cardvocab.NumberBase(c.number)
		name := plainName(c.name)
		if c.set < 0 || !wanted(c.set) || number == "" || name == "" {
			continue
		}

		if sets[c.set] == nil {
			sets[c.set] = map[string]bool{}
		}

		sets[c.set][snapshot.Games[c.game].Slug+" "+number+" "+name] = true
	}

	return sets
}

func nameKey(game uint8, name string) string {
	folded := foldName(name)
	if folded == "" {
		return ""
	}
	return snapshot.Games[game].Slug + " " + folded
}

// foldName is a name as two sources agree on it: letters and digits alone, signs as words, "&" as
// "and".
func foldName(name string) string { return strings.ReplaceAll(slug.Of(name), "-", "") }

// enrich copies fields that this set lacks from another source's record of the set.
func (s *set) enrich(from *set) {
	s.refs = append(s.refs, from.refs[0])
	s.series = cmp.Or(s.series, from.series)
	s.code = cmp.Or(s.code, from.code)
	s.total = cmp.Or(s.total, from.total)
	if s.release == snapshot.NoDay {
		s.release = from.release
	}

	for _, alias := range append([]string{from.name, from.code}, from.aliases...) {
		s.aliases = addAlias(s.aliases, alias)
	}
}
