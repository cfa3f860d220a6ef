package loader

import (
	"context"
	"fmt"
	"html"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ninepocket/internal/testsweep"
	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// TestRealTree counts the real feed and recomputes sampled cards of each game from its files.
func TestRealTree(t *testing.T) {
	testsweep.OnlyFull(t)
	dir, r := mustReal(t)
	c := r.Catalog
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}

	tables := readReal(t, dir)
	var sample []realProduct
	for g, game := range r.Report.Games {
		category := map[string]string{"pokemon": "3", "one-piece": "68"}[game.Slug]
		want := 0
		var cards []realProduct
		for _, p := range tables.products[category] {
			if p.attribute("Number")+p.attribute("Rarity") != "" && !strings.HasPrefix(p.Name, "Code Card - ") {
				want++
				cards = append(cards, p)
			}
		}

		if game.Cards != want || game.Sets != map[string]int{"3": 215, "68": 83}[category] {
			t.Errorf("%s has %d cards in %d sets, want %d", game.Slug, game.Cards, game.Sets, want)
		}

		random := rand.New(rand.NewPCG(1, uint64(g)))
		for range 20 {
			sample = append(sample, cards[random.IntN(len(cards))])
		}
	}

	wanted := map[string]bool{}
	for _, p := range sample {
		wanted[strconv.Itoa(p.ID)] = true
	}

	for _, name := range realHistories() {
		tables.addHistory(t, openZstd(t, filepath.Join(dir, name)), wanted)
	}

	for i := range sample {
		tables.compare(t, c, strconv.Itoa(sample[i].Category), &sample[i])
	}

	t.Logf("%d cards, %d lanes, %d bytes of history, %d up, %d down",
		c.Cards.ID.Len(), len(c.Lanes.Variant), len(c.History.Points), len(c.Movers.Up), len(c.Movers.Down))
}

var padding = regexp.MustCompile(`\b0+(\d)`)

func unpadded(number string) string { return padding.ReplaceAllString(number, "$1") }

// compare checks one card with its files: name, number, rarity, set, and every variant's price and
// history.
func (r *realTables) compare(t *testing.T, c *snapshot.Catalog, category string, p *realProduct) {
	t.Helper()
	id := strconv.Itoa(p.ID)
	row := cardRow(c, "tcgcsv", category+"/"+id)
	if row < 0 {
		t.Errorf("product %s %q is not in the catalog", id, p.Name)
		return
	}

	number := p.attribute("Number")
	rarity := p.attribute("Rarity")
	if rarity == "None" {
		rarity = ""
	}

	// The name is the file's, or the file's without the number that moved to another field.
	words := strings.Fields(html.UnescapeString(p.Name))
	name := strings.Join(words, " ")
	for i := 1; i+1 < len(words); i++ {
		if words[i] == "-" && unpadded(words[i+1]) == unpadded(number) && name != c.Cards.Name.At(row) {
			name = strings.Join(slices.Delete(words, i, i+2), " ")
		}
	}

	if got := c.Cards.Name.At(row); got != name || c.Cards.Number.At(row) != number ||
		c.Cards.Rarity.At(row) != rarity {
		t.Errorf("product %s is %q %q %q, want %q %q %q", id, got, c.Cards.Number.At(row), c.Cards.Rarity.At(row),
			name, number, rarity)
	}

	got := c.Sets.ID.At(int(c.Cards.Set[row]))
	want := idOf(c, "tcgcsv", fmt.Sprintf("%s/%d", category, p.Group), setPrefix)
	if got != want {
		t.Errorf("product %s is in set %q, want %q", id, got, want)
	}

	lanes := lanesOf(c, row)
	date := c.Date()
	variants := map[string]bool{}
	for sub := range r.cents[id] {
		variants[sub] = true
	}

	for sub, points := range r.history[id] {
		if len(points) > 0 && points[len(points)-1].Day > date-snapshot.HistoryDays {
			variants[sub] = true
		}
	}

	for sub := range variants {
		lane, ok := lanes[strings.ReplaceAll(strings.ToLower(sub), " ", "_")+" ungraded"]
		if !ok {
			t.Errorf("product %s has no lane %q: %v", id, sub, lanes)
			continue
		}

		cents, now := r.cents[id][sub]
		if !now {
			cents = snapshot.NoCents
		}

		var want []snapshot.Point
		for _, point := range r.history[id][sub] {
			if point.Day > date-snapshot.HistoryDays && point.Day < date {
				want = append(want, point)
			}
		}

		if cents != snapshot.NoCents {
			want = append(want, snapshot.Point{Day: date, Cents: cents})
		}

		if lane.Cents != cents || !slices.Equal(lane.History, want) {
			t.Errorf("product %s %q costs %d after %d days, want %d after %d", id, sub, lane.Cents, len(lane.History),
				cents, len(want))
		}
	}

	if len(lanes) > len(variants)+len(r.history[id]) {
		t.Errorf("product %s has lanes %v, want %v", id, lanes, variants)
	}
}

// TestRealIncrement builds the catalog of two weeks before and then the day itself on that base:
// section by section the bytes of the full build.
func TestRealIncrement(t *testing.T) {
	testsweep.OnlyFull(t)
	dir, full := mustReal(t)
	o := realOptions(dir)
	o.SnapshotAt = realEarlier // all rows of the tree are later
	base, err := Build(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}

	if n := base.QuarantineCounts[source.ReasonFetchAfterSnapshot]; n == 0 ||
		base.Catalog.Date() != snapshot.DayOf(realEarlier.UnixMilli()) {
		t.Fatalf("the base refuses %d rows and is of %s", n, base.Catalog.Date())
	}

	if len(base.Catalog.Movers.Up) == 0 || len(base.Catalog.Movers.Down) == 0 {
		t.Error("the base has no movers")
	}

	o = realOptions(dir)
	o.Prices = nil
	o.Base = base.Catalog
	runtime.GC()
	start := time.Now()
	next, err := Build(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}

	t.Logf("the increment took %s", time.Since(start).Round(time.Millisecond))
	want := sections(t, full)
	for name, sum := range sections(t, next) {
		if want[name] != sum && name != "quarantine" {
			t.Errorf("section %q of the increment differs from that of the full build", name)
		}
	}
}

// TestRealRenames renames 18 groups and 26 products in a copy of the feed. No id changes, and every
// issued slug still leads to its item.
func TestRealRenames(t *testing.T) {
	testsweep.OnlyFull(t)
	dir, full := mustReal(t)
	copied := t.TempDir()

	groups := 18
	products := 26
	files := readTree(t, dir)
	perFile := 18 / len(full.Report.Games)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		switch {
		case strings.HasSuffix(name, "/groups"):
			text, left := rename(string(files[name]), perFile)
			files[name] = []byte(text)
			groups -= perFile - left
		case strings.HasSuffix(name, "/products") && products > 0:
			text, left := rename(string(files[name]), min(2, products))
			files[name] = []byte(text)
			products -= min(2, products) - left
		}
	}

	if err := writeTree(copied, files, func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}

	if groups != 0 || products != 0 {
		t.Fatalf("%d groups and %d products were not renamed", groups, products)
	}

	o := Options{
		Sources: []Input{{source.KindTCGCSV, copied}}, Base: full.Catalog,
		CollectedAt: realNow.Add(24 * time.Hour),
	}
	r, err := Build(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}

	old := full.Catalog
	c := r.Catalog
	if r.Report.Added+r.Report.Removed != 0 || r.Report.Renamed < 26 {
		t.Errorf("%d cards were added, %d removed, %d renamed", r.Report.Added, r.Report.Removed, r.Report.Renamed)
	}

	leads := map[string]string{}
	for i := range c.Registry.Slug.Len() {
		leads[c.Registry.SlugID.At(i)[:4]+c.Registry.Slug.At(i)] = c.Registry.SlugID.At(i)
	}

	current := func(prefix string, slugs, ids *snapshot.Strings) {
		for i := range ids.Len() {
			leads[prefix+slugs.At(i)] = ids.At(i)
		}
	}

	current("card", &c.Cards.Slug, &c.Cards.ID)
	current("set_", &c.Sets.Slug, &c.Sets.ID)
	for i := range old.Cards.ID.Len() {
		if id, slug := old.Cards.ID.At(i), old.Cards.Slug.At(i); leads["card"+slug] != id { // air: a pair of columns
			t.Fatalf("slug %q led to %q and leads to %q", slug, id, leads["card"+slug])
		}
	}

	renamed := 0
	for i := range old.Sets.ID.Len() {
		if id, slug := old.Sets.ID.At(i), old.Sets.Slug.At(i); leads["set_"+slug] != id { // air: a pair of columns
			t.Fatalf("set slug %q led to %q and leads to %q", slug, id, leads["set_"+slug])
		}
		if !slices.Contains(stringsOf(&c.Sets.Slug), old.Sets.Slug.At(i)) {
			renamed++
		}
	}

	if renamed != 18 {
		t.Errorf("%d sets have a new slug, want 18", renamed)
	}
}

// rename gives the first n records of a file other names and returns how many are left to rename.
func rename(data string, n int) (string, int) {
	const name = `"name": "`
	at := 0
	for n > 0 {
		i := strings.Index(data[at:], `Id": `)
		if i < 0 {
			return data, n
		}

		at += i
		i = strings.Index(data[at:], name)
		if i < 0 {
			return data, n
		}

		at += i + len(name)
		data = data[:at] + "Renamed " + data[at:]
		n--
		i = strings.Index(data[at:], `"categoryId": `)
		if i < 0 {
			return data, n
		}

		at += i + len(`"categoryId": `)
		// A product's category stands before its group and attributes: continue after the record.
		i = strings.Index(data[at:], `}, {"`)
		if i >= 0 {
			if j := strings.Index(data[at:], `]}, {"`); j >= 0 {
				i = j
			}
			at += i
		}
	}

	return data, n
}

// TestRealSourcesJoin joins three real catalogs: nearly every card of the databases is found in the
// shop's.
func TestRealSourcesJoin(t *testing.T) {
	testsweep.OnlyFull(t)
	dir := dataDir(t)
	o := Options{CollectedAt: realNow, Sources: []Input{
		{source.KindTCGCSV, realTreeOf(dir)}, {source.KindPunkRecords, filepath.Join(dir, realPunkRecords)},
	}}
	if !raceEnabled {
		o.Sources = append(o.Sources, Input{source.KindPokemonTCG, filepath.Join(dir, realPokemonTCG)})
	}

	r, err := Build(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}

	_, shop := mustReal(t)
	if r.Catalog.Cards.ID.Len() != shop.Catalog.Cards.ID.Len() {
		t.Errorf("%d cards became %d", shop.Catalog.Cards.ID.Len(), r.Catalog.Cards.ID.Len())
	}

	for i, s := range r.Report.Sources {
		floor := []struct{ sets, cards int }{{0, 0}, {55, 2_800}, {160, 19_000}}[i]
		if s.SetsJoined < floor.sets || s.CardsJoined < floor.cards {
			t.Errorf("of %s %d sets and %d cards are joined, want at least %d and %d", s.Namespace, s.SetsJoined,
				s.CardsJoined, floor.sets, floor.cards)
		}
	}
}

// BenchmarkBuild builds the whole real feed with a year of history, and then another day on that base.
func BenchmarkBuild(b *testing.B) {
	dir := dataDir(b)
	full, err := realCatalog()
	if err != nil {
		b.Fatal(err)
	}

	run := func(name string, o Options) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Build(context.Background(), o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}

	run("full", realOptions(dir))
	o := realOptions(dir)
	o.Prices = nil
	o.Base = full.Catalog
	o.CollectedAt = realNow.Add(24 * time.Hour)
	run("increment", o)
}
