package server

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
)

// batchOf is a request for the prices of selections.
func batchOf(key, idempotency, body string) scenario {
	s := scenario{path: "/v1/prices/batch", key: key, body: body}
	if idempotency != "" {
		s.header = []string{"Idempotency-Key: " + idempotency}
	}
	return s
}

func itemsOf(selections ...any) string {
	text, _ := json.Marshal(object{"items": selections})
	return string(text)
}

// result is what a lane must answer (decision 27 and the specification's freshness).
func (tr *truth) result(selection object, l *trueLane, reason string) object {
	if reason == "" && !l.licensed {
		reason = "not_licensed"
	}
	if reason == "" && l.now < 0 {
		reason = "no_observation"
	}
	if reason != "" {
		return object{
			"selection": selection, "status": "missing", "price": nil, "observation": nil,
			"missing_reason": reason,
		}
	}

	status := "unknown"
	asOf := any(nil)
	if l.asOf != "" {
		at, err := time.Parse(time.RFC3339, l.asOf)
		if err != nil {
			panic(err)
		}

		status = "stale"
		asOf = l.asOf
		if tr.at.Sub(at) <= 36*time.Hour {
			status = "fresh"
		}
	}

	return object{
		"selection": selection, "status": status, "price": object{
			"amount_cents": float64(l.now),
			"currency":     "USD",
		}, "missing_reason": nil,
		"observation": object{
			"source": "licensed_reference", "source_as_of": asOf, "collected_at": l.collected,
			"basis":       "market_reference",
			"attribution": "Synthetic market reference, not real prices",
		},
	}
}

// TestSelectionsAreTrue prices every lane of every product, and what is none, against the files.
func TestSelectionsAreTrue(t *testing.T) {
	w := shared()
	tr := todaysTruth()
	ids, cards, sealed := tr.trueProducts()
	var selections []any
	var want []object
	add := func(s object, l *trueLane, reason string) {
		selections = append(selections, s)
		want = append(want, tr.result(s, l, reason))
	}

	card := func(id, variant, condition string) object {
		return object{"kind": "card", "product_id": id, "variant": variant, "condition": condition}
	}
	for i, id := range ids {
		if s := sealed[id]; s != nil {
			add(object{"kind": "sealed", "product_id": id}, s.lane, "")
			add(card(id, "normal", "near_mint"), nil, "unsupported_selection")
			continue
		}

		k := cards[id]
		for _, l := range k.lanes {
			add(card(id, l.variant, l.condition), l, "")
		}
		if i%10 == 0 {
			add(object{"kind": "sealed", "product_id": id}, nil, "unsupported_selection")
			add(card(id, "no_such_variant", "near_mint"), nil, "unsupported_selection")
			add(card(id, "Holofoil", "near_mint"), nil, "unsupported_selection") // exact here
			add(card(id[:len(id)-1]+"_", "normal", "near_mint"), nil, "not_found")
			add(object{"kind": "sealed", "product_id": id[:len(id)-1] + "_"}, nil, "not_found")
		}
	}

	seen := map[string]int{}
	for from := 0; from < len(selections); from += 50 {
		to := min(from+50, len(selections))
		r := w.try(t, batchOf("preview", fmt.Sprint("true", from), itemsOf(selections[from:to]...)))
		var got struct {
			Data []object
			Meta struct {
				SnapshotAt string `json:"snapshot_at"`
			}
		}
		r.decode(t, &got)
		if len(got.Data) != to-from || got.Meta.SnapshotAt != tr.at.Format(time.RFC3339) {
			t.Fatalf("%d results of %d, snapshot_at %s", len(got.Data), to-from, got.Meta.SnapshotAt)
		}

		for i, g := range got.Data {
			if !reflect.DeepEqual(g, want[from+i]) {
				a, _ := json.Marshal(g)
				b, _ := json.Marshal(want[from+i])
				t.Errorf("%s\nwant %s", a, b)
			}
			seen[fmt.Sprint(g["status"], g["missing_reason"])]++
		}
	}

	for _, kind := range []string{
		"fresh<nil>", "stale<nil>", "unknown<nil>", "missingnot_found",
		"missingno_observation", "missingnot_licensed", "missingunsupported_selection",
	} {
		if seen[kind] == 0 {
			t.Errorf("no result is %s: %v", kind, seen)
		}
	}
}

// TestSelectionBodies sends broken bodies and keys.
func TestSelectionBodies(t *testing.T) {
	w := shared()
	const good = `{"kind":"card","product_id":"prd_abc","variant":"normal","condition":"near_mint"}`
	items := func(s ...string) string { return `{"items":[` + strings.Join(s, ",") + `]}` }
	many := func(n int) string {
		s := make([]string, n)
		for i := range s {
			s[i] = fmt.Sprintf(`{"kind":"sealed","product_id":"prd_abc%d"}`, i)
		}
		return items(s...)
	}

	n := 0
	bad := func(body string, parts ...string) {
		t.Helper()
		n++
		s := batchOf("preview", fmt.Sprint("bad", n), body)
		s.method = "POST"
		s.status = 400
		s.code = "invalid_request"
		s.want = []match{has(parts...)}
		r := w.try(t, s)
		if r.header.Get("X-Request-Credits-Charged") != "0" {
			t.Errorf("%.80s is charged", body)
		}
	}

	fine := func(body string, parts ...string) {
		t.Helper()
		n++
		s := batchOf("preview", fmt.Sprint("fine", n), body)
		s.want = []match{has(parts...)}
		w.try(t, s)
	}

	fine(items(good), "not_found")
	fine(many(50), "prd_abc49")
	fine(items(good, strings.Replace(good, "near_mint", "ungraded", 1)), "ungraded") // one product, two selections
	fine(items(strings.Replace(good, `"normal"`, `"`+strings.Repeat("𝒳", 100)+`"`, 1)))
	bad(items(strings.Replace(good, `"normal"`, `"`+strings.Repeat("𝒳", 101)+`"`, 1)), "variant")
	bad(many(51), "between 1 and 50", "51")
	bad(items(), "between 1 and 50")
	bad(`{}`, "items is required")
	bad(`{"items":null}`, "array")
	bad(`{"items":{}}`, "array")
	bad(`{"items":[null]}`, "items[0] must be an object")
	bad(`{"items":[[]]}`, "items[0] must be an object")
	bad(`{"items":["x",`+good+`]}`, "items[0]")
	bad(`{"items":[`+good+`],"note":1}`, "note")
	bad(`{"ids":["x"]}`, "ids", `with a preview key send {\"items\":[`)
	bad(``, "ends before its JSON does")
	bad(`null`, "object")
	bad(`[]`, "object")
	bad(items(good)+"x", "not")
	bad("\ufeff"+items(good), "not JSON")
	bad(items(good, good), "items[1] repeats items[0]")
	bad(items(good, `{"condition":"near_mint","variant":"normal","product_id":"prd_abc","kind":"card"}`),
		"items[1] repeats items[0]")
	bad(items(good, `{"condition":"near\u005fmint","variant":"normal","product_id":"prd_abc","kind":"card"}`),
		"repeats")
	bad(items(`{"kind":"sealed","product_id":"prd_abc"}`, `{"product_id":"prd_abc","kind":"sealed"}`), "repeats")
	bad(items(`{"kind":"card","product_id":"prd_abc"}`), "variant is required", "condition is required")
	bad(items(`{"kind":"card"}`), "product_id is required")
	bad(items(`{}`), "kind is required", "product_id is required")
	bad(items(`{"kind":"sealed","product_id":"prd_abc","variant":"normal"}`), "variant does not belong")
	bad(items(`{"kind":"sealed","product_id":"prd_abc","condition":"near_mint"}`), "condition does not belong")
	bad(items(`{"kind":"box","product_id":"prd_abc"}`), "kind must be")
	bad(items(`{"kind":"Card","product_id":"prd_abc","variant":"normal","condition":"near_mint"}`), "kind must be")
	bad(items(`{"kind":"card","product_id":"prd_abc","variant":"normal","condition":"Near Mint"}`), "condition must be")
	bad(items(`{"kind":"card","product_id":"prd_abc","variant":"normal","condition":"factory_sealed"}`),
		"condition must be")
	// Responses have these texts without escapes.
	bad(items(`{"kind":"card","product_id":"prd_abc","variant":"normal","condition":"near_mint\""}`),
		"condition must be")
	bad(items(`{"kind":"sealed\"","product_id":"prd_abc"}`), "kind must be")
	for _, char := range []string{`\"`, `\\`, `\u0000`, `\u007f`, `\u00e9`, "é", ".", "A", "-", "/", " "} {
		bad(items(`{"kind":"sealed","product_id":"prd_ab`+char+`c"}`), "product_id must be")
	}
	bad(items(`{"kind":"card","product_id":"prd_abc","variant":"","condition":"near_mint"}`), "variant must have")
	bad(items(`{"kind":"card","product_id":"prd_abc","variant":"a\u0000","condition":"near_mint"}`), "variant")
	bad(items(`{"kind":"card","product_id":"prd_abc","variant":null,"condition":"near_mint"}`),
		"variant must be a string")
	bad(items(`{"kind":1,"product_id":[],"variant":{},"condition":false}`), "kind must be a string",
		"product_id must be a string", "variant must be a string", "condition must be a string")
	bad(items(`{"kind":"card","product_id":"card_abc","variant":"normal","condition":"near_mint"}`),
		"product_id must be prd_ and 3 to 64")
	bad(items(`{"kind":"sealed","product_id":"prd_ab"}`), "product_id must be prd_ and 3 to 64")
	bad(items(`{"kind":"sealed","product_id":"prd_abc","quantity":2}`), "quantity")
	bad(items(`{"kind":"sealed","kind":"sealed","product_id":"prd_abc"}`), "twice")
	bad(items(`{"kind":"sealed","product_id":"prd_abc","x":`+nested(14)+`}`), "16 levels")

	for _, key := range []string{"", " ", "a b", "a.b", "é", strings.Repeat("k", 65), "a/b", `"k"`} {
		s := batchOf("preview", "", items(good))
		s.header = []string{"Idempotency-Key: " + key}
		s.status = 400
		s.code = "invalid_request"
		s.want = []match{has("Idempotency-Key")}
		w.try(t, s)
	}

	s := batchOf("preview", "", `{"items":7}`)
	s.status = 400
	s.code = "invalid_request"
	s.want = []match{has("Idempotency-Key", "items must be an array")}
	w.try(t, s)
	fine2 := batchOf("preview", strings.Repeat("k", 64), items(good))
	fine2.want = []match{has("not_found")}
	w.try(t, fine2)
	twice := batchOf("preview", "one", items(good))
	twice.header = append(twice.header, "Idempotency-Key: two")
	twice.status = 400
	twice.code = "invalid_request"
	w.try(t, twice)
	media := batchOf("preview", "media", items(good))
	media.header = append(media.header, "Content-Type: text/plain")
	media.status = 415
	media.code = "unsupported_media_type"
	w.try(t, media)
}

// shifted is a store whose clock runs ahead.
type shifted struct {
	access.Store
	mu    sync.Mutex
	ahead time.Duration
}

func (s *shifted) at(now access.Instant) access.Instant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return access.Instant{Mono: now.Mono + s.ahead.Milliseconds(), Wall: now.Wall + s.ahead.Milliseconds()}
}

func (s *shifted) skip(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += d
}

func (s *shifted) Admit(p *keys.Principal, r access.LimitSpec, now access.Instant) access.Decision {
	return s.Store.Admit(p, r, s.at(now))
}

func (s *shifted) Begin(t access.Reservation, key string, h access.BodyHash, now access.Instant) (access.Claim, error) {
	return s.Store.Begin(t, key, h, s.at(now))
}

func (s *shifted) Usage(p *keys.Principal, r access.LimitSpec, now access.Instant) (access.Usage, error) {
	return s.Store.Usage(p, r, s.at(now))
}

// partner makes a preview key of a tenant of its own with some credits.
func (w *world) partner(tb testing.TB, name string, credits int64, scopes keys.Scope) string {
	tb.Helper()
	return w.key(tb, keys.NewKey{
		Name: name, Tenant: name, Surface: keys.Preview, Plan: "preview", Credits: &credits,
		Scopes: scopes,
	})
}

const oneItem = `{"items":[{"kind":"sealed","product_id":"prd_abc"}]}`

// TestIdempotency holds replays, conflicts and retention (decision 30).
func TestIdempotency(t *testing.T) {
	store := &shifted{Store: access.NewMemory(access.MemoryOptions{})}
	w := newWorld(t, setup{store: store})
	key := w.partner(t, "idem", 4, 0)
	rival := w.partner(t, "idem-rival", 4, 0)
	ids, _, _ := todaysTruth().trueProducts()
	body := itemsOf(object{"kind": "card", "product_id": ids[0], "variant": "normal", "condition": "near_mint"},
		object{"kind": "sealed", "product_id": ids[1]})
	turned := fmt.Sprintf(` {"items" : [ {"condition":"near_mint","variant":"normal","product_id":%q,"kind":"card"}, `+
		`{"product_id":%q,"kind":"sealed"} ] } `, ids[0], ids[1])
	var original any
	f := func(key, idempotency, body string, status int, code, charged, left string, replay bool) reply {
		t.Helper()
		s := batchOf(key, idempotency, body)
		s.status = status
		s.code = code
		r := w.try(t, s)
		if r.header.Get("X-Request-Credits-Charged") != charged || r.header.Get("X-Request-Credits-Remaining") != left {
			t.Errorf("charged %s, %s left; want %s and %s", r.header.Get("X-Request-Credits-Charged"),
				r.header.Get("X-Request-Credits-Remaining"), charged, left)
		}
		if status != 200 {
			return r
		}

		for _, m := range []match{
			at("meta.idempotent_replay", replay),
			at("meta.billable_units", map[string]int{"0": 0, "1": 1}[charged]), at("meta.snapshot_at",
				"2026-08-22T20:00:00Z"),
		} {
			m(t, r.body)
		}
		data, _ := dig(t, r.body, "data")
		if original == nil {
			original = data
		} else if replay && key != rival && !reflect.DeepEqual(data, original) {
			t.Errorf("the replay differs: %v", data)
		}
		return r
	}

	first := f(key, "k1", body, 200, "", "1", "3", false)
	again := f(key, "k1", turned, 200, "", "0", "3", true)
	if a := first.header.Get("X-Request-Id"); a == again.header.Get("X-Request-Id") {
		t.Error("a replay has the request id of the original")
	}

	f(key, "k1", oneItem, 409, "idempotency_conflict", "0", "3", false)
	f(key, "k1", itemsOf(object{"kind": "sealed", "product_id": ids[1]},
		object{
			"kind": "card", "product_id": ids[0], "variant": "normal",
			"condition": "near_mint",
		}), 409, "idempotency_conflict", "0", "3", false)
	f(key, "K1", oneItem, 200, "", "1", "2", false) // keys have a case
	f(rival, "k1", oneItem, 200, "", "1", "3", false)

	// A failed request is not retained.
	f(key, "k2", `{"items":[]}`, 400, "invalid_request", "0", "2", false)
	f(key, "k2", oneItem, 200, "", "1", "1", false)
	// The catalog moves on; the replay does not.
	w.Engine.Swap(tomorrow().view, time.Now())
	f(key, "k1", body, 200, "", "0", "1", true)
	w.Engine.Swap(today().view, time.Now())

	// At exhausted credits replays still come, new calls do not.
	f(key, "k3", oneItem, 200, "", "1", "0", false)
	r := f(key, "k4", oneItem, 429, "quota_exceeded", "0", "0", false)
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}

	f(key, "k1", body, 200, "", "0", "0", true)
	f(key, "k1", oneItem, 409, "idempotency_conflict", "0", "0", false)
	w.try(t, scenario{path: "/v1/products", key: key, status: 429, code: "quota_exceeded"})
	w.try(t, scenario{path: "/v1/usage", key: key, want: []match{
		at("data.request_credits_used", 4),
		at("data.request_credits_remaining", 0), at("data.request_credits_limit", 4), at("data.tenant_id", "idem"),
	}})
	w.try(t, scenario{path: "/v1/usage", key: rival, want: []match{
		at("data.request_credits_used", 1),
		at("data.tenant_id", "idem-rival"),
	}})
	// Retained for ten minutes, then the key is a new request.
	store.skip(9 * time.Minute)
	f(key, "k1", body, 200, "", "0", "0", true)
	f(rival, "k1", oneItem, 200, "", "0", "3", true)
	store.skip(61 * time.Second)
	f(rival, "k1", body, 200, "", "1", "2", false)
	f(key, "k1", body, 429, "quota_exceeded", "0", "0", false)
	// A replay is authorized again.
	f(rival, "k1", body, 200, "", "0", "2", true)
	blind := w.key(t, keys.NewKey{
		Name: "blind", Tenant: "idem-rival", Surface: keys.Preview,
		Scopes: keys.CatalogRead,
	})
	f(blind, "k1", body, 403, "insufficient_scope", "0", "2", false)
}

// TestIdempotencyUnderConcurrency sends the same call many times at once: one is charged, all get
// the same data; with different bodies one wins.
func TestIdempotencyUnderConcurrency(t *testing.T) {
	w := shared()
	key := w.partner(t, only("crowded"), 100, 0)
	for round := range 5 {
		var group sync.WaitGroup
		var mu sync.Mutex
		var data []any
		charged := 0
		conflicts := 0
		for i := range 10 {
			group.Go(func() {
				body := oneItem
				if round == 4 {
					body = fmt.Sprintf(`{"items":[{"kind":"sealed","product_id":"prd_abc%d"}]}`, i)
				}

				s := batchOf(key, fmt.Sprint("crowd", round), body)
				q := s.request(w)
				r, err := w.send(q)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
					return
				}

				w.check(t, q, r)
				switch r.status {
				case 200:
					d, _ := dig(t, r.body, "data")
					data = append(data, d)
					if r.header.Get("X-Request-Credits-Charged") == "1" {
						charged++
					}
				case 409:
					conflicts++
				default:
					t.Errorf("status %d: %s", r.status, r.body)
				}
			})
		}

		group.Wait()
		if charged != 1 || round < 4 && len(data) != 10 || round == 4 && conflicts != 9 {
			t.Errorf("round %d: %d charged, %d answers, %d conflicts", round, charged, len(data), conflicts)
		}

		for _, d := range data {
			if !reflect.DeepEqual(d, data[0]) {
				t.Error("answers differ")
			}
		}
	}
	w.try(t, scenario{path: "/v1/usage", key: key, want: []match{at("data.request_credits_used", 5)}})
}

// TestPreviewMinute holds the minute of an organization, shared by its keys, and the separate one
// of usage.
func TestPreviewMinute(t *testing.T) {
	store := &shifted{Store: access.NewMemory(access.MemoryOptions{})}
	w := newWorld(t, setup{store: store, still: true})
	key := w.partner(t, "busy", 1000, 0)
	second := w.key(t, keys.NewKey{Name: "second", Tenant: "busy", Surface: keys.Preview})
	for i := range 60 {
		one := []string{key, second}[i%2]
		switch i % 3 {
		case 0:
			w.try(t, scenario{path: "/v1/products?limit=1", key: one})
		case 1:
			w.try(t, scenario{path: "/v1/products/prd_abc", key: one, status: 404, code: "not_found"})
		case 2:
			w.try(t, batchOf(one, "busy", oneItem)) // but for the first a replay
		}
	}

	for _, one := range []string{key, second} {
		w.try(t, scenario{path: "/v1/products", key: one, status: 429, code: "rate_limit_exceeded"})
		s := batchOf(one, "busy", oneItem)
		s.status = 429
		s.code = "rate_limit_exceeded"
		w.try(t, s)
	}

	for i := range 10 {
		r := w.try(t, scenario{
			path: "/v1/usage", key: []string{key, second}[i%2],
			want: []match{
				at("data.request_credits_used", 21), at("data.rate_limit_per_minute", 60),
				at("meta.billable_units", 0),
			},
		})
		if r.header.Get("X-Request-Credits-Charged") != "0" || r.header.Get("X-Request-Credits-Remaining") != "979" {
			t.Errorf("usage has %v", r.header)
		}
	}

	r := w.try(t, scenario{path: "/v1/usage", key: second, status: 429, code: "rate_limit_exceeded"})
	if after, _ := dig(t, r.body, "error.retry_after_seconds"); fmt.Sprint(after) != r.header.Get("Retry-After") {
		t.Errorf("Retry-After %s, body %v", r.header.Get("Retry-After"), after)
	}
	store.skip(61 * time.Second)
	w.try(t, scenario{path: "/v1/products?limit=1", key: key})
	w.try(t, scenario{path: "/v1/usage", key: key, want: []match{at("data.request_credits_used", 22)}})
}
