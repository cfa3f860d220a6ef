package loader

import (
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"ninepocket/loader/clean"
	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// Bounds of text that the snapshot does not bound itself, in code points (docs/API.md, Product).
const (
	maxRarity = 100
	maxCode   = 64
)

// codeCard begins the name of TCGCSV products that are no cards although they have a rarity
// (decision 27).
const codeCard = "Code Card - "

// catalogSink is the sink of one source's catalog.
type catalogSink struct {
	sink
	feed   source.Feed
	report *SourceReport
	// out is the source's catalog, clean and without duplicates, in the order of the input. The items'
	// only reference is the source's own.
	out        merged
	setOf      map[string]int32  // ref → index in out.sets
	seen       map[string]string // refs of cards and sealed products, with their names
	products   map[string]bool   // identifiers in the source's own namespace, which stand for one item each
	foreignIDs map[uint64]bool   // hashes of identifiers in other namespaces
	setRefs    []string          // of out.cards, resolved at the end: a source may give cards before sets
}

func (g *catalogSink) cleaner(at source.Location, ref string) clean.Record {
	return clean.Record{Into: &g.b.quarantine, At: at, Ref: ref, Pool: &g.b.pool}
}

// game looks a game up, and refuses a record of none.
func game(record *clean.Record, slug string) (uint8, bool) {
	number, ok := gameNumber(slug)
	if !ok {
		record.Refuse(source.ReasonBadGame, slug)
	}
	return number, ok
}

// Set takes a set.
func (g *catalogSink) Set(given source.Set) {
	cleaner := g.cleaner(given.At, given.Ref)
	if !cleaner.Key(given.Ref) {
		return
	}

	if _, dup := g.setOf[given.Ref]; dup {
		g.b.quarantine.Refuse(given.At, source.ReasonDuplicateID, given.Ref, given.Name)
		return
	}

	game, ok := game(&cleaner, given.Game)
	if !ok {
		return
	}

	name, ok := cleaner.Name(given.Name)
	if !ok {
		return
	}

	out := set{
		refs: []string{fullRef(g.feed.Namespace, given.Ref)}, name: name,
		series: cleaner.Optional(given.Series, snapshot.MaxName),
		code:   cleaner.Optional(given.Code, maxCode), game: game, release: given.Release, total: given.Total,
	}
	for _, alias := range given.Aliases {
		out.aliases = addAlias(out.aliases, cleaner.Optional(alias, snapshot.MaxName))
	}

	g.setOf[strings.Clone(given.Ref)] = int32(len(g.out.sets))
	g.b.listedGroups[out.refs[0]] = true
	g.out.sets = append(g.out.sets, out)
	g.report.Sets++
}

// Card takes a card.
func (g *catalogSink) Card(given source.Card) {
	cleaner := g.cleaner(given.At, given.Ref)
	it, ok := g.item(&cleaner, given.Ref, given.Game, given.Name, given.Identifiers, given.UpdatedAt)
	if !ok {
		return
	}

	if strings.HasPrefix(it.name, codeCard) {
		g.report.CodeCardsLeftOut++
		g.b.excludedRefs[it.refs[0]] = true
		return
	}

	it.group = g.group(given.SetRef)
	g.out.cards = append(g.out.cards, card{
		item: it, set: -1, number: cleaner.Optional(given.Number, snapshot.MaxNumber),
		rarity:   rarity(cleaner.Optional(given.Rarity, maxRarity)),
		printing: cleaner.Optional(given.Printing, snapshot.MaxPrinting),
		image:    cleaner.Unique(given.Image, snapshot.MaxName),
	})

	g.setRefs = append(g.setRefs, g.b.pool.Of(given.SetRef))
	g.report.Cards++
}

// rarity is a rarity as the catalog has it: the word "None" stands for none (decision 25).
func rarity(s string) string {
	if strings.EqualFold(s, "none") {
		return ""
	}
	return s
}

// Sealed takes a sealed product.
func (g *catalogSink) Sealed(given source.Sealed) {
	cleaner := g.cleaner(given.At, given.Ref)
	it, ok := g.item(&cleaner, given.Ref, given.Game, given.Name, given.Identifiers, given.UpdatedAt)
	if !ok {
		return
	}

	it.group = g.group(given.SetRef)
	out := sealed{it, sealedAttrs{given.PackageType, given.UnitKind, given.Edition, given.Units}}
	if reason, value := out.invalid(&snapshot.Games[it.game]); reason != "" {
		g.b.quarantine.Refuse(given.At, reason, given.Ref, value)
		return
	}

	g.out.sealed = append(g.out.sealed, out)
	g.report.Sealed++
}

// item cleans the common fields of cards and sealed products. The first record of a reference
// stands, later records are quarantined. Likewise a source product id stands for the first item
// that has it, and a later item with it is quarantined (decision 26). A product id is an identifier
// in the source's own namespace, and TCGplayer's in TCGCSV. Identifiers in other namespaces may
// repeat (decision 51); repeated ones join nothing, so they are counted.
func (g *catalogSink) item(
	cleaner *clean.Record, ref, slug, name string, ids []source.Identifier, updatedAt int64,
) (item, bool) {
	if !cleaner.Key(ref) {
		return item{}, false
	}

	if earlier, again := g.seen[ref]; again {
		reason := source.ReasonDuplicateID
		switch {
		// One product that two groups list is no second one.
		case g.feed.ProductRefs && earlier == name:
			reason = source.ReasonListedTwice
		// A product id that names two records stands for two cards.
		case g.feed.ProductRefs:
			reason = source.ReasonProductOnTwoCards
		}
		cleaner.Refuse(reason, name)
		return item{}, false
	}

	game, ok := game(cleaner, slug)
	if !ok {
		return item{}, false
	}

	name, ok = cleaner.Name(name)
	if !ok {
		return item{}, false
	}

	it := item{
		refs: []string{fullRef(g.feed.Namespace, ref)}, name: name, game: game,
		identifiers: cleaner.Identifiers(ids), updatedAt: updatedAt,
	}
	for _, id := range it.identifiers {
		if id.Namespace != g.feed.Namespace && (!g.feed.ProductRefs || id.Namespace != g.feed.Partner) {
			continue
		}
		if g.products[id.Value] {
			cleaner.Refuse(source.ReasonProductOnTwoCards, id.Value)
			return item{}, false
		}
		g.products[id.Value] = true
	}

	// If the source is the partner, its own references are valid partner_ids.
	if g.feed.Partner == g.feed.Namespace && g.feed.Partner != "" {
		it.identifiers = clean.AddIdentifier(it.identifiers, g.feed.Namespace, it.refs[0][len(g.feed.Namespace)+1:])
	}

	// The clean reference is stored, which does not keep the document alive.
	g.seen[it.refs[0][len(g.feed.Namespace)+1:]] = it.name
	for _, id := range it.identifiers {
		if id.Namespace != g.feed.Namespace {
			g.countShared(ref, id)
		}
	}

	return it, true
}

// countShared counts an identifier that an earlier item of the source has. It is no mistake as such:
// lookups of a partner's id return every candidate, and artists and barcodes are of many cards.
// Both items stay, so nothing is quarantined. Hashes are compared: a million items have several
// times as many identifiers, and one too many in 2⁶⁴ does no harm.
func (g *catalogSink) countShared(ref string, id source.Identifier) {
	before := len(g.foreignIDs)
	g.foreignIDs[xxhash.Sum64String(id.Namespace+"\x00"+id.Value)] = true
	switch {
	case len(g.foreignIDs) > before: // it is new
	case id.Namespace == g.feed.Partner:
		g.report.PartnersShared++
	default:
		g.report.IdentifiersShared++
		if g.report.IdentifiersShared == 1 {
			g.report.SharedExample = id.Namespace + " " + id.Value + " of " + ref
		}
	}
}

// finish resolves the sets of cards. A card of another game's set, or of a set that the source does
// not have, stays without one.
func (g *catalogSink) finish() *merged {
	for i, ref := range g.setRefs {
		// A reference into another game is as wrong as one that leads nowhere.
		if s, ok := g.setOf[ref]; ok && g.out.sets[s].game == g.out.cards[i].game {
			g.out.cards[i].set = s
		} else if ref != "" {
			g.report.SetReferencesWrong++
		}
	}

	return &g.out
}

// Missing notes a set whose products the source lacks.
func (g *catalogSink) Missing(missing source.MissingFile) {
	if !missing.Prices {
		g.b.missingProducts[fullRef(g.feed.Namespace, missing.SetRef)] = true
	}
}

// group is the full reference of a group, one text for all its items.
func (g *catalogSink) group(setRef string) string {
	if setRef == "" {
		return ""
	}
	return g.b.pool.Of(fullRef(g.feed.Namespace, setRef))
}

// sink is the common part of both passes over an input: they record the source's refusals, report
// their progress, and skip records of the other pass.
type sink struct {
	source.Discard
	b *builder
}

// Quarantine notes a record that the source refused.
func (s sink) Quarantine(quarantine source.Quarantine) { s.b.quarantine.Add(quarantine) }

// Progress passes on the source's progress.
func (s sink) Progress(phase string, done, total int64) { s.b.progress(phase, done, total) }

func addAlias(list []string, alias string) []string {
	if alias == "" || slices.Contains(list, alias) {
		return list
	}
	return append(list, alias)
}
