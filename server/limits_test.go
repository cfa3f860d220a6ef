package server

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/api"
	"ninepocket/wire"
)

// tenant makes a key of a tenant of its own.
func (w *world) tenant(tb testing.TB, name, plan string) string {
	tb.Helper()
	return w.key(tb, keys.NewKey{Name: name, Tenant: name, Surface: keys.Live, Plan: plan})
}

// TestMinute wants exactly 30 requests of a free key to pass, whatever their answers, and figures
// that agree.
func TestMinute(t *testing.T) {
	w := still()
	name := only("minute")
	key := w.tenant(t, name, "free")
	tag := w.get(t, "/v1/games").header.Get("ETag")
	for i := range 30 {
		s := scenario{path: "/v1/games", key: key}
		switch i % 5 {
		case 1:
			s.path = "/v1/cards/none"
			s.status = 404
			s.code = "not_found"
		case 2:
			s.path = "/v1/cards?limit=0"
			s.status = 400
			s.code = "invalid_request"
		case 3:
			s.header = []string{"If-None-Match: " + tag}
			s.status = 304
		case 4:
			s.path = "/v1/cards/" + todaysTruth().cards[0].id + "/price-stats"
			s.status = 403
			s.code = "plan_limit"
		}

		r := w.try(t, s)
		minute, day := r.remaining(t)
		// Only successes are charged to the day: errors and 304 take none (decision 13).
		if want := 2000 - (i/5 + 1); minute != 29-i || day != want {
			t.Errorf("after request %d: %d of the minute, %d of the day remain, want %d and %d", i+1, minute, day,
				29-i, want)
		}
	}

	for range 3 {
		r := w.try(t, scenario{
			path: "/v1/games", key: key, status: 429, code: "rate_limit_exceeded",
			want: []match{has("30 requests per minute")},
		})
		if minute, day := r.remaining(t); minute != 0 || day != 2000-6 {
			t.Errorf("refused with %d of the minute and %d of the day left", minute, day)
		}

		var body struct {
			RetryAfter int `json:"retry_after_seconds"`
		}
		r.decode(t, &body)
		if got := r.header.Get("Retry-After"); got != fmt.Sprint(body.RetryAfter) || body.RetryAfter < 55 ||
			body.RetryAfter > 60 {
			t.Errorf("Retry-After %s, body %d", got, body.RetryAfter)
		}
	}

	usage := w.try(t, scenario{path: "/v1/usage", key: key, want: []match{
		at("data.request_credits_used", 6), at("data.request_credits_limit",
			2000), at("data.request_credits_remaining", 1994), at("data.rate_limit_per_minute", 30),
		at("data.tenant_id", name), at("meta.billable_units", 0), at("meta.idempotent_replay", false),
	}})
	if usage.header.Get("RateLimit") != "" || usage.header.Get("ETag") != "" ||
		usage.header.Get("Cache-Control") != "no-store" {
		t.Errorf("usage has %v", usage.header)
	}

	// The minute is the key's own, the day the tenant's.
	other := w.key(t, keys.NewKey{Name: "second", Tenant: name, Surface: keys.Live})
	if minute, day := w.try(t, scenario{path: "/v1/games", key: other}).remaining(t); minute != 29 || day != 1993 {
		t.Errorf("the tenant's other key has %d of its minute and %d of the day left", minute, day)
	}
}

// TestDay wants a quota of three to admit three successes.
func TestDay(t *testing.T) {
	w := still()
	name := only("day")
	key := w.tenant(t, name, "tiny")
	w.try(t, scenario{path: "/v1/cards/none", key: key, status: 404, code: "not_found"})
	for i := range 3 {
		if _, day := w.try(t, scenario{path: "/v1/games", key: key}).remaining(t); day != 2-i {
			t.Errorf("%d of 3 remain after %d", day, i+1)
		}
	}

	for _, path := range []string{"/v1/games", "/v1/cards/none"} {
		r := w.try(t, scenario{path: path, key: key, status: 429, code: "quota_exceeded"})
		if r.header.Get("X-RateLimit-Remaining") == "0" {
			t.Error("the minute is not what tripped")
		}
	}

	w.try(t, scenario{path: "/v1/usage", key: key, want: []match{
		at("data.request_credits_remaining", 0),
		at("data.request_credits_used", 3),
	}})
	other := w.key(t, keys.NewKey{Name: "second", Tenant: name, Surface: keys.Live})
	w.try(t, scenario{path: "/v1/games", key: other, status: 429, code: "quota_exceeded"})
}

// TestQuotaUnderConcurrency wants many callers at once to be charged exactly once for each success.
func TestQuotaUnderConcurrency(t *testing.T) {
	w := still()
	key := w.tenant(t, only("crowd"), "tiny")
	var group sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for range 40 {
		group.Go(func() {
			r, err := w.send((&scenario{path: "/v1/games", key: key}).request(w))
			if err != nil {
				t.Error(err)
			}

			mu.Lock()
			statuses[r.status]++
			mu.Unlock()
		})
	}

	group.Wait()
	if statuses[200] != 3 || statuses[429] != 37 {
		t.Errorf("statuses %v, want 3 successes", statuses)
	}
}

// TestUsageIsFree wants usage to pass no limit and to take nothing.
func TestUsageIsFree(t *testing.T) {
	w := still()
	key := w.tenant(t, only("reader"), "free")
	for range 50 {
		w.try(t, scenario{path: "/v1/usage", key: key, want: []match{
			at("data.request_credits_used", 0),
			at("data.rate_limit_per_minute", 30),
		}})
	}

	now := w.clock().UTC()
	start := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	w.try(t, scenario{path: "/v1/usage", key: key, want: []match{
		at("data.period_start", start.Format(time.RFC3339)), at("data.period_end",
			start.AddDate(0, 0, 1).Format(time.RFC3339)),
		at("meta.snapshot_at", today().summary.SnapshotAt.Format(time.RFC3339)),
	}})
}

// TestPlans holds the gates of plans (decision 14).
func TestPlans(t *testing.T) {
	w := shared()
	tr := todaysTruth()
	var k *trueCard
	for _, one := range tr.cards {
		if l := one.display(); l != nil && l.days.known == 365 {
			k = one
			break
		}
	}

	ids := func(n int) string { return `{"ids":["a"` + strings.Repeat(`,"a"`, n-1) + `]}` }
	stats := "/v1/cards/" + k.id + "/price-stats"
	history := "/v1/cards/" + k.id + "/prices"
	limit := func(name, path, key, body string, parts ...string) scenario {
		return scenario{
			name: name, path: path, key: key, body: body, status: 403, code: "plan_limit",
			want: []match{has(parts...)},
		}
	}

	start := func(n int) string { return tr.day(n-1) + "T00:00:00Z" }
	w.run(t, []scenario{
		limit("statistics on free", stats, "free", "", `the plan \"free\" has no price statistics`),
		limit("statistics of no card on free", "/v1/cards/none/price-stats", "free", "", "has no price statistics"),
		limit("statistics on a plan without", stats, "nostats", "", "has no price statistics"),
		{
			name: "starter", path: stats + "?window=90d", key: "starter",
			want: []match{at("window", "90d"), at("window_start", start(90))},
		},
		{name: "pro", path: stats + "?window=7d", key: "pro", want: []match{at("window", "7d")}},
		{name: "business", path: stats, key: "business", want: []match{at("window", "30d")}},
		limit("window above the plan's", stats+"?window=90d", "capped", "", "30 days"),
		{
			name: "a bad window on free is 400", path: stats + "?window=1y", key: "free", status: 400,
			code: "invalid_request",
		},
		{
			name: "window clamped to the plan's range", path: stats + "?window=30d", key: "capped",
			want: []match{
				at("window", "30d"), at("window_start", start(20)),
				at("data.variants", tr.statsJSON(k.shown(), 20)),
			},
		},
		{
			name: "window of 90 days clamped to 5", path: stats + "?window=90d", key: "brief",
			want: []match{
				at("window", "90d"), at("window_start", start(5)),
				at("data.variants", tr.statsJSON(k.shown(), 5)),
			},
		},
		{
			name: "window of 7 days clamped to 5", path: stats + "?window=7d", key: "brief",
			want: []match{at("window_start", start(5)), at("data.variants", tr.statsJSON(k.shown(), 5))},
		},
		{
			name: "history clamped", path: history + "?days=365", key: "capped",
			want: []match{at("days", 20), at("data", tr.historyJSON(k.shown(), 20))},
		},
		{
			name: "history within", path: history + "?days=3", key: "brief",
			want: []match{at("days", 3), at("data", tr.historyJSON(k.shown(), 3))},
		},
		{name: "default history clamped", path: history, key: "brief", want: []match{at("days", 5)}},
		{
			name: "history beyond the bound", path: history + "?days=366", key: "brief", status: 400,
			code: "invalid_request",
		},
		{
			name: "cards at the cap", path: "/v1/cards/batch", key: "capped", body: ids(3),
			want: []match{at("not_found.#", 1)},
		},
		limit("cards above the cap", "/v1/cards/batch", "capped", ids(4), "3 ids"),
		limit("cards at the specification's bound", "/v1/cards/batch", "capped", ids(200), "3 ids"),
		{
			name: "cards above the bound", path: "/v1/cards/batch", key: "capped", body: ids(201), status: 400,
			code: "invalid_request",
		},
		{
			name: "prices at the cap", path: "/v1/prices/batch", key: "capped", body: ids(2),
			want: []match{at("not_found.#", 1)},
		},
		limit("prices above the cap", "/v1/prices/batch", "capped", ids(3), "2 ids"),
		{
			name: "prices above the bound", path: "/v1/prices/batch", key: "capped", body: ids(101), status: 400,
			code: "invalid_request",
		},
	})
}

// TestNoSnapshot wants 503 in the envelope until there is a catalog, and nothing taken.
func TestNoSnapshot(t *testing.T) {
	w := newWorld(t, setup{noViews: true})
	key := w.tenant(t, "early", "free")
	for range 35 {
		r := w.try(t, scenario{
			path: "/v1/games", key: key, status: 503, code: "temporarily_unavailable",
			want: []match{at("retry_after_seconds", retryUnavailable)},
		})
		if r.header.Get("Retry-After") != fmt.Sprint(retryUnavailable) {
			t.Error("Retry-After differs from the body")
		}
	}

	w.run(t, []scenario{
		{
			path: "/v1/products", key: "preview", status: 503, code: "temporarily_unavailable",
			want: []match{at("error.retry_after_seconds", retryUnavailable)},
		},
		{path: "/healthz", key: "-", status: 503, want: []match{exact(`{"status":"loading","snapshot_id":null}`)}},
		{path: "/v1/games", key: "-", status: 401, code: "unauthorized"},
		{path: "/openapi.json", key: "-", want: []match{at("openapi", "3.1.0")}},
		{path: "/openapi.live.json", key: "-", want: []match{at("openapi", "3.1.0"), lacks("/v1/products")}},
		{path: "/openapi.preview.json", key: "-", want: []match{at("openapi", "3.1.0"), lacks("/v1/cards")}},
	})

	w.Engine.Swap(today().view, time.Now())
	if minute, _ := w.try(t, scenario{path: "/v1/games", key: key}).remaining(t); minute != 29 {
		t.Errorf("%d of the minute left", minute)
	}
}

// TestHealth wants /healthz to say why calls are not answered.
func TestHealth(t *testing.T) {
	var down error
	w := newWorld(t, setup{options: func(o *Options) { o.Metering = func() error { return down } }})
	f := func(status int, want string) {
		t.Helper()
		w.try(t, scenario{path: "/healthz", key: "-", status: status, want: []match{
			at("status", want), at("snapshot_id", today().view.ID),
		}})
	}

	f(200, "ok")
	down = errors.New("the disk is full")
	f(503, "unmetered")
	down = nil
	f(200, "ok")
	w.Drain()
	f(503, "draining")
}

// brokenStore is a store that fails at chosen calls.
type brokenStore struct {
	access.Store
	failAdmit, failFinish, failUsage, failBegin, failCommit, failAbort, panicCommit bool
}

var errBroken = errors.New("the disk is full of npk_live_secrets")

func (b *brokenStore) Admit(p *keys.Principal, r access.LimitSpec, now access.Instant) access.Decision {
	if b.failAdmit {
		return access.Decision{Result: access.Unavailable, RetryAfter: 5}
	}
	return b.Store.Admit(p, r, now)
}

func (b *brokenStore) Finish(t access.Reservation, success bool) (access.Charge, error) {
	if b.failFinish {
		return access.Charge{}, errBroken
	}
	return b.Store.Finish(t, success)
}

func (b *brokenStore) Usage(p *keys.Principal, r access.LimitSpec, now access.Instant) (access.Usage, error) {
	if b.failUsage {
		return access.Usage{}, errBroken
	}
	return b.Store.Usage(p, r, now)
}

func (b *brokenStore) Begin(t access.Reservation, key string, h access.BodyHash, now access.Instant) (access.Claim,
	error,
) {
	if b.failBegin {
		return access.Claim{}, errBroken
	}
	return b.Store.Begin(t, key, h, now)
}

func (b *brokenStore) Commit(t access.Reservation, c access.Claim, reply []byte) (access.Charge, error) {
	if b.panicCommit {
		panic("the disk is gone")
	}
	if b.failCommit {
		return access.Charge{}, errBroken
	}
	return b.Store.Commit(t, c, reply)
}

func (b *brokenStore) Abort(t access.Reservation, c access.Claim) (access.Charge, error) {
	charge, err := b.Store.Abort(t, c)
	if b.failAbort {
		return access.Charge{}, errBroken
	}
	return charge, err
}

// TestMeteringDown wants 503 and no data when the store fails, at whichever call, and the inner
// error only in the log.
func TestMeteringDown(t *testing.T) {
	store := &brokenStore{Store: access.NewMemory(access.MemoryOptions{})}
	w := newWorld(t, setup{store: store})
	batch := scenario{
		path: "/v1/prices/batch", key: "preview", header: []string{"Idempotency-Key: k"},
		body: `{"items":[{"kind":"sealed","product_id":"prd_abc"}]}`,
	}
	f := func(flag *bool, scenarios ...scenario) {
		t.Helper()
		*flag = true
		for _, s := range scenarios {
			s.status = 503
			s.code = "temporarily_unavailable"
			s.want = []match{lacks("the disk", "npk_", `"data"`)}
			r := w.try(t, s)
			if r.header.Get("Link") != "" || r.header.Get("ETag") != "" {
				t.Errorf("a refusal has %v", r.header)
			}
		}
		*flag = false
	}

	page := scenario{path: "/v1/cards?limit=1"}
	f(&store.failAdmit, page, scenario{path: "/v1/products", key: "preview"}, batch)
	f(&store.failFinish, page, scenario{path: "/v1/games"}, scenario{path: "/v1/cards/none"},
		scenario{path: "/v1/products", key: "preview"}, scenario{path: "/v1/usage"})
	f(&store.failUsage, scenario{path: "/v1/usage"}, scenario{path: "/v1/usage", key: "preview"})
	f(&store.failBegin, batch)
	f(&store.failCommit, batch)
	batch.status = 503
	batch.code = "temporarily_unavailable"
	store.failCommit = true
	if left := w.try(t, batch).header.Get("X-Request-Credits-Remaining"); left != "1000000000" {
		t.Errorf("%s credits remain after a call that was not charged", left)
	}

	store.failCommit = false
	batch.status = 200
	batch.code = ""
	batch.want = []match{at("meta.idempotent_replay", false)}
	w.try(t, scenario{path: "/v1/cards?limit=1"})
	r := w.try(t, batch)
	if charged := r.header.Get("X-Request-Credits-Charged"); charged != "1" {
		t.Errorf("the batch after the failures was charged %s", charged)
	}
	w.try(t, scenario{path: "/v1/usage", key: "preview", want: []match{at("data.request_credits_used", 1)}})
}

// TestAbortFails wants a batch that fails to be answered with its error, and with 503 if the store then
// fails to end its claim.
func TestAbortFails(t *testing.T) {
	store := &brokenStore{Store: access.NewMemory(access.MemoryOptions{})}
	w := newWorld(t, setup{store: store})
	op := &api.Operation{
		Name: access.PricesBatch, Method: http.MethodPost, Path: "/v1/failing", Surface: keys.Preview, Meta: true,
		RequestHash: func(*api.Request) (access.BodyHash, *wire.APIError) { return access.BodyHash{}, nil },
		Run:         func(*api.Request, *api.Reply) *wire.APIError { return problem(wire.InvalidRequest, "no") },
	}
	p := &route{pattern: op.Path, method: op.Method, preview: &operation{Operation: op}}
	w.router.ANY(p.pattern, w.handlerOf(p))

	for fails, want := range map[bool]int{false: http.StatusBadRequest, true: http.StatusServiceUnavailable} {
		store.failAbort = fails
		s := batchOf("preview", "k", oneItem)
		s.path = op.Path
		s.header = append(s.header, "X-Request-Id: req_abortfails")
		r, err := w.send(s.request(w))
		if err != nil {
			t.Fatal(err)
		}
		left := r.header.Get("X-Request-Credits-Remaining")
		if r.status != want || left != "1000000000" || bytes.Contains(r.body, []byte("the disk")) {
			t.Errorf("with failing %v: %d %s, %s credits remain", fails, r.status, r.body, left)
		}
	}
	if !logs.contains("req_abortfails") {
		t.Error("the failure is not in the log")
	}
}

// TestPanicInACommit wants the reservation of a batch that panics to be ended once, and its claim to be
// free again.
func TestPanicInACommit(t *testing.T) {
	store := &brokenStore{Store: access.NewMemory(access.MemoryOptions{})}
	w := newWorld(t, setup{store: store}) // whose end counts reservations
	batch := batchOf("preview", "k", oneItem)
	store.panicCommit = true
	batch.status = 500
	batch.code = "internal_error"
	w.try(t, batch)
	store.panicCommit = false
	batch.status = 200
	batch.code = ""
	batch.want = []match{at("meta.idempotent_replay", false), at("meta.billable_units", 1)}
	w.try(t, batch)
}

// panicking adds a path whose operation panics after its reservation.
func (w *world) panicking(pattern string, name access.Operation, run func(*api.Request, *api.Reply) *wire.APIError) {
	op := &api.Operation{
		Name: name, Method: http.MethodGet, Path: pattern, Surface: keys.Live, Cacheable: true,
		Run: run,
	}
	p := &route{pattern: pattern, method: http.MethodGet, live: &operation{Operation: op}}
	w.router.ANY(pattern, w.handlerOf(p))
}

// TestPanic wants a panic to be a 500 in the envelope, in the log with its request id, and its
// reservation released.
func TestPanic(t *testing.T) {
	w := newWorld(t, setup{})
	key := w.tenant(t, "panic", "tiny")
	w.panicking("/v1/boom", access.GamesList, func(_ *api.Request, out *api.Reply) *wire.APIError {
		out.Body = append(out.Body, `{"half":`...)
		out.Link = append(out.Link, "<x>"...)
		panic("boom")
	})

	for i := range 8 {
		q := (&scenario{path: "/v1/boom", key: key, header: []string{fmt.Sprint("X-Request-Id: req_panic",
			i)}}).request(w)
		r, err := w.send(q)
		if err != nil {
			t.Fatal(err)
		}
		if faults := append(r.envelopeFaults(fmt.Sprint("req_panic", i)),
			r.limitFaults(w.clock())...); len(faults) > 0 {
			t.Error(faults)
		}
		if r.status != 500 || r.code() != "internal_error" || bytes.Contains(r.body, []byte("boom")) ||
			r.header.Get("Link") != "" {
			t.Errorf("%d %s %v", r.status, r.body, r.header)
		}
		if !logs.contains(fmt.Sprint("req_panic", i)) {
			t.Error("the log does not tell which request panicked")
		}
	}

	// All three of the day's quota are still there.
	for range 3 {
		w.try(t, scenario{path: "/v1/games", key: key})
	}
	w.try(t, scenario{path: "/v1/games", key: key, status: 429, code: "quota_exceeded"})
}

// TestPanicBehindTheCharge makes the answer of a charged call panic: it stays charged, and the log says
// so (decision 1712).
func TestPanicBehindTheCharge(t *testing.T) {
	w := newWorld(t, setup{})
	key := w.tenant(t, "panic", "tiny")
	w.panicking("/v1/boom", access.GamesList, func(_ *api.Request, out *api.Reply) *wire.APIError {
		out.Body = append(out.Body, bytes.Repeat([]byte("x"), 4000)...)
		out.VaryingFrom = 1 << 20 // which is not there
		return nil
	})

	q := (&scenario{path: "/v1/boom", key: key, header: []string{"Accept-Encoding: gzip"}}).request(w)
	if r, err := w.send(q); err != nil || r.status != 500 || r.code() != "internal_error" {
		t.Fatalf("%d %s %v", r.status, r.body, err)
	}
	if !logs.contains("charged=true") {
		t.Error("the log does not say that the call was charged")
	}
	for range 2 { // of three a day
		w.try(t, scenario{path: "/v1/games", key: key})
	}
	w.try(t, scenario{path: "/v1/games", key: key, status: 429, code: "quota_exceeded"})
}

// TestRequestIDs holds decision 11.
func TestRequestIDs(t *testing.T) {
	w := shared()
	f := func(given string, taken bool) {
		t.Helper()
		for _, path := range []string{"/v1/games", "/v1/cards/none", "/v1/nothing", "/healthz"} {
			r := w.get(t, path, "X-Request-Id: "+given)
			if got := r.header.Get("X-Request-Id"); (got == given) != taken {
				t.Errorf("%s: given %q, answered %q", path, given, got)
			}
		}
	}

	f("req_1", true)
	f("req_aZ09_-", true)
	f("req_"+strings.Repeat("a", 64), true)
	f("req_"+strings.Repeat("a", 65), false)
	f("req_", false)
	f("REQ_1", false)
	f("xreq_1", false)
	f("req_a b", false)
	f("req_a\"b", false)
	f("req_é", false)
	f("", false)
	seen := map[string]bool{}
	for range 200 {
		id := w.get(t, "/healthz").header.Get("X-Request-Id")
		if seen[id] {
			t.Fatalf("request id %s came twice", id)
		}
		seen[id] = true
	}
}
