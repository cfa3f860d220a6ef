package snapshot

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// section is one table of the format: its name, and its columns in order. docs/SNAPSHOT.md,
// Sections, is the same list in words.
type section struct {
	name string
	walk func(*Catalog, columns)
}

// sections are all tables in the order in which they are stored.
var sections = []section{
	{"games", func(c *Catalog, w columns) {
		names := &c.Games
		w.strings("slug", &names.Slug)
		w.strings("name", &names.Name)
	}},
	{"sets", walkSets},
	{"cards", walkCards},
	{"sealed", walkSealed},
	{"identifiers", func(c *Catalog, w columns) {
		t := &c.Identifiers
		w.lists("of", &t.Of)
		w.strings("namespace", &t.Namespace)
		w.strings("value", &t.Value)
	}},
	{"feeds", func(c *Catalog, w columns) {
		feeds := &c.Feeds
		w.strings("namespace", &feeds.Namespace)
		w.strings("attribution", &feeds.Attribution)
		w.strings("partner", &feeds.Partner)
		w.strings("variants", &c.Variants)
	}},
	{"lanes", walkLanes},
	{"history", func(c *Catalog, w columns) { w.lists("of", &c.History.Of); w.bytes("points", &c.History.Points) }},
	{"stats", walkStats},
	{"movers", func(c *Catalog, w columns) { w.u32("up", &c.Movers.Up); w.u32("down", &c.Movers.Down) }},
	{"registry", func(c *Catalog, w columns) {
		registry := &c.Registry
		w.strings("ref", &registry.Ref)
		w.strings("ref_id", &registry.RefID)
		w.strings("slug", &registry.Slug)
		w.strings("slug_id", &registry.SlugID)
	}},
}

// An optionalSection is a table that a reader can do without. It is stored when the catalog has
// rows for it.
type optionalSection struct {
	section
	has func(*Catalog) bool
}

// optionalSections are the optional sections that this program knows, in the order of their names.
var optionalSections = []optionalSection{
	{section{"aliases", walkAliases}, func(c *Catalog) bool { return c.Aliases.Phrase.Len() > 0 }},
	{
		section{"fit", func(c *Catalog, w columns) { w.u32("fit", &c.Fit) }},
		func(c *Catalog) bool { return len(c.Fit) > 0 },
	},
	{section{"gaps", walkGaps}, func(c *Catalog) bool { return len(c.Gaps.Day) > 0 }},
}

func walkGaps(c *Catalog, w columns) {
	gaps := &c.Gaps
	w.u8("feed", &gaps.Feed)
	w.u8("game", &gaps.Game)
	w.days("day", &gaps.Day)
	w.strings("group", &gaps.Group)
	w.i32("set", &gaps.Set)
}

func walkAliases(c *Catalog, w columns) {
	a := &c.Aliases
	w.strings("phrase", &a.Phrase)
	w.strings("replacement", &a.Replacement)
	w.u8("game", &a.Game)
	w.i32("card", &a.Card)
}

func walkSets(c *Catalog, w columns) {
	sets := &c.Sets
	w.strings("id", &sets.ID)
	w.strings("slug", &sets.Slug)
	w.strings("name", &sets.Name)
	w.strings("series", &sets.Series)
	w.strings("code", &sets.Code)
	w.u8("game", &sets.Game)
	w.days("release", &sets.Release)
	w.u32("cards", &sets.Cards)
	w.lists("aliases", &sets.Aliases)
	w.strings("alias", &sets.Alias)
	if w.since(2) {
		w.u16("total", &sets.Total)
	}
}

func walkCards(c *Catalog, w columns) {
	cards := &c.Cards
	w.strings("id", &cards.ID)
	w.strings("slug", &cards.Slug)
	w.strings("name", &cards.Name)
	w.strings("number", &cards.Number)
	w.strings("rarity", &cards.Rarity)
	w.strings("printing", &cards.Printing)
	w.strings("image", &cards.Image)
	w.u8("game", &cards.Game)
	w.i32("set", &cards.Set)
	w.u32("order", &cards.Order)
	w.i64("updated_at", &cards.UpdatedAt)
	w.u8("product", &cards.Product)
	w.i32("display", &cards.Display)
}

func walkSealed(c *Catalog, w columns) {
	sealed := &c.Sealed
	w.strings("tail", &sealed.Tail)
	w.strings("name", &sealed.Name)
	w.strings("package_type", &sealed.PackageType)
	w.strings("unit_kind", &sealed.UnitKind)
	w.strings("edition", &sealed.Edition)
	w.u8("game", &sealed.Game)
	w.u32("units", &sealed.Units)
	w.i64("updated_at", &sealed.UpdatedAt)
}

func walkLanes(c *Catalog, w columns) {
	lanes := &c.Lanes
	w.lists("of", &lanes.Of)
	w.u16("variant", &lanes.Variant)
	w.u8("condition", &lanes.Condition)
	w.u8("flags", &lanes.Flags)
	w.u8("feed", &lanes.Feed)
	w.i64("cents", &lanes.Cents)
	w.i64("source_as_of", &lanes.SourceAsOf)
	w.i64("collected_at", &lanes.CollectedAt)
	w.i64("base_7", &lanes.Base7)
	w.i64("base_30", &lanes.Base30)
	w.days("seen", &lanes.Seen)
}

func walkStats(c *Catalog, w columns) {
	stats := &c.Stats
	w.u32("lane", &stats.Lane)
	w.i64("min", &stats.Min)
	w.i64("max", &stats.Max)
	w.i64("mean", &stats.Mean)
	w.i64("first", &stats.First)
	w.i64("last", &stats.Last)
	w.days("first_day", &stats.FirstDay)
	w.days("last_day", &stats.LastDay)
	w.u16("points", &stats.Points)
}

const (
	// minTail, maxTail and maxSlug bound ids and slugs in characters (docs/API.md, Product;
	// decision 4).
	minTail, maxTail, maxSlug = 3, 64, 200
	// firstDay and lastDay are 0000-01-01 and 9999-12-31.
	firstDay, lastDay = Day(-719528), Day(2932896)
)

// checker gathers what is wrong with a catalog, section by section. It checks once whatever readers
// use as an index, so that they need no checks of their own.
type checker struct {
	errs []error
	step func()
}

// every calls step at every 256th element i of a loop. It is for elements that take little time.
func (k *checker) every(i int) {
	if i&255 == 0 {
		k.step()
	}
}

// want notes what is wrong with a section, unless ok.
func (k *checker) want(ok bool, section, what string) {
	k.step()
	if !ok {
		k.errs = append(k.errs, &DamageError{Section: section, Reason: what})
	}
}

// rows wants every column to have n rows.
func (k *checker) rows(section string, n int, lens ...int) {
	for _, l := range lens {
		k.want(l == n, section, fmt.Sprintf("has columns of %d and %d rows", n, l))
	}
}

// below wants every element to be less than n.
func below[T uint8 | uint16 | uint32](k *checker, section, column string, v []T, n int) {
	k.step()
	if i := slices.IndexFunc(v, func(row T) bool { return uint64(row) >= uint64(n) }); i >= 0 {
		k.want(false, section, fmt.Sprintf("column %q refers to row %d of %d", column, v[i], n))
	}
}

// instants wants every element to be NoTime or a time of the years 0 to 9999. RFC 3339 cannot spell
// others.
func (k *checker) instants(section, column string, v []int64) {
	for i, at := range v {
		k.every(i)
		if at != NoTime && (at < firstDay.Start() || at >= (lastDay+1).Start()) {
			k.want(false, section, fmt.Sprintf("column %q has a time outside of the years 0 to 9999", column))
			return
		}
	}
}

// dates wants every element to be NoDay or a date of the years 0 to 9999.
func (k *checker) dates(section, column string, v []Day) {
	ok := !slices.ContainsFunc(v, func(d Day) bool { return d != NoDay && (d < firstDay || d > lastDay) })
	k.want(ok, section, fmt.Sprintf("column %q has a date outside of the years 0 to 9999", column))
}

// names wants every string to be prefix and then characters a-z, 0-9 and joiner, at least low of
// them and at most high. Others may cut the prefix off such a string without a check, and may write
// it into JSON and URLs without escapes.
func (k *checker) names(section, column string, texts *Strings, prefix string, joiner byte, low, high int) {
	for i := range texts.Len() {
		k.every(i)
		rest, ok := strings.CutPrefix(texts.At(i), prefix)
		ok = ok && len(rest) >= low && len(rest) <= high
		for j := range len(rest) {
			b := rest[j]
			ok = ok && ('a' <= b && b <= 'z' || '0' <= b && b <= '9' || b == joiner)
		}

		if !ok {
			k.want(false, section, fmt.Sprintf("column %q has %q, which does not have its form", column, texts.At(i)))
			return
		}
	}
}

// Validate checks that the tables of a catalog fit each other (docs/SNAPSHOT.md, What a reader must
// check). The columns of a table have one length, and references are in range. Ids and slugs have
// their form, text is valid UTF-8, and times can be spelt. Prices are whole and may be distributed.
// History decodes. It returns every problem that it finds, each as a *DamageError.
func (c *Catalog) Validate() error { return c.validate(func() {}) }

func (c *Catalog) validate(step func()) error {
	k := &checker{step: step}
	k.instants("manifest", "snapshot_at", []int64{c.SnapshotAt})
	k.want(c.SnapshotAt != NoTime, "manifest", "has no time")

	nGames := c.Games.Slug.Len()
	nSets := c.Sets.ID.Len()
	nCards := c.Cards.ID.Len()
	nSealed := c.Sealed.Tail.Len()
	k.want(nGames <= 255 && c.Games.Name.Len() == nGames, "games", "has columns of unequal length")
	c.checkSets(k, nSets, nGames)
	c.checkCards(k, nCards, nSets, nGames)
	c.checkSealed(k, nSealed, nGames)

	ids := &c.Identifiers
	k.rows("identifiers", nCards+nSealed, ids.Of.Len())
	k.rows("identifiers", ids.Value.Len(), ids.Namespace.Len())
	k.want(ids.Of.ok(ids.Value.Len()), "identifiers", "has lists that do not fit its rows")

	checkText(k, "games", &c.Games.Slug, &c.Games.Name)
	checkText(k, "identifiers", &ids.Namespace, &ids.Value)
	checkText(k, "feeds", &c.Feeds.Namespace, &c.Feeds.Attribution, &c.Feeds.Partner, &c.Variants)
	k.rows("feeds", c.Feeds.Namespace.Len(), c.Feeds.Attribution.Len(), c.Feeds.Partner.Len())

	c.checkLanes(k, nCards+nSealed)
	c.checkStats(k)
	below(k, "movers", "up", c.Movers.Up, nCards)
	below(k, "movers", "down", c.Movers.Down, nCards)

	c.checkOptional(k, nGames, nCards)
	k.rows("registry", c.Registry.Ref.Len(), c.Registry.RefID.Len())
	k.rows("registry", c.Registry.Slug.Len(), c.Registry.SlugID.Len())

	return errors.Join(k.errs...)
}

// checkOptional looks at the optional tables, which may be empty.
func (c *Catalog) checkOptional(k *checker, games, cards int) {
	a := &c.Aliases
	n := a.Phrase.Len()
	k.rows("aliases", n, a.Replacement.Len(), len(a.Game), len(a.Card))
	checkText(k, "aliases", &a.Phrase, &a.Replacement)

	// The columns may be of unequal length, which was noted above.
	for i := range min(n, a.Replacement.Len(), len(a.Game), len(a.Card)) {
		k.every(i)
		k.want(a.Game[i] == AnyGame || int(a.Game[i]) < games, "aliases", "names a game that the catalog does not have")
		k.want(a.Card[i] >= -1 && int(a.Card[i]) < cards, "aliases", "names a card that the catalog does not have")
		k.want((a.Card[i] < 0) == (a.Replacement.At(i) != ""), "aliases", "has a phrase with two meanings or none")
	}

	k.want(len(c.Fit) == 0 || len(c.Fit) == cards, "fit", "does not have a row for each card")
	c.checkGaps(k, games)
}

func (c *Catalog) checkGaps(k *checker, games int) {
	gaps := &c.Gaps
	k.rows("gaps", len(gaps.Day), len(gaps.Feed), len(gaps.Game), gaps.Group.Len(), len(gaps.Set))
	below(k, "gaps", "feed", gaps.Feed, c.Feeds.Namespace.Len())
	below(k, "gaps", "game", gaps.Game, games)
	k.dates("gaps", "day", gaps.Day)
	checkText(k, "gaps", &gaps.Group)

	bad := func(set int32) bool { return set != NoSet && (set < 0 || int(set) >= c.Sets.ID.Len()) }
	k.want(!slices.ContainsFunc(gaps.Set, bad), "gaps", "names a set that the catalog does not have")
}

func (c *Catalog) checkSets(k *checker, n, games int) {
	sets := &c.Sets
	k.rows("sets", n, sets.Slug.Len(), sets.Name.Len(), sets.Series.Len(), sets.Code.Len(), len(sets.Game),
		len(sets.Release),
		len(sets.Cards), sets.Aliases.Len(), len(sets.Total))
	k.want(sets.Aliases.ok(sets.Alias.Len()), "sets", "has alias lists that do not fit its aliases")
	below(k, "sets", "game", sets.Game, games)
	k.dates("sets", "release", sets.Release)
	k.names("sets", "id", &sets.ID, "set_", '_', minTail, maxTail)
	k.names("sets", "slug", &sets.Slug, "", '-', 1, maxSlug)
	checkText(k, "sets", &sets.ID, &sets.Slug, &sets.Name, &sets.Series, &sets.Code, &sets.Alias)
}

func (c *Catalog) checkCards(k *checker, n, sets, games int) {
	cards := &c.Cards
	k.rows("cards", n, cards.Slug.Len(), cards.Name.Len(), cards.Number.Len(), cards.Rarity.Len(),
		cards.Printing.Len(), cards.Image.Len(),
		len(cards.Game), len(cards.Set), len(cards.Order), len(cards.UpdatedAt), len(cards.Product), len(cards.Display))
	below(k, "cards", "game", cards.Game, games)
	below(k, "cards", "order", cards.Order, n)

	bad := func(set int32) bool { return set != NoSet && (set < 0 || int(set) >= sets) }
	if i := slices.IndexFunc(cards.Set, bad); i >= 0 {
		k.want(false, "cards", fmt.Sprintf("column %q refers to row %d of %d", "set", cards.Set[i], sets))
	}

	k.instants("cards", "updated_at", cards.UpdatedAt)
	k.names("cards", "id", &cards.ID, "card_", '_', minTail, maxTail)
	k.names("cards", "slug", &cards.Slug, "", '-', 1, maxSlug)
	checkText(k, "cards", &cards.ID, &cards.Slug, &cards.Name, &cards.Number, &cards.Rarity, &cards.Printing,
		&cards.Image)
}

func (c *Catalog) checkSealed(k *checker, n, games int) {
	sealed := &c.Sealed
	k.rows("sealed", n, sealed.Name.Len(), sealed.PackageType.Len(), sealed.UnitKind.Len(), sealed.Edition.Len(),
		len(sealed.Game), len(sealed.Units),
		len(sealed.UpdatedAt))
	below(k, "sealed", "game", sealed.Game, games)
	k.instants("sealed", "updated_at", sealed.UpdatedAt)
	k.names("sealed", "tail", &sealed.Tail, "", '_', minTail, maxTail)
	checkText(k, "sealed", &sealed.Tail, &sealed.Name, &sealed.PackageType, &sealed.UnitKind, &sealed.Edition)
}

func (c *Catalog) checkLanes(k *checker, items int) {
	lanes := &c.Lanes
	n := len(lanes.Variant)
	k.rows("lanes", items, lanes.Of.Len())
	k.rows("lanes", n, len(lanes.Condition), len(lanes.Flags), len(lanes.Feed), len(lanes.Cents),
		len(lanes.SourceAsOf), len(lanes.CollectedAt),
		len(lanes.Base7), len(lanes.Base30), len(lanes.Seen))
	k.want(lanes.Of.ok(n), "lanes", "has lists that do not fit its rows")
	below(k, "lanes", "variant", lanes.Variant, c.Variants.Len())
	below(k, "lanes", "condition", lanes.Condition, int(conditions))
	below(k, "lanes", "feed", lanes.Feed, c.Feeds.Namespace.Len())

	bad := func(cents int64) bool { return cents != NoCents && (cents < 0 || cents > MaxCents) }
	for _, column := range [][]int64{lanes.Cents, lanes.Base7, lanes.Base30} {
		if i := slices.IndexFunc(column, bad); i >= 0 {
			k.want(false, "lanes", fmt.Sprintf("has a price of %d cents", column[i]))
		}
	}

	k.instants("lanes", "source_as_of", lanes.SourceAsOf)
	k.instants("lanes", "collected_at", lanes.CollectedAt)
	k.dates("lanes", "seen", lanes.Seen)

	// Lanes and cards are compared only when their columns are known to fit.
	if k.errs == nil {
		c.checkPrices(k)
	}

	c.checkHistory(k, n)
}

// checkPrices looks at what columns of lanes and cards say together. The caller knows that all
// their rows and references are in range.
func (c *Catalog) checkPrices(k *checker) {
	lanes := &c.Lanes
	for lane, cents := range lanes.Cents {
		if cents != NoCents && (lanes.Flags[lane]&LaneLicensed == 0 || lanes.CollectedAt[lane] == NoTime) {
			k.want(false, "lanes",
				fmt.Sprintf("has a price of lane %d that may not be distributed or has no time", lane))
			break
		}
	}

	for card, lane := range c.Cards.Display {
		if lane == -1 {
			continue
		}

		// A display lane of another card would show that card's price.
		if from, to := lanes.Of.Range(card); int(lane) < from || int(lane) >= to {
			k.want(false, "cards", fmt.Sprintf("column %q refers to lane %d, which is another card's", "display", lane))
			break
		}

		if lanes.Cents[lane] == NoCents || lanes.Flags[lane]&LaneDisplay == 0 {
			k.want(false, "cards",
				fmt.Sprintf("column %q refers to lane %d, which has no display price", "display", lane))
			break
		}
	}
}

func (c *Catalog) checkHistory(k *checker, lanes int) {
	h := &c.History
	k.rows("history", lanes, h.Of.Len())
	if !h.Of.ok(len(h.Points)) {
		k.want(false, "history", "has lists that do not fit its points")
		return
	}

	for lane := range h.Of.Len() {
		if lane&15 == 0 { // 16 lanes have 16 years of points
			k.step()
		}

		from, to := h.Of.Range(lane)
		if _, ok := countPoints(h.Points[from:to], c.Date()); !ok {
			k.want(false, "history", fmt.Sprintf("has points of lane %d that do not decode", lane))
			return
		}
	}
}

func (c *Catalog) checkStats(k *checker) {
	stats := &c.Stats
	n := len(stats.Lane) * len(StatWindows)
	k.rows("stats", n, len(stats.Min), len(stats.Max), len(stats.Mean), len(stats.First), len(stats.Last),
		len(stats.FirstDay),
		len(stats.LastDay), len(stats.Points))
	below(k, "stats", "lane", stats.Lane, len(c.Lanes.Variant))

	for i := 1; i < len(stats.Lane); i++ {
		if stats.Lane[i] <= stats.Lane[i-1] {
			k.want(false, "stats", "has lanes that do not ascend")
			break
		}
	}

	k.dates("stats", "first_day", stats.FirstDay)
	k.dates("stats", "last_day", stats.LastDay)
}

// checkText wants every string to be valid UTF-8 without control characters. It checks the arena as
// a whole, which is quicker, and then that no string begins inside a character.
func checkText(k *checker, section string, columns ...*Strings) {
	for _, texts := range columns {
		k.step()
		ok := utf8.Valid(texts.arena)
		for _, b := range texts.arena {
			ok = ok && b >= 0x20 && b != 0x7f
		}

		// A string may not begin inside a character.
		for _, end := range texts.ends {
			ok = ok && (int(end) == len(texts.arena) || utf8.RuneStart(texts.arena[end]))
		}

		k.want(ok, section, "has text that is not clean UTF-8")
	}
}
