package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// section is one table of the format: its name, and its columns in order. docs/dev/SNAPSHOT.md,
// Sections, is the same list in words.
type section struct {
	name    string
	columns func(*Catalog) []column
	// apart marks sections that Load does not decode, because serving does not need them: LoadCompanion decodes them.
	apart bool
	// computed marks sections that every build computes again: LoadBase does not decode them.
	computed bool
	since    int // the first format that has the table
}

// sections are all tables in their stored order.
var sections = []section{
	{name: "games", columns: func(c *Catalog) []column { return columnsOf(&c.Games) }},
	{name: "sets", columns: func(c *Catalog) []column { return columnsOf(&c.Sets) }},
	{name: "cards", columns: func(c *Catalog) []column { return columnsOf(&c.Cards) }},
	{name: "sealed", columns: func(c *Catalog) []column { return columnsOf(&c.Sealed) }},
	{name: "identifiers", columns: func(c *Catalog) []column { return columnsOf(&c.Identifiers) }},
	{name: "feeds", columns: func(c *Catalog) []column {
		return append(columnsOf(&c.Feeds), column{name: "variants", data: &c.Variants})
	}},
	{name: "lanes", columns: func(c *Catalog) []column { return columnsOf(&c.Lanes) }},
	{name: "history", columns: func(c *Catalog) []column { return columnsOf(&c.History) }},
	{name: "stats", computed: true, columns: func(c *Catalog) []column { return columnsOf(&c.Stats) }},
	{name: "movers", computed: true, columns: func(c *Catalog) []column { return columnsOf(&c.Movers) }},
	{name: "registry", columns: func(c *Catalog) []column { return columnsOf(&c.Registry) }},
	{name: closedName, since: 4, columns: func(c *Catalog) []column {
		return columnsOf(cmp.Or(c.History.Closed, &Closed{}))
	}},
}

// tables are the tables of a format, in their stored order.
func tables(format int) []section {
	newer := func(table section) bool { return table.since > format }
	return slices.DeleteFunc(slices.Clone(sections), newer)
}

// optionalSections are the sections that a reader can do without, in the order of their names.
var optionalSections = []section{
	{name: "aliases", columns: func(c *Catalog) []column { return columnsOf(&c.Aliases) }},
	{name: companionCards, apart: true, columns: func(c *Catalog) []column { return columnsOf(&c.Companion.Cards) }},
	{name: companionQuotes, apart: true, columns: func(c *Catalog) []column { return columnsOf(&c.Companion.Quotes) }},
	{name: companionSets, apart: true, columns: func(c *Catalog) []column { return columnsOf(&c.Companion.Sets) }},
	{name: "fit", columns: func(c *Catalog) []column { return oneColumn("fit", &c.Prior) }},
	{name: "gap_reasons", columns: func(c *Catalog) []column { return oneColumn("reason", &c.GapReasons) }},
	{name: "gaps", columns: func(c *Catalog) []column { return columnsOf(&c.Gaps) }},
	{name: "gone", columns: func(c *Catalog) []column { return columnsOf(&c.Gone) }},
	{name: "names", columns: func(c *Catalog) []column { return columnsOf(&c.Names) }},
	{name: "reserved", columns: func(c *Catalog) []column { return oneColumn("feed", &c.Reserved) }},
	{name: "unclaimed", columns: func(c *Catalog) []column { return columnsOf(&c.Unclaimed) }},
	{name: "unlisted", columns: func(c *Catalog) []column { return columnsOf(&c.Unlisted) }},
}

// oneColumn is a table that is a column alone.
func oneColumn(name string, data any) []column { return []column{{name: name, data: data}} }

// isEmpty reports whether a catalog has no rows for a section: an optional one is not stored then.
func (s *section) isEmpty(c *Catalog) bool {
	rows, _ := s.columns(c)[0].rows()
	return rows == 0
}

const (
	// minTail, maxTail and maxSlug bound ids and slugs in characters (docs/API.md, Product;
	// decision 4).
	minTail, maxTail, maxSlug = 3, 64, 200
	// firstDay and lastDay are 0000-01-01 and 9999-12-31.
	firstDay, lastDay = Day(-719528), Day(2932896)
)

// checker gathers the faults of a catalog, section by section. It checks once every value that
// readers use as an index, so that they need no checks.
type checker struct {
	errs   []error
	step   func()
	points int // of all lanes
	closed int // of them those of closed days
}

// every calls step at every 256th element i of a loop. It is for elements that take little time.
func (k *checker) every(i int) {
	if i&255 == 0 {
		k.step()
	}
}

// want notes a fault of a section, unless ok.
func (k *checker) want(ok bool, section, what string) {
	k.step()
	if !ok {
		k.errs = append(k.errs, &DamageError{Section: section, Reason: what})
	}
}

// rows checks that a column has n rows.
func (k *checker) rows(section string, n, rows int) {
	k.want(rows == n, section, fmt.Sprintf("has columns of %d and %d rows", n, rows))
}

// table checks the columns of a table, each separately: it has n rows, its text is clean, and its
// dates can be written. Lists, and the columns named in others, are rows of other tables.
func (k *checker) table(section string, n int, table any, others ...any) {
	for _, col := range columnsOf(table) {
		if rows, is := col.rows(); is && !slices.Contains(others, col.data) {
			k.rows(section, n, rows)
		}

		switch data := col.data.(type) {
		case *Strings:
			k.text(section, data)
		case *[]Day:
			k.dates(section, col.name, *data)
		}
	}
}

// below checks that every element is less than n, or -1 for none.
func below[T uint8 | uint16 | uint32 | int32](k *checker, section, column string, v []T, n int) {
	k.step()
	if i := slices.IndexFunc(v, func(row T) bool { return uint64(int64(row)+1) > uint64(n) }); i >= 0 {
		k.want(false, section, fmt.Sprintf("column %q refers to row %d of %d", column, v[i], n))
	}
}

// instants checks that every element is NoTime or a time of the years 0 to 9999. RFC 3339 cannot
// express others.
func (k *checker) instants(section, column string, v []int64) {
	for i, at := range v {
		k.every(i)
		if at != NoTime && (at < firstDay.Start() || at >= (lastDay+1).Start()) {
			k.want(false, section, fmt.Sprintf("column %q has a time outside of the years 0 to 9999", column))
			return
		}
	}
}

// dates checks that every element is NoDay or a date of the years 0 to 9999.
func (k *checker) dates(section, column string, v []Day) {
	ok := !slices.ContainsFunc(v, func(d Day) bool { return d != NoDay && (d < firstDay || d > lastDay) })
	k.want(ok, section, fmt.Sprintf("column %q has a date outside of the years 0 to 9999", column))
}

// names checks that every string is prefix and then characters a-z, 0-9 and joiner, at least low
// and at most high. Readers may cut the prefix off such a string without a check, and may write it
// into JSON and URLs without escapes.
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

// Validate checks that the tables of a catalog agree (docs/dev/SNAPSHOT.md). The columns of a table
// have one length, and references are in range. Ids and slugs have their form, text is valid UTF-8, and
// times can be written. Prices are whole and may be distributed. History decodes. It returns every
// problem that it finds, each as a *DamageError.
func (c *Catalog) Validate() error {
	_, err := c.validate(func() {})
	return err
}

// validate also counts the points of history.
func (c *Catalog) validate(step func()) (k *checker, err error) {
	k = &checker{step: step}
	k.instants("manifest", "snapshot_at", []int64{c.SnapshotAt})
	k.want(c.SnapshotAt != NoTime, "manifest", "has no time")

	nGames := c.Games.Slug.Len()
	nSets := c.Sets.ID.Len()
	nCards := c.Cards.ID.Len()
	nSealed := c.Sealed.Tail.Len()
	k.want(nGames <= 255, "games", "has more games than a row can name")
	k.table("games", nGames, &c.Games)
	c.checkSets(k, nSets, nGames)
	c.checkCards(k, nCards, nSets, nGames)
	c.checkSealed(k, nSealed, nGames)

	ids := &c.Identifiers
	k.rows("identifiers", nCards+nSealed, ids.Of.Len())
	k.want(ids.Of.ok(ids.Value.Len()), "identifiers", "has lists that do not fit its rows")
	k.table("identifiers", ids.Value.Len(), ids)
	k.table("feeds", c.Feeds.Namespace.Len(), &c.Feeds)
	k.text("feeds", &c.Variants)

	c.checkLanes(k, nCards+nSealed)
	c.checkStats(k)
	below(k, "movers", "up", c.Movers.Up, nCards)
	below(k, "movers", "down", c.Movers.Down, nCards)

	c.checkOptional(k, nGames, nCards)
	k.rows("registry", c.Registry.Ref.Len(), c.Registry.RefID.Len())
	k.rows("registry", c.Registry.Slug.Len(), c.Registry.SlugID.Len())

	return k, errors.Join(k.errs...)
}

// checkOptional looks at the optional tables, which may be empty.
func (c *Catalog) checkOptional(k *checker, games, cards int) {
	a := &c.Aliases
	n := a.Phrase.Len()
	k.table("aliases", n, a)

	// The columns may be of unequal length, which was noted above.
	for i := range min(n, a.Replacement.Len(), len(a.Game), len(a.Card)) {
		k.every(i)
		k.want(a.Game[i] == AnyGame || int(a.Game[i]) < games, "aliases", "names a game that the catalog does not have")
		k.want(a.Card[i] >= -1 && int(a.Card[i]) < cards, "aliases", "names a card that the catalog does not have")
		k.want((a.Card[i] < 0) == (a.Replacement.At(i) != ""), "aliases", "has a phrase with two meanings or none")
	}

	k.want(len(c.Prior) == 0 || len(c.Prior) == cards, "fit", "does not have a row for each card")
	c.checkGaps(k, games)

	k.table("gone", len(c.Gone.Last), &c.Gone)
	k.want(slices.IsSorted(slices.Collect(c.Gone.ID.All())), "gone", "has ids that do not ascend")
	k.table("names", len(c.Names.Game), &c.Names)
	k.want(slices.IsSorted(slices.Collect(c.Names.English.All())), "names", "has names that do not ascend")
	noGame := func(game uint8) bool { return game != AnyGame && int(game) >= games }
	k.want(!slices.ContainsFunc(c.Names.Game, noGame), "names", "names a game that the catalog does not have")
	below(k, "reserved", "feed", c.Reserved, c.Feeds.Namespace.Len())
	k.rows("unclaimed", c.Unclaimed.Ref.Len(), len(c.Unclaimed.FirstDay))
	k.dates("unclaimed", "first_day", c.Unclaimed.FirstDay)
	c.Companion.check(k, len(c.Lanes.Cents))
	unlisted := &c.Unlisted
	k.table("unlisted", len(unlisted.Item), unlisted)
	below(k, "unlisted", "item", unlisted.Item, c.NumItems())
	// Readers search the column.
	k.want(slices.IsSorted(unlisted.Item), "unlisted", "has items that do not ascend")
}

func (c *Catalog) checkGaps(k *checker, games int) {
	gaps := &c.Gaps
	k.table("gaps", len(gaps.Day), gaps)
	below(k, "gaps", "feed", gaps.Feed, c.Feeds.Namespace.Len())
	below(k, "gaps", "game", gaps.Game, games)

	bad := func(set int32) bool { return set != NoSet && (set < 0 || int(set) >= c.Sets.ID.Len()) }
	k.want(!slices.ContainsFunc(gaps.Set, bad), "gaps", "names a set that the catalog does not have")

	reasons := c.GapReasons.Len()
	k.want(reasons == 0 || reasons == len(gaps.Day), "gap_reasons", "does not have a row for each gap")
	k.text("gap_reasons", &c.GapReasons)
}

func (c *Catalog) checkSets(k *checker, n, games int) {
	sets := &c.Sets
	k.table("sets", n, sets, &sets.Alias)
	k.want(sets.Aliases.ok(sets.Alias.Len()), "sets", "has alias lists that do not fit its aliases")
	below(k, "sets", "game", sets.Game, games)
	k.names("sets", "id", &sets.ID, "set_", '_', minTail, maxTail)
	k.names("sets", "slug", &sets.Slug, "", '-', 1, maxSlug)
}

func (c *Catalog) checkCards(k *checker, n, sets, games int) {
	cards := &c.Cards
	k.table("cards", n, cards)
	below(k, "cards", "game", cards.Game, games)
	below(k, "cards", "order", cards.Order, n)
	below(k, "cards", "set", cards.Set, sets)
	k.instants("cards", "updated_at", cards.UpdatedAt)
	k.names("cards", "id", &cards.ID, "card_", '_', minTail, maxTail)
	k.names("cards", "slug", &cards.Slug, "", '-', 1, maxSlug)
}

func (c *Catalog) checkSealed(k *checker, n, games int) {
	sealed := &c.Sealed
	k.table("sealed", n, sealed)
	below(k, "sealed", "game", sealed.Game, games)
	k.instants("sealed", "updated_at", sealed.UpdatedAt)
	k.names("sealed", "tail", &sealed.Tail, "", '_', minTail, maxTail)
}

func (c *Catalog) checkLanes(k *checker, items int) {
	lanes := &c.Lanes
	n := len(lanes.Variant)
	k.rows("lanes", items, lanes.Of.Len())
	k.table("lanes", n, lanes)
	k.want(lanes.Of.ok(n), "lanes", "has lists that do not fit its rows")
	below(k, "lanes", "variant", lanes.Variant, c.Variants.Len())
	below(k, "lanes", "condition", lanes.Condition, int(conditions))
	below(k, "lanes", "feed", lanes.Feed, c.Feeds.Namespace.Len())

	bad := func(cents int64) bool { return cents != NoCents && (cents < 0 || cents > MaxCents) }
	for _, column := range [][]int64{lanes.Cents, lanes.Price7DaysAgo, lanes.Price30DaysAgo} {
		if i := slices.IndexFunc(column, bad); i >= 0 {
			k.want(false, "lanes", fmt.Sprintf("has a price of %d cents", column[i]))
		}
	}

	k.instants("lanes", "source_as_of", lanes.SourceAsOf)
	k.instants("lanes", "collected_at", lanes.CollectedAt)

	// Lanes and cards are compared only if their columns have valid lengths.
	if k.errs == nil {
		c.checkPrices(k)
	}

	c.checkHistory(k, n)
}

// checkPrices checks the columns of lanes and cards together. The caller knows that all their
// rows and references are in range.
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
	if len(h.List) > 0 {
		k.rows("history", lanes, len(h.List))
		below(k, "history", "list", h.List, lanes)
		k.want(k.errs != nil || k.distinct(h.List), "history", "has a list of two lanes")
	}
	k.lists("history", &h.Of, h.Points, firstDay, c.Date())

	closed := h.Closed
	if closed.Len() == 0 {
		k.want(closed == nil || len(closed.Days)+len(closed.Points) == 0, closedName, "has no lists of its points")
		return
	}
	if k.errs == nil {
		c.checkClosed(k)
	}
	if k.errs != nil {
		return
	}

	// A point of a closed day would be between the others, out of order.
	room := make([]Point, 0, HistoryDays)
	for list := range closed.Len() {
		k.every(list)
		if len(DecodePoints(room, h.Stored(list), closed.Days[0], closed.Days[1])) > 0 {
			k.want(false, "history", "has points of closed days")
			return
		}
	}
}

// distinct reports whether every element is another one. They are less than their number.
func (k *checker) distinct(list []uint32) bool {
	seen := make([]bool, len(list))
	for i, e := range list {
		k.every(i)
		if seen[e] {
			return false
		}
		seen[e] = true
	}
	return true
}

// checkClosed checks the closed days. Other catalogs in memory may have the same, with more lanes or a later
// date.
func (c *Catalog) checkClosed(k *checker) {
	closed := c.History.Closed
	if len(closed.Days) != 2 || closed.Days[0] > closed.Days[1] || closed.Days[1] > c.Date() {
		k.want(false, closedName, "does not have the days of its points")
		return
	}
	k.want(closed.Len() <= c.History.Of.Len(), closedName, "has lists that no lane has")
	if closed.stored != nil { // its points were checked when they were read
		k.points += closed.stored.points
		return
	}

	open := k.points
	k.lists(closedName, &closed.Of, closed.Points, closed.Days[0], closed.Days[1])
	k.closed = k.points - open
}

// lists checks lists of points from one day to another, and counts the points.
func (k *checker) lists(section string, of *Lists, stored PackedPoints, first, last Day) {
	if !of.ok(len(stored)) {
		k.want(false, section, "has lists that do not fit its points")
		return
	}

	for list := range of.Len() {
		if list&15 == 0 { // 16 lists have 16 years of points
			k.step()
		}

		from, to := of.Range(list)
		points, ok := countPoints(stored[from:to], first, last)
		if !ok {
			k.want(false, section, fmt.Sprintf("has points of list %d that do not decode", list))
			return
		}
		k.points += points
	}
}

func (c *Catalog) checkStats(k *checker) {
	stats := &c.Stats
	n := len(stats.Lane) * len(StatWindows)
	k.table("stats", n, stats, &stats.Lane)
	below(k, "stats", "lane", stats.Lane, len(c.Lanes.Variant))

	// Equal lanes count as descending.
	order := func(lane, before uint32) int { return cmp.Or(cmp.Compare(lane, before), -1) }
	k.want(slices.IsSortedFunc(stats.Lane, order), "stats", "has lanes that do not ascend")
}

// text checks that every string is valid UTF-8 without control characters. It checks the arena
// as a whole, which is quicker, and then that no string begins inside a character.
func (k *checker) text(section string, texts *Strings) {
	ok := utf8.Valid(texts.arena)
	for _, b := range texts.arena {
		ok = ok && b >= 0x20 && b != 0x7f
	}

	for _, end := range texts.ends {
		ok = ok && (int(end) == len(texts.arena) || utf8.RuneStart(texts.arena[end]))
	}
	k.want(ok, section, "has text that is not clean UTF-8")
}
