package loader

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

func TestParseInput(t *testing.T) {
	in, err := ParseInput("tcgcsv:/data/a:b.tar.zst")
	if err != nil || in != (Input{"tcgcsv", "/data/a:b.tar.zst"}) || in.String() != "tcgcsv:/data/a:b.tar.zst" {
		t.Errorf("ParseInput gives %v, %v", in, err)
	}

	for _, s := range []string{"", "tcgcsv", "tcgcsv:", "csv:x", ":x"} {
		if _, err := ParseInput(s); err == nil {
			t.Errorf("ParseInput takes %q", s)
		}
	}
}

func TestBuildErrors(t *testing.T) {
	good := func() *fake {
		return newFake("shop").card("1", "", "Abra", "1").price(priceRow("1", "normal", today, 5))
	}

	f := func(want string, o Options, a *fake) {
		t.Helper()
		o.Sources = append(o.Sources, Input{"native", "a"})
		if _, err := buildFrom(o, map[string]*fake{"a": a}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}

	broken := good()
	broken.fail = errors.New("the archive is truncated")
	f("the archive is truncated", Options{}, broken)
	f("no such input", Options{Prices: []Input{{"native", "nowhere"}}}, good())
	f("cannot read mapping", Options{Mapping: "/nowhere"}, good())
	f("no card", Options{}, newFake("shop"))
	f("cannot find the snapshot's time", Options{}, newFake("shop").card("1", "", "Abra", "1"))
	if _, err := buildFrom(Options{}, nil); err == nil {
		t.Error("a build of nothing succeeds")
	}
	if _, err := Build(context.Background(), Options{Sources: []Input{{"native", t.TempDir()}}}); err == nil {
		t.Error("a build of an empty directory succeeds")
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b, err := newBuilder(Options{Sources: []Input{{"native", "a"}}},
		func(string, string, source.Options) (source.Source, error) { return good(), nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.build(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled build gives %v", err)
	}
}

// TestUnknownGameOfBase: a base of a newer program may have a game that this program does not
// know. None of its records may end up under another game, whether the base's catalog is carried
// over or its lanes are.
func TestUnknownGameOfBase(t *testing.T) {
	base := one(t, Options{}, newFake("shop").card("1", "", "Abra",
		"1").price(priceRow("1", "normal", today, 5))).Catalog
	base.Games = snapshot.GameNames{}
	base.Games.Slug.Append("tide-pool")
	base.Games.Name.Append("Tide Pool")

	later := newFake("shop").price(priceRow("1", "normal", today+1, 6))
	later.feed.HasCatalog = false
	whole := newFake("shop").card("1", "", "Abra", "1").price(priceRow("1", "normal", today+1, 6))
	for name, input := range map[string]*fake{"carried over": later, "continued": whole} {
		_, err := buildFrom(Options{Base: base, Sources: []Input{{"native", "a"}}}, map[string]*fake{"a": input})
		if err == nil || !strings.Contains(err.Error(), `does not know its game "tide-pool"`) {
			t.Errorf("%s: the error is %v, want one that names the game", name, err)
		}
	}
}

func TestSnapshotTime(t *testing.T) {
	f := func(want int64, o Options, a *fake) {
		t.Helper()
		if got := one(t, o, a).Catalog.SnapshotAt; got != want {
			t.Errorf("the snapshot is of %s, want %s", timeText(got), timeText(want))
		}
	}

	bare := func() *fake { return newFake("shop").set("s", "Base").card("1", "s", "Abra", "1") }
	unknown := bare().price(priceRow("1", "normal", today-4, 5), priceRow("nobody", "normal", today-1, 5))
	f((today-1).Start()+archiveHour, Options{}, unknown)
	f(atDay(today).UnixMilli(), Options{SnapshotAt: atDay(today)}, unknown)
	f(atDay(today).UnixMilli(), Options{CollectedAt: atDay(today)}, bare())
	dated := bare()
	dated.sets[0].Release = 10_000
	f(snapshot.Day(10_000).Start(), Options{}, dated)
	newer := bare().set("later", "Later").set("between", "Between")
	for i, release := range []snapshot.Day{10_000, 12_000, 11_000} {
		newer.sets[i].Release = release
	}

	f(snapshot.Day(12_000).Start(), Options{}, newer)
	dated.cards[0].UpdatedAt = 77
	f(77, Options{}, dated)
	base := one(t, Options{SnapshotAt: atDay(today + 3)}, bare()).Catalog
	f(base.SnapshotAt, Options{Base: base}, unknown)
}

// TestSameBytes builds twice, and once with the inputs' rows in another order.
func TestSameBytes(t *testing.T) {
	built := func(turn func(*fake)) map[string]string {
		inputs := joinWorld()
		for _, ref := range []string{"a", "b", "c", "d", "e", "f"} {
			for d := range snapshot.Day(40) {
				inputs["shop"].price(priceRow(ref, "normal", today-d, int64(d)*7),
					priceRow(ref, "foil", today-d, int64(d)*9))
			}
		}

		turn(inputs["shop"])
		r, err := buildPacked(twoSources("", true), inputs, 17, 3)
		if err != nil {
			t.Fatal(err)
		}

		return sections(t, r)
	}

	want := built(func(*fake) {})
	for _, turn := range []func(*fake){
		func(*fake) {},
		func(f *fake) { slices.Reverse(f.prices) },
		func(f *fake) { slices.Reverse(f.cards); slices.Reverse(f.sets) },
	} {
		for name, sum := range built(turn) {
			if want[name] != sum {
				t.Errorf("section %q is not the same", name)
			}
		}
	}
}

func TestProgress(t *testing.T) {
	var phases []string
	f := newFake("shop").card("1", "", "Abra", "1").price(priceRow("1", "normal", today, 5))
	one(t, Options{Progress: func(phase string, _, _ int64) { phases = append(phases, phase) }}, f)
	phases = slices.Compact(phases)
	if !slices.Equal(phases, []string{"prices", "assemble"}) {
		t.Errorf("the phases are %q", phases)
	}
}

func TestReportSpeaksJSON(t *testing.T) {
	f := newFake("shop").card("1", "", "Abra", "1").price(priceRow("1", "normal", today, 5),
		priceRow("1", "normal", today-3, 5))
	r := one(t, Options{}, f)
	b, err := json.Marshal(r.Report)
	if err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{
		`"input":"native:a"`, `"rows":2`, `"first":"2024-10-01"`, `"last":"2024-10-04"`,
		`"cards_unverified":{"set":1}`, `"added":1`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the report is %s, without %s", b, want)
		}
	}
}
