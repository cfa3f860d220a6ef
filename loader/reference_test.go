package loader

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// rawRow is one row as a reference sees it, in the order of the build's inputs.
type rawRow struct {
	feed      string
	layer     int
	item      string // reference of the card, in the catalog's namespace
	variant   string
	condition snapshot.Condition
	day       snapshot.Day
	cents     int64
	asOf      int64
	collected int64
	licensed  bool
}

// reference works the catalog's prices out of raw rows in the most plain way: nothing is
// incremental or encoded.
type reference struct {
	rows  []rawRow
	at    int64
	feeds []string          // in order of authority
	game  map[string]string // item → game
	last  map[string]snapshot.Day
}

// newestRow is the row that stands among those of a lane, by day, layer and arrival; blank cells of
// a history file stand only where nothing else is.
func newestRow(rows []rawRow) rawRow {
	best := rows[0]
	for _, r := range rows[1:] {
		weak := r.layer == layerWide && r.cents == snapshot.NoCents
		if r.day > best.day || r.day == best.day && !weak && r.layer >= best.layer {
			best = r
		}
	}

	return best
}

// lanes are the lanes of an item.
func (f *reference) lanes(item string) map[string]laneView {
	date := snapshot.DayOf(f.at)
	from := date - snapshot.HistoryDays + 1
	byLane := map[string]map[string][]rawRow{}
	for _, r := range f.rows {
		if r.item != item || r.collected > f.at {
			continue
		}
		key := laneName(r.variant, r.condition)
		if byLane[key] == nil {
			byLane[key] = map[string][]rawRow{}
		}
		byLane[key][r.feed] = append(byLane[key][r.feed], r)
	}

	out := map[string]laneView{}
	for key, feeds := range byLane {
		for _, feed := range f.feeds {
			rows := feeds[feed]
			if len(rows) == 0 || newestRow(rows).day < from {
				continue
			}
			out[key] = f.lane(item, rows, from, date)
			break
		}
	}

	f.display(out)
	for key, v := range out {
		if !v.Display {
			v.Stats = nil
			out[key] = v
		}
	}

	return out
}

func (f *reference) lane(item string, rows []rawRow, from, date snapshot.Day) laneView {
	newest := newestRow(rows)
	v := laneView{
		Cents: snapshot.NoCents, AsOf: snapshot.NoTime, Collected: snapshot.NoTime, Base7: snapshot.NoCents,
		Base30:   snapshot.NoCents,
		Licensed: newest.licensed, Seen: newest.day, Feed: newest.feed,
	}

	if newest.day == f.newestDay(newest.feed, f.game[item]) && newest.licensed && newest.cents != snapshot.NoCents {
		v.Cents = newest.cents
		v.AsOf = newest.asOf
		v.Collected = newest.collected
	}

	price := map[snapshot.Day]rawRow{}
	for _, r := range rows {
		if r.layer == layerWide && r.cents == snapshot.NoCents {
			continue
		}
		if old, ok := price[r.day]; !ok || r.layer >= old.layer {
			price[r.day] = r
		}
	}

	for d := from; d <= date; d++ {
		r, ok := price[d]
		if !ok || r.cents == snapshot.NoCents || !r.licensed {
			continue
		}

		v.History = append(v.History, snapshot.Point{Day: d, Cents: r.cents})
		if d <= date-7 && d >= date-14 {
			v.Base7 = r.cents
		}

		if d <= date-30 && d >= date-37 {
			v.Base30 = r.cents
		}
	}

	for _, days := range []snapshot.Day{7, 30, 90} {
		if s, ok := summary(v.History, date-days+1); ok {
			v.Stats = append(v.Stats, s)
		}
	}

	return v
}

func (f *reference) newestDay(feed, game string) snapshot.Day {
	newest := snapshot.NoDay
	for _, r := range f.rows {
		if r.feed == feed && f.game[r.item] == game && r.collected <= f.at {
			newest = max(newest, r.day)
		}
	}

	if last, ok := f.last[feed+" "+game]; ok {
		newest = max(newest, last)
	}

	return newest
}

// summary sums up the points from a day on.
func summary(points []snapshot.Point, from snapshot.Day) (snapshot.PriceSummary, bool) {
	var s snapshot.PriceSummary
	sum := new(big.Int)
	for _, p := range points {
		if p.Day < from {
			continue
		}

		if s.Points == 0 {
			s.Min = p.Cents
			s.Max = p.Cents
			s.First = p.Cents
			s.FirstDay = p.Day
		}

		s.Min = min(s.Min, p.Cents)
		s.Max = max(s.Max, p.Cents)
		s.Last = p.Cents
		s.LastDay = p.Day
		sum.Add(sum, big.NewInt(p.Cents))
		s.Points++
	}

	if s.Points == 0 {
		return s, false
	}

	// Half away from zero: (2·sum + n) / 2n, rounded down.
	n := big.NewInt(int64(s.Points))
	sum.Add(sum.Mul(sum, big.NewInt(2)), n)
	s.Mean = sum.Div(sum, n.Mul(n, big.NewInt(2))).Int64()
	return s, true
}

// display flags one lane of every variant (decision 19).
func (f *reference) display(lanes map[string]laneView) {
	byVariant := map[string][]string{}
	for key := range lanes {
		variant, _, _ := strings.Cut(key, " ")
		byVariant[variant] = append(byVariant[variant], key)
	}

	for _, keys := range byVariant {
		slices.SortFunc(keys, func(a, b string) int { return cmp.Compare(conditionIn(a), conditionIn(b)) })
		pick := slices.IndexFunc(keys, func(k string) bool { return lanes[k].Cents != snapshot.NoCents })
		if pick < 0 {
			pick = slices.IndexFunc(keys, func(k string) bool { return len(lanes[k].History) > 0 && lanes[k].Licensed })
		}

		if pick >= 0 {
			v := lanes[keys[pick]]
			v.Display = true
			lanes[keys[pick]] = v
		}
	}
}

func conditionIn(key string) snapshot.Condition {
	_, code, _ := strings.Cut(key, " ")
	c, _ := snapshot.ParseCondition(code)
	return c
}

// displayKey is the lane of an item's display price, "" when it has none.
func displayKey(lanes map[string]laneView) string {
	var keys []string
	for key, v := range lanes {
		if v.Cents != snapshot.NoCents && v.Display {
			keys = append(keys, key)
		}
	}

	if len(keys) == 0 {
		return ""
	}

	order := func(key string) string {
		variant, _, _ := strings.Cut(key, " ")
		place := slices.Index(variantOrder, variant)
		if place < 0 {
			place = 99
		}
		return fmt.Sprintf("%02d %s", place, variant)
	}

	return slices.MinFunc(keys, func(a, b string) int { return cmp.Compare(order(a), order(b)) })
}

// compare checks a catalog against the reference: lanes, order of cards, display prices and movers.
func (f *reference) compare(t *rapid.T, c *snapshot.Catalog, namespace string) {
	t.Helper()
	type priced struct {
		id              string
		cents, from, up int64
	}

	var movers []priced
	for item := range f.game {
		row := cardRow(c, namespace, item)
		if row < 0 {
			t.Fatalf("card %q is not in the catalog", item)
		}

		want := f.lanes(item)
		got := lanesOf(c, row)
		if diff := gocmp.Diff(want, got, everything); diff != "" {
			t.Fatalf("card %q of %s has other lanes (-want +got):\n%s", item, c.Date(), diff)
		}

		key := displayKey(want)
		if (key == "") != (c.Cards.Display[row] < 0) {
			t.Fatalf("card %q has display lane %d, want %q", item, c.Cards.Display[row], key)
		}

		if key == "" {
			continue
		}

		lane := want[key]
		if got := c.Lanes.Cents[c.Cards.Display[row]]; got != lane.Cents {
			t.Fatalf("card %q shows %d, want %d of %q", item, got, lane.Cents, key)
		}

		if d := lane.Cents - lane.Base7; lane.Base7 > 0 && d != 0 {
			movers = append(movers, priced{c.Cards.ID.At(row), lane.Cents, lane.Base7, d})
		}
	}

	slices.SortFunc(movers, func(a, b priced) int {
		x := big.NewRat(a.up, a.from)
		y := big.NewRat(b.up, b.from)
		return cmp.Or(y.Abs(y).Cmp(x.Abs(x)), cmp.Compare(max(b.up, -b.up), max(a.up, -a.up)), cmp.Compare(a.id, b.id))
	})

	var up, down []string
	for _, m := range movers {
		if m.up > 0 {
			up = append(up, m.id)
		} else {
			down = append(down, m.id)
		}
	}

	ids := func(rows []uint32) (out []string) {
		for _, row := range rows {
			out = append(out, c.Cards.ID.At(int(row)))
		}
		return out
	}
	if !slices.Equal(ids(c.Movers.Up), up) || !slices.Equal(ids(c.Movers.Down), down) {
		t.Fatalf("movers are %v and %v, want %v and %v", ids(c.Movers.Up), ids(c.Movers.Down), up, down)
	}

	checkOrder(t, c)
}

// checkOrder checks that cards are numbered by display price, then catalog order.
func checkOrder(t *rapid.T, c *snapshot.Catalog) {
	t.Helper()
	price := func(i int) int64 {
		if c.Cards.Display[i] < 0 {
			return snapshot.NoCents
		}
		return c.Lanes.Cents[c.Cards.Display[i]]
	}

	seen := map[uint32]bool{}
	for i := range c.Cards.ID.Len() {
		seen[c.Cards.Order[i]] = true
		if i > 0 && (price(i) > price(i-1) || price(i) == price(i-1) && c.Cards.Order[i] < c.Cards.Order[i-1]) {
			t.Fatalf("card %d costs %d after one of %d", i, price(i), price(i-1))
		}
	}

	if len(seen) != c.Cards.ID.Len() {
		t.Fatalf("catalog order has %d ranks for %d cards", len(seen), c.Cards.ID.Len())
	}
}

// drawCents draws prices that repeat, tie in percent, are zero, or are as large as can be.
func drawCents(t *rapid.T) int64 {
	return rapid.OneOf(
		rapid.Int64Range(0, 12), rapid.Int64Range(0, 100_000), rapid.Int64Range(snapshot.MaxCents-5, snapshot.MaxCents),
	).Draw(t, "cents")
}

// TestPricesAgainstReference builds from random feeds and recomputes everything from the raw rows.
func TestPricesAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		catalog := newFake("one").set("s", "Base").set("o", "Romance")
		catalog.sets[1].Game = "one-piece"
		ref := &reference{feeds: []string{"one", "two"}, game: map[string]string{}, last: map[string]snapshot.Day{}}
		for i := range rapid.IntRange(1, 4).Draw(t, "cards") {
			item := fmt.Sprint("c", i)
			catalog.card(item, "s", "Card "+item, strconv.Itoa(i))
			if c := &catalog.cards[i]; i%2 == 1 {
				c.Game = "one-piece"
				c.SetRef = "o"
			}
			catalog.cards[i].Identifiers = []source.Identifier{{Namespace: "two", Value: item}}
			ref.game[item] = catalog.cards[i].Game
		}

		inputs := map[string]*fake{"catalog": catalog}
		o := Options{Sources: []Input{{"native", "catalog"}}}
		for i := range rapid.IntRange(1, 4).Draw(t, "inputs") {
			path := fmt.Sprint("p", i)
			f := newFake(rapid.SampledFrom([]string{"one", "two"}).Draw(t, "feed"))
			f.feed.HasCatalog = false
			if rapid.Bool().Draw(t, "wide") {
				drawSeries(t, f, ref)
			} else {
				drawRows(t, f, ref)
			}

			inputs[path] = f
			o.Prices = append(o.Prices, Input{"native", path})
		}

		if len(ref.rows) == 0 {
			return
		}

		for _, r := range ref.rows {
			ref.at = max(ref.at, r.collected)
		}

		r, err := buildPacked(o, inputs, rapid.SampledFrom([]int{1, 3, 1 << 20}).Draw(t, "limit"),
			rapid.IntRange(1, 4).Draw(t, "runs"))
		if err != nil {
			t.Fatal(err)
		}

		if r.Catalog.SnapshotAt != ref.at {
			t.Fatalf("the snapshot is of %d, want %d", r.Catalog.SnapshotAt, ref.at)
		}

		if err := r.Catalog.Validate(); err != nil {
			t.Fatal(err)
		}

		ref.compare(t, r.Catalog, "one")
	})
}

var testVariants = []string{"holofoil", "normal", "foil", "zebra", "alpha"}

// drawDay draws days around the bounds of windows: within two weeks, months, and just over a year.
func drawDay(t *rapid.T) snapshot.Day {
	return today - snapshot.Day(rapid.OneOf(
		rapid.IntRange(0, 15), rapid.IntRange(28, 40), rapid.IntRange(85, 95), rapid.IntRange(360, 370),
	).Draw(t, "age"))
}

func drawItem(t *rapid.T, ref *reference) string {
	return fmt.Sprint("c", rapid.IntRange(0, len(ref.game)-1).Draw(t, "item"))
}

func drawRows(t *rapid.T, f *fake, ref *reference) {
	for range rapid.IntRange(0, 25).Draw(t, "rows") {
		d := drawDay(t)
		c := snapshot.Condition(rapid.IntRange(0, 2).Draw(t, "condition"))
		p := source.Price{
			Ref: drawItem(t, ref), Variant: rapid.SampledFrom(testVariants).Draw(t, "variant"), Condition: c.Code(),
			Day:   d,
			Cents: drawCents(t), SourceAsOf: snapshot.NoTime,
			CollectedAt: d.Start() + rapid.Int64Range(0, 86_399_999).Draw(t, "time"),
			Licensed:    rapid.IntRange(0, 3).Draw(t, "licence") > 0,
		}

		if rapid.IntRange(0, 4).Draw(t, "blank") == 0 {
			p.Cents = snapshot.NoCents
		}

		if rapid.Bool().Draw(t, "dated") {
			p.SourceAsOf = p.CollectedAt - rapid.Int64Range(0, 1e9).Draw(t, "age of price")
		}

		f.prices = append(f.prices, p)
		ref.rows = append(ref.rows, rawRow{
			f.feed.Namespace, layerDaily, p.Ref, p.Variant, c, d, p.Cents, p.SourceAsOf, p.CollectedAt, p.Licensed,
		})
	}
}

func drawSeries(t *rapid.T, f *fake, ref *reference) {
	last := drawDay(t)
	seen := map[string]bool{}
	for range rapid.IntRange(0, 6).Draw(t, "series") {
		s := source.Series{
			Ref: drawItem(t, ref), Variant: rapid.SampledFrom(testVariants).Draw(t, "variant"),
			Last: last,
		}
		if seen[s.Ref+s.Variant] {
			continue
		}

		seen[s.Ref+s.Variant] = true
		drawn := map[snapshot.Day]bool{}
		var rows []rawRow
		for range rapid.IntRange(1, 12).Draw(t, "points") {
			d := min(drawDay(t), last)
			if drawn[d] {
				continue
			}

			drawn[d] = true
			r := rawRow{
				f.feed.Namespace, layerWide, s.Ref, s.Variant, snapshot.Ungraded, d, snapshot.NoCents, snapshot.NoTime,
				d.Start() + archiveHour, true,
			}

			if rapid.IntRange(0, 3).Draw(t, "blank") == 0 {
				s.Blank = append(s.Blank, d)
			} else {
				r.cents = drawCents(t)
				s.Points = append(s.Points, snapshot.Point{Day: d, Cents: r.cents})
			}

			rows = append(rows, r)
		}

		slices.SortFunc(s.Points, func(a, b snapshot.Point) int { return int(a.Day - b.Day) })
		slices.Sort(s.Blank)
		slices.SortFunc(rows, func(a, b rawRow) int { return int(a.day - b.day) })
		f.series = append(f.series, s)
		ref.rows = append(ref.rows, rows...)
		key := f.feed.Namespace + " " + ref.game[s.Ref]
		if old, ok := ref.last[key]; !ok || old < last {
			ref.last[key] = last
		}
	}
}
