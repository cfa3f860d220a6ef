package mcp_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
)

// priced returns a world of one card with a price on every day; the last price is of the catalog's
// date.
func priced(prices ...int64) *fixture.World {
	w := fixture.Random(3, fixture.Size{Sets: 1, Cards: 1})
	l := fixture.Lane{
		Variant: "holofoil", Condition: snapshot.LightlyPlayed, Licensed: true, Cents: prices[len(prices)-1],
		CollectedAt: w.At, SourceAsOf: snapshot.NoTime, Seen: w.Date(),
	}
	for i, cents := range prices {
		if cents >= 0 {
			l.Points = append(l.Points, snapshot.Point{Day: w.Date() - snapshot.Day(len(prices)-1-i), Cents: cents})
		}
	}
	w.Cards[0].Lanes = []fixture.Lane{l}
	return w
}

type history struct {
	Downsampled bool
	Series      []struct {
		Variant, Condition string
		Summary            struct {
			Volatility *float64 `json:"volatility_percent"`
			DataPoints int      `json:"data_points"`
		}
		Points []struct {
			Date, To string
			Cents    int64 `json:"market_price_cents"`
		}
	}
}

// TestVolatility compares the standard deviation of daily changes with values computed by hand.
func TestVolatility(t *testing.T) {
	const none = math.MaxFloat64
	f := func(what string, want float64, prices ...int64) {
		t.Helper()

		w := priced(prices...)
		d := newDesk(t, newView(t, w.Catalog()))
		var h history
		r := d.ok(t, "catalog_get_price_history", args{"id": w.Cards[0].ID})
		r.decode(t, &h)
		got := none
		if v := h.Series[0].Summary.Volatility; v != nil {
			got = *v
		}
		if got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}

		said := fmt.Sprintf("| volatility %v%% (spread of daily changes)", want)
		has := strings.Contains(r.text(), said)
		if has != (want != none) || has != strings.Contains(r.text(), "volatility") {
			t.Errorf("%s: %s", what, r.text())
		}
	}

	f("one price", none, 100)
	f("nine changes", none, 100, 110, 100, 110, 100, 110, 100, 110, 100, 110)
	f("a price that never moves", 0, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100)
	f("it doubles each day", 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
	f("up and down: five times +10 and -10 %, almost", 10,
		1000000, 1100000, 990000, 1089000, 980100, 1078110, 970299, 1067329, 960596, 1056656, 950990)
	f("one jump in ten changes: 40 %", 12, 100, 100, 100, 100, 100, 140, 140, 140, 140, 140, 140)
	f("changes over a gap are not daily", none, 100, -1, 200, -1, 100, -1, 200, -1, 100, -1, 200, -1, 100, -1, 200, -1,
		100, -1, 200, -1, 100)
	f("a gap is passed over", 12, 100, 100, 100, 100, 100, 140, 140, -1, 500, 500, 500, 500, 500)
	f("a change from nothing has no percent: it is passed over", 12,
		0, 500, 500, 500, 500, 500, 500, 700, 700, 700, 700, 700)
}

// run matches an entry of a history's line of points.
var (
	runPattern = regexp.MustCompile(`^\$(\d+)\.(\d\d) on (\d{4}-\d\d-\d\d)(?: to (\d{4}-\d\d-\d\d))?$`)
	pointLine  = regexp.MustCompile(`(?m)^  (\$.*)$`)
)

// days returns the prices in the text of a history by day.
func days(tb testing.TB, text string) map[string]string {
	tb.Helper()
	all := map[string]string{}
	for part := range strings.SplitSeq(pointLine.FindStringSubmatch(text)[1], " | ") {
		m := runPattern.FindStringSubmatch(part)
		if m == nil {
			tb.Fatalf("%q is no point", part)
		}

		from, _ := time.Parse(time.DateOnly, m[3])
		to := from
		if m[4] != "" {
			to, _ = time.Parse(time.DateOnly, m[4])
		}
		for ; !from.After(to); from = from.AddDate(0, 0, 1) {
			day := from.Format(time.DateOnly)
			if _, twice := all[day]; twice {
				tb.Fatalf("%s stands twice: %s", day, text)
			}
			all[day] = m[1] + m[2]
		}
	}
	return all
}

// TestRunsOfEqualDays checks that collapsed runs have every day of a history, and no other day.
func TestRunsOfEqualDays(t *testing.T) {
	w := priced(280, 280, 280, 300, 280, 280, -1, 280, 280, 280, 310, 310)
	d := newDesk(t, newView(t, w.Catalog()))
	r := d.ok(t, "catalog_get_price_history", args{"id": w.Cards[0].ID})
	want := map[string]string{}
	for _, p := range w.Cards[0].Lanes[0].Points {
		want[p.Day.String()] = fmt.Sprintf("%03d", p.Cents)
	}
	if got := days(t, r.text()); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v\n%s", got, want, r.text())
	}
	if n := strings.Count(r.text(), " to 2"); n != 5 { // the window, and four runs
		t.Errorf("%d runs: %s", n, r.text())
	}

	var h history
	r.decode(t, &h)
	s := h.Series[0]
	if len(s.Points) != 5 || s.Points[0].To != "2026-03-05" || s.Points[1].To != "" || s.Summary.DataPoints != 11 ||
		h.Downsampled || s.Condition != "Lightly Played" ||
		!strings.Contains(r.text(), "\nholofoil, Lightly Played: rising | ") {
		t.Errorf("%+v\n%s", h, r.text())
	}
}

// TestDownsampledRuns checks that no day of a downsampled history of runs has a wrong price.
func TestDownsampledRuns(t *testing.T) {
	var prices []int64
	for i := range int64(300) {
		prices = append(prices, 1000+37*((i/3)%11)-5*(i/50))
	}
	w := priced(prices...)
	d := newDesk(t, newView(t, w.Catalog()))
	r := d.ok(t, "catalog_get_price_history", args{"id": w.Cards[0].ID, "days": 365})
	want := map[string]string{}
	for _, p := range w.Cards[0].Lanes[0].Points {
		want[p.Day.String()] = fmt.Sprintf("%03d", p.Cents)
	}

	got := days(t, r.text())
	for day, cents := range got {
		if want[day] != cents {
			t.Errorf("%s: %s, want %s", day, cents, want[day])
		}
	}
	var h history
	if r.decode(t, &h); !h.Downsampled || len(h.Series[0].Points) > 30 || len(got) < 30 {
		t.Errorf("%d points tell %d days", len(h.Series[0].Points), len(got))
	}
}

// TestOldPricesHaveTheirDay calls the tools that show prices with random catalogs. A price has its own instant
// exactly if the instant is not the newest in the result. The text has the price's day if the day differs.
func TestOldPricesHaveTheirDay(t *testing.T) {
	old := 0
	fresh := 0
	for seed := range uint64(4) {
		d, w := randomDesk(t, seed, fixture.Size{Sets: 3, Cards: 60, Days: 12})
		type card struct {
			ID    string
			Cents *int64     `json:"market_price_cents"`
			At    *time.Time `json:"price_updated_at"`
		}
		check := func(tool string, arguments args) {
			t.Helper()

			r := d.ok(t, tool, arguments)
			var all struct {
				At            time.Time `json:"price_updated_at"`
				Cards, Movers []card
				Top           []card `json:"top_cards"`
				Sets          []struct {
					Top []card `json:"top_cards"`
				}
			}
			r.decode(t, &all)
			cards := append(append(all.Cards, all.Movers...), all.Top...)
			for _, set := range all.Sets {
				cards = append(cards, set.Top...)
			}

			for _, c := range cards {
				if c.Cents == nil {
					continue
				}
				price := dollars(*c.Cents)
				card, _ := d.view.Index.Card(c.ID)
				_, updated := d.view.Catalog.DisplayPrice(card)
				want := time.UnixMilli(updated).Truncate(time.Second)
				at := all.At
				if c.At != nil {
					at = *c.At
				}
				if c.At != nil && !at.Before(all.At) || !at.Equal(want) {
					t.Fatalf("%s: %s is of %v: %s", tool, c.ID, want, r.StructuredContent)
				}

				if at.Format(time.DateOnly) != all.At.Format(time.DateOnly) {
					price += " of " + at.Format(time.DateOnly)
					old++
				} else {
					fresh++
				}
				line := regexp.MustCompile(`(?m)^.* \| ` + regexp.QuoteMeta(price) + `( \| .*)? \| ` + c.ID + `$`)
				if !line.MatchString(r.text()) {
					t.Fatalf("%s: %s of %s:\n%s", tool, price, c.ID, r.text())
				}
			}
		}

		check("catalog_search_cards", args{"sort": "price_desc", "limit": 50})
		check("catalog_get_market_movers", args{"direction": "up", "min_price_cents": 0, "limit": 50})
		check("catalog_browse_sets", args{"set": w.Sets[0].ID})
		check("catalog_browse_sets", args{"top": 5})
	}
	if old < 20 || fresh < 20 {
		t.Errorf("%d old prices, %d fresh", old, fresh)
	}
}

// TestExpiredCursors checks the error for a cursor that has expired, and for one with other
// arguments.
func TestExpiredCursors(t *testing.T) {
	d := shopDesk(t)
	for tool, arguments := range map[string]args{
		"catalog_search_cards": {"query": "charizard", "limit": 1}, "catalog_browse_sets": {"limit": 1},
	} {
		var page struct {
			Next string `json:"next_cursor"`
		}
		r := d.ok(t, tool, arguments)
		r.decode(t, &page)
		arguments["cursor"] = page.Next

		later := *d
		later.now = d.now.Add(16 * time.Minute)
		if r := later.call(t, tool, arguments); !r.IsError ||
			!strings.Contains(r.text(), "- cursor has expired (they last 15 minutes): leave it out to start again") {
			t.Errorf("%s: %s", tool, r.text())
		}

		arguments["game"] = "pokemon"
		if r := d.call(t, tool, arguments); !r.IsError ||
			!strings.Contains(r.text(), "or repeat the other arguments of that page unchanged") {
			t.Errorf("%s: %s", tool, r.text())
		}
	}
}

// TestMoversOfMonthAgree compares the movers of 30 days with the changes of each card. It checks
// that none is missing: no other card of such a price moved more than the last mover.
func TestMoversOfMonthAgree(t *testing.T) {
	d, w := randomDesk(t, 7, fixture.Size{Sets: 3, Cards: 80, Days: 45})
	type price struct {
		Cents  int64    `json:"market_price_cents"`
		Change *float64 `json:"change_30d_percent"`
	}
	var movers struct {
		Days   int `json:"period_days"`
		Movers []struct {
			ID     string
			Cents  int64   `json:"market_price_cents"`
			Change float64 `json:"price_change_percent"`
		}
	}
	r := d.ok(t, "catalog_get_market_movers",
		args{"direction": "down", "period": "30d", "min_price_cents": 0, "limit": 5})
	if r.decode(t, &movers); movers.Days != 30 || len(movers.Movers) != 5 {
		t.Fatal(r.text())
	}

	last := math.Inf(-1)
	listed := map[string]bool{}
	for _, m := range movers.Movers {
		if m.Change >= 0 || m.Change < last {
			t.Errorf("%s comes after %v: %v", m.ID, last, m.Change)
		}
		last = m.Change
		listed[m.ID] = true

		var card struct{ Card struct{ Prices []price } }
		r := d.ok(t, "catalog_get_card", args{"id": m.ID})
		r.decode(t, &card)
		if !slices.ContainsFunc(card.Card.Prices, func(p price) bool {
			return p.Cents == m.Cents && p.Change != nil && *p.Change == m.Change
		}) {
			t.Errorf("%s: %+v has no change of %v", m.ID, card.Card.Prices, m.Change)
		}
	}

	for i := range w.Cards {
		l := w.Cards[i].Display()
		if l == nil || listed[w.Cards[i].ID] {
			continue
		}
		if base := l.Base(w.Date(), 30); base > 0 && 100*float64(l.Cents-base)/float64(base) < last-0.01 {
			t.Errorf("%s moved from %d to %d and is not listed", w.Cards[i].ID, base, l.Cents)
		}
	}
}
