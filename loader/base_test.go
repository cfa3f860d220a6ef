package loader

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ninepocket/internal/testsweep"
	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// world is a catalog that changes from day to day, with the rows of every day.
type world struct {
	day     snapshot.Day
	nextRef int
	names   map[string]string // card → name, in the catalog now
	numbers map[string]string
	setName string
	sealed  map[string]bool
	lanes   map[string][]string // item → variant and condition
	dark    map[string]bool     // lanes that are unlicensed now, "item variant"
	removed string              // rows of removed.csv
	left    bool                // something left or was renamed: the registries differ
}

const anchor = "anchor" // observed whenever its feed is, so that every file has a newest day

func newWorld(t *rapid.T) *world {
	w := &world{
		day: today, names: map[string]string{}, numbers: map[string]string{}, setName: "Base",
		sealed: map[string]bool{},
		lanes:  map[string][]string{}, dark: map[string]bool{},
	}

	w.add(t, anchor)
	for range rapid.IntRange(0, 3).Draw(t, "cards") {
		w.add(t, "")
	}

	return w
}

// add brings a card, or now and then a sealed product, into the catalog.
func (w *world) add(t *rapid.T, ref string) {
	if ref == "" {
		ref = fmt.Sprint("r", w.nextRef)
		w.nextRef++
		if rapid.IntRange(0, 4).Draw(t, "sealed") == 0 {
			w.sealed[ref] = true
			w.names[ref] = "Box " + ref
			w.lanes[ref] = []string{" "}
			return
		}
	}

	w.names[ref] = "Card " + ref
	w.numbers[ref] = rapid.SampledFrom([]string{"", "1", "2a", "10/102"}).Draw(t, "number")
	w.lanes[ref] = []string{"normal near_mint"}

	for _, lane := range []string{"normal ungraded", "holofoil near_mint", "zebra damaged"} {
		if rapid.Bool().Draw(t, lane) {
			w.lanes[ref] = append(w.lanes[ref], lane)
		}
	}
}

// step lets days pass and changes the catalog.
func (w *world) step(t *rapid.T) {
	w.day += snapshot.Day(rapid.SampledFrom([]int{1, 1, 1, 2, 7, 30, 200, 400}).Draw(t, "days"))
	refs := slices.Sorted(maps.Keys(w.names))
	pick := func() string { return rapid.SampledFrom(refs).Draw(t, "ref") }
	switch rapid.IntRange(0, 5).Draw(t, "change") {
	case 0:
		w.add(t, "")
	case 1:
		if ref := pick(); ref != anchor {
			// Without an operator's row it would stay, and a build over all days cannot know that row.
			delete(w.names, ref)
			w.removed += "card,shop," + ref + ",it left\n"
			w.left = true
		}

	case 2:
		w.names[pick()] = fmt.Sprint("Renamed ", w.nextRef)
		w.nextRef++
		w.left = true
	case 3:
		w.setName = fmt.Sprint("Base ", w.nextRef)
		w.nextRef++
		w.left = true
	}

	for _, ref := range refs {
		for _, lane := range w.lanes[ref] {
			if rapid.IntRange(0, 6).Draw(t, "flip") == 0 {
				w.dark[ref+lane] = !w.dark[ref+lane]
			}
		}
	}
}

// catalog is the source of today's catalog.
func (w *world) catalog() *fake {
	f := newFake("shop").set("s", w.setName)
	for _, ref := range slices.Sorted(maps.Keys(w.names)) {
		if w.sealed[ref] {
			f.sealed = append(f.sealed, source.Sealed{
				Ref: ref, Game: "pokemon", Name: w.names[ref], PackageType: source.BoosterBox, Units: 36,
				UnitKind: source.BoosterPack,
				Edition:  snapshot.StandardEdition, UpdatedAt: snapshot.NoTime,
			})
			continue
		}
		f.card(ref, "s", w.names[ref], w.numbers[ref])
	}

	return f
}

// prices are the rows of today; feeds other than the catalog's are now and then absent.
func (w *world) prices(t *rapid.T, feed string) *fake {
	f := newFake(feed)
	f.feed.HasCatalog = false
	for _, ref := range slices.Sorted(maps.Keys(w.names)) {
		for _, lane := range w.lanes[ref] {
			if ref != anchor && rapid.IntRange(0, 3).Draw(t, "gap") == 0 {
				continue
			}

			var variant, condition string
			_, _ = fmt.Sscanf(lane, "%s %s", &variant, &condition)
			if feed != "shop" && ref != anchor {
				variant = "foil" // see Options.Base: a lane must not lose its first feed and continue with another
			}

			p := priceRow(ref, variant, w.day, drawCents(t))
			p.Condition = condition
			p.Licensed = !w.dark[ref+lane]
			if rapid.IntRange(0, 4).Draw(t, "blank") == 0 {
				p.Cents = snapshot.NoCents
			}

			if rapid.Bool().Draw(t, "dated") {
				p.SourceAsOf = p.CollectedAt - 1000
			}

			f.price(p)
		}
	}

	return f
}

// TestIncrementsEqualFullBuild builds day by day, each on the base of the previous day, and
// compares with one build over all days so far.
func TestIncrementsEqualFullBuild(t *testing.T) {
	mapping := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		inputs := map[string]*fake{}
		var full []Input
		var base *snapshot.Catalog
		for i := range rapid.IntRange(2, 2+4/testsweep.Stride(2)).Draw(t, "steps") {
			if i > 0 {
				w.step(t)
			}

			inputs["catalog"] = w.catalog()
			var daily []Input
			for _, feed := range []string{"shop", "other"} {
				if feed == "other" && i > 0 && rapid.Bool().Draw(t, "absent") {
					continue
				}
				path := fmt.Sprint(feed, i)
				inputs[path] = w.prices(t, feed)
				daily = append(daily, Input{"native", path})
			}

			for k := range inputs["catalog"].cards {
				c := &inputs["catalog"].cards[k]
				c.Identifiers = []source.Identifier{{Namespace: "other", Value: c.Ref}}
			}

			removed := strings.Join(removedHeader, ",") + "\n" + w.removed
			if err := os.WriteFile(filepath.Join(mapping, removedFile), []byte(removed), 0o600); err != nil {
				t.Fatal(err)
			}

			full = append(full, daily...)
			sources := []Input{{"native", "catalog"}}
			want, err := buildPacked(Options{Sources: sources, Prices: full, Mapping: mapping}, inputs, 5, 2)
			if err != nil {
				t.Fatal(err)
			}

			got, err := buildFrom(Options{Sources: sources, Prices: daily, Base: base, Mapping: mapping}, inputs)
			if err != nil {
				t.Fatal(err)
			}
			if err := got.Catalog.Validate(); err != nil {
				t.Fatal(err)
			}

			sameCatalog(t, got.Catalog, want.Catalog, !w.left)
			base = got.Catalog
		}
	})
}

// TestIncrementOfHistory: the first build reads history files, the next builds a day each. Section
// by section and byte by byte they equal a full build. Closed days are taken over until others are closed.
func TestIncrementOfHistory(t *testing.T) {
	const days = 400
	wide := newFake("shop")
	wide.feed.HasCatalog = false
	catalog := newFake("shop").set("s", "Base")
	for i := range 50 {
		ref := fmt.Sprint("c", i)
		catalog.card(ref, "s", "Card "+ref, strconv.Itoa(i))
		s := source.Series{Ref: ref, Variant: "normal", Condition: "near_mint", Last: today}
		for d := today - days; d <= today; d++ {
			if (int(d)+i)%9 != 0 {
				s.Points = append(s.Points, snapshot.Point{Day: d, Cents: int64(100 + (int(d)*i)%37)})
			} else {
				s.Blank = append(s.Blank, d)
			}
		}

		wide.series = append(wide.series, s)
	}

	inputs := map[string]*fake{"catalog": catalog, "wide": wide}
	o := Options{Sources: []Input{{"native", "catalog"}}}
	full := []Input{{"native", "wide"}}
	o.Prices = full

	base := mustBuild(t, o, inputs)
	for k := range snapshot.Day(40) {
		path := fmt.Sprint("day", k)
		inputs[path] = newFake("shop")
		inputs[path].feed.HasCatalog = false
		for i := range 50 {
			if i%7 != int(k) {
				inputs[path].price(priceRow(fmt.Sprint("c", i), "normal", today+1+k, int64(90+i)))
			}
		}

		full = append(full, Input{"native", path})
		o.Base = base.Catalog
		o.Prices = []Input{{"native", path}}
		closed := base.Catalog.History.Closed
		base = mustBuild(t, o, inputs)
		first, _ := snapshot.ClosedDays(today + 1 + k)
		if same := base.Catalog.History.Closed == closed; same != (closed.Days[0] == first) {
			t.Errorf("day %d: closed days from %d on are taken over (%t) from %d on", k, first, same, closed.Days[0])
		}
	}

	o.Base = nil
	o.Prices = full
	want := sections(t, mustBuild(t, o, inputs))
	for name, sum := range sections(t, base) {
		if want[name] != sum {
			t.Errorf("section %q of the increments differs from that of a full build", name)
		}
	}
}

// TestCarriedCatalog: inputs of prices alone take the base's catalog over whole.
func TestCarriedCatalog(t *testing.T) {
	catalog := newFake("shop").set("s", "Base").card("1", "s", "Abra", "1").card("2", "", "Mew (Gold)", "")
	catalog.cards[0].Identifiers = []source.Identifier{{Namespace: "partner", Value: "9"}}
	catalog.sets[0].Aliases = []string{"Original"}
	catalog.sealed = []source.Sealed{{
		Ref: "box", Game: "one-piece", Name: "Box", PackageType: source.BoosterCase, Units: 6,
		UnitKind:  source.BoosterBox,
		Edition:   snapshot.StandardEdition,
		UpdatedAt: 5,
	}}

	rows := func(d snapshot.Day) *fake {
		f := newFake("shop").price(priceRow("1", "normal", d, 100), priceRow("box", "", d, 9000))
		f.feed.HasCatalog = false
		return f
	}

	inputs := map[string]*fake{"catalog": catalog, "one": rows(today), "two": rows(today + 1)}
	first := mustBuild(t, Options{Sources: []Input{{"native", "catalog"}}, Prices: []Input{{"native", "one"}}}, inputs)
	got := mustBuild(t, Options{Prices: []Input{{"native", "two"}}, Base: first.Catalog}, inputs)
	want := mustBuild(t, Options{
		Sources: []Input{{"native", "catalog"}}, Prices: []Input{{"native", "one"}, {"native", "two"}},
	}, inputs)
	// A card without a release date is as old as the snapshot that first had it, and the carried
	// one stays so.
	for i := range want.Catalog.Cards.UpdatedAt {
		want.Catalog.Cards.UpdatedAt[i] = got.Catalog.Cards.UpdatedAt[i]
	}

	sameCatalog(t, got.Catalog, want.Catalog, true)
	again := mustBuild(t, Options{Sources: []Input{{"native", "two"}}, Base: got.Catalog}, inputs)
	sameCatalog(t, again.Catalog, got.Catalog, true)
	if _, err := buildFrom(Options{Prices: []Input{{"native", "two"}}}, inputs); err == nil {
		t.Error("a build without any catalog succeeds")
	}

	if _, err := buildFrom(Options{Base: got.Catalog, SnapshotAt: atDay(today), Prices: []Input{{"native", "one"}}},
		inputs); err == nil {
		t.Error("a build of an instant before its base succeeds")
	}
}

// TestBaseAndInputsOfOneDay: a day's file stands over the base, the base over a history file, and
// the base's row without a price too.
func TestBaseAndInputsOfOneDay(t *testing.T) {
	catalog := newFake("shop").set("s", "Base").card("1", "s", "Abra", "1").card("2", "s", "Mew", "2")
	dark := priceRow("2", "normal", today, 70)
	dark.Licensed = false
	first := newFake("shop").price(priceRow("1", "normal", today, 100), priceRow("2", "normal", today-2, 60), dark)
	again := newFake("shop").price(priceRow("1", "normal", today, 111))

	wide := newFake("shop")
	for _, ref := range []string{"1", "2"} {
		wide.series = append(wide.series, source.Series{
			Ref: ref, Variant: "normal", Condition: "near_mint", Last: today,
			Points: []snapshot.Point{{Day: today - 1, Cents: 5}, {Day: today, Cents: 6}},
		})
	}

	inputs := map[string]*fake{"catalog": catalog, "first": first, "again": again, "wide": wide}
	build := func(base *snapshot.Catalog, path string) *snapshot.Catalog {
		t.Helper()
		return mustBuild(t, Options{
			Sources: []Input{{"native", "catalog"}}, Prices: []Input{{"native", path}},
			Base: base,
		}, inputs).Catalog
	}

	base := build(nil, "first")
	c := build(base, "wide")
	if v := lane(t, c, "shop", "1", "normal near_mint"); v.Cents != 100 || len(v.History) != 2 ||
		v.History[0].Cents != 5 || v.History[1].Cents != 100 {
		t.Errorf("a history file on a base makes %+v", v)
	}

	if v := lane(t, c, "shop", "2", "normal near_mint"); v.Licensed || v.Cents != snapshot.NoCents ||
		len(v.History) != 2 || v.History[1].Cents != 5 {
		t.Errorf("a history file on an unlicensed row of the base makes %+v", v)
	}

	if v := lane(t, build(base, "again"), "shop", "1", "normal near_mint"); v.Cents != 111 || len(v.History) != 1 {
		t.Errorf("a day's file on a base of that day makes %+v", v)
	}
}

// TestClosedDaysOfOtherLanes: a day after the base a card has left, two cards are one, or a sealed product is new.
// Each time the lists are those of a full build.
func TestClosedDaysOfOtherLanes(t *testing.T) {
	shop := newFake("shop").set("s", "Base")
	mart := newFake("mart").set("s", "Base")
	for i := range 12 {
		shop.card(fmt.Sprint("c", i), "s", fmt.Sprint("Card ", i), fmt.Sprint(i))
		mart.card(fmt.Sprint("m", i), "s", fmt.Sprint("Odd ", i), fmt.Sprint(100+i))
		shop.sealed = append(shop.sealed, source.Sealed{
			Ref: fmt.Sprint("b", i), Game: "pokemon", Name: fmt.Sprint("Box ", i), PackageType: source.BoosterBox,
			Units: 36, UnitKind: source.BoosterPack, Edition: snapshot.StandardEdition, UpdatedAt: snapshot.NoTime,
		})
	}
	inputs := map[string]*fake{"catalog": shop, "second": mart}
	variant := map[string]string{"c": "normal", "m": "holofoil"}
	day := func(name, feed string, d snapshot.Day, refs ...string) Input {
		f := newFake(feed)
		f.feed.HasCatalog = false
		for _, ref := range refs {
			for i := range 12 {
				f.price(priceRow(fmt.Sprint(ref, i), variant[ref], d, int64(100+i)+int64(d)))
			}
		}
		inputs[name] = f
		return Input{"native", name}
	}

	before := []Input{
		day("shop1", "shop", today-3, "c", "b"), day("mart1", "mart", today-3, "m"),
		day("shop2", "shop", today, "c", "b"),
	}
	newest := []Input{day("shop3", "shop", today+1, "c", "b"), day("mart3", "mart", today+1, "m")}
	o := Options{Sources: []Input{{"native", "catalog"}, {"native", "second"}}, IncludeUnmatched: true}
	for what, file := range map[string][2]string{
		"as it was": {removedFile, strings.Join(removedHeader, ",") + "\n"},
		"left":      {removedFile, strings.Join(removedHeader, ",") + "\ncard,shop,c5,it left\n"},
		"one": {
			"aliases.csv",
			"kind,namespace,ref,target_namespace,target_ref\ncard,shop,c3,mart,m0\ncard,shop,c0,mart,m5\n",
		},
	} {
		o.Base = nil
		o.Mapping = ""
		o.Prices = before
		inputs["catalog"] = shop
		base := mustBuild(t, o, inputs).Catalog
		if what == "left" {
			without := *shop
			without.cards = slices.Delete(slices.Clone(shop.cards), 5, 6)
			inputs["catalog"] = &without
		}

		o.Mapping = t.TempDir()
		if err := os.WriteFile(filepath.Join(o.Mapping, file[0]), []byte(file[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		o.Prices = slices.Concat(before, newest)
		want := sections(t, mustBuild(t, o, inputs))
		o.Base = base
		o.Prices = newest
		next := mustBuild(t, o, inputs)
		got := sections(t, next)
		for _, name := range []string{"closed", "history", "lanes", "stats"} {
			if got[name] != want[name] {
				t.Errorf("%s: section %q differs from that of a full build", what, name)
			}
		}
		if same := next.Catalog.History.Closed == base.History.Closed; same != (what == "as it was") {
			t.Errorf("%s: closed days are taken over: %t", what, same)
		}
	}
}
