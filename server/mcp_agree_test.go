package server

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ninepocket/cardvocab"
	"ninepocket/mcp"
)

// tool calls a tool with the bench key and returns its structured content.
func (w *world) tool(tb testing.TB, name string, arguments map[string]any) map[string]any {
	tb.Helper()
	raw, err := json.Marshal(arguments)
	if err != nil {
		tb.Fatal(err)
	}

	_, body := w.rpc(tb, "bench", toolCall(name, string(raw)))
	var r struct {
		Result struct {
			StructuredContent map[string]any
			Content           []struct{ Text string }
			IsError           bool
		}
	}

	if err := json.Unmarshal(body, &r); err != nil || r.Result.IsError || r.Result.StructuredContent == nil {
		tb.Fatalf("%s(%s): %v %.400s", name, raw, err, body)
	}
	return r.Result.StructuredContent
}

func (w *world) rest(tb testing.TB, path string, query url.Values) map[string]any {
	tb.Helper()
	if len(query) > 0 {
		path += "?" + query.Encode()
	}

	r := w.get(tb, path)
	var body map[string]any
	r.decode(tb, &body)
	if r.status != 200 {
		tb.Fatalf("GET %s answered %d: %.300s", path, r.status, r.body)
	}
	return body
}

// same wants equal JSON.
func same(tb testing.TB, what string, got, want any) {
	tb.Helper()
	if !reflect.DeepEqual(got, want) {
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		tb.Errorf("%s: MCP %.500s\nREST %.500s", what, a, b)
	}
}

// pick returns the members of an object.
func pick(v any, names ...string) map[string]any {
	object, _ := v.(map[string]any)
	out := map[string]any{}
	for _, n := range names {
		out[n] = object[n]
	}
	return out
}

// withHead returns an object of an answer of MCP with what the answer says of all its prices, as
// REST has it. REST has no variant next to a display price; without has its other missing fields.
func withHead(answer map[string]any, object any, without ...string) map[string]any {
	out := map[string]any{"currency": answer["currency"], "price_updated_at": answer["price_updated_at"]}
	members, _ := object.(map[string]any)
	for name, value := range members {
		if !slices.Contains(without, name) {
			out[name] = value
		}
	}
	return out
}

// each applies withHead to a list.
func each(answer map[string]any, list any, without ...string) []any {
	objects, _ := list.([]any)
	all := make([]any, 0, len(objects))
	for _, object := range objects {
		all = append(all, withHead(answer, object, without...))
	}
	return all
}

var identity = []string{"id", "name", "number", "game", "game_name", "set", "url"}

// TestMCPAgreesWithREST asks both surfaces the same and wants the same order, prices and
// statistics.
func TestMCPAgreesWithREST(t *testing.T) {
	w := mcpWorld()
	c := today().view.Catalog
	r := rand.New(rand.NewPCG(4, 4))
	for range 60 {
		w.agreeOnSearch(t, r)
	}

	for range 40 {
		w.agreeOnCard(t, c.Cards.ID.At(r.IntN(c.Cards.ID.Len())))
	}
	for range 20 {
		w.agreeOnSet(t, c.Sets.ID.At(r.IntN(c.Sets.ID.Len())))
	}

	for range 20 {
		words := strings.Fields(c.Sets.Name.At(r.IntN(c.Sets.ID.Len())))
		w.agreeOnSets(t, words[r.IntN(len(words))])
	}

	for _, direction := range []string{"up", "down"} {
		for _, game := range []string{"pokemon", "one-piece"} {
			want := w.rest(t, "/v1/market/movers", url.Values{
				"direction": {direction}, "game": {game},
				"limit": {"30"},
			})
			got := w.tool(t, "catalog_get_market_movers", map[string]any{
				"direction": direction, "game": game,
				"limit": 30,
			})
			same(t, "movers "+direction, each(got, got["movers"], "variant"), want["data"])
		}
	}
}

// agreeOnSets asks both for the sets of a word.
func (w *world) agreeOnSets(t *testing.T, word string) {
	t.Helper()
	ids := func(list any) (all []any) {
		sets, _ := list.([]any)
		for _, set := range sets {
			all = append(all, pick(set, "id", "name", "release_date", "card_count"))
		}
		return all
	}

	got := w.tool(t, "catalog_browse_sets", map[string]any{"query": word, "limit": 50})
	want := w.rest(t, "/v1/sets", url.Values{"q": {word}, "limit": {"50"}})
	same(t, "sets of "+word, ids(got["sets"]), ids(want["data"]))
	if len(ids(got["sets"])) == 0 && cardvocab.Fold(word) != "" {
		t.Errorf("no set has the word %q of its name", word)
	}
}

func (w *world) agreeOnSearch(t *testing.T, r *rand.Rand) {
	t.Helper()
	c := today().view.Catalog
	card := r.IntN(c.Cards.ID.Len())
	query := url.Values{}
	arguments := map[string]any{"response_format": "detailed"}
	put := func(rest, mcp string, value any) {
		query.Set(rest, fmt.Sprint(value))
		arguments[mcp] = value
	}

	words := strings.Fields(c.Cards.Name.At(card))
	put("q", "query", words[r.IntN(len(words))])
	if r.IntN(3) == 0 {
		put("game", "game", c.Games.Slug.At(int(c.Cards.Game[card])))
	}
	if r.IntN(4) == 0 && c.Cards.Set[card] >= 0 {
		put("set", "set", c.Sets.Name.At(int(c.Cards.Set[card])))
	}
	if r.IntN(4) == 0 && c.Cards.Rarity.At(card) != "" {
		put("rarity", "rarity", c.Cards.Rarity.At(card))
	}
	if r.IntN(3) == 0 {
		put("min_price_cents", "min_price_cents", r.IntN(1000))
	}

	put("sort", "sort", []string{"relevance", "price_desc", "price_asc", "newest"}[r.IntN(4)])
	put("limit", "limit", 1+r.IntN(50))
	for pages := 0; ; pages++ {
		want := w.rest(t, "/v1/cards", query)
		got := w.tool(t, "catalog_search_cards", arguments)
		mine, _ := got["cards"].([]any)
		theirs, _ := want["data"].([]any)
		if len(mine) != len(theirs) {
			t.Fatalf("%v: MCP found %d, REST %d", arguments, len(mine), len(theirs))
		}

		for i := range mine {
			same(t, "identity", pick(mine[i], append(identity, "rarity", "image_url")...),
				pick(theirs[i], append(identity, "rarity", "image_url")...))
			price := []string{"currency", "market_price_cents", "price_updated_at"}
			if pick(mine[i], price...)["market_price_cents"] == nil {
				price = price[:2] // REST dates what has no price, too
			}
			same(t, "price", pick(withHead(got, mine[i]), price...), pick(pick(theirs[i], "price")["price"], price...))
		}

		if (got["next_cursor"] == nil) != (want["next_cursor"] == nil) {
			t.Fatalf("%v: only one of the two goes on", arguments)
		}
		if got["next_cursor"] == nil || pages == 2 {
			return
		}
		if r := w.get(t, "/v1/cards?"+query.Encode()+"&cursor="+fmt.Sprint(got["next_cursor"])); r.status != 400 {
			t.Errorf("REST took a cursor of MCP: %d", r.status)
		}

		query.Set("cursor", fmt.Sprint(want["next_cursor"]))
		arguments["cursor"] = got["next_cursor"]
	}
}

func (w *world) agreeOnCard(t *testing.T, id string) {
	t.Helper()
	want := w.rest(t, "/v1/cards/"+id, nil)
	// A tool's result is closed, and an agent has no use for the other names of a card.
	delete(want, "identifiers")
	delete(want, "product_id")
	detailed := w.tool(t, "catalog_get_card", map[string]any{"id": id, "response_format": "detailed"})
	card, _ := detailed["card"].(map[string]any)
	card["prices"] = each(detailed, card["prices"])
	same(t, "card "+id, card, want)
	for window, days := range map[string]int{"7d": 7, "30d": 30, "90d": 90} {
		stats := w.rest(t, "/v1/cards/"+id+"/price-stats", url.Values{"window": {window}})
		history := w.tool(t, "catalog_get_price_history", map[string]any{"id": id, "days": days})
		data, _ := stats["data"].(map[string]any)
		variants, _ := data["variants"].([]any)
		series, _ := history["series"].([]any)
		if len(variants) != len(series) {
			t.Fatalf("%s, %s: %d variants of statistics, %d series", id, window, len(variants), len(series))
		}

		for i := range series {
			summary, _ := pick(series[i], "summary")["summary"].(map[string]any)
			shared := []string{"average_price_cents", "first", "last", "change_cents", "change_percent", "data_points"}
			same(t, id+" "+window, pick(summary, shared...), pick(variants[i], shared...))
			same(t, id+" "+window+" min", pick(summary["min"], "price_cents")["price_cents"],
				pick(variants[i], "min_price_cents")["min_price_cents"])
			same(t, id+" "+window+" max", pick(summary["max"], "price_cents")["price_cents"],
				pick(variants[i], "max_price_cents")["max_price_cents"])
			same(t, id+" variant", pick(series[i], "variant"), pick(variants[i], "variant"))
		}
	}

	batch := w.ask(t, request{
		method: "POST", target: "/v1/prices/batch", body: `{"ids":["` + id + `"]}`,
		header: []string{"X-API-Key: " + w.keys["bench"], "Content-Type: application/json"},
	})

	var prices struct{ Data []map[string]any }
	batch.decode(t, &prices)
	value := w.tool(t, "catalog_value_cards", map[string]any{"cards": []any{map[string]any{"id": id}}})
	line, _ := value["lines"].([]any)[0].(map[string]any)
	same(t, id+" value", line["unit_price_cents"], prices.Data[0]["market_price_cents"])
	if line["unit_price_cents"] != nil {
		same(t, id+" value", withHead(value, line)["price_updated_at"], prices.Data[0]["price_updated_at"])
	}
}

func (w *world) agreeOnSet(t *testing.T, id string) {
	t.Helper()
	want := w.rest(t, "/v1/sets/"+id, nil)
	got := w.tool(t, "catalog_browse_sets", map[string]any{"set": id})
	set := []string{"id", "name", "series", "release_date", "card_count", "game", "game_name", "url"}
	same(t, "set "+id, pick(got["sets"].([]any)[0], set...), pick(want, set...))
	mine, _ := got["top_cards"].([]any)
	theirs, _ := want["top_cards"].([]any)
	if len(mine) != len(theirs) {
		t.Fatalf("set %s: %d top cards, REST has %d", id, len(mine), len(theirs))
	}

	for i := range mine {
		top := []string{"id", "name", "number", "url", "currency", "market_price_cents"}
		same(t, "top card", pick(withHead(got, mine[i]), top...), pick(theirs[i], top...))
	}
}

// FuzzMCP posts any body with any headers that matter: never a 5xx, never invalid JSON.
func FuzzMCP(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), "application/json", "*/*", "2025-11-25",
		"https://cards.test", "cards.test")
	f.Add([]byte(toolCall("catalog_search_cards", `{"query":"charizard"}`)), "application/json; charset=utf-8",
		"application/json;q=0.1, text/*", "", "", "localhost")
	f.Add([]byte(`[`), "text/plain", "", "x", "null", "[::1]:80")
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+modernMeta+`}}`), "application/json",
		"*/*", mcp.Modern, "", "localhost")
	w := mcpWorld()
	f.Fuzz(func(t *testing.T, body []byte, media, accept, version, origin, host string) {
		for _, h := range []string{media, accept, version, origin, host} {
			if strings.ContainsFunc(h, func(r rune) bool { return r < 0x20 || r > 0x7e }) {
				return
			}
		}

		raw := fmt.Appendf(nil,
			"POST /mcp HTTP/1.1\r\nHost: %s\r\nX-API-Key: %s\r\nContent-Type: %s\r\nAccept: "+
				"%s\r\nMCP-Protocol-Version: %s\r\nContent-Length: %d\r\n",
			host, w.keys["bench"], media, accept, version, len(body))
		if origin != "" {
			raw = fmt.Appendf(raw, "Origin: %s\r\n", origin)
		}

		resp, answer := w.exchangeRaw(t, append(append(raw, "\r\n"...), body...))
		if resp.StatusCode >= 500 {
			t.Fatalf("%d %s", resp.StatusCode, answer)
		}
		if resp.StatusCode != http.StatusAccepted && !json.Valid(answer) {
			t.Fatalf("%d %q", resp.StatusCode, answer)
		}
	})
}
