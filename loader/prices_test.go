package loader

import (
	"testing"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

func TestCurrentPriceIsOfTheNewestDay(t *testing.T) {
	f := newFake("shop").set("s", "Base").card("1", "s", "Abra", "1").card("2", "s", "Mew", "2").card("3", "",
		"Luffy", "3")
	f.cards[2].Game = "one-piece"
	f.price(
		priceRow("1", "normal", today-1, 100), priceRow("2", "normal", today-1, 200),
		priceRow("3", "normal", today-1, 300),
		priceRow("1", "normal", today, 110),
	)

	r := one(t, Options{}, f)
	c := r.Catalog
	if c.SnapshotAt != today.Start()+archiveHour {
		t.Errorf("the snapshot is of %s", timeText(c.SnapshotAt))
	}

	if v := lane(t, c, "shop", "1", "normal near_mint"); v.Cents != 110 || v.Seen != today ||
		v.Collected != today.Start()+archiveHour {
		t.Errorf("the lane of the newest day is %+v", v)
	}

	if v := lane(t, c, "shop", "2", "normal near_mint"); v.Cents != snapshot.NoCents ||
		v.Collected != snapshot.NoTime || len(v.History) != 1 || !v.Display {
		t.Errorf("a lane that the newest day lacks is %+v", v)
	}

	if v := lane(t, c, "shop", "3", "normal near_mint"); v.Cents != 300 {
		t.Errorf("a game with an older newest day has lane %+v", v)
	}
}

func TestUnlicensedRows(t *testing.T) {
	f := newFake("shop").set("s", "Base").card("1", "s", "Abra", "1").card("2", "s", "Mew", "2")
	dark := priceRow("1", "normal", today, 110)
	dark.Licensed = false
	never := priceRow("2", "foil", today, 110)
	never.Licensed = false
	f.price(priceRow("1", "normal", today-1, 100), dark, never)
	f.series = []source.Series{{
		Ref: "1", Variant: "normal", Condition: "near_mint",
		Points: []snapshot.Point{{Day: today, Cents: 7}}, Last: today,
	}}
	c := one(t, Options{}, f).Catalog
	v := lane(t, c, "shop", "1", "normal near_mint")
	if v.Cents != snapshot.NoCents || v.Licensed || v.Seen != today || len(v.History) != 1 ||
		v.History[0].Cents != 100 {
		t.Errorf("a lane that lost its licence is %+v", v)
	}

	if v := lane(t, c, "shop", "2", "foil near_mint"); v.Cents != snapshot.NoCents || v.Licensed || v.Display ||
		v.History != nil || v.Seen != today {
		t.Errorf("a lane that never had a licence is %+v", v)
	}

	if c.Cards.Display[cardRow(c, "shop", "2")] != -1 {
		t.Error("an unlicensed price is displayed")
	}
}

// TestLayersOfOneDay: a daily row stands over a history file, later inputs over earlier ones, blank
// cells over nothing.
func TestLayersOfOneDay(t *testing.T) {
	series := func(points []snapshot.Point, blank ...snapshot.Day) source.Series {
		return source.Series{
			Ref: "1", Variant: "normal", Condition: "near_mint", Points: points, Blank: blank,
			Last: today,
		}
	}

	pt := func(d snapshot.Day, cents int64) snapshot.Point { return snapshot.Point{Day: d, Cents: cents} }
	f := func(name string, wide []source.Series, daily []source.Price, current int64, history ...snapshot.Point) {
		t.Helper()
		catalog := newFake("shop").set("s", "Base").card("1", "s", "Abra", "1").card("2", "s", "Anchor", "2")
		catalog.series = wide
		catalog.price(daily...).price(priceRow("2", "normal", today, 1))
		v := lane(t, one(t, Options{}, catalog).Catalog, "shop", "1", "normal near_mint")
		if v.Cents != current || len(v.History) != len(history) {
			t.Fatalf("%s: the lane is %+v, want %d and %v", name, v, current, history)
		}

		for i := range history {
			if v.History[i] != history[i] {
				t.Errorf("%s: history is %v, want %v", name, v.History, history)
			}
		}
	}

	blankRow := priceRow("1", "normal", today, snapshot.NoCents)
	f("daily over wide", []source.Series{series([]snapshot.Point{pt(today-1, 5), pt(today, 6)})},
		[]source.Price{priceRow("1", "normal", today, 9)}, 9, pt(today-1, 5), pt(today, 9))
	f("blank daily over wide", []source.Series{series([]snapshot.Point{pt(today, 6)})}, []source.Price{blankRow},
		snapshot.NoCents)
	f("later wide over earlier",
		[]source.Series{
			series([]snapshot.Point{pt(today, 6)}),
			series([]snapshot.Point{pt(today, 7)}),
		}, nil, 7, pt(today, 7))

	f("blank wide over nothing", []source.Series{series([]snapshot.Point{pt(today, 6)}), series(nil, today)}, nil, 6,
		pt(today, 6))
	f("blank wide is seen", []source.Series{series([]snapshot.Point{pt(today-1, 6)}, today)}, nil, snapshot.NoCents,
		pt(today-1, 6))
	f("later daily over earlier",
		nil, []source.Price{priceRow("1", "normal", today, 1), priceRow("1", "normal", today, 2)}, 2, pt(today, 2))
	f("days in any order", nil,
		[]source.Price{priceRow("1", "normal", today, 1), priceRow("1", "normal", today-3, 2)}, 1, pt(today-3,
			2), pt(today, 1))
	f("zero is a price", nil, []source.Price{priceRow("1", "normal", today, 0)}, 0, pt(today, 0))
}

func TestQuarantinedPrices(t *testing.T) {
	f := newFake("shop").set("s", "Base").card("1", "s", "Abra", "1").card("2", "s", "Mew", "2")
	change := func(ref string, cents int64, by func(*source.Price)) {
		p := priceRow(ref, "normal", today, cents)
		by(&p)
		f.price(p)
	}

	f.price(priceRow("2", "normal", today, 5))
	change("1", 7, func(p *source.Price) { p.SourceAsOf = p.CollectedAt + 1 })                                   // air: a row a line
	change("1", 7, func(p *source.Price) { p.Condition, p.CollectedAt = "damaged", atDay(today).UnixMilli()+1 }) // air: a row a line
	change("1", 7, func(p *source.Price) { p.Condition, p.Day = "damaged", today+1 })                            // air: a row a line
	change("1", snapshot.MaxCents+1, func(p *source.Price) { p.Condition = "ungraded" })
	change("1", 7, func(p *source.Price) { p.Condition = "mint" })            // air: a row a line
	change("1", 7, func(p *source.Price) { p.Variant = "Foil!" })             // air: a row a line
	change("1", 7, func(p *source.Price) { p.Variant = "" })                  // air: a row a line
	change("1", 7, func(p *source.Price) { p.CollectedAt = snapshot.NoTime }) // air: a row a line
	change("9", 7, func(*source.Price) {})
	f.series = []source.Series{{
		Ref: "2", Variant: "normal",
		Points: []snapshot.Point{{Day: today - 1, Cents: 4}, {Day: today + 1, Cents: 6}}, Last: today + 1,
	}}
	r := one(t, Options{SnapshotAt: atDay(today)}, f)
	want := map[string]int{
		source.ReasonAsOfAfterFetch: 1, source.ReasonFetchAfterSnapshot: 2, source.ReasonBadDate: 1,
		source.ReasonBadPrice:     1,
		source.ReasonBadCondition: 1, source.ReasonBadVariant: 2, source.ReasonBadTime: 1, source.ReasonUnknownItem: 1,
	}

	for reason, n := range want {
		if r.QuarantineCounts[reason] != n {
			t.Errorf("%d prices are refused as %q, want %d", r.QuarantineCounts[reason], reason, n)
		}
	}

	if len(r.QuarantineCounts) != len(want) {
		t.Errorf("the quarantine counts are %v", r.QuarantineCounts)
	}

	lanes := lanesOf(r.Catalog, cardRow(r.Catalog, "shop", "1"))
	if v, ok := lanes["normal near_mint"]; !ok || v.Cents != snapshot.NoCents || v.Seen != today || !v.Licensed {
		t.Errorf("a lane whose price has an impossible time is %+v", lanes)
	}

	if _, ok := lanes["normal damaged"]; ok {
		t.Error("a row from after the snapshot was seen")
	}

	if v := lane(t, r.Catalog, "shop", "2", "normal ungraded"); len(v.History) != 1 || v.Seen != today-1 {
		t.Errorf("a history file that reaches beyond the snapshot gives %+v", v)
	}
}

// TestHistoryBeyondTheSnapshot: a file's rows after the snapshot's instant do not determine the
// newest day.
func TestHistoryBeyondTheSnapshot(t *testing.T) {
	f := newFake("shop").set("s", "Base").card("1", "s", "Abra", "1")
	f.series = []source.Series{{
		Ref: "1", Variant: "normal", Points: []snapshot.Point{{Day: today - 3, Cents: 4}, {Day: today + 9, Cents: 6}},
		Blank: []snapshot.Day{today + 3}, Last: today + 9,
	}}
	c := one(t, Options{SnapshotAt: atDay(today)}, f).Catalog
	if v := lane(t, c, "shop", "1", "normal ungraded"); v.Cents != 4 || v.Seen != today-3 || len(v.History) != 1 {
		t.Errorf("the lane is %+v", v)
	}
}

// TestNoBlending: of two feeds that price one lane the first source's is used, alone.
func TestNoBlending(t *testing.T) {
	first := newFake("first").set("s", "Base").card("1", "s", "Abra", "1")
	second := newFake("second")
	second.feed.HasCatalog = false
	first.cards[0].Identifiers = []source.Identifier{{Namespace: "second", Value: "x"}}
	first.price(priceRow("1", "normal", today-3, 100))
	second.price(priceRow("x", "normal", today, 5), priceRow("x", "foil", today, 6))
	inputs := map[string]*fake{"a": first, "b": second}
	c := mustBuild(t, Options{Sources: []Input{{"native", "a"}}, Prices: []Input{{"native", "b"}}}, inputs).Catalog
	if v := lane(t, c, "first", "1", "normal near_mint"); v.Feed != "first" || v.Cents != 100 || len(v.History) != 1 {
		t.Errorf("a lane of two feeds is %+v", v)
	}

	if v := lane(t, c, "first", "1", "foil near_mint"); v.Feed != "second" || v.Cents != 6 {
		t.Errorf("a lane of the second feed is %+v", v)
	}
}

func TestSealedLanes(t *testing.T) {
	f := newFake("tcgcsv")
	f.sealed = []source.Sealed{{
		Ref: "3/7", Game: "pokemon", Name: "Box", PackageType: source.BoosterBox, Units: 36,
		UnitKind:  source.BoosterPack,
		Edition:   snapshot.StandardEdition,
		UpdatedAt: snapshot.NoTime,
	}}

	// A history file knows neither the category nor sealed products.
	f.series = []source.Series{
		{
			Ref: "7", Variant: "normal", Condition: "ungraded", Points: []snapshot.Point{{Day: today, Cents: 4}},
			Last: today,
		},
		{Ref: "7", Variant: "holofoil", Points: []snapshot.Point{{Day: today, Cents: 9}}, Last: today},
	}

	c := one(t, Options{}, f).Catalog
	lanes := lanesOf(c, 0)
	if v, ok := lanes["factory_sealed"]; !ok || v.Cents != 4 || len(lanes) != 1 || v.Stats != nil {
		t.Errorf("the product's lanes are %+v", lanes)
	}

	if c.Sealed.Tail.At(0) != tailOf("tcgcsv\x003/7") || idOf(c, "tcgcsv", "3/7", sealedPrefix) == "" {
		t.Errorf("the product's tail is %q", c.Sealed.Tail.At(0))
	}
}

func TestRefIndex(t *testing.T) {
	b := &builder{mapping: &mapping{}, excludedRefs: map[string]bool{"tcgcsv\x003/9": true}}
	m := &merged{cards: []card{
		{item: item{refs: []string{"tcgcsv\x003/7", "other\x00seven", "other\x00a/b"}}},
		{item: item{refs: []string{"tcgcsv\x0068/7"}}},
		{item: item{
			refs: []string{"tcgcsv\x003/8"},
			identifiers: []source.Identifier{
				{Namespace: "other", Value: "eight"}, {Namespace: "other", Value: "seven"},
			},
		}},
	}}

	ix := b.indexRefs("tcgcsv", m)
	y := b.indexRefs("other", m)
	for ref, want := range map[string]int32{
		"3/7": 0, "68/7": 1, "7": notKnown, "8": 2, "9": excluded, "3/9": excluded,
		"10": notKnown,
	} {
		if got := (&priceSink{index: ix}).find(ref); got != want {
			t.Errorf("reference %q leads to %d, want %d", ref, got, want)
		}
	}

	// A slash means something in references of TCGCSV alone.
	for ref, want := range map[string]int32{"seven": 0, "eight": 2, "3/7": notKnown, "a/b": 0, "b": notKnown} {
		if got := (&priceSink{index: y}).find(ref); got != want {
			t.Errorf("reference %q leads to %d, want %d", ref, got, want)
		}
	}
}

// TestMovers compares exact fractions: 1/3 is more than 333333333/1000000000, equal percents go by
// cents, then id.
func TestMovers(t *testing.T) {
	f := newFake("shop").set("s", "Base")
	add := func(ref string, before, now int64) {
		f.card(ref, "s", "Card "+ref, ref)
		f.price(priceRow(ref, "normal", today-7, before), priceRow(ref, "normal", today, now))
	}
	add("third", 3, 4)
	add("nearly", 1_000_000_000, 1_333_333_333)
	add("huge", snapshot.MaxCents-1, snapshot.MaxCents)
	add("big", 300, 400)
	add("same", 5, 5)
	add("nothing", 0, 5)
	add("gone", 5, 0)
	add("half", 10, 5)
	add("half2", 100, 50)
	c := one(t, Options{}, f).Catalog
	check := func(name string, got []uint32, want ...string) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("%d cards go %s, want %v", len(got), name, want)
		}

		for i, row := range got {
			if c.Cards.ID.At(int(row)) != idOf(c, "shop", want[i], cardPrefix) {
				t.Errorf("%s %d is %q, want %q", name, i, c.Cards.Name.At(int(row)), want[i])
			}
		}
	}

	check("up", c.Movers.Up, "big", "third", "nearly", "huge")
	check("down", c.Movers.Down, "gone", "half2", "half")
}
