package mcp_test

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"ninepocket/mcp"
)

// benchDesk has the real catalogs if they exist, else a random world of some size.
func benchDesk(b *testing.B) *desk {
	b.Helper()
	view, err := realView()
	if err != nil {
		d, _ := randomDesk(b, 1, benchSize)
		return d
	}
	return newDesk(b, view)
}

// measure runs one call from the bytes of the request to the bytes of the response.
func measure(b *testing.B, d *desk, tool string, arguments any) {
	b.Helper()
	raw, err := json.Marshal(arguments)
	if err != nil {
		b.Fatal(err)
	}

	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` +
		`{"name":"` + tool + `","arguments":` + string(raw) + `}}`)
	var out []byte
	by := mcp.Caller{View: d.view, Now: d.now, Limits: d.limits}
	run := func() {
		m, rpcErr := mcp.Read(body)
		if rpcErr != nil {
			b.Fatal(string(rpcErr.Append(nil)))
		}
		response, tool := d.Answer(out[:0], &m)
		if tool != mcp.NoTool {
			response = d.Call(response, &m, tool, by)
		}
		out = response
	}

	b.ReportAllocs()
	for b.Loop() {
		run()
	}

	b.ReportMetric(float64(len(out)), "bytes/answer")
}

func BenchmarkTools(b *testing.B) {
	d := benchDesk(b)
	c := d.view.Catalog
	id := c.Cards.ID.At(0)
	var ids, names, typos, worst, noise []args
	r := rand.New(rand.NewPCG(1, 2))
	for len(ids) < 50 {
		card := r.IntN(c.Cards.ID.Len())
		if c.Cards.Set[card] < 0 {
			continue
		}

		ids = append(ids, args{"id": c.Cards.ID.At(card)})
		names = append(names, args{"name": c.Cards.Name.At(card), "set": c.Sets.Name.At(int(c.Cards.Set[card]))})
		words := ""
		for len(words) < 180 {
			words += misspell(r, misspell(r, c.Cards.Name.At(r.IntN(c.Cards.ID.Len())))) + " "
		}

		worst = append(worst, args{
			"name": words[:min(len(words), 190)], "number": "4/102", "set": "Bsae Set",
			"game": "pokemon",
		})

		known := c.Sets.Name.At(int(c.Cards.Set[card]))
		noise = append(noise, args{
			"name": words[90:min(len(words), 190)], "number": c.Cards.Number.At(card) + "x",
			"set": known, "game": "pokemon",
		})
		typos = append(typos, args{"name": misspell(r, misspell(r, c.Cards.Name.At(card)))})
	}

	// One character that folds to eighteen letters, and words that are similar to those of sets.
	var ligatures, long []args
	for i := range 50 {
		text := strings.Repeat("\uFDFA", 194) + strconv.Itoa(100_000+i)
		ligatures = append(ligatures, args{"name": text, "set": text})
		text = strings.Repeat("charizrd obsidan flmes evolvng skyes ", 5) + strconv.Itoa(i)
		long = append(long, args{"name": text, "set": text})
	}

	for _, bench := range []struct {
		name, tool string
		arguments  args
	}{
		{"search 10", "catalog_search_cards", args{"query": "charizard"}},
		{
			"search 50 detailed", "catalog_search_cards",
			args{"query": "charizard", "limit": 50, "response_format": "detailed"},
		},
		{"search by filters", "catalog_search_cards", args{"set": "Base Set", "sort": "price_desc"}},
		{"card", "catalog_get_card", args{"id": id}},
		{"history 90", "catalog_get_price_history", args{"id": id}},
		{
			"history 365 detailed", "catalog_get_price_history",
			args{"id": id, "days": 365, "response_format": "detailed"},
		},
		{"value 50 ids", "catalog_value_cards", args{"cards": ids}},
		{"value 50 names", "catalog_value_cards", args{"cards": names}},
		{"value 50 typos", "catalog_value_cards", args{"cards": typos}},
		{"value 50 worst", "catalog_value_cards", args{"cards": worst}},
		{"value 50 noise", "catalog_value_cards", args{"cards": noise}},
		{"value 50 ligatures", "catalog_value_cards", args{"cards": ligatures}},
		{"value 50 long", "catalog_value_cards", args{"cards": long}},
		{"sets", "catalog_browse_sets", args{}},
		{"set", "catalog_browse_sets", args{"set": "Base Set"}},
		{"movers", "catalog_get_market_movers", args{"direction": "up"}},
	} {
		b.Run(bench.name, func(b *testing.B) { measure(b, d, bench.tool, bench.arguments) })
	}
}
