package snapshot_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
)

// priced is the first card of a catalog that has a price: card 0, and one of its lanes.
func priced(t *testing.T, c *snapshot.Catalog) (lane int) {
	t.Helper()
	if c.Cards.Display[0] < 0 {
		t.Fatal("the dearest card has no price")
	}
	return int(c.Cards.Display[0])
}

// TestValidate breaks a whole catalog in one place at a time.
func TestValidate(t *testing.T) {
	build := func() *snapshot.Catalog { return fixture.Random(2, fixture.Small).Catalog() }
	if err := build().Validate(); err != nil {
		t.Fatalf("a whole catalog: %v", err)
	}
	if err := (&snapshot.Catalog{}).Validate(); err != nil {
		t.Fatalf("an empty catalog: %v", err)
	}

	f := func(section, want string, damage func(c *snapshot.Catalog)) {
		t.Helper()
		c := build()
		damage(c)
		err := c.Validate()
		var found *snapshot.DamageError
		if !errors.As(err, &found) || !errors.Is(err, snapshot.ErrDamaged) {
			t.Errorf("%s %s: got %v", section, want, err)
			return
		}
		if !strings.Contains(err.Error(), `section "`+section+`"`) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in section %q, got %v", want, section, err)
		}
	}

	// Every column of every table one row too long.
	grow := func(section string, column func(c *snapshot.Catalog) *snapshot.Strings) {
		t.Helper()
		f(section, "", func(c *snapshot.Catalog) { column(c).Append("x") })
	}
	type c = snapshot.Catalog
	type col = *snapshot.Strings

	for _, column := range []func(c *c) col{
		func(c *c) col { return &c.Sets.ID }, func(c *c) col { return &c.Sets.Slug },
		func(c *c) col { return &c.Sets.Name },
		func(c *c) col { return &c.Sets.Series }, func(c *c) col { return &c.Sets.Code },
		func(c *c) col { return &c.Sets.Alias },
	} {
		grow("sets", column)
	}

	for _, column := range []func(c *c) col{
		func(c *c) col { return &c.Cards.ID }, func(c *c) col { return &c.Cards.Slug },
		func(c *c) col { return &c.Cards.Name },
		func(c *c) col { return &c.Cards.Number }, func(c *c) col { return &c.Cards.Rarity },
		func(c *c) col { return &c.Cards.Printing }, func(c *c) col { return &c.Cards.Image },
	} {
		grow("cards", column)
	}

	for _, column := range []func(c *c) col{
		func(c *c) col { return &c.Sealed.Tail }, func(c *c) col { return &c.Sealed.Name },
		func(c *c) col { return &c.Sealed.PackageType },
		func(c *c) col { return &c.Sealed.UnitKind }, func(c *c) col { return &c.Sealed.Edition },
	} {
		grow("sealed", column)
	}

	grow("games", func(c *c) col { return &c.Games.Name })
	grow("identifiers", func(c *c) col { return &c.Identifiers.Namespace })
	grow("identifiers", func(c *c) col { return &c.Identifiers.Value })
	grow("feeds", func(c *c) col { return &c.Feeds.Attribution })
	grow("feeds", func(c *c) col { return &c.Feeds.Partner })
	grow("registry", func(c *c) col { return &c.Registry.Ref })
	grow("registry", func(c *c) col { return &c.Registry.RefID })
	grow("registry", func(c *c) col { return &c.Registry.Slug })
	grow("registry", func(c *c) col { return &c.Registry.SlugID })

	for section, damage := range map[string][]func(c *c){
		"sets": {
			func(c *c) { c.Sets.Game = append(c.Sets.Game, 0) }, func(c *c) { c.Sets.Release = c.Sets.Release[1:] },
			func(c *c) { c.Sets.Cards = append(c.Sets.Cards, 0) }, func(c *c) { c.Sets.Aliases.Append(0) },
		},
		"cards": {
			func(c *c) { c.Cards.Game = c.Cards.Game[1:] }, func(c *c) { c.Cards.Set = append(c.Cards.Set, 0) },
			func(c *c) { c.Cards.Order = append(c.Cards.Order, 0) },
			func(c *c) { c.Cards.UpdatedAt = c.Cards.UpdatedAt[1:] },
			func(c *c) { c.Cards.Product = append(c.Cards.Product, 0) },
			func(c *c) { c.Cards.Display = c.Cards.Display[1:] },
		},
		"sealed": {
			func(c *c) { c.Sealed.Game = c.Sealed.Game[1:] }, func(c *c) { c.Sealed.Units = append(c.Sealed.Units, 1) },
			func(c *c) { c.Sealed.UpdatedAt = c.Sealed.UpdatedAt[1:] },
		},
		"lanes": {
			func(c *c) { c.Lanes.Of.Append(len(c.Lanes.Variant)) },
			func(c *c) { c.Lanes.Variant = c.Lanes.Variant[1:] },
			func(c *c) { c.Lanes.Condition = c.Lanes.Condition[1:] }, func(c *c) { c.Lanes.Flags = c.Lanes.Flags[1:] },
			func(c *c) { c.Lanes.Feed = c.Lanes.Feed[1:] }, func(c *c) { c.Lanes.Cents = c.Lanes.Cents[1:] },
			func(c *c) { c.Lanes.SourceAsOf = c.Lanes.SourceAsOf[1:] },
			func(c *c) { c.Lanes.CollectedAt = c.Lanes.CollectedAt[1:] },
			func(c *c) { c.Lanes.Price7DaysAgo = c.Lanes.Price7DaysAgo[1:] }, func(c *c) {
				c.Lanes.Price30DaysAgo = c.Lanes.Price30DaysAgo[1:]
			},
			func(c *c) { c.Lanes.LastSeen = c.Lanes.LastSeen[1:] },
		},
		"history": {
			func(c *c) { c.History.Of.Append(len(c.History.Points)) },
			func(c *c) { c.History.Points = append(c.History.Points, 0) },
			func(c *c) { c.History.List = c.History.List[1:] },
			func(c *c) { c.History.List[0] = uint32(len(c.History.List)) },
			func(c *c) { c.History.List[0] = c.History.List[1] },
		},
		"closed": {
			func(c *c) { c.History.Closed.Days = c.History.Closed.Days[1:] },
			func(c *c) { c.History.Closed.Days[1] = c.Date() + 1 },
			func(c *c) { c.History.Closed.Days[1] = c.History.Closed.Days[0] - 1 },
			func(c *c) {
				for c.History.Closed.Len() <= c.History.Of.Len() {
					c.History.Closed.Of.Append(len(c.History.Closed.Points))
				}
			},
			func(c *c) { c.History.Closed.Points = append(c.History.Closed.Points, 0) },
			func(c *c) { c.History.Closed.Of = snapshot.Lists{} },
			func(c *c) { c.History.Closed = &snapshot.Closed{Days: c.History.Closed.Days} },
		},
		"stats": {
			func(c *c) { c.Stats.Lane = c.Stats.Lane[1:] }, func(c *c) { c.Stats.Min = c.Stats.Min[1:] },
			func(c *c) { c.Stats.Max = c.Stats.Max[1:] }, func(c *c) { c.Stats.Mean = c.Stats.Mean[1:] },
			func(c *c) { c.Stats.First = c.Stats.First[1:] }, func(c *c) { c.Stats.Last = c.Stats.Last[1:] },
			func(c *c) { c.Stats.FirstDay = c.Stats.FirstDay[1:] },
			func(c *c) { c.Stats.LastDay = c.Stats.LastDay[1:] },
			func(c *c) { c.Stats.Points = c.Stats.Points[1:] },
		},
	} {
		for _, d := range damage {
			f(section, "", d)
		}
	}

	// References to rows that there are not.
	f("sets", `"game" refers`, func(c *c) { c.Sets.Game[0] = 2 })
	f("cards", `"game" refers`, func(c *c) { c.Cards.Game[0] = 2 })
	f("cards", `"set" refers`, func(c *c) { c.Cards.Set[0] = int32(c.Sets.ID.Len()) })
	f("cards", `"set" refers`, func(c *c) { c.Cards.Set[0] = -2 })
	f("cards", `"order" refers`, func(c *c) { c.Cards.Order[0] = uint32(c.Cards.ID.Len()) })
	f("cards", `"display" refers`, func(c *c) { c.Cards.Display[0] = int32(len(c.Lanes.Variant)) })
	f("cards", `"display" refers`, func(c *c) { c.Cards.Display[0] = -2 })
	f("cards", "another card's", func(c *c) { c.Cards.Display[0] = c.Cards.Display[1] })
	f("sealed", `"game" refers`, func(c *c) { c.Sealed.Game[0] = 2 })
	f("lanes", `"variant" refers`, func(c *c) { c.Lanes.Variant[0] = uint16(c.Variants.Len()) })
	f("lanes", `"condition" refers`, func(c *c) { c.Lanes.Condition[0] = uint8(snapshot.FactorySealed) + 1 })
	f("lanes", `"feed" refers`, func(c *c) { c.Lanes.Feed[0] = 2 })
	f("stats", `"lane" refers`, func(c *c) { c.Stats.Lane[len(c.Stats.Lane)-1] = uint32(len(c.Lanes.Variant)) })
	f("stats", "do not ascend", func(c *c) { c.Stats.Lane[1] = c.Stats.Lane[0] })
	f("movers", `"up" refers`, func(c *c) { c.Movers.Up[0] = uint32(c.Cards.ID.Len()) })
	f("movers", `"down" refers`, func(c *c) { c.Movers.Down[0] = uint32(c.Cards.ID.Len()) })

	// Values that nothing may be.
	for _, cents := range []int64{-2, snapshot.MaxCents + 1} {
		f("lanes", "cents", func(c *c) { c.Lanes.Cents[priced(t, c)] = cents })
		f("lanes", "cents", func(c *c) { c.Lanes.Price7DaysAgo[0] = cents })
		f("lanes", "cents", func(c *c) { c.Lanes.Price30DaysAgo[0] = cents })
	}

	f("lanes", "may not be distributed", func(c *c) { c.Lanes.Flags[priced(t, c)] &^= snapshot.LaneLicensed })
	f("lanes", "has no time", func(c *c) { c.Lanes.CollectedAt[priced(t, c)] = snapshot.NoTime })
	f("cards", "no display price", func(c *c) { c.Lanes.Flags[priced(t, c)] &^= snapshot.LaneDisplay })
	f("cards", "no display price", func(c *c) { c.Lanes.Cents[priced(t, c)] = snapshot.NoCents })
	for _, at := range []int64{-62_167_219_200_001, 253_402_300_800_000, 1 << 62} {
		f("cards", "outside of the years", func(c *c) { c.Cards.UpdatedAt[0] = at })
		f("sealed", "outside of the years", func(c *c) { c.Sealed.UpdatedAt[0] = at })
		f("lanes", "outside of the years", func(c *c) { c.Lanes.SourceAsOf[0] = at })
		f("lanes", "outside of the years", func(c *c) { c.Lanes.CollectedAt[0] = at })
		f("manifest", "outside of the years", func(c *c) { c.SnapshotAt = at })
	}

	f("manifest", "has no time", func(c *c) { c.SnapshotAt = snapshot.NoTime })
	f("sets", "outside of the years", func(c *c) { c.Sets.Release[0] = 2_932_897 })
	f("lanes", "outside of the years", func(c *c) { c.Lanes.LastSeen[0] = -719_529 })
	f("stats", "outside of the years", func(c *c) { c.Stats.FirstDay[0] = 2_932_897 })
	f("stats", "outside of the years", func(c *c) { c.Stats.LastDay[0] = 2_932_897 })
	f("history", "do not decode", func(c *c) { c.History.Points[len(c.History.Points)-1] |= 0x80 })
	f("history", "do not decode", func(c *c) { c.SnapshotAt -= 400 * 86_400_000 })
	f("history", "points of closed days", func(c *c) { c.History.Closed.Days[1] = c.Date() })
	f("closed", "do not decode", func(c *c) { c.History.Closed.Days[0] = c.History.Closed.Days[1] })
}

// TestValidateText puts one bad string into a column of an otherwise whole catalog.
func TestValidateText(t *testing.T) {
	f := func(section string, edit func(w *fixture.World, s string), bad ...string) {
		t.Helper()
		for _, s := range bad {
			w := fixture.Random(2, tiny)
			edit(w, s)
			err := w.Catalog().Validate()
			if err == nil || !strings.Contains(err.Error(), `section "`+section+`"`) {
				t.Errorf("%s with %q: %v", section, s, err)
			}
		}
	}

	unclean := []string{"a\x00b", "a\nb", "a\x7f", "\xff", "a\xc3", "\xa9b"}
	f("cards", func(w *fixture.World, s string) { w.Cards[0].Name = s }, unclean...)
	f("cards", func(w *fixture.World, s string) { w.Cards[0].Number = s }, unclean...)
	f("cards", func(w *fixture.World, s string) { w.Cards[0].Image = s }, unclean...)
	f("sets", func(w *fixture.World, s string) { w.Sets[0].Name = s }, unclean...)
	f("sets", func(w *fixture.World, s string) { w.Sets[0].Aliases = []string{s} }, unclean...)
	f("sealed", func(w *fixture.World, s string) { w.Sealed[0].Name = s }, unclean...)
	f("games", func(w *fixture.World, s string) { w.Games[0].Name = s }, unclean...)
	f("feeds", func(w *fixture.World, s string) { w.Feeds[0].Attribution = s }, unclean...)
	f("identifiers", func(w *fixture.World, s string) {
		w.Cards[0].Identifiers = []fixture.Identifier{{Namespace: "a", Value: s}}
	}, unclean...)
	// Half a character in each of two neighbours makes a whole one of the arena.
	f("cards", func(w *fixture.World, s string) {
		for i := range 3 {
			w.Cards[i].Rarity = s
		}
	}, "\xa9\xc3")

	long := strings.Repeat("a", 65)
	ids := []string{
		"", "card_", "card_ab", "card_" + long, "card_ABC", "card_a-b", `card_a"b`, "set_abcd",
		"Card_abcd", "card_é23",
	}
	f("cards", func(w *fixture.World, s string) { w.Cards[0].ID = s }, ids...)
	f("sets", func(w *fixture.World, s string) {
		for i := range w.Cards {
			w.Cards[i].Set = ""
		}
		w.Sets[0].ID = s
	}, "", "set_", "set_ab", "card_abcd", `set_a"b`, "set_"+long)

	f("sealed", func(w *fixture.World, s string) { w.Sealed[0].Tail = s }, "", "ab", long, "a-b", `a"b`)
	slugs := []string{"", "A", "a_b", "a/b", `a"b`, "é", strings.Repeat("a", 201)}
	f("cards", func(w *fixture.World, s string) { w.Cards[0].Slug = s }, slugs...)
	f("sets", func(w *fixture.World, s string) { w.Sets[0].Slug = s }, slugs...)
}

func TestConditions(t *testing.T) {
	codes := []string{"near_mint", "ungraded", "lightly_played", "moderately_played", "heavily_played", "damaged"}
	texts := []string{"Near Mint", "Ungraded", "Lightly Played", "Moderately Played", "Heavily Played", "Damaged"}
	for i, code := range codes {
		c, ok := snapshot.ParseCondition(code)
		if !ok || int(c) != i || c.Code() != code || c.Text() != texts[i] {
			t.Errorf("%q is read as %d (%t), spelt %q and %q", code, c, ok, c.Code(), c.Text())
		}
	}

	for _, code := range []string{"", "factory_sealed", "Near Mint", "near_mint ", "NEAR_MINT"} {
		if _, ok := snapshot.ParseCondition(code); ok {
			t.Errorf("%q is read as a condition of cards", code)
		}
	}
}

func TestDays(t *testing.T) {
	f := func(ms int64, day snapshot.Day, text string) {
		t.Helper()
		if got := snapshot.DayOf(ms); got != day || got.String() != text {
			t.Errorf("%d ms is day %d, %s; want %d, %s", ms, got, got, day, text)
		}

		if back, err := snapshot.ParseDay(text); err != nil || back != day || back.Start() > ms ||
			back.Start() <= ms-86_400_000 {
			t.Errorf("%s is read as %d, %v", text, back, err)
		}
	}

	f(0, 0, "1970-01-01")
	f(86_399_999, 0, "1970-01-01")
	f(86_400_000, 1, "1970-01-02")
	f(-1, -1, "1969-12-31")
	f(-86_400_000, -1, "1969-12-31")
	f(-86_400_001, -2, "1969-12-30")
	f(1_773_518_730_250, 20_526, "2026-03-14")
	for _, s := range []string{"", "2026-2-3", "2026-02-30", "20260203", "2026-02-03T00:00:00Z"} {
		if _, err := snapshot.ParseDay(s); err == nil {
			t.Errorf("%q is read as a date", s)
		}
	}
}

func TestSizeCountsEveryColumn(t *testing.T) {
	c := fixture.Random(2, fixture.Small).Catalog()
	sections, err := snapshot.EncodeSections(c)
	if err != nil {
		t.Fatal(err)
	}

	var stored int64
	for raw := range slices.Values(sections) {
		stored += int64(len(raw))
	}

	// The stored form also has the columns' names, and slices have room to grow.
	if size := c.Size(); size < stored*8/10 || size > stored*5/2 {
		t.Errorf("a catalog stored in %d bytes says it takes %d", stored, size)
	}
}
