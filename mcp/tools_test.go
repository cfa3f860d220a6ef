package mcp_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ninepocket/internal/fixture"
	"ninepocket/internal/testsweep"
	"ninepocket/snapshot"
)

var update = flag.Bool("update", false, "write what is answered into testdata")

// shop is a small catalog that reads like a real one.
func shop() *fixture.World {
	at := time.Date(2026, 3, 14, 20, 0, 0, 0, time.UTC).UnixMilli()
	date := snapshot.DayOf(at)
	w := &fixture.World{
		At:    at,
		Games: []fixture.Game{{Slug: "pokemon", Name: "Pokémon"}, {Slug: "one-piece", Name: "One Piece"}},
		Feeds: []fixture.Feed{{Namespace: "shop", Attribution: "The Shop", Partner: "shop"}},
		Sets: []fixture.Set{
			{
				ID: "set_base", Slug: "base-set", Name: "Base Set", Series: "Original", Code: "BS",
				Release: snapshot.Day(10600),
			},
			{
				ID: "set_151", Slug: "151", Name: "151", Series: "Scarlet & Violet", Code: "MEW",
				Release: snapshot.Day(19622),
			},
			{
				ID: "set_op05", Slug: "awakening", Name: "Awakening of the New Era", Code: "OP05", Game: 1,
				Release: snapshot.Day(19700),
			},
		},
	}

	lane := func(variant string, condition snapshot.Condition, cents ...int64) fixture.Lane {
		l := fixture.Lane{
			Variant: variant, Condition: condition, Licensed: true, Cents: cents[len(cents)-1], CollectedAt: at - 1000,
			SourceAsOf: at - 3_600_000, Seen: date,
		}
		for i, c := range cents {
			l.Points = append(l.Points, snapshot.Point{Day: date - snapshot.Day(10*(len(cents)-1-i)), Cents: c})
		}
		return l
	}

	card := func(id, set string, game int, name, number, rarity string, lanes ...fixture.Lane) {
		w.Cards = append(w.Cards, fixture.Card{
			ID: "card_" + id, Slug: strings.ReplaceAll(id, "_", "-"), Name: name, Number: number, Rarity: rarity,
			Set: set, Game: game,
			Printing: "standard", Image: id + ".png", UpdatedAt: at, Lanes: lanes,
		})
	}

	card("charizard_base", "set_base", 0, "Charizard", "4/102", "Holo Rare",
		lane("holofoil", snapshot.NearMint, 40000, 41000, 42500, 43000), lane("holofoil", snapshot.Damaged, 9000, 9000),
		lane("1st_edition_holofoil", snapshot.NearMint, 900000, 850000))

	card("pikachu_base", "set_base", 0, "Pikachu", "58/102", "Common", lane("normal", snapshot.NearMint, 500, 500, 450),
		lane("normal", snapshot.LightlyPlayed, 300))
	card("charizard_ex_6", "set_151", 0, "Charizard ex", "006/165", "Double Rare",
		lane("holofoil", snapshot.Ungraded, 800, 760, 702))

	card("charizard_ex_183", "set_151", 0, "Charizard ex", "183/165", "Ultra Rare",
		lane("holofoil", snapshot.Ungraded, 4000, 4076))
	card("charizard_ex_199", "set_151", 0, "Charizard ex", "199/165", "Special Illustration Rare",
		lane("holofoil", snapshot.Ungraded, 20000, 24950))
	card("pikachu_151", "set_151", 0, "Pikachu", "025/165", "Common", lane("normal", snapshot.Ungraded, 20),
		lane("reverse_holofoil", snapshot.Ungraded, 60))
	card("mew_151", "set_151", 0, "Mew ex", "151/165", "")
	card("luffy", "set_op05", 1, "Monkey.D.Luffy", "OP05-119", "SEC", lane("foil", snapshot.Ungraded, 900, 974))
	card("luffy_p1", "set_op05", 1, "Monkey.D.Luffy (Alternate Art)", "OP05-119", "SEC",
		lane("foil", snapshot.Ungraded, 12000, 11000))
	return w
}

func shopDesk(tb testing.TB) *desk {
	tb.Helper()
	return newDesk(tb, newView(tb, shop().Catalog()))
}

// TestToolsAnswer sends the calls of testdata/tools.txt and compares text and structuredContent.
// With -update it writes the results.
func TestToolsAnswer(t *testing.T) {
	const file = "testdata/tools.txt"
	script, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	d := shopDesk(t)
	var out bytes.Buffer
	for line := range strings.Lines(string(script)) {
		switch {
		case strings.HasPrefix(line, "#"):
			out.WriteString("\n" + line)
		case strings.HasPrefix(line, "> "):
			tool, arguments, _ := strings.Cut(strings.TrimSpace(line[2:]), " ")
			r := d.callRaw(t, tool, arguments)
			out.WriteString("\n" + line)
			for said := range strings.Lines(strings.TrimRight(r.text(), "\n") + "\n") {
				out.WriteString("  " + said)
			}

			if r.IsError {
				out.WriteString("! an error\n")
			} else {
				out.WriteString("= " + string(r.StructuredContent) + "\n")
			}
		}
	}

	got := bytes.TrimLeft(out.Bytes(), "\n")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}

	if !bytes.Equal(got, script) {
		want := strings.Split(string(script), "\n")
		have := strings.Split(string(got), "\n")
		for i := range want {
			if i >= len(have) || want[i] != have[i] {
				t.Fatalf("%s:%d: want\n%s\ngot\n%s", file, i+1, want[i], have[min(i, len(have)-1)])
			}
		}
		t.Fatalf("%s: more is answered: %s", file, strings.Join(have[len(want):], "\n"))
	}
}

// TestDefinitions compares tools/list with testdata/tools.json, which is formatted for people, and
// checks its bounds.
func TestDefinitions(t *testing.T) {
	const file = "testdata/tools.json"
	text, err := json.MarshalIndent(definitions(), "", " ")
	if err != nil {
		t.Fatal(err)
	}

	text = append(text, '\n')
	if *update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(text, want) {
		t.Errorf("tools/list is not %s (%v): run go test ./mcp -run Definitions -update", file, err)
	}

	inputs := 0
	for _, d := range definitions() {
		var shown bytes.Buffer
		if err := json.Compact(&shown, d.InputSchema); err != nil {
			t.Fatal(err)
		}

		inputs += shown.Len() + len(d.Description)
		if len(d.Description) > 2000 {
			t.Errorf("%s is described in %d bytes", d.Name, len(d.Description))
		}

		want := map[string]any{
			"title": d.Title, "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true,
			"openWorldHint": false,
		}
		for name, v := range want {
			if d.Annotations[name] != v {
				t.Errorf("%s: %s is %v", d.Name, name, d.Annotations[name])
			}
		}

		for _, never := range []string{`"$ref"`, `"oneOf"`, `"allOf"`, `"type":[`} {
			// Only the set and the number of a line accept two types.
			input := bytes.ReplaceAll(d.InputSchema, []byte(`"type":["string","integer"]`), nil)
			if bytes.Contains(input, []byte(never)) || bytes.Contains(d.OutputSchema, []byte(never)) {
				t.Errorf("%s uses %s", d.Name, never)
			}
		}
	}

	if inputs > 8000 {
		t.Errorf("the inputs of all tools take %d bytes", inputs)
	}
}

// TestRandomCatalogs calls every tool with random catalogs, in both formats; call checks each
// result's schema, size and text. Text and structured content must agree.
func TestRandomCatalogs(t *testing.T) {
	for seed := range uint64(40 / testsweep.Stride(8)) {
		d, w := randomDesk(t, seed, fixture.Small)
		for _, format := range []string{"concise", "detailed"} {
			refs := func(i int) string { return w.Cards[i%len(w.Cards)].ID }
			calls := []struct {
				tool      string
				arguments args
			}{
				{"catalog_search_cards", args{"query": "charizard", "limit": 50}},
				{"catalog_search_cards", args{"query": "luffy", "limit": 3, "sort": "newest"}},
				{"catalog_search_cards", args{"number": "4", "min_price_cents": 0}},
				{"catalog_search_cards", args{"set": "base set", "rarity": "double rare"}},
				{"catalog_browse_sets", args{}},
				{"catalog_browse_sets", args{"game": "pokemon", "limit": 1}},
				{"catalog_browse_sets", args{"set": w.Sets[0].Slug}},
				{"catalog_get_market_movers", args{"direction": "up", "min_price_cents": 0, "limit": 50}},
				{"catalog_get_market_movers", args{"direction": "down", "game": "one-piece"}},
			}

			lines := []args{}
			for i := range w.Cards {
				calls = append(calls, struct {
					tool      string
					arguments args
				}{"catalog_get_card", args{"id": w.Cards[i].Slug}})
				calls = append(calls, struct {
					tool      string
					arguments args
				}{"catalog_get_price_history", args{"id": refs(i), "days": []int{1, 7, 30, 90, 365}[i%5]}})
				lines = append(lines, args{"id": refs(i), "quantity": 1 + i},
					args{"name": w.Cards[i].Name, "number": "4", "condition": "NM"})
			}

			calls = append(calls, struct {
				tool      string
				arguments args
			}{"catalog_value_cards", args{"cards": lines[:50]}})
			for _, c := range calls {
				c.arguments["response_format"] = format
				r := d.ok(t, c.tool, c.arguments)
				eachSuffices(t, c.tool, &r)
			}
		}
	}
}

// eachSuffices checks that the text has every id, price and cursor of the structured content.
func eachSuffices(tb testing.TB, tool string, r *result) {
	tb.Helper()
	var v any
	r.decode(tb, &v)
	var walk func(key string, v any)
	walk = func(key string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, member := range v {
				if k != "set" { // a set's name is in the text; its id is one call away
					walk(k, member)
				}
			}
		case []any:
			for _, member := range v {
				walk(key, member)
			}
		case string:
			if (key == "id" || key == "next_cursor" || key == "name") && !strings.Contains(r.text(), v) {
				tb.Errorf("%s: the text lacks %s %q:\n%s", tool, key, v, r.text())
			}
		case float64:
			shown := []string{"market_price_cents", "price_cents", "line_total_cents", "unit_price_cents"}
			if !slices.Contains(shown, key) {
				return
			}
			if !strings.Contains(r.text(), dollars(int64(v))) {
				tb.Errorf("%s: the text lacks %s %s:\n%s", tool, key, dollars(int64(v)), r.text())
			}
		}
	}

	walk("", v)
}

func dollars(cents int64) string {
	digits := []byte{byte('0' + cents%100/10), byte('0' + cents%10)}
	whole, _ := json.Marshal(cents / 100)
	return "$" + string(whole) + "." + string(digits)
}
