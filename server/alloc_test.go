//go:build !race

package server

import (
	"encoding/json"
	"testing"

	"github.com/valyala/fasthttp"

	"ninepocket/access/keys"
)

// allocsOf is how many allocations a request takes inside the handler, on a context that is used
// again and again.
func allocsOf(w *world, key string, build func(*fasthttp.Request)) float64 {
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	serve := func() {
		ctx.Request.Reset()
		ctx.Response.Reset()
		build(&ctx.Request)
		ctx.Request.Header.Set("X-API-Key", key)
		w.handle(&ctx)
	}

	serve()
	if code := ctx.Response.StatusCode(); code != fasthttp.StatusOK {
		return float64(-code)
	}

	empty := testing.AllocsPerRun(200, func() {
		ctx.Request.Reset()
		ctx.Response.Reset()
		build(&ctx.Request)
		ctx.Request.Header.Set("X-API-Key", key)
	})
	return testing.AllocsPerRun(200, serve) - empty
}

func (w *world) allocKey(tb testing.TB) string {
	return w.key(tb, keys.NewKey{Name: "alloc", Tenant: "alloc", Surface: keys.Live, Plan: "unlimited"})
}

func get(target string) func(*fasthttp.Request) {
	return func(r *fasthttp.Request) {
		r.Header.SetMethod(fasthttp.MethodGet)
		r.SetRequestURI(target)
	}
}

// TestGetAllocs bounds the allocations of hot requests; the figures are what they take now.
func TestGetAllocs(t *testing.T) {
	w := newWorld(t, setup{})
	tr := todaysTruth()

	key := w.allocKey(t)
	for target, limit := range map[string]float64{
		"/v1/cards/" + tr.cards[0].id:                  0,
		"/v1/sets/" + tr.sets[0].id:                    3,
		"/v1/games":                                    0,
		"/v1/cards?limit=20&sort=price_desc":           11,
		"/v1/cards/" + tr.cards[0].id + "/prices":      3,
		"/v1/market/movers?direction=up":               0,
		"/v1/cards/" + tr.cards[0].id + "/price-stats": 3,
	} {
		n := allocsOf(w, key, get(target))
		t.Logf("%-60s %.0f allocations", target, n)
		if n < 0 || n > limit {
			t.Errorf("%s takes %.0f allocations, want at most %.0f", target, n, limit)
		}
	}
}

// TestBatchAllocs wants a batch to take nothing for each card beyond the strings of its ids.
func TestBatchAllocs(t *testing.T) {
	w := newWorld(t, setup{})
	tr := todaysTruth()
	key := w.allocKey(t)
	of := func(path string, n int) float64 {
		ids := []string{}
		for _, k := range tr.cards[:n] {
			ids = append(ids, k.id)
		}

		body, err := json.Marshal(object{"ids": ids})
		if err != nil {
			t.Fatal(err)
		}
		return allocsOf(w, key, func(r *fasthttp.Request) {
			r.Header.SetMethod(fasthttp.MethodPost)
			r.Header.SetContentType("application/json")
			r.SetRequestURI(path)
			r.SetBody(body)
		})
	}

	for path, n := range map[string]int{"/v1/cards/batch": 200, "/v1/prices/batch": 100} {
		short := of(path, n/10)
		many := of(path, n)
		each := (many - short) / float64(n-n/10)
		t.Logf("%s: %.0f allocations for %d ids, %.0f for %d: %.2f each", path, short, n/10, many, n, each)
		if short < 0 || many < 0 || each > 1.1 {
			t.Errorf("%s takes %.2f allocations for each id", path, each)
		}
	}
}
