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
	{"games", func(c *Catalog, w columns) { g := &c.Games; w.strings("slug", &g.Slug); w.strings("name", &g.Name) }},
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
		f := &c.Feeds
		w.strings("namespace", &f.Namespace)
		w.strings("attribution", &f.Attribution)
		w.strings("partner", &f.Partner)
		w.strings("variants", &c.Variants)
	}},
	{"lanes", walkLanes},
	{"history", func(c *Catalog, w columns) { w.lists("of", &c.History.Of); w.bytes("points", &c.History.Points) }},
	{"stats", walkStats},
	{"movers", func(c *Catalog, w columns) { w.u32("up", &c.Movers.Up); w.u32("down", &c.Movers.Down) }},
	{"registry", func(c *Catalog, w columns) {
		r := &c.Registry
		w.strings("ref", &r.Ref)
		w.strings("ref_id", &r.RefID)
		w.strings("slug", &r.Slug)
		w.strings("slug_id", &r.SlugID)
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
	g := &c.Gaps
	w.u8("feed", &g.Feed)
	w.u8("game", &g.Game)
	w.days("day", &g.Day)
	w.strings("group", &g.Group)
	w.i32("set", &g.Set)
}

func walkAliases(c *Catalog, w columns) {
	a := &c.Aliases
	w.strings("phrase", &a.Phrase)
	w.strings("replacement", &a.Replacement)
	w.u8("game", &a.Game)
	w.i32("card", &a.Card)
}

func walkSets(c *Catalog, w columns) {
	s := &c.Sets
	w.strings("id", &s.ID)
	w.strings("slug", &s.Slug)
	w.strings("name", &s.Name)
	w.strings("series", &s.Series)
	w.strings("code", &s.Code)
	w.u8("game", &s.Game)
	w.days("release", &s.Release)
	w.u32("cards", &s.Cards)
	w.lists("aliases", &s.Aliases)
	w.strings("alias", &s.Alias)
	if w.since(2) {
		w.u16("total", &s.Total)
	}
}

func walkCards(c *Catalog, w columns) {
	s := &c.Cards
	w.strings("id", &s.ID)
	w.strings("slug", &s.Slug)
	w.strings("name", &s.Name)
	w.strings("number", &s.Number)
	w.strings("rarity", &s.Rarity)
	w.strings("printing", &s.Printing)
	w.strings("image", &s.Image)
	w.u8("game", &s.Game)
	w.i32("set", &s.Set)
	w.u32("order", &s.Order)
	w.i64("updated_at", &s.UpdatedAt)
	w.u8("product", &s.Product)
	w.i32("display", &s.Display)
}

func walkSealed(c *Catalog, w columns) {
	s := &c.Sealed
	w.strings("tail", &s.Tail)
	w.strings("name", &s.Name)
	w.strings("package_type", &s.PackageType)
	w.strings("unit_kind", &s.UnitKind)
	w.strings("edition", &s.Edition)
	w.u8("game", &s.Game)
	w.u32("units", &s.Units)
	w.i64("updated_at", &s.UpdatedAt)
}

func walkLanes(c *Catalog, w columns) {
	l := &c.Lanes
	w.lists("of", &l.Of)
	w.u16("variant", &l.Variant)
	w.u8("condition", &l.Condition)
	w.u8("flags", &l.Flags)
	w.u8("feed", &l.Feed)
	w.i64("cents", &l.Cents)
	w.i64("source_as_of", &l.SourceAsOf)
	w.i64("collected_at", &l.CollectedAt)
	w.i64("base_7", &l.Base7)
	w.i64("base_30", &l.Base30)
	w.days("seen", &l.Seen)
}

func walkStats(c *Catalog, w columns) {
	s := &c.Stats
	w.u32("lane", &s.Lane)
	w.i64("min", &s.Min)
	w.i64("max", &s.Max)
	w.i64("mean", &s.Mean)
	w.i64("first", &s.First)
	w.i64("last", &s.Last)
	w.days("first_day", &s.FirstDay)
	w.days("last_day", &s.LastDay)
	w.u16("points", &s.Points)
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
		if at != NoTime && (at < int64(firstDay)*dayMillis || at >= (int64(lastDay)+1)*dayMillis) {
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
func (k *checker) names(section, column string, s *Strings, prefix string, joiner byte, low, high int) {
	for i := range s.Len() {
		k.every(i)
		rest, ok := strings.CutPrefix(s.At(i), prefix)
		ok = ok && len(rest) >= low && len(rest) <= high
		for j := range len(rest) {
			b := rest[j]
			ok = ok && ('a' <= b && b <= 'z' || '0' <= b && b <= '9' || b == joiner)
		}

		if !ok {
			k.want(false, section, fmt.Sprintf("column %q has %q, which does not have its form", column, s.At(i)))
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
	g := &c.Gaps
	k.rows("gaps", len(g.Day), len(g.Feed), len(g.Game), g.Group.Len(), len(g.Set))
	below(k, "gaps", "feed", g.Feed, c.Feeds.Namespace.Len())
	below(k, "gaps", "game", g.Game, games)
	k.dates("gaps", "day", g.Day)
	checkText(k, "gaps", &g.Group)

	bad := func(set int32) bool { return set != NoSet && (set < 0 || int(set) >= c.Sets.ID.Len()) }
	k.want(!slices.ContainsFunc(g.Set, bad), "gaps", "names a set that the catalog does not have")
}

func (c *Catalog) checkSets(k *checker, n, games int) {
	s := &c.Sets
	k.rows("sets", n, s.Slug.Len(), s.Name.Len(), s.Series.Len(), s.Code.Len(), len(s.Game), len(s.Release),
		len(s.Cards), s.Aliases.Len(), len(s.Total))
	k.want(s.Aliases.ok(s.Alias.Len()), "sets", "has alias lists that do not fit its aliases")
	below(k, "sets", "game", s.Game, games)
	k.dates("sets", "release", s.Release)
	k.names("sets", "id", &s.ID, "set_", '_', minTail, maxTail)
	k.names("sets", "slug", &s.Slug, "", '-', 1, maxSlug)
	checkText(k, "sets", &s.ID, &s.Slug, &s.Name, &s.Series, &s.Code, &s.Alias)
}

func (c *Catalog) checkCards(k *checker, n, sets, games int) {
	s := &c.Cards
	k.rows("cards", n, s.Slug.Len(), s.Name.Len(), s.Number.Len(), s.Rarity.Len(), s.Printing.Len(), s.Image.Len(),
		len(s.Game), len(s.Set), len(s.Order), len(s.UpdatedAt), len(s.Product), len(s.Display))
	below(k, "cards", "game", s.Game, games)
	below(k, "cards", "order", s.Order, n)

	bad := func(set int32) bool { return set != NoSet && (set < 0 || int(set) >= sets) }
	if i := slices.IndexFunc(s.Set, bad); i >= 0 {
		k.want(false, "cards", fmt.Sprintf("column %q refers to row %d of %d", "set", s.Set[i], sets))
	}

	k.instants("cards", "updated_at", s.UpdatedAt)
	k.names("cards", "id", &s.ID, "card_", '_', minTail, maxTail)
	k.names("cards", "slug", &s.Slug, "", '-', 1, maxSlug)
	checkText(k, "cards", &s.ID, &s.Slug, &s.Name, &s.Number, &s.Rarity, &s.Printing, &s.Image)
}

func (c *Catalog) checkSealed(k *checker, n, games int) {
	s := &c.Sealed
	k.rows("sealed", n, s.Name.Len(), s.PackageType.Len(), s.UnitKind.Len(), s.Edition.Len(), len(s.Game), len(s.Units),
		len(s.UpdatedAt))
	below(k, "sealed", "game", s.Game, games)
	k.instants("sealed", "updated_at", s.UpdatedAt)
	k.names("sealed", "tail", &s.Tail, "", '_', minTail, maxTail)
	checkText(k, "sealed", &s.Tail, &s.Name, &s.PackageType, &s.UnitKind, &s.Edition)
}

func (c *Catalog) checkLanes(k *checker, items int) {
	l := &c.Lanes
	n := len(l.Variant)
	k.rows("lanes", items, l.Of.Len())
	k.rows("lanes", n, len(l.Condition), len(l.Flags), len(l.Feed), len(l.Cents), len(l.SourceAsOf), len(l.CollectedAt),
		len(l.Base7), len(l.Base30), len(l.Seen))
	k.want(l.Of.ok(n), "lanes", "has lists that do not fit its rows")
	below(k, "lanes", "variant", l.Variant, c.Variants.Len())
	below(k, "lanes", "condition", l.Condition, int(conditions))
	below(k, "lanes", "feed", l.Feed, c.Feeds.Namespace.Len())

	bad := func(cents int64) bool { return cents != NoCents && (cents < 0 || cents > MaxCents) }
	for _, column := range [][]int64{l.Cents, l.Base7, l.Base30} {
		if i := slices.IndexFunc(column, bad); i >= 0 {
			k.want(false, "lanes", fmt.Sprintf("has a price of %d cents", column[i]))
		}
	}

	k.instants("lanes", "source_as_of", l.SourceAsOf)
	k.instants("lanes", "collected_at", l.CollectedAt)
	k.dates("lanes", "seen", l.Seen)

	// Lanes and cards are compared only when their columns are known to fit.
	if k.errs == nil {
		c.checkPrices(k)
	}

	c.checkHistory(k, n)
}

// checkPrices looks at what columns of lanes and cards say together. The caller knows that all
// their rows and references are in range.
func (c *Catalog) checkPrices(k *checker) {
	l := &c.Lanes
	for lane, cents := range l.Cents {
		if cents != NoCents && (l.Flags[lane]&LaneLicensed == 0 || l.CollectedAt[lane] == NoTime) {
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
		if from, to := l.Of.Range(card); int(lane) < from || int(lane) >= to {
			k.want(false, "cards", fmt.Sprintf("column %q refers to lane %d, which is another card's", "display", lane))
			break
		}

		if l.Cents[lane] == NoCents || l.Flags[lane]&LaneDisplay == 0 {
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
	s := &c.Stats
	n := len(s.Lane) * len(StatWindows)
	k.rows("stats", n, len(s.Min), len(s.Max), len(s.Mean), len(s.First), len(s.Last), len(s.FirstDay),
		len(s.LastDay), len(s.Points))
	below(k, "stats", "lane", s.Lane, len(c.Lanes.Variant))

	for i := 1; i < len(s.Lane); i++ {
		if s.Lane[i] <= s.Lane[i-1] {
			k.want(false, "stats", "has lanes that do not ascend")
			break
		}
	}

	k.dates("stats", "first_day", s.FirstDay)
	k.dates("stats", "last_day", s.LastDay)
}

// checkText wants every string to be valid UTF-8 without control characters. It checks the arena as
// a whole, which is quicker, and then that no string begins inside a character.
func checkText(k *checker, section string, columns ...*Strings) {
	for _, s := range columns {
		k.step()
		ok := utf8.Valid(s.arena)
		for _, b := range s.arena {
			ok = ok && b >= 0x20 && b != 0x7f
		}

		// A string may not begin inside a character.
		for _, end := range s.ends {
			ok = ok && (int(end) == len(s.arena) || utf8.RuneStart(s.arena[end]))
		}

		k.want(ok, section, "has text that is not clean UTF-8")
	}
}
