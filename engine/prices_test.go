package engine_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ninepocket/cardvocab"
	"ninepocket/engine"
	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
)

func TestSameVariant(t *testing.T) {
	f := func(a, b string, want bool) {
		t.Helper()
		if cardvocab.SameVariant(a, b) != want || cardvocab.SameVariant(b, a) != want {
			t.Errorf("%q and %q: want %t", a, b, want)
		}
	}

	f("reverse_holofoil", "Reverse Holofoil", true)
	f("reverse_holofoil", "reverse-holofoil", true)
	f("reverse_holofoil", "REVERSEHOLOFOIL", true)
	f("reverse_holofoil", " reverse  holo_foil - ", true)
	f("1st_edition", "1stEdition", true)
	f("1st_edition", "1st_edition_holofoil", false)
	f("holofoil", "reverse_holofoil", false)
	f("holofoil", "holofoi", false)
	f("normal", "norm.al", false)
	f("normal", "", false)
	f("normal", " -_", false)
	f("", "-", true)
	f("foil", "ＦＯＩＬ", false)
}

// view makes a world's View.
func view(t testing.TB, w *fixture.World) *engine.View {
	t.Helper()
	c := w.Catalog()
	c.ID = idOf(1)
	v, err := engine.NewView(c, site)
	if err != nil {
		t.Fatal(err)
	}

	return v
}

type historyBody struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	URL  string `json:"url"`
	Days int    `json:"days"`
	Data []historyPoint
}

type historyPoint struct {
	Date     string `json:"date"`
	Variant  string `json:"variant"`
	Cents    int64  `json:"market_price_cents"`
	Currency string `json:"currency"`
}

// drawVariant draws a client's form of a card's variant, or a variant that the card lacks, or
// none.
func drawVariant(t *rapid.T, c *fixture.Card) (asked string) {
	spellings := []string{"", "", "no such thing", "holofoil"}
	for _, l := range c.Lanes {
		spellings = append(spellings, l.Variant, strings.ToUpper(strings.ReplaceAll(l.Variant, "_", " ")))
	}
	return rapid.SampledFrom(spellings).Draw(t, "variant")
}

func same(code, asked string) bool {
	fold := func(s string) string {
		return strings.NewReplacer(" ", "", "-", "", "_", "").Replace(strings.ToLower(s))
	}
	return asked == "" || fold(code) == fold(asked)
}

// historyWorlds returns random worlds. The prices of the last one have all lengths, and change in length within
// a lane.
func historyWorlds() []*fixture.World {
	var worlds []*fixture.World
	for seed := range uint64(4) {
		worlds = append(worlds, fixture.Random(seed, fixture.Size{Sets: 2, Cards: 30}))
	}
	w := worlds[len(worlds)-1]

	edges := []int64{0, 1, 9, 10, 99, 100, 99_999, 100_000, 9_999_999, 10_000_000, 99_999_999, snapshot.MaxCents}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range w.Cards {
		for j := range w.Cards[i].Lanes {
			lane := &w.Cards[i].Lanes[j]
			for k := range lane.Points {
				lane.Points[k].Cents = edges[random.IntN(len(edges))]
				if k > 0 && random.IntN(3) > 0 {
					lane.Points[k].Cents = lane.Points[k-1].Cents
				}
			}

			if lane.Cents != snapshot.NoCents {
				lane.Cents = lane.Points[len(lane.Points)-1].Cents
			}
		}
	}
	return worlds
}

func TestHistory(t *testing.T) {
	for seed, w := range historyWorlds() {
		v := view(t, w)
		rapid.Check(t, func(t *rapid.T) {
			card := rapid.IntRange(0, len(w.Cards)-1).Draw(t, "card")
			c := w.PriceDesc()[card]

			days := rapid.OneOf(rapid.SampledFrom([]int{1, 2, 7, 90, 364, 365}), rapid.IntRange(1, 365)).Draw(t, "days")
			asked := drawVariant(t, &c)
			want := historyBody{
				ID: c.ID, Name: c.Name, URL: site.URL + "/cards/" + c.Slug, Days: days,
				Data: []historyPoint{},
			}

			lanes := fixture.DisplayLanes(c.Lanes)
			for day := w.Date() - snapshot.Day(days) + 1; day <= w.Date(); day++ {
				for _, l := range lanes {
					for _, p := range l.Points {
						if p.Day == day && same(l.Variant, asked) {
							want.Data = append(want.Data, historyPoint{day.String(), l.Variant, p.Cents, "USD"})
						}
					}
				}
			}

			b := v.AppendHistory([]byte("x"), card, days, asked)
			var got historyBody
			if err := json.Unmarshal(b[1:], &got, json.MatchCaseInsensitiveNames(true),
				json.RejectUnknownMembers(true)); err != nil {
				t.Fatalf("%s: %v", b, err)
			}

			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, card %d, %d days, variant %q (-want +got):\n%s", seed, card, days, asked, diff)
			}
		})
	}
}

type historyColumns struct {
	ID    string
	Lanes []struct {
		Variant string
		Cents   []*int64 `json:"market_price_cents"`
	}
}

// points are the points of columns in the form of AppendHistory.
func (h *historyColumns) points(t *rapid.T, dates []string) []historyPoint {
	all := []historyPoint{}
	for i, date := range dates {
		for _, lane := range h.Lanes {
			if len(lane.Cents) != len(dates) {
				t.Fatalf("%s has %d prices for %d dates", lane.Variant, len(lane.Cents), len(dates))
			}
			if cents := lane.Cents[i]; cents != nil {
				all = append(all, historyPoint{date, lane.Variant, *cents, "USD"})
			}
		}
	}
	return all
}

// TestHistoryColumns checks that columns have the points of single histories, and no lane without any.
func TestHistoryColumns(t *testing.T) {
	for seed, w := range historyWorlds() {
		v := view(t, w)
		rapid.Check(t, func(t *rapid.T) {
			card := rapid.IntRange(0, len(w.Cards)-1).Draw(t, "card")
			c := w.PriceDesc()[card]
			days := rapid.IntRange(1, 365).Draw(t, "days")
			asked := drawVariant(t, &c)

			var want historyBody
			if err := json.Unmarshal(v.AppendHistory(nil, card, days, asked), &want,
				json.MatchCaseInsensitiveNames(true)); err != nil {
				t.Fatal(err)
			}

			var dates []string
			var got historyColumns
			err := errors.Join(json.Unmarshal(append(v.AppendDates([]byte("["), days), ']'), &dates),
				json.Unmarshal(v.AppendHistoryColumns([]byte("x"), card, days, asked)[1:], &got,
					json.MatchCaseInsensitiveNames(true), json.RejectUnknownMembers(true)))
			if err != nil {
				t.Fatal(err)
			}
			if len(dates) != days || dates[days-1] != w.Date().String() || !slices.IsSorted(dates) {
				t.Fatalf("%d days are %v", days, dates)
			}

			if diff := cmp.Diff(want.Data, got.points(t, dates)); diff != "" || got.ID != c.ID {
				t.Fatalf("seed %d, card %q, %d days, variant %q (-want +got):\n%s", seed, got.ID, days, asked, diff)
			}
			for _, lane := range got.Lanes {
				if !slices.ContainsFunc(lane.Cents, func(cents *int64) bool { return cents != nil }) {
					t.Fatalf("%s has no price", lane.Variant)
				}
			}
		})
	}
}

// TestStats compares statistics with a sum over the points, also where the plan's range cuts the
// window short.
func TestStats(t *testing.T) {
	for seed := range uint64(3) {
		w := fixture.Random(seed, fixture.Size{Sets: 2, Cards: 30, Days: 120})
		v := view(t, w)
		rapid.Check(t, func(t *rapid.T) {
			card := rapid.IntRange(0, len(w.Cards)-1).Draw(t, "card")
			c := w.PriceDesc()[card]
			window := rapid.IntRange(0, 2).Draw(t, "window")
			limit := rapid.OneOf(rapid.Just(365), rapid.SampledFrom([]int{1, 7, 8, 30, 89, 90}),
				rapid.IntRange(1, 120)).Draw(t, "most days")
			asked := drawVariant(t, &c)
			days := min(snapshot.StatWindows[window], limit)

			from := w.Date() - snapshot.Day(days) + 1
			variant := "null"
			var entries []string
			for _, l := range fixture.DisplayLanes(c.Lanes) {
				points := slices.DeleteFunc(slices.Clone(l.Points), func(p snapshot.Point) bool { return p.Day < from })
				if !same(l.Variant, asked) {
					continue
				}

				if asked != "" {
					variant = fmt.Sprintf("%q", l.Variant)
				}

				if len(points) == 0 {
					continue
				}

				lo := points[0].Cents
				hi := points[0].Cents
				sum := int64(0)
				for _, p := range points {
					lo = min(lo, p.Cents)
					hi = max(hi, p.Cents)
					sum += p.Cents
				}

				first := points[0]
				last := points[len(points)-1]
				percent := "null"
				if first.Cents > 0 {
					percent = trimmed(float64(last.Cents-first.Cents) * 100 / float64(first.Cents))
				}

				n := int64(len(points))
				entries = append(entries,
					fmt.Sprintf(`{"variant":%q,"min_price_cents":%d,"max_price_cents":%d,"average_price_cents":%d,`+
						`"first":{"date":"%s","price_cents":%d},"last":{"date":"%s","price_cents":%d},`+
						`"change_cents":%d,"change_percent":%s,"data_points":%d}`,
						l.Variant, lo, hi, (2*sum+n)/(2*n),
						first.Day, first.Cents, last.Day, last.Cents, last.Cents-first.Cents, percent, n))
			}

			if variant == "null" && asked != "" {
				variant = fmt.Sprintf("%q", asked)
			}

			want := fmt.Sprintf(`{"currency":"USD","id":%q,"variant":%s,"window":"w",`+
				`"window_start":"%sT00:00:00Z","window_end":"2026-03-14T20:05:30Z","data":{"variants":[%s]}}`,
				c.ID, variant, from, strings.Join(entries, ","))
			got := string(v.AppendStats(nil,
				engine.StatsQuery{Card: card, Variant: asked, Window: window, Name: "w", MaxDays: limit}))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, card %d, window %d of at most %d days, variant %q (-want +got):\n%s", seed, card,
					window, limit, asked, diff)
			}
		})
	}
}

// trimmed formats a percentage of small numbers, for which floating point is exact enough.
func trimmed(v float64) string {
	if v < 0 {
		v -= 1e-9
	} else {
		v += 1e-9
	}

	s := strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
	if s == "-0" {
		return "0"
	}

	return s
}
