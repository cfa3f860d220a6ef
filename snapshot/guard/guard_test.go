package guard_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
	"ninepocket/snapshot/guard"
)

// shelf is a world of plain cards, each with one price: 10 sets of cards numbered from 1.
func shelf(cards int) *fixture.World {
	w := fixture.Random(1, fixture.Size{})
	for s := range 10 {
		w.Sets = append(w.Sets,
			fixture.Set{
				ID: fmt.Sprintf("set_%03d", s), Slug: fmt.Sprintf("s-%d", s), Name: fmt.Sprintf("Set %d", s),
				Release: snapshot.NoDay,
			})
	}

	for i := range cards {
		w.Cards = append(w.Cards, fixture.Card{
			ID: fmt.Sprintf("card_%05d", i), Slug: fmt.Sprintf("c-%d", i), Name: fmt.Sprintf("Card %d", i),
			Number: fmt.Sprint(i), Printing: "standard",
			Set: fmt.Sprintf("set_%03d", i%10), Lanes: []fixture.Lane{{
				Variant: "normal", Condition: snapshot.NearMint, Licensed: true, Cents: int64(1000 + i),
				SourceAsOf:  snapshot.NoTime,
				CollectedAt: w.At, Seen: w.Date(), Points: []snapshot.Point{{Day: w.Date(), Cents: int64(1000 + i)}},
			}},
		})
	}

	return w
}

// later is the world a day later, every price a cent up.
func later(w *fixture.World, days int) *fixture.World {
	n := w.Clone()
	n.At += int64(days) * 86_400_000
	for i := range n.Cards {
		l := &n.Cards[i].Lanes[0]
		l.Cents++
		l.CollectedAt = n.At
		l.Seen = n.Date()
		l.Points = []snapshot.Point{{Day: n.Date(), Cents: l.Cents}}
	}

	return n
}

func stored(w *fixture.World) *snapshot.StoredSnapshot {
	c := w.Catalog()
	return &snapshot.StoredSnapshot{Catalog: c, Manifest: &snapshot.Manifest{
		ID: c.ID, SnapshotAt: time.UnixMilli(w.At).UTC(),
		Counts: snapshot.Counts{Cards: len(w.Cards), Lanes: len(w.Cards)},
	}}
}

// clock is the day after the shelf's.
var clock = time.UnixMilli(fixture.Random(1, fixture.Size{}).At).Add(36 * time.Hour)

// verdict is the verdict of one guard.
func verdict(t *testing.T, verdicts []snapshot.GuardResult, name string) snapshot.GuardResult {
	t.Helper()
	for _, v := range verdicts {
		if v.Name == name {
			return v
		}
	}

	t.Fatalf("there is no guard %s", name)
	return snapshot.GuardResult{}
}

func refusals(verdicts []snapshot.GuardResult) (names []string) {
	for _, v := range verdicts {
		if v.Status == snapshot.Refused {
			names = append(names, v.Name)
		}
	}
	return names
}

// TestEdges probes each guard exactly at its limit and one beyond.
func TestEdges(t *testing.T) {
	const n = 1000
	f := func(name string, edge int, change func(w *fixture.World, k int)) {
		t.Helper()
		for _, k := range []int{edge, edge + 1} {
			base := shelf(n)
			day := later(base, 1)
			change(day, k)
			verdicts := guard.Judge(stored(base), stored(day), guard.Options{Now: clock})
			want := map[int]string{edge: snapshot.Passed, edge + 1: snapshot.Refused}[k]
			if v := verdict(t, verdicts, name); v.Status != want {
				t.Errorf("%s with %d: %+v, want %s", name, k, v, want)
			}

			if k == edge && len(refusals(verdicts)) > 0 {
				t.Errorf("%s with %d: others refuse: %v", name, k, refusals(verdicts))
			}
		}
	}

	f("cards_removed", 50, func(w *fixture.World, k int) { w.Cards = w.Cards[k:] })
	f("cards_added", 500, func(w *fixture.World, k int) {
		for i := range k {
			c := w.Cards[i]
			c.ID = fmt.Sprintf("card_new%05d", i)
			c.Slug = fmt.Sprintf("new-%d", i)
			c.Number = fmt.Sprintf("N%d", i)
			c.Lanes = nil
			w.Cards = append(w.Cards, c)
		}
	})

	f("cards_changed", 100, func(w *fixture.World, k int) {
		for i := range k {
			c := &w.Cards[i]
			switch i % 3 {
			case 0:
				c.Name += "!"
			case 1:
				c.Number += "a"
			case 2:
				c.Set = fmt.Sprintf("set_%03d", (i+1)%10)
			}
		}
	})

	f("prices_lost", 100, func(w *fixture.World, k int) {
		for i := range k {
			w.Cards[i*9%n].Lanes[0].Cents = snapshot.NoCents // of all sets
			w.Cards[i*9%n].Lanes[0].CollectedAt = snapshot.NoTime
		}
	})

	f("prices_moved", 50, func(w *fixture.World, k int) {
		for i := range k {
			w.Cards[i].Lanes[0].Cents *= 2
		}
	})

	f("sets_emptied", 0, func(w *fixture.World, k int) {
		for i := range w.Cards {
			if k == 1 && w.Cards[i].Set == "set_003" {
				w.Cards[i].Lanes = nil
			}
		}
	})

	f("duplicate_keys", 0, func(w *fixture.World, k int) {
		for i := range k {
			// of one set
			w.Cards[i].Name = w.Cards[i+10].Name
			w.Cards[i].Number = w.Cards[i+10].Number
		}
	})

	f("schema", 0, func(w *fixture.World, k int) {
		for i := range k {
			w.Cards[i].Slug = "Not A Slug"
		}
	})

	f("older", 0, func(w *fixture.World, k int) {
		for i := range w.Cards {
			w.Cards[i].Lanes[0].CollectedAt = snapshot.NoTime // at any time, another guard judges this
			w.Cards[i].Lanes[0].CollectedAt = w.At - 86_400_000 - 1000*int64(k)
		}
		w.At -= 86_400_000 + 1000*int64(k)
	})
}

// TestRepeatedFeed distinguishes a repeated feed from a quiet day: nothing is new at all.
func TestRepeatedFeed(t *testing.T) {
	f := func(what, want string, cards int, change func(w *fixture.World)) {
		t.Helper()
		base := shelf(cards)
		same := base.Clone()
		same.At += 86_400_000
		change(same)
		if v := verdict(t, guard.Judge(stored(base), stored(same), guard.Options{Now: clock}),
			"repeated_feed"); v.Status != want {
			t.Errorf("%s: %+v, want %s", what, v, want)
		}
	}

	claim := func(w *fixture.World) {
		for i := range w.Cards {
			w.Cards[i].Lanes[0].CollectedAt = w.At
		}
	}

	f("the same prices collected later", snapshot.Refused, 100, claim)
	f("the same prices and times", snapshot.Refused, 100, func(*fixture.World) {})
	f("one price changed", snapshot.Passed, 100, func(w *fixture.World) { claim(w); w.Cards[7].Lanes[0].Cents++ })
	f("one price is gone", snapshot.Passed, 100,
		func(w *fixture.World) { claim(w); w.Cards[7].Lanes[0].Cents = snapshot.NoCents })
	f("a card renamed", snapshot.Passed, 100, func(w *fixture.World) { w.Cards[7].Name = "Another" })
	f("a card added", snapshot.Passed, 100, func(w *fixture.World) {
		w.Cards = append(w.Cards, fixture.Card{ID: "card_new", Slug: "new", Name: "New"})
	})
	f("the same instant", snapshot.Passed, 100, func(w *fixture.World) { w.At -= 86_400_000 })
	f("a shelf", snapshot.Passed, 19, claim)
	f("another game's feed is new", snapshot.Passed, 100, func(w *fixture.World) {
		claim(w)
		w.Cards = append(w.Cards, fixture.Card{ID: "card_op", Slug: "op", Name: "Op", Game: 1})
		w.Cards[100].Lanes = []fixture.Lane{w.Cards[0].Lanes[0]}
	})
}

// TestFuture: a day ahead of the clock is a time zone, more is a mistake, unless the current
// snapshot is as far ahead.
func TestFuture(t *testing.T) {
	f := func(ahead, current time.Duration, want string) {
		t.Helper()
		base := shelf(100)
		base.At = clock.Add(current).UnixMilli()
		day := base.Clone()
		day.At = clock.Add(ahead).UnixMilli()
		if v := verdict(t, guard.Judge(stored(base), stored(day), guard.Options{Now: clock}),
			"future"); v.Status != want {
			t.Errorf("%v ahead after %v: %+v, want %s", ahead, current, v, want)
		}
	}

	const day = 24 * time.Hour
	f(-day, -2*day, snapshot.Passed)
	f(day, -day, snapshot.Passed)
	f(day+time.Second, -day, snapshot.Refused)
	f(300*day, -day, snapshot.Refused)
	f(301*day, 300*day, snapshot.Passed) // the clock is wrong
	f(302*day, 300*day, snapshot.Refused)
}

// TestFirst: the first release is judged without a comparison.
func TestFirst(t *testing.T) {
	verdicts := guard.Judge(nil, stored(shelf(3)), guard.Options{Now: clock})
	if got := refusals(verdicts); len(got) > 0 {
		t.Errorf("refused by %v", got)
	}

	if got, want := len(verdicts), len(guard.Names()); got != want { // air: got and want
		t.Errorf("%d verdicts of %d guards", got, want)
	}

	if got := refusals(guard.Judge(nil, stored(fixture.Random(1, fixture.Size{})),
		guard.Options{Now: clock})); strings.Join(got, " ") != "minimum_cards" {
		t.Errorf("an empty catalog is refused by %v", got)
	}
}

// TestSmallCounts: one card of three is not a third of a catalog.
func TestSmallCounts(t *testing.T) {
	base := shelf(12)
	day := later(base, 1)
	day.Cards = day.Cards[4:]
	for i := range 4 {
		day.Cards[i].Lanes[0].Cents *= 5
		day.Cards[i+4].Name += "!"
	}

	if got := refusals(guard.Judge(stored(base), stored(day), guard.Options{Now: clock})); len(got) > 0 {
		t.Errorf("refused by %v", got)
	}
}

func TestLimits(t *testing.T) {
	base := shelf(1000)
	day := later(base, 1)
	day.Cards = day.Cards[300:]
	judge := func(l guard.Limits) []string {
		return refusals(guard.Judge(stored(base), stored(day), guard.Options{Limits: l, Now: clock}))
	}
	if got := judge(guard.Limits{"cards_removed": 0.3, "prices_lost": 0.3}); len(got) > 0 {
		t.Errorf("with limits raised, refused by %v", got)
	}

	if got := judge(guard.Limits{
		"cards_removed": 0.3, "prices_lost": 0.3, "minimum_cards": 701,
		"minimum_prices": 701,
	}); strings.Join(got, " ") != "minimum_cards minimum_prices" {
		t.Errorf("with minimums, refused by %v", got)
	}

	if err := (guard.Limits{"cards_removed": 0.1}).Validate(); err != nil {
		t.Error(err)
	}

	if err := (guard.Limits{"sets_repriced": 0.5}).Validate(); err == nil ||
		!strings.Contains(err.Error(), "from 1 on") {
		t.Errorf("a factor below 1: %v", err)
	}
	if err := (guard.Limits{"sets_repriced": 1}).Validate(); err != nil {
		t.Error(err)
	}

	err := guard.Limits{"cards": 1, "prices_lost": -1}.Validate()
	if err == nil || !strings.Contains(err.Error(), `"cards"`) || !strings.Contains(err.Error(), "prices_lost") {
		t.Errorf("bad limits: %v", err)
	}
	if name, err := guard.Name("Prices-Moved"); err != nil || name != "prices_moved" {
		t.Errorf("Name gave %q, %v", name, err)
	}
	if _, err := guard.Name("prices"); err == nil || !strings.Contains(err.Error(), "prices_moved") {
		t.Errorf("an unknown name: %v", err)
	}
}

// TestDaysBetween: the permitted changes grow with the days between two snapshots, up to half
// of all prices.
func TestDaysBetween(t *testing.T) {
	for days, limit := range map[int]int{1: 50, 7: 50, 14: 100, 28: 200, 365: 500} {
		for _, k := range []int{limit, limit + 1} {
			base := shelf(1000)
			day := later(base, days)
			for i := range k {
				day.Cards[i].Lanes[0].Cents *= 2
			}
			got := refusals(guard.Judge(stored(base), stored(day), guard.Options{Now: time.UnixMilli(day.At)}))
			if (len(got) > 0) != (k > limit) {
				t.Errorf("%d prices moved in %d days: refused by %v", k, days, got)
			}
		}
	}
}

// oneSet multiplies the prices of the set of a card by a factor, on a shelf of cheap and expensive sets.
func oneSet(w *fixture.World, set string, factor float64) (prices int) {
	for i := range w.Cards {
		if c := &w.Cards[i]; c.Set == set {
			c.Lanes[0].Cents = int64(float64(c.Lanes[0].Cents) * factor)
			prices++
		}
	}
	return prices
}

// TestOneSetInAnotherUnit: one set of forty stays below the fraction of all prices that may move.
func TestOneSetInAnotherUnit(t *testing.T) {
	base := shelf(4000)
	for s := 10; s < 40; s++ {
		base.Sets = append(base.Sets,
			fixture.Set{
				ID: fmt.Sprintf("set_%03d", s), Slug: fmt.Sprintf("s-%d", s),
				Name: fmt.Sprintf("Set %d", s), Release: snapshot.NoDay,
			})
	}

	for i := range base.Cards {
		c := &base.Cards[i]
		c.Set = fmt.Sprintf("set_%03d", i%40)
		if i%40 == 20 {
			c.Lanes[0].Cents = int64(2 + i%9) // a cheap one
		}
	}
	before := stored(base)

	f := func(what string, days int, want string, change func(w *fixture.World)) snapshot.GuardResult {
		t.Helper()
		day := later(base, days)
		change(day)
		verdicts := guard.Judge(before, stored(day), guard.Options{Now: time.UnixMilli(day.At)})
		v := verdict(t, verdicts, "sets_repriced")
		if v.Status != want || len(refusals(verdicts)) > 0 != (want == snapshot.Refused) {
			t.Errorf("%s: %+v, want %s; refused by %v", what, v, want, refusals(verdicts))
		}

		return v
	}

	v := f("cents read as dollars", 1, snapshot.Refused, func(w *fixture.World) { oneSet(w, "set_007", 100) })
	if !strings.Contains(v.Message, `"Set 7" (more than half of its 100 prices by 100.0 times or more)`) ||
		v.Value < 95 || v.Value > 105 {
		t.Errorf("the worst set is not named: %+v", v)
	}

	f("dollars read as cents", 1, snapshot.Refused, func(w *fixture.World) { oneSet(w, "set_007", 0.01) })
	f("dollars read as cents, of a cheap set", 1, snapshot.Refused,
		func(w *fixture.World) { oneSet(w, "set_020", 0.01) })
	f("half a year later", 180, snapshot.Refused, func(w *fixture.World) { oneSet(w, "set_007", 100) })
	f("a set that is new on the market", 1, snapshot.Passed, func(w *fixture.World) { oneSet(w, "set_007", 9) })
	f("the same within a week", 7, snapshot.Passed, func(w *fixture.World) { oneSet(w, "set_007", 26) })
	f("more than that within a week", 7, snapshot.Refused, func(w *fixture.World) { oneSet(w, "set_007", 28) })
	f("half of a set", 1, snapshot.Passed, func(w *fixture.World) {
		for i := range w.Cards {
			if c := &w.Cards[i]; c.Set == "set_007" && i/40 < 50 {
				c.Lanes[0].Cents *= 100
			}
		}
	})

	f("one more than half", 1, snapshot.Refused, func(w *fixture.World) {
		for i := range w.Cards {
			if c := &w.Cards[i]; c.Set == "set_007" && i/40 < 51 {
				c.Lanes[0].Cents *= 100
			}
		}
	})

	f("nine prices of a set", 1, snapshot.Passed, func(w *fixture.World) {
		n := 0
		for i := range w.Cards {
			if c := &w.Cards[i]; c.Set == "set_007" {
				n++
				if n <= 9 {
					c.Lanes[0].Cents *= 100
				} else {
					c.Set = "set_008"
				}
			}
		}

		for i := range w.Cards { // so that the other guards have no finding about the cards that moved
			if w.Cards[i].Set == "set_008" && i%40 == 7 {
				w.Cards[i].Set = "set_007"
				w.Cards[i].Lanes[0].Cents = snapshot.NoCents
				w.Cards[i].Lanes[0].CollectedAt = snapshot.NoTime
			}
		}
	})
}

func TestQuarantine(t *testing.T) {
	base := stored(shelf(1000))
	day := stored(later(shelf(1000), 1))
	base.Manifest.Quarantine = map[string]int{"product_on_two_cards": 3, "bad_row": 5}
	day.Manifest.Quarantine = map[string]int{"product_on_two_cards": 4, "bad_row": 90}
	base.Manifest.Counts.Quarantined = 8
	day.Manifest.Counts.Quarantined = 94
	o := guard.Options{Now: clock, Duplicates: []string{"product_on_two_cards"}}
	if got := refusals(guard.Judge(base, day, o)); strings.Join(got, " ") != "duplicate_keys" {
		t.Errorf("refused by %v", got)
	}

	day.Manifest.Counts.Quarantined = 109 // 101 more of 2,000 cards and lanes
	if got := refusals(guard.Judge(base, day, o)); strings.Join(got, " ") != "duplicate_keys quarantined" {
		t.Errorf("refused by %v", got)
	}
}
