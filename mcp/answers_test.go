package mcp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ninepocket/mcp"
)

// TestListAsText values a list given as one text, alone and together with cards, and more lines than the limit.
func TestListAsText(t *testing.T) {
	d := shopDesk(t)
	f := func(arguments args, priced, lines, leftOut int) {
		t.Helper()
		var v struct {
			Counts  map[string]int
			LeftOut int  `json:"left_out"`
			Partial bool `json:"total_is_partial"`
		}
		r := d.ok(t, "catalog_value_cards", arguments)
		r.decode(t, &v)
		if v.Counts["priced"] != priced || v.Counts["lines"] != lines || v.LeftOut != leftOut ||
			v.Partial != (priced < lines+leftOut) {
			t.Errorf("%v: %s", arguments, r.StructuredContent)
		}
	}

	f(args{"text": "2x Charizard ex 199/165\r\n\r\n  \nPikachu 58/102\n"}, 2, 2, 0)
	f(args{"text": "Charizard ex 199/165\tNM"}, 1, 1, 0)
	f(args{"text": "Pikachu 58/102", "cards": []any{"Charizard ex 183/165", args{"id": "luffy"}}}, 3, 3, 0)
	f(args{"text": strings.Repeat("Pikachu 58/102\n", 213)}, 50, 50, 163)
	f(args{"text": strings.Repeat("Pikachu 58/102\n", 50), "cards": []any{"Pikachu 58/102"}}, 50, 50, 1)

	d.limits.Cards = 2
	f(args{"text": "Pikachu 58/102\nPikachu 58/102\nPikachu 58/102"}, 2, 2, 1)
	for _, arguments := range []args{{}, {"text": ""}, {"text": nil, "cards": []any{}}} {
		r := d.call(t, "catalog_value_cards", arguments)
		if !r.IsError || !strings.Contains(r.text(), "give cards or text") {
			t.Errorf("%v: %s", arguments, r.text())
		}
	}
}

// TestBadLines checks that an unreadable line fails alone.
func TestBadLines(t *testing.T) {
	d := shopDesk(t)
	bad := map[string]any{
		"quantity must be between 1 and 9999 (got 0)":          args{"id": "luffy", "quantity": 0},
		"name must have 1 to 200 characters (got 300)":         args{"name": strings.Repeat("x", 300)},
		"line must have 1 to 400 characters (got 401)":         strings.Repeat("x", 401),
		`game must be one of pokemon, one-piece (got "chess")`: args{"name": "x", "game": "chess"},
		"it must be a string or an object (got a number)":      7,
		"it must be a string or an object (got null)":          nil,
		"colour is not an argument":                            args{"colour": "red"},
	}

	for want, line := range bad {
		var v valuation
		r := d.ok(t, "catalog_value_cards", args{"cards": []any{line, args{"id": "luffy"}}})
		r.decode(t, &v)
		if got := v.Lines[0]; got.Status != "unmatched" || !strings.HasPrefix(got.Message, "not read: "+want) ||
			got.Ask != nil || v.Lines[1].Status != "priced" || v.Counts["unmatched"] != 1 {
			t.Errorf("%v: %s", line, r.StructuredContent)
		}
	}
}

// TestLenientArguments checks the mistakes of weak models in arguments.
func TestLenientArguments(t *testing.T) {
	d := shopDesk(t)
	f := func(tool, sent, meant string) {
		t.Helper()
		got := d.callRaw(t, tool, sent)
		want := d.callRaw(t, tool, meant)
		if want.IsError || got.text() != want.text() {
			t.Errorf("%s: %s, want %s", sent, got.text(), want.text())
		}
	}

	f(searchTool, `{"query":"charizard","set":"","rarity":"","sort":"","cursor":"","limit":"5","released_after":""}`,
		`{"query":"charizard","limit":5}`)
	f(searchTool, `{"set":151,"number":199}`, `{"set":"151","number":"199"}`)
	f(searchTool, `{"query":151}`, `{"query":"151"}`)
	f(valueTool, `{"cards":[{"set":151,"number":199,"quantity":"3","name":"","variant":""}]}`,
		`{"cards":[{"set":"151","number":"199","quantity":3}]}`)
	f(valueTool, `{"cards":["Pikachu 58/102"]}`, `{"cards":[{"line":"Pikachu 58/102"}]}`)
	if r := d.callRaw(t, cardTool, `{"id":""}`); !r.IsError || !strings.Contains(r.text(), "id is required") {
		t.Error(r.text())
	}
}

// TestAskedVariant checks that a search shows the price of the finish or edition that it asks for, on
// every page and in every order. Other cards keep their display price.
func TestAskedVariant(t *testing.T) {
	d := shopDesk(t)
	f := func(arguments args, want ...string) {
		t.Helper()
		var facts []string
		for range 3 {
			r := d.ok(t, searchTool, arguments)
			var a answered
			r.decode(t, &a)
			for i := range a.Cards {
				facts = append(facts, a.Cards[i].fact("2026-03-14"))
			}
			if a.Next == nil {
				break
			}
			arguments["cursor"] = *a.Next
		}
		slices.Sort(facts)
		if !slices.Equal(facts, want) {
			t.Errorf("%v: %q, want %q", arguments, facts, want)
		}
	}

	f(args{"query": "charizard 4/102"}, "card_charizard_base $430.00 holofoil")
	f(args{"query": "charizard 1st edition 4/102"}, "card_charizard_base $8500.00 1st_edition_holofoil")
	f(args{"query": "charizard 1st edition 4/102", "sort": "newest"},
		"card_charizard_base $8500.00 1st_edition_holofoil")
	pikachus := []string{"card_pikachu_151 $0.60 reverse_holofoil", "card_pikachu_base $4.50 normal"}
	f(args{"query": "pikachu reverse holo"}, pikachus...)
	f(args{"query": "pikachu reverse holo", "limit": 1}, pikachus...)
}

// TestOldPricesSaySo checks that a result gives the age of its prices by the clock.
func TestOldPricesSaySo(t *testing.T) {
	d := shopDesk(t)
	for hours, want := range map[int]int{0: 0, 36: 0, 37: 1, 24 * 93: 93} {
		d.now = time.Date(2026, 3, 14, 19, 0, 0, 0, time.UTC).Add(time.Duration(hours) * time.Hour)
		for tool, arguments := range map[string]args{
			searchTool: {"query": "charizard"}, cardTool: {"id": "luffy"}, historyTool: {"id": "luffy"},
			valueTool: {"text": "luffy op05-119"}, setsTool: {"set": "151"}, moversTool: {"direction": "up"},
		} {
			r := d.ok(t, tool, arguments)
			var a answered
			r.decode(t, &a)
			if a.DaysOld != want || strings.Contains(r.text(), " old)") != (want > 0) {
				t.Errorf("%s after %d hours: %d days old\n%s", tool, hours, a.DaysOld, r.text())
			}
		}
	}
}

// TestEmptyAnswersSayWhy checks the notes of results without a card or set.
func TestEmptyAnswersSayWhy(t *testing.T) {
	d := shopDesk(t)
	f := func(tool string, arguments args, want ...string) {
		t.Helper()
		r := d.ok(t, tool, arguments)
		var a answered
		r.decode(t, &a)
		var got []string
		for _, remark := range a.Remarks {
			got = append(got, strings.TrimSpace(fmt.Sprint(remark.Kind, ": ", remark.Words, " ", remark.As, " ",
				strings.Join(remark.Meant, ", "))))
		}
		if len(a.Cards)+len(a.Movers)+len(a.Sets) > 0 || !slices.Equal(got, want) {
			t.Errorf("%s %v: %q, want %q", tool, arguments, got, want)
		}
	}

	f(searchTool, args{"query": "black lotus"}, "no_match: black lotus Pokémon and One Piece")
	f(searchTool, args{"query": "charizard", "set": "Awakened Era"}, "no_set: Awakened Era  Awakening of the New Era")
	f(searchTool, args{"query": "mew", "set": "Bass Set"}, "read_as: Bass Set Base Set", "excluded_by: query",
		"excluded_by: set")
	f(searchTool, args{"query": "charizard", "rarity": "SIR"}, "no_rarity: SIR  Special Illustration Rare")
	f(searchTool, args{"query": "charizard", "rarity": "chocolate"}, "no_rarity: chocolate")
	f(searchTool, args{"query": "charizard", "set": "151", "number": "300/165"}, "excluded_by: number",
		"number_range: 151 006/165 to 199/165 Charizard ex #006/165, Charizard ex #183/165, Charizard ex #199/165")
	f(searchTool, args{"query": "pikachu", "min_price_cents": 10000, "game": "pokemon"}, "excluded_by: query",
		"excluded_by: min_price_cents")
	f(searchTool, args{"query": "luffy", "released_before": "2000-01-01"}, "excluded_by: query",
		"excluded_by: released_before")
	f(setsTool, args{"query": "awakenings"}, "no_set: awakenings  Awakening of the New Era")
	f(setsTool, args{"series": "Orignal"}, "no_series: Orignal  Original")
	f(setsTool, args{"game": "one-piece", "released_to": "2000-01-01"}, "excluded_by: game", "excluded_by: released_to")
	f(moversTool, args{"direction": "up", "set": "nonsense"}, "no_set: nonsense")
	f(moversTool, args{"direction": "up", "min_price_cents": 9000000}, "excluded_by: min_price_cents")
	f(moversTool, args{"direction": "down", "set": "BS"}, "excluded_by: set", "excluded_by: min_price_cents")
	f(moversTool, args{"direction": "down", "period": "30d", "set": "BS", "min_price_cents": 0},
		"none_moved: below 2026-02-12")
}

// TestNotComparedGames checks that movers name the game, or the set, without an earlier price, also if
// others moved.
func TestNotComparedGames(t *testing.T) {
	w := shop()
	for i := range w.Cards {
		for k := range w.Cards[i].Lanes {
			if l := &w.Cards[i].Lanes[k]; w.Cards[i].Game == 1 {
				l.Points = l.Points[len(l.Points)-1:]
			}
		}
	}

	d := newDesk(t, newView(t, w.Catalog()))
	for _, k := range []struct {
		arguments args
		want      string
	}{
		{
			args{"direction": "up"},
			"One Piece has no price of 2026-03-07 or the week before, so that none of its cards is compared",
		},
		{args{"direction": "up", "period": "30d"}, "One Piece has no price of 2026-02-12"},
		{args{"direction": "up", "game": "one-piece"}, "One Piece has no price of 2026-03-07"},
		{args{"direction": "up", "set": "OP05"}, "Awakening of the New Era has no price of 2026-03-07"},
		{args{"direction": "up", "game": "pokemon"}, ""},
		{args{"direction": "up", "set": "151"}, ""},
	} {
		r := d.ok(t, moversTool, k.arguments)
		if strings.Contains(r.text(), "no price of") != (k.want != "") || !strings.Contains(r.text(), k.want) {
			t.Errorf("%v: %s", k.arguments, r.text())
		}
	}
}

// TestUnreleasedSet checks that a set before its release is called newest only with a note.
func TestUnreleasedSet(t *testing.T) {
	w := shop()
	w.Sets[2].Release = w.Date() + 1
	r := newDesk(t, newView(t, w.Catalog())).ok(t, setsTool, args{"limit": 2})
	if strings.Count(r.text(), "not out yet") != 1 || !strings.Contains(r.text(), "2026-03-15, not out yet") {
		t.Error(r.text())
	}
}

// TestKindsOfInterpretations checks that all kinds of notes of a search have a kind here.
func TestKindsOfInterpretations(t *testing.T) {
	for _, kind := range mcp.InterpretationKinds() {
		if kind == "" || mcp.TextOf(searchTool, []byte(`{"notes":[{"kind":"`+kind+`"}],"cards":[]}`)) ==
			mcp.TextOf(searchTool, []byte(`{"notes":[{"kind":"none"}],"cards":[]}`)) {
			t.Errorf("the kind %q has no text", kind)
		}
	}
}
