package mcp_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"ninepocket/internal/fixture"
	"ninepocket/internal/testsweep"
	"ninepocket/snapshot"
)

// Budgets in bytes of the whole response (docs/MCP.md). call compares every result of every test
// with the second budget.
const (
	conciseBudget = 8_000
	anyBudget     = 60_000
)

// TestSizes compares the default results of every tool with the real catalogs, and the largest
// ones, with the budgets.
func TestSizes(t *testing.T) {
	testsweep.OnlyFull(t)
	d := realDesk(t)
	c := d.view.Catalog
	small := func(tool string, arguments args) {
		t.Helper()
		if r := d.ok(t, tool, arguments); r.size > conciseBudget {
			t.Errorf("%s(%v) answered %d bytes", tool, arguments, r.size)
		}
	}

	for _, q := range []string{
		"charizard", "pikachu", "energy", "monkey d luffy", "special delivery",
		"professor's research", "don!!",
	} {
		small("catalog_search_cards", args{"query": q})
	}

	for set := 0; set < c.Sets.ID.Len(); set++ {
		small("catalog_browse_sets", args{"set": c.Sets.ID.At(set)})
	}

	for cursor := ""; ; {
		arguments := args{}
		if cursor != "" {
			arguments["cursor"] = cursor
		}
		small("catalog_browse_sets", arguments)
		r := d.ok(t, "catalog_browse_sets", arguments)
		var page struct {
			Next *string `json:"next_cursor"`
		}
		if r.decode(t, &page); page.Next == nil {
			break
		}
		cursor = *page.Next
	}

	for card := 0; card < c.Cards.ID.Len(); card += 97 {
		small("catalog_get_card", args{"id": c.Cards.ID.At(card)})
		small("catalog_get_price_history", args{"id": c.Cards.ID.At(card)})
	}

	small("catalog_get_market_movers", args{"direction": "up", "min_price_cents": 0})
	small("catalog_get_market_movers", args{"direction": "down"})
	small("catalog_get_market_movers", args{"direction": "down", "period": "30d"})
	small("catalog_search_cards", args{"game": "pokemon"})
	for top := 1; top <= 5; top++ {
		small("catalog_browse_sets", args{"top": top})
		small("catalog_browse_sets", args{"top": top, "game": "one-piece", "released_from": "2024-01-01"})
	}

	var ids, names []args
	for card := range 50 {
		ids = append(ids, args{"id": c.Cards.ID.At(card), "quantity": 9999})
		names = append(names, args{"name": "pikachu"})
	}

	for _, limit := range []struct {
		tool      string
		arguments args
	}{
		{"catalog_search_cards", args{"query": "special delivery charizard", "limit": 50}},
		{"catalog_search_cards", args{"set": "World Championship Decks", "limit": 50}},
		{"catalog_browse_sets", args{"limit": 50}},
		{"catalog_browse_sets", args{"limit": 50, "top": 1}},
		{"catalog_browse_sets", args{"limit": 50, "top": 5}},
		{"catalog_get_market_movers", args{"direction": "up", "limit": 50, "min_price_cents": 0}},
		{"catalog_value_cards", args{"cards": ids}},
		{"catalog_value_cards", args{"cards": names}},
	} {
		limit.arguments["response_format"] = "detailed"
		d.ok(t, limit.tool, limit.arguments) // call checks the size
	}
}

// TestAnswersDoNotGrow compares results with their former sizes. Additions to a tool must not cost
// an agent more than 15 % of its context, and results within the budget must stay there.
func TestAnswersDoNotGrow(t *testing.T) {
	text, err := os.ReadFile("testdata/sizes.txt")
	if err != nil {
		t.Fatal(err)
	}

	d := shopDesk(t)
	for line := range strings.Lines(string(text)) {
		var was int
		var tool string
		if n, _ := fmt.Sscan(line, &was, &tool); n < 2 {
			continue // a comment
		}
		_, arguments, _ := strings.Cut(line, tool+" ")
		r := d.callRaw(t, tool, strings.TrimSpace(arguments))
		if r.size > was*115/100 || r.size > max(was, conciseBudget) {
			t.Errorf("%s: %d bytes, and %d before", strings.TrimSpace(line), r.size, was)
		}
	}
}

// TestValueShortensCandidates checks the size of a list that has only ambiguous lines with long
// names.
func TestValueShortensCandidates(t *testing.T) {
	w := fixture.Random(1, fixture.Size{Sets: 2, Cards: 6})
	for i := range w.Cards {
		w.Cards[i].Name = "Pikachu" + strings.Repeat(" with a long name", 8)
		w.Cards[i].Slug = fmt.Sprintf("%s-%d", strings.Repeat("long-", 20), i)
	}

	d := newDesk(t, newView(t, w.Catalog()))
	var lines []args
	for range 50 {
		lines = append(lines, args{"name": w.Cards[0].Name})
	}

	r := d.ok(t, "catalog_value_cards", args{"cards": lines, "response_format": "detailed"})
	if !strings.Contains(r.text(), "send the unresolved lines again in smaller calls") {
		t.Error(firstLines(r.text(), 3))
	}

	r = d.ok(t, "catalog_value_cards", args{"cards": lines[:5], "response_format": "detailed"})
	var v valuation
	if r.decode(t, &v); len(v.Lines[0].Candidates) != 3 {
		t.Errorf("%d candidates", len(v.Lines[0].Candidates))
	}
}

// TestHistoryOfManyVariants checks the number of points, and which series are dropped.
func TestHistoryOfManyVariants(t *testing.T) {
	w := fixture.Random(2, fixture.Size{Sets: 1, Cards: 1})
	card := &w.Cards[0]
	card.Lanes = nil
	for i := range 40 {
		l := fixture.Lane{
			Variant: fmt.Sprintf("variant_%02d", i), Licensed: true, Cents: int64(100 + i),
			CollectedAt: w.At, SourceAsOf: snapshot.NoTime, Seen: w.Date(),
		}
		for day := w.Date() - 60; day <= w.Date(); day++ {
			l.Points = append(l.Points, snapshot.Point{Day: day, Cents: int64(100 + i)})
		}
		card.Lanes = append(card.Lanes, l)
	}

	d := newDesk(t, newView(t, w.Catalog()))
	for format, points := range map[string]int{"concise": 30, "detailed": 60} {
		r := d.ok(t, "catalog_get_price_history", args{"id": card.ID, "response_format": format})
		var h struct {
			Downsampled bool
			Series      []struct {
				Variant string
				Points  []any
				Summary struct {
					DataPoints int `json:"data_points"`
				}
			}
		}

		r.decode(t, &h)
		n := 0
		for _, s := range h.Series {
			n += len(s.Points)
			if s.Summary.DataPoints != 61 {
				t.Errorf("%s: a summary of %d points", format, s.Summary.DataPoints)
			}
		}

		// Each series is one run.
		if n != points/2 || len(h.Series) != points/2 || !h.Downsampled ||
			h.Series[0].Variant != fmt.Sprintf("variant_%02d", 40-points/2) {
			t.Errorf("%s: %d points in %d series from %s on", format, n, len(h.Series), h.Series[0].Variant)
		}

		if !strings.Contains(r.text(), "left out to stay within the points, cheapest first: variant_00, variant_01") {
			t.Error(r.text())
		}
	}
}
