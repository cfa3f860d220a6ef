package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ninepocket/access/keys"
	"ninepocket/internal/testsweep"
	"ninepocket/loader"
)

// refs are the identifiers of cards as requests have them, each with its cards.
func refs(cards []*trueCard) map[string][]*trueCard {
	by := map[string][]*trueCard{}
	for _, k := range cards {
		for _, id := range k.identifiers {
			o, _ := id.(object)
			ref := fmt.Sprintf("%s:%s", o["namespace"], o["value"])
			by[ref] = append(by[ref], k)
		}
	}
	return by
}

// TestIdentifiersFindTheirCards asks for every identifier of the demo, in a search and in both
// batches, and for every card by the name that its product gives it.
func TestIdentifiersFindTheirCards(t *testing.T) {
	w := shared()
	tr := todaysTruth()
	by := refs(tr.cards)
	shared := 0
	asked := 0
	for ref, cards := range by {
		if len(cards) > 1 {
			shared++
		}

		var want []string
		for _, k := range cards {
			want = append(want, k.id)
		}
		slices.Sort(want)

		query := url.Values{"identifier": {ref}, "limit": {"50"}}
		if got := idsIn(t, w.get(t, "/v1/cards?"+query.Encode())); !slices.Equal(got, want) {
			t.Fatalf("%s finds %v, want %v", ref, got, want)
		}

		// Batches of a sample: each is charged, recorded and checked against the document.
		asked++
		if asked%testsweep.Stride(5) != 0 {
			continue
		}

		for _, path := range []string{"/v1/cards/batch", "/v1/prices/batch"} {
			body, _ := json.Marshal(object{"identifiers": []string{ref}})
			r := w.try(t, scenario{path: path, body: string(body), want: []match{at("data.0.ref", ref)}})
			if got := idsIn(t, r); !slices.Equal(got, want[:min(len(want), 10)]) {
				t.Fatalf("%s of %s gives %v, want %v", path, ref, got, want)
			}
		}
	}
	if len(by) < demoCards/2 || shared == 0 {
		t.Errorf("%d identifiers, %d of them shared", len(by), shared)
	}
}

// idsIn are the ids of an answer's data, sorted.
func idsIn(tb testing.TB, r reply) []string {
	tb.Helper()
	var page struct{ Data []struct{ ID string } }
	r.decode(tb, &page)
	var all []string
	for _, one := range page.Data {
		all = append(all, one.ID)
	}
	slices.Sort(all)
	return all
}

// TestProductsNameTheirCards walks from products to cards and back.
func TestProductsNameTheirCards(t *testing.T) {
	w := shared()
	_, cards, _ := todaysTruth().trueProducts()
	n := 0
	for _, product := range w.walkProducts(t, "preview", url.Values{"limit": {"50"}, "kind": {"card"}}, nil) {
		id, _ := product["id"].(string)
		listed, _ := product["identifiers"].([]any)

		// Ours is the last of its names.
		last, _ := listed[len(listed)-1].(map[string]any)
		want := object{"namespace": "ninepocket", "value": cards[id].id}
		if !sameObject(last, want) {
			t.Fatalf("%s is called %v, want %v", id, last, want)
		}
		n++
		if n%20 == 0 {
			path := "/v1/cards?identifier=ninepocket:" + cards[id].id
			w.try(t, scenario{path: path, want: []match{at("data.0.id", cards[id].id)}})
			w.try(t, scenario{path: "/v1/cards/" + cards[id].id, want: []match{at("product_id", id)}})
		}
	}
	if n < demoCards/2 {
		t.Errorf("only %d products", n)
	}
}

func sameObject(a, b map[string]any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// TestBatchesOfBoth mixes ids and identifiers.
func TestBatchesOfBoth(t *testing.T) {
	w := shared()
	by := refs(todaysTruth().cards)
	k := firstCard(func(k *trueCard) bool {
		return len(k.partner) == 1 && len(by["partner:"+k.partner[0]]) == 1
	})
	ref := "partner:" + k.partner[0]
	full := strings.TrimSuffix(strings.Repeat(`"x",`, 100), ",")

	w.run(t, []scenario{
		{
			name: "ids first, each once, and what is unknown as it was sent", path: "/v1/prices/batch",
			body: fmt.Sprintf(`{"identifiers":["none:1",%q,%q,%q,"x"],"ids":["x",%q]}`, ref, ref, k.id, k.id),
			want: []match{
				at("data.#", 2), at("data.0.id", k.id), lacksAt("data.0.ref"),
				at("data.1.id", k.id), at("data.1.ref", ref),
				at("not_found.#", 4), at("not_found.0", "x"), at("not_found.1", "none:1"), at("not_found.2", k.id),
				at("not_found.3", "x"),
			},
		},
		{
			name: "no ids beside identifiers", path: "/v1/cards/batch",
			body: fmt.Sprintf(`{"ids":[],"identifiers":[%q]}`, ref),
			want: []match{at("data.0.id", k.id), at("data.0.ref", ref), at("not_found.#", 0)},
		},
		{
			name: "both together are too many", path: "/v1/prices/batch", status: 400, code: "invalid_request",
			body: `{"ids":[` + full + `],"identifiers":["a:1"]}`,
			want: []match{has("ids and identifiers together must have between 1 and 100 entries (got 101)")},
		},
		{
			name: "nothing of either", path: "/v1/prices/batch", body: `{"ids":[],"identifiers":[]}`, status: 400,
			code: "invalid_request", want: []match{has("together must have between 1 and 100 entries (got 0)")},
		},
		{
			name: "no list", path: "/v1/cards/batch", body: `{"identifiers":"partner:1","ids":[7]}`, status: 400,
			code: "invalid_request",
			want: []match{has("identifiers must be an array of strings",
				"ids must hold strings only (ids[0] is a number)")},
		},
		{
			name: "a plan's cap counts both", path: "/v1/cards/batch", key: "capped", status: 403, code: "plan_limit",
			body: `{"ids":["a","b"],"identifiers":["c:1","d:1"]}`,
			want: []match{has(`the plan \"capped\" allows 3 ids and identifiers together in a request (got 4)`)},
		},
		{
			name: "broken JSON says that alone", path: "/v1/prices/batch", body: `{"ids":["a",]}`, status: 400,
			code: "invalid_request",
			want: []match{has("the body is not JSON after its first 12 bytes"), lacks("strings")},
		},
		{name: "an empty id", path: "/v1/prices/batch", body: `{"ids":[""]}`, want: []match{at("not_found.0", "")}},
	})
}

// lacksAt wants no value at a path.
func lacksAt(path string) match {
	return func(tb testing.TB, body []byte) {
		tb.Helper()
		if got, ok := dig(tb, body, path); ok {
			tb.Errorf("%s is %v", path, got)
		}
	}
}

// firstCard is the first card of today's truth that is as wanted.
func firstCard(wanted func(*trueCard) bool) *trueCard {
	all := todaysTruth().cards
	return all[slices.IndexFunc(all, wanted)]
}

// TestUnknownValues wants an empty page to say which values nothing has, and a page with cards, or one
// whose values are known, to say nothing.
func TestUnknownValues(t *testing.T) {
	w := shared()
	for _, c := range []struct{ path, want string }{
		{"/v1/cards?game=Pokemn", "game=Pokemn (pokemon)"},
		{"/v1/cards?game=Pok%C3%A9mon", ""},
		{"/v1/cards?game=ONE_PIECE", ""},
		{"/v1/cards?game=magic&rarity=Rare%20Hollo", "game=magic, rarity=Rare%20Hollo (Rare%20Holo)"},
		{"/v1/cards?variant=unlimited%20holofoill", "variant=unlimited%20holofoill (unlimited_holofoil)"},
		{"/v1/cards?variant=rev%20holo", ""},
		{"/v1/cards?identifier=partnr:100012", "identifier=partnr%3A100012 (partner%3A100012)"},
		{"/v1/cards?identifier=partner:999999999", "identifier=partner%3A999999999"},
		{"/v1/cards?identifier=partner:100012&game=one-piece", ""},
		{"/v1/cards?set=Kanto%20Clasic", ""},
		{"/v1/cards?set=nothing%20like%20any", "set=nothing%20like%20any"},
		{"/v1/cards?rarity=%0c", "error"},
		{"/v1/sets?series=Classic%20Jurney", "series=Classic%20Jurney (Classic%20Journey)"},
		{"/v1/sets?game=one%20piece", ""},
		{"/v1/market/movers?direction=up&game=pokemonn", "game=pokemonn (pokemon)"},
	} {
		r := w.get(t, c.path)
		got := r.header.Get("X-Unknown-Values")
		if r.status != http.StatusOK {
			got = "error"
		}

		if got != c.want {
			t.Errorf("%s: %d, X-Unknown-Values %q, want %q", c.path, r.status, got, c.want)
		}
	}
}

// TestIgnoredParametersOfErrors wants an error to name what had no effect: it may be why.
func TestIgnoredParametersOfErrors(t *testing.T) {
	w := shared()
	for path, status := range map[string]int{
		"/v1/market/movers?Direction=up": 400, "/v1/cards/none?Direction=up": 404,
	} {
		r := w.try(t, scenario{path: path, status: status})
		if got := r.header.Get("X-Ignored-Params"); got != "Direction" {
			t.Errorf("%s: X-Ignored-Params %q", path, got)
		}
	}

	r := w.try(t, scenario{path: "/v1/products?page=1", key: "preview", status: 400, code: "invalid_request"})
	if r.header.Get("X-Ignored-Params") != "" {
		t.Error("the preview contract ignores no parameter")
	}
}

// TestFacetsCountWhatFiltersFind asks for every facet and counts what the filter finds.
func TestFacetsCountWhatFiltersFind(t *testing.T) {
	w := shared()
	var facets struct {
		SnapshotID                                    string `json:"snapshot_id"`
		Games, Series, Rarities, Variants, Conditions []struct {
			Value, Name, Game string
			Cards             int
		}
	}
	r := w.get(t, "/v1/facets")
	r.decode(t, &facets)
	if facets.SnapshotID != r.header.Get("X-Snapshot-Id") || facets.SnapshotID == "" {
		t.Errorf("the facets are of snapshot %q", facets.SnapshotID)
	}

	tr := todaysTruth()
	count := func(passes func(*trueCard) bool) (n int) {
		for _, k := range tr.cards {
			if passes(k) {
				n++
			}
		}
		return n
	}
	priced := func(k *trueCard, as func(*trueLane) bool) bool {
		return slices.ContainsFunc(k.lanes, func(l *trueLane) bool { return l.licensed && l.now >= 0 && as(l) })
	}

	total := 0
	for _, f := range facets.Games {
		total += f.Cards
	}
	if total != len(tr.cards) {
		t.Errorf("the games have %d cards of %d", total, len(tr.cards))
	}
	for _, f := range facets.Variants {
		want := count(func(k *trueCard) bool {
			return k.game == f.Game && priced(k, func(l *trueLane) bool { return l.variant == f.Value })
		})
		if f.Cards != want {
			t.Errorf("%d cards of %s have a price in %s, want %d", f.Cards, f.Game, f.Value, want)
		}
	}
	for _, f := range facets.Conditions {
		want := count(func(k *trueCard) bool {
			return priced(k, func(l *trueLane) bool { return l.condition == f.Value })
		})
		if f.Cards != want {
			t.Errorf("%d cards have a price in %s, want %d", f.Cards, f.Value, want)
		}
	}

	// A client would ask for a rarity of the list.
	for _, f := range facets.Rarities {
		query := url.Values{"rarity": {f.Value}, "game": {f.Game}}
		if got := w.countCards(t, query); got != f.Cards {
			t.Errorf("%v finds %d cards, want %d", query, got, f.Cards)
		}
	}
	for _, f := range facets.Series {
		query := url.Values{"series": {f.Value}, "game": {f.Game}, "limit": {"50"}}
		var page struct {
			Data []struct {
				Cards int `json:"card_count"`
			}
		}
		w.get(t, "/v1/sets?"+query.Encode()).decode(t, &page)
		sum := 0
		for _, set := range page.Data {
			sum += set.Cards
		}
		if sum != f.Cards {
			t.Errorf("%v has %d cards, want %d", query, sum, f.Cards)
		}
	}
	if len(facets.Rarities) < 5 || len(facets.Series) < 3 || len(facets.Variants) < 5 ||
		len(facets.Conditions) != 6 {
		t.Errorf("only %d rarities, %d series, %d variants, %d conditions", len(facets.Rarities), len(facets.Series),
			len(facets.Variants), len(facets.Conditions))
	}
}

// countCards walks a search to its end.
func (w *world) countCards(tb testing.TB, query url.Values) (n int) {
	tb.Helper()
	query.Set("limit", "50")
	for {
		var page struct {
			Data []json.RawMessage
			Next *string `json:"next_cursor"`
		}
		w.get(tb, "/v1/cards?"+query.Encode()).decode(tb, &page)
		n += len(page.Data)
		if page.Next == nil {
			return n
		}
		query.Set("cursor", *page.Next)
	}
}

// TestUsageNamesPlanAndMinute spends some of a minute and asks what is left: asking takes nothing.
func TestUsageNamesPlanAndMinute(t *testing.T) {
	w := still()
	key := w.keyOf(t, keys.NewKey{Tenant: only("minute"), Surface: keys.Live, Plan: "free"}, w.clock())
	first := w.clock().UTC().Truncate(time.Second).Format(time.RFC3339)
	w.try(t, scenario{path: "/v1/usage", key: key, want: []match{
		at("data.plan", "free"), at("data.minute.limit", 30), at("data.minute.remaining", 30),
		at("data.minute.reset_at", first),
	}})

	for range 3 {
		w.try(t, scenario{path: "/v1/games", key: key})
	}
	later := w.clock().UTC().Add(time.Minute).Truncate(time.Second).Format(time.RFC3339)
	for range 2 {
		w.try(t, scenario{path: "/v1/usage", key: key, want: []match{
			at("data.minute.remaining", 27), at("data.request_credits_used", 3), at("data.minute.reset_at", later),
		}})
	}
	w.try(t, scenario{path: "/v1/usage", key: "preview", want: []match{lacks(`"plan"`, `"minute"`)}})
}

// TestStatisticsWithoutAWindow wants 30 days, or the plan's longest where that is shorter.
func TestStatisticsWithoutAWindow(t *testing.T) {
	path := "/v1/cards/" + todaysTruth().cards[0].id + "/price-stats"
	w := shared()
	w.run(t, []scenario{
		{path: path, want: []match{at("window", "30d")}},
		{path: path, key: "capped", want: []match{at("window", "30d")}},
		{path: path, key: "week", want: []match{at("window", "7d")}},
		{path: path + "?window=7d", key: "week", want: []match{at("window", "7d")}},
		{
			path: path + "?window=30d", key: "week", status: 403, code: "plan_limit",
			want: []match{has("at most 7 days")},
		},
	})
}

// realRefs are the cards of a world by their identifiers in a namespace, each list ascending, and these
// identifiers.
func realRefs(w *world, namespace string) (cards map[string][]string, values []string) {
	c := w.Engine.View().Catalog
	cards = map[string][]string{}
	for card := range c.Cards.ID.Len() {
		for k, to := c.Identifiers.Of.Range(card); k < to; k++ {
			if c.Identifiers.Namespace.At(k) == namespace {
				cards[c.Identifiers.Value.At(k)] = append(cards[c.Identifiers.Value.At(k)], c.Cards.ID.At(card))
			}
		}
	}

	for value, ids := range cards {
		slices.Sort(ids)
		values = append(values, value)
	}
	slices.Sort(values)
	return cards, values
}

// batchRefs is a batch's answer, all of it found, and how long it took.
func batchRefs(t *testing.T, w *world, body object) (cards []object, took time.Duration) {
	t.Helper()
	text, _ := json.Marshal(body)
	start := time.Now()
	r := w.try(t, scenario{path: "/v1/cards/batch", body: string(text)})
	took = time.Since(start)

	var got struct {
		Data     []object
		NotFound []string `json:"not_found"`
	}
	r.decode(t, &got)
	if len(got.NotFound) > 0 {
		t.Fatalf("not found: %v", got.NotFound)
	}
	return got.Data, took
}

// sweepIdentifiers asks for the identifiers of a namespace in batches (every fourth batch, or all where
// sweeps are whole), and for a sample of them one by one and on to their products and back. check
// judges each card. It gives how many identifiers there are.
func sweepIdentifiers(
	t *testing.T, w *world, namespace, public string, check func(value string, card object),
) (found int) {
	t.Helper()
	cards, values := realRefs(w, namespace)
	var byIdentifier, byID time.Duration
	asked := 0
	for from := 0; from < len(values); from += 200 * testsweep.Stride(4) {
		part := values[from:min(from+200, len(values))]
		asked += len(part)
		var identifiers, own []string
		for _, v := range part {
			identifiers = append(identifiers, public+":"+v)
			own = append(own, cards[v][0])
		}

		list, took := batchRefs(t, w, object{"identifiers": identifiers})
		byIdentifier += took
		got := map[string][]string{}
		for _, card := range list {
			value, _ := strings.CutPrefix(fmt.Sprint(card["ref"]), public+":")
			got[value] = append(got[value], fmt.Sprint(card["id"]))
			check(value, card)
		}
		for _, v := range part {
			if ids := slices.Sorted(slices.Values(got[v])); !slices.Equal(ids, cards[v]) {
				t.Fatalf("%s:%s means %v, want %v", public, v, ids, cards[v])
			}
		}

		// The same cards by their own ids, for comparison.
		_, took = batchRefs(t, w, object{"ids": own})
		byID += took
	}

	step := testsweep.Stride(200)
	singly := 0
	products := 0
	for i := 0; i < len(values); i += step {
		query := url.Values{"identifier": {public + ":" + values[i]}}
		ids := idsIn(t, w.get(t, "/v1/cards?"+query.Encode()))
		slices.Sort(ids)
		if !slices.Equal(ids, cards[values[i]]) {
			t.Fatalf("%v finds %v, want %v", query, ids, cards[values[i]])
		}
		singly++

		var card struct {
			Product *string `json:"product_id"`
		}
		w.get(t, "/v1/cards/"+ids[0]).decode(t, &card)
		if card.Product == nil {
			continue
		}
		r := w.try(t, scenario{path: "/v1/products/" + *card.Product, key: "preview", status: http.StatusOK})
		if !strings.Contains(string(r.body), `{"namespace":"ninepocket","value":"`+ids[0]+`"}`) {
			t.Fatalf("%s does not name %s: %.300s", *card.Product, ids[0], r.body)
		}
		products++
	}

	t.Logf("%s: %d of %d identifiers in batches of 200 (%v, and %v by id), %d singly, %d to a product and back",
		public, asked, len(values), byIdentifier.Round(time.Millisecond), byID.Round(time.Millisecond), singly,
		products)
	return len(values)
}

// TestRealCardsByTheirOtherIDs asks for every One Piece card of a real catalog by the id that it has
// there.
func TestRealCardsByTheirOtherIDs(t *testing.T) {
	w := realWorld(t, loader.Input{
		Kind: "punk-records", Path: filepath.Join(realDir(t), "punk-records", "punk-records-english.tar.zst"),
	})
	if n := sweepIdentifiers(t, w, "punk-records", "punk-records", func(string, object) {}); n < 4_500 {
		t.Errorf("only %d cards: the source has over 4,600", n)
	}
}

// TestRealTreeByTCGplayerID asks for every card of the real tree by its TCGplayer id and compares its
// prices with the rows of that id, and for every card of the joined tree by its pokemon-tcg-data id.
func TestRealTreeByTCGplayerID(t *testing.T) {
	testsweep.OnlyFull(t)
	dir := realDir(t)
	tree := filepath.Join(dir, "tcgcsv", "tcgplayer-current.tar.zst")
	w := realWorld(t,
		loader.Input{Kind: "tcgcsv", Path: tree},
		loader.Input{Kind: "pokemon-tcg-data", Path: filepath.Join(dir, "pokemon-tcg-data",
			"pokemon-tcg-data-en.tar.zst")},
		loader.Input{Kind: "punk-records", Path: filepath.Join(dir, "punk-records", "punk-records-english.tar.zst")})

	prices := readMarketPrices(t, tree)
	priced := 0
	n := sweepIdentifiers(t, w, "tcgplayer", "tcgplayer", func(value string, card object) {
		list, _ := card["prices"].([]any)
		for _, one := range list {
			p, _ := one.(map[string]any)
			priced++
			want := prices[fmt.Sprint(value, " ", p["variant"])]
			if fmt.Sprintf("%.0f", p["market_price_cents"]) != want {
				t.Errorf("tcgplayer:%s, %v: %v cents, want %s", value, p["variant"], p["market_price_cents"], want)
			}
		}
	})
	if n < 34_000 || priced < 40_000 {
		t.Errorf("%d cards with %d prices: the tree has over 35,000 and 40,000", n, priced)
	}

	n = sweepIdentifiers(t, w, "pokemontcg", "pokemon-tcg-data", func(string, object) {})
	if n < 19_000 {
		t.Errorf("only %d cards of pokemon-tcg-data", n)
	}
}

// TestEnvelopeBehindARepeatedHeader sends a header twice before and behind the key: both times the key
// decides the surface of the error.
func TestEnvelopeBehindARepeatedHeader(t *testing.T) {
	w := shared()
	twice := []string{"Idempotency-Key: a", "Idempotency-Key: b"}
	key := "X-API-Key: " + w.keys["preview"]
	for _, header := range [][]string{append([]string{key}, twice...), append(slices.Clone(twice), key)} {
		r, err := w.send(request{
			method: http.MethodPost, target: "/v1/prices/batch", body: `{}`,
			header: append(header, "Content-Type: application/json"),
		})
		if err != nil || r.status != http.StatusBadRequest || !strings.HasPrefix(string(r.body), `{"error":{`) {
			t.Errorf("%v: %d %.200s (%v)", header[0][:9], r.status, r.body, err)
		}
	}
}
