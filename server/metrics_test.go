package server

import (
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"ninepocket/access"
	"ninepocket/api"
	"ninepocket/wire"
)

// TestCounts sends requests of every kind and wants each to be counted once, as what it was.
func TestCounts(t *testing.T) {
	w := newWorld(t, setup{options: func(o *Options) { o.Origins = []string{"https://shop.test"} }})
	tr := todaysTruth()
	card := tr.cards[0].id
	set := tr.sets[0].id
	product := "/v1/products"
	w.panicking("/boom", access.GamesList, func(*api.Request, *api.Reply) *wire.APIError { panic("on purpose") })
	keyed := func(key string, more ...string) []string {
		return append([]string{"X-API-Key: " + w.named(key)}, more...)
	}

	const jsonBody = "Content-Type: application/json"
	tiny := w.tenant(t, "counted", "tiny")
	before := w.Stats()
	var sent uint64
	want := map[metricKey]map[int]uint64{}
	f := func(surface, operation string, status int, q request) {
		t.Helper()
		r, err := w.send(q)
		if err != nil || r.status != status {
			t.Fatalf("%s %s: %d, %v, want %d: %s", q.method, q.target, r.status, err, status, r.body)
		}
		if want[metricKey{surface, operation}] == nil {
			want[metricKey{surface, operation}] = map[int]uint64{}
		}
		want[metricKey{surface, operation}][status]++
		sent += uint64(len(r.wire))
	}

	get := func(target string, header ...string) request {
		return request{method: "GET", target: target, header: header}
	}
	post := func(target, body string, header ...string) request {
		return request{method: "POST", target: target, body: body, header: header}
	}

	for target, operation := range map[string]string{
		"/v1/games": "games_list", "/v1/cards?q=pika": "cards_search", "/v1/cards/" +
			card: "cards_get", "/v1/sets": "sets_list",
		"/v1/sets/" + set: "sets_get", "/v1/cards/" + card + "/prices": "card_prices", "/v1/cards/" + card +
			"/price-stats": "card_price_stats",
		"/v1/market/movers?direction=up": "market_movers", "/v1/usage": "usage_get",
	} {
		f("live", operation, 200, get(target, keyed("bench")...))
		f("live", operation, 401, get(target))
		f("live", operation, 405, request{method: "DELETE", target: target, header: keyed("bench")})
	}

	f("live", "cards_get", 404, get("/v1/cards/nothing", keyed("bench")...))
	f("live", "cards_get", 200, request{method: "HEAD", target: "/v1/cards/" + card, header: keyed("bench")})
	f("live", "cards_batch", 200, post("/v1/cards/batch", `{"ids":["`+card+`"]}`, keyed("bench", jsonBody)...))
	f("live", "cards_batch", 415, post("/v1/cards/batch", `{}`, keyed("bench")...))
	f("live", "prices_batch", 200, post("/v1/prices/batch", `{"ids":["`+card+`"]}`, keyed("bench", jsonBody)...))
	f("live", "cards_batch", 403, post("/v1/cards/batch", `{"ids":["a","b","c","d"]}`, keyed("capped", jsonBody)...))
	f("preview", "prices_batch", 200, post("/v1/prices/batch", oneItem,
		keyed("preview", jsonBody, "Idempotency-Key: k")...))
	f("preview", "prices_batch", 409,
		post("/v1/prices/batch", `{"items":[{"kind":"sealed","product_id":"prd_other"}]}`,
			keyed("preview", jsonBody, "Idempotency-Key: k")...))
	f("preview", "products_list", 200, get(product, keyed("preview")...))
	f("preview", "products_list", 403, get(product, keyed("bench")...))
	f("preview", "products_get", 404, get(product+"/prd_nothing", keyed("preview")...))
	f("preview", "usage_get", 200, get("/v1/usage", keyed("preview")...))
	for range 3 { // the quota of the plan
		f("live", "games_list", 200, get("/v1/games", keyed(tiny)...))
	}

	f("live", "games_list", 429, get("/v1/games", keyed(tiny)...))
	f("none", "unknown", 404, get("/nowhere", keyed("bench")...))
	f("none", "unknown", 404, get("/v1/cards/"+card+"/x/y"))
	f("none", "unknown", 500, get("/boom", keyed("bench")...))
	f("none", "openapi", 200, get("/openapi.json"))
	f("none", "openapi", 200, get("/openapi.json", "Accept-Encoding: zstd"))
	f("none", "healthz", 200, get("/healthz"))
	f("none", "preflight", 204, request{method: "OPTIONS", target: "/v1/games", header: []string{
		"Origin: https://shop.test", "Access-Control-Request-Method: GET",
	}})
	mcp := func(body, key string) request {
		return post("/mcp", body, "Authorization: Bearer "+w.named(key), jsonBody, "Accept: application/json")
	}
	call := toolCall("catalog_get_card", `{"id":"`+card+`"}`)
	f("mcp", "mcp", 200, mcp(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, "bench"))
	f("mcp", "mcp", 401, mcp(call, "nobody"))
	f("mcp", "mcp", 400, mcp(`{`, "bench"))
	f("mcp", "mcp:catalog_get_card", 200, mcp(call, "bench"))
	f("mcp", "mcp:catalog_get_card", 200, mcp(call, tiny)) // the result says that the quota is used up
	f("live", "cards_search", 200, get("/v1/cards?limit=50", keyed("bench", "Accept-Encoding: gzip")...))

	after := w.Stats()
	had := map[metricKey]RouteStats{}
	for _, r := range before.Routes {
		had[metricKey{r.Surface, r.Operation}] = r
	}

	for _, r := range after.Routes {
		name := metricKey{r.Surface, r.Operation}
		if !maps.Equal(r.Statuses, want[name]) && len(r.Statuses)+len(want[name]) > 0 {
			t.Errorf("%v: %v, want %v", name, r.Statuses, want[name])
		}
		n := uint64(0)
		for _, k := range r.Statuses {
			n += k
		}
		if r.Latency.Count() != n || n > 0 && r.Latency.Sum <= 0 {
			t.Errorf("%v: %d latencies of %d answers", name, r.Latency.Count(), n)
		}
		delete(want, name)
		if _, ok := had[name]; !ok {
			t.Errorf("%v came up late", name)
		}
	}

	if len(want) > 0 {
		t.Errorf("no figures of %v", want)
	}
	if after.Bytes != sent || after.InFlight != 0 || after.Panics != 1 || after.Compressed["gzip"] != 1 ||
		after.Compressed["zstd"] != 1 {
		t.Errorf("%d bytes (sent %d), %d in flight, %d panics, compressed %v", after.Bytes, sent, after.InFlight,
			after.Panics, after.Compressed)
	}

	denied := map[string]uint64{}
	for _, d := range after.Denials {
		denied[d.Surface+" "+d.Reason] = d.Count
	}

	if want := map[string]uint64{
		"live unauthorized": 9, "live plan_limit": 1, "live quota_exceeded": 1, "preview insufficient_scope": 1,
		"mcp unauthorized": 1, "mcp quota_exceeded": 1,
	}; !maps.Equal(denied, want) {
		t.Errorf("denials are %v, want %v", denied, want)
	}
}

// TestParseErrorsAreCounted wants what is no HTTP to be counted apart from requests.
func TestParseErrorsAreCounted(t *testing.T) {
	w := newWorld(t, setup{})
	w.raw(t, "GARBAGE\r\n\r\n")
	w.raw(t, "GET /v1/games HTTP/1.1\r\nHost: x\r\nX-Long: "+strings.Repeat("a", 20<<10)+"\r\n\r\n")
	w.raw(t, "GET /v1/games HTTP/1.1\r\nHost: x\r\nX-Long: "+strings.Repeat("a", 20<<10)+"\r\n\r\n")
	s := w.Stats()
	if !maps.Equal(s.ParseErrors, map[int]uint64{http.StatusBadRequest: 1, http.StatusRequestHeaderFieldsTooLarge: 2}) {
		t.Errorf("parse errors are %v", s.ParseErrors)
	}

	for _, r := range s.Routes {
		if len(r.Statuses) > 0 {
			t.Errorf("%s %s: %v", r.Surface, r.Operation, r.Statuses)
		}
	}
}

// TestInFlight sees a request that is being answered.
func TestInFlight(t *testing.T) {
	w := newWorld(t, setup{})
	entered := make(chan bool)
	leave := make(chan bool)
	w.panicking("/slow", access.GamesList, func(*api.Request, *api.Reply) *wire.APIError {
		entered <- true
		<-leave
		panic("on purpose")
	})

	var asking sync.WaitGroup
	for range 3 {
		asking.Go(func() {
			_, _ = w.send(request{method: "GET", target: "/slow", header: []string{"X-API-Key: " + w.named("bench")}})
		})
	}

	for range 3 {
		<-entered
	}
	if n := w.Stats().InFlight; n != 3 {
		t.Errorf("%d requests are in flight, want 3", n)
	}
	close(leave)
	asking.Wait()
	if s := w.Stats(); s.InFlight != 0 || s.Panics != 3 {
		t.Errorf("afterwards %d are in flight, %d panicked", s.InFlight, s.Panics)
	}
}

// TestPagesAreCounted wants each path of the site to count as what it is, and paths that are not
// there as unknown.
func TestPagesAreCounted(t *testing.T) {
	w := siteWorld(t, nil)
	c := w.view0().Catalog
	want := map[metricKey]map[int]uint64{}
	for _, f := range []struct {
		target, operation string
		status            int
	}{
		{"/", "home", 200},
		{"/cards/" + c.Cards.Slug.At(0), "card", 200},
		{"/cards/" + c.Cards.ID.At(0), "card", 301},
		{"/cards/nope", "card", 404},
		{"/cards/" + c.Cards.ID.At(0) + "/printings", "printings", 301},
		{"/cards/" + c.Cards.Slug.At(0) + "/printings", "printings", 200},
		{"/sealed/nope", "sealed", 404},
		{"/sets", "sets", 200},
		{"/sets/" + c.Sets.Slug.At(0), "set", 200},
		{"/search?q=a", "search", 200},
		{suggestPath + "?q=a", "suggest", 200},
		{"/movers", "movers", 200},
		{"/errors", "error", 200},
		{"/errors/not_found", "error", 200},
		{"/docs", "docs", 200},
		{"/assets/nope", "asset", 404},
		{"/llms.txt", "text", 200},
		{"/robots.txt", "text", 200},
		{"/sitemap.xml", "text", 200},
		{"/sitemaps/none", "text", 404},
	} {
		if r := w.page(t, f.target); r.status != f.status {
			t.Errorf("%s: status %d, want %d", f.target, r.status, f.status)
		}

		name := metricKey{"site", f.operation}
		if want[name] == nil {
			want[name] = map[int]uint64{}
		}
		want[name][f.status]++
	}

	w.page(t, "/nope")
	want[metricKey{"none", "unknown"}] = map[int]uint64{404: 1}
	for _, r := range w.Stats().Routes {
		name := metricKey{r.Surface, r.Operation}
		if !maps.Equal(r.Statuses, want[name]) && len(r.Statuses)+len(want[name]) > 0 {
			t.Errorf("%v: %v, want %v", name, r.Statuses, want[name])
		}
		delete(want, name)
	}

	if len(want) > 0 {
		t.Errorf("no figures of %v", want)
	}
}
