package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ninepocket/access"
	"ninepocket/access/keys"
)

// TestLargeValuations wants a valuation of up to 1,000 items to count one request for each hundred begun, all or
// none, and one of the minute (decision 3507).
func TestLargeValuations(t *testing.T) {
	w := newWorld(t, setup{still: true})
	card := todaysTruth().cards[0]
	body := func(n int) string {
		one := fmt.Sprintf(`{"id":%q},`, card.id)
		return `{"items":[` + strings.TrimSuffix(strings.Repeat(one, n), ",") + `]}`
	}
	used := func(key string) any {
		r := w.try(t, scenario{path: "/v1/usage", key: key})
		n, _ := dig(t, r.body, "data.request_credits_used")
		return n
	}

	collector := keys.NewKey{Tenant: only("collector"), Surface: keys.Live, Plan: "free"}
	w.keys["collector"] = w.keyOf(t, collector, w.clock())
	total := 0
	for n, cost := range map[int]int{1: 1, 100: 1, 101: 2, 200: 2, 1000: 10} {
		r := w.try(t, scenario{path: "/v1/valuations", key: "collector", body: body(n)})
		total += cost
		items, _ := dig(t, r.body, "items")
		sum, _ := dig(t, r.body, "totals.priced")
		if len(items.([]any)) != n || sum != float64(n) {
			t.Errorf("%d items: %d are answered, %v priced", n, len(items.([]any)), sum)
		}
		if got := used("collector"); got != float64(total) {
			t.Errorf("%d items: %v of the day are used, want %d", n, got, total)
		}
	}
	r := w.try(t, scenario{path: "/v1/games", key: "collector"})
	if got := r.header.Get("X-RateLimit-Remaining"); got != "24" {
		t.Errorf("%s are left of the minute", got)
	}
	w.try(t, scenario{
		path: "/v1/valuations", key: "collector", body: body(1001), status: http.StatusBadRequest,
		code: "invalid_request",
	})

	// Of a day with three left ten are not taken, and nothing is charged.
	w.keys["poor"] = w.keyOf(t, keys.NewKey{Tenant: only("poor"), Surface: keys.Live, Plan: "tiny"}, w.clock())
	w.try(t, scenario{
		path: "/v1/valuations", key: "poor", body: body(1000), status: http.StatusTooManyRequests,
		code: "quota_exceeded",
	})
	if got := used("poor"); got != 0.0 {
		t.Errorf("a refused valuation took %v", got)
	}
	w.try(t, scenario{path: "/v1/valuations", key: "poor", body: body(300)})
	if got := used("poor"); got != 3.0 {
		t.Errorf("%v are used", got)
	}
}

// TestLargeValuationsTakeTurns wants a key's second large valuation to wait for the first, and then to be refused.
func TestLargeValuationsTakeTurns(t *testing.T) {
	w := newWorld(t, setup{})
	card := todaysTruth().cards[0]
	body := `{"items":[` + strings.TrimSuffix(strings.Repeat(fmt.Sprintf(`{"id":%q},`, card.id), 101), ",") + `]}`
	now := access.Instant{Wall: w.clock().UnixMilli()}
	p, err := w.Gate.Authenticate([]byte(w.keys["bench"]), now)
	if err != nil {
		t.Fatal(err)
	}

	units, _, busy := w.Gate.AdmitFurther(p, access.Valuations, 1, now)
	if busy {
		t.Fatal("nobody is before it")
	}
	late := w.try(t, scenario{
		path: "/v1/valuations", key: "bench", body: body, status: http.StatusTooManyRequests,
		code: "rate_limit_exceeded",
	})
	if !strings.Contains(string(late.body), "send one after the other") {
		t.Errorf("the refusal says %s", late.body)
	}
	if err := w.Gate.FinishFurther(p, units, false); err != nil {
		t.Fatal(err)
	}
	w.try(t, scenario{path: "/v1/valuations", key: "bench", body: body})
}
