package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"ninepocket/access/keys"
	"ninepocket/internal/testsweep"
)

// pathKind is what a path of the matrix answers with.
type pathKind int

const (
	liveOnly pathKind = iota
	previewOnly
	sharedPath
)

var matrixPaths = map[pathKind][]string{
	liveOnly: {
		"/v1/games", "/v1/cards", "/v1/cards/x", "/v1/cards/x/prices", "/v1/cards/x/price-stats",
		"/v1/sets", "/v1/sets/x", "/v1/market/movers", "POST /v1/cards/batch",
		"POST /v1/valuations",
	},
	previewOnly: {"/v1/products", "/v1/products/prd_abc"},
	sharedPath:  {"POST /v1/prices/batch", "/v1/usage"},
}

const (
	liveChallenge    = `Bearer realm="ninepocket"`
	previewChallenge = `ApiKey realm="ninepocket"`
)

// TestAuthenticationMatrix sends every kind of key in every way to every path of every surface.
func TestAuthenticationMatrix(t *testing.T) {
	w := shared()
	forged := func(key string) string { return key[:len(key)-1] + string('a'+(key[len(key)-1]-'a'+1)%26) }
	live := w.keys["bench"]
	prev := w.keys["preview"]
	expiredAt := time.Now().Add(-time.Second)
	expired := w.keyOf(t, keys.NewKey{
		Name: "expired", Tenant: "expired", Surface: keys.Live, Plan: "free",
		Expires: &expiredAt,
	}, expiredAt.Add(-time.Minute))
	expiredPreview := w.keyOf(t, keys.NewKey{
		Name: "expired", Tenant: "expired-preview", Surface: keys.Preview,
		Plan: "wide", Expires: &expiredAt,
	}, expiredAt.Add(-time.Minute))
	type want struct {
		status int
		code   string // "" for no 401 or 403
	}

	ok := want{}
	unauthorized := want{401, "unauthorized"}
	sandbox := want{403, "sandbox_key"}
	repeated := want{400, "invalid_request"} // the guard's
	invalid := want{401, "invalid_api_key"}
	scope := want{403, "insufficient_scope"}
	limit := want{403, "plan_limit"}
	for k, c := range []struct {
		name   string
		header []string
		live   want // on live-only paths
		prev   want // on preview-only paths
		both   want // on shared paths
	}{
		{"no key", nil, unauthorized, invalid, unauthorized},
		{"live header", []string{"X-API-Key: " + live}, ok, scope, ok},
		{"live header, other case", []string{"x-api-KEY: " + live}, ok, scope, ok},
		{"live bearer", []string{"Authorization: Bearer " + live}, ok, scope, ok},
		{"live bearer, lower case", []string{"authorization: bearer " + live}, ok, scope, ok},
		{"live bearer, more spaces", []string{"Authorization: BEARER   " + live + "  "}, ok, scope, ok},
		{"both equal", []string{"Authorization: Bearer " + live, "X-API-Key: " + live}, ok, scope, ok},
		{
			"both, different",
			[]string{"Authorization: Bearer " + live, "X-API-Key: " + w.keys["free"]},
			unauthorized,
			invalid, unauthorized,
		},
		{
			"both, one preview",
			[]string{"Authorization: Bearer " + prev, "X-API-Key: " + live},
			unauthorized, invalid,
			unauthorized,
		},
		{
			"both, one live",
			[]string{"Authorization: Bearer " + live, "X-API-Key: " + prev},
			unauthorized, invalid,
			invalid,
		},
		{
			"header twice, different",
			[]string{"X-API-Key: " + live, "X-API-Key: " + w.keys["free"]},
			repeated,
			repeated, repeated,
		},
		{
			"header twice, second good",
			[]string{"X-API-Key: npk_live_x", "X-API-Key: " + live},
			repeated, repeated,
			repeated,
		},
		{"bearer twice, different", []string{
			"Authorization: Bearer " + live,
			"Authorization: Bearer " + w.keys["free"],
		}, repeated, repeated, repeated},
		{"empty header beside bearer", []string{"X-API-Key:", "Authorization: Bearer " + live}, ok, scope, ok},
		{"empty bearer beside header", []string{"Authorization:", "X-API-Key: " + live}, ok, scope, ok},
		{"empty header", []string{"X-API-Key:"}, unauthorized, invalid, unauthorized},
		{"blank header", []string{"X-API-Key:   "}, unauthorized, invalid, unauthorized},
		{"bearer without a key", []string{"Authorization: Bearer"}, unauthorized, invalid, unauthorized},
		{"bearer with blanks", []string{"Authorization: Bearer   "}, unauthorized, invalid, unauthorized},
		{"a key alone in Authorization", []string{"Authorization: " + live}, unauthorized, invalid, unauthorized},
		{"basic", []string{"Authorization: Basic " + live}, unauthorized, invalid, unauthorized},
		{
			"basic beside a good key",
			[]string{"Authorization: Basic abc", "X-API-Key: " + live},
			unauthorized, invalid,
			unauthorized,
		},
		{"nonsense", []string{"X-API-Key: nonsense"}, unauthorized, invalid, unauthorized},
		{"two keys in one", []string{"X-API-Key: " + live + ", " + live}, unauthorized, invalid, unauthorized},
		{"quoted", []string{`X-API-Key: "` + live + `"`}, unauthorized, invalid, unauthorized},
		{"not UTF-8", []string{"X-API-Key: npk_live_\xff\xfe"}, unauthorized, invalid, unauthorized},
		{
			"very long",
			[]string{"X-API-Key: npk_live_" + strings.Repeat("a", 5000)},
			unauthorized, invalid,
			unauthorized,
		},
		{"forged live", []string{"X-API-Key: " + forged(live)}, unauthorized, invalid, unauthorized},
		{
			"well-formed, unknown live",
			[]string{"X-API-Key: " + keys.Mint(keys.Live)},
			unauthorized, invalid,
			unauthorized,
		},
		{
			"well-formed, unknown preview",
			[]string{"X-API-Key: " + keys.Mint(keys.Preview)},
			unauthorized,
			invalid, invalid,
		},
		{
			"well-formed, unknown sandbox",
			[]string{"X-API-Key: " + keys.Mint(keys.Sandbox)},
			unauthorized,
			invalid, unauthorized,
		},
		{"revoked", []string{"X-API-Key: " + w.keys["revoked"]}, unauthorized, invalid, unauthorized},
		{"revoked bearer", []string{"Authorization: Bearer " + w.keys["revoked"]}, unauthorized, invalid, unauthorized},
		{"expired", []string{"X-API-Key: " + expired}, unauthorized, invalid, unauthorized},
		{"suspended", []string{"X-API-Key: " + w.keys["suspended"]}, limit, scope, limit},
		{"suspended bearer", []string{"Authorization: Bearer " + w.keys["suspended"]}, limit, scope, limit},
		{"suspended sandbox", []string{"X-API-Key: " + w.keys["sandbox_suspended"]}, limit, scope, limit},
		{"suspended preview", []string{"X-API-Key: " + w.keys["preview_suspended"]}, unauthorized, scope, scope},
		{"sandbox", []string{"X-API-Key: " + w.keys["sandbox"]}, sandbox, scope, sandbox},
		{"sandbox bearer", []string{"Authorization: Bearer " + w.keys["sandbox"]}, sandbox, scope, sandbox},
		{"preview header", []string{"X-API-Key: " + prev}, unauthorized, ok, ok},
		{"preview bearer", []string{"Authorization: Bearer " + prev}, unauthorized, invalid, invalid},
		{"revoked preview", []string{"X-API-Key: " + w.keys["preview_revoked"]}, unauthorized, invalid, invalid},
		{"expired preview", []string{"X-API-Key: " + expiredPreview}, unauthorized, invalid, invalid},
		{"forged preview", []string{"X-API-Key: " + forged(prev)}, unauthorized, invalid, invalid},
		{"nonsense preview", []string{"X-API-Key: npk_prev_"}, unauthorized, invalid, invalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			for kind, wanted := range map[pathKind]want{liveOnly: c.live, previewOnly: c.prev, sharedPath: c.both} {
				for i, target := range matrixPaths[kind] {
					if (i+k)%testsweep.Stride(8) != 0 {
						continue // another case asks it
					}

					q := request{method: http.MethodGet, target: target, header: c.header}
					if rest, post := strings.CutPrefix(target, "POST "); post {
						q.method = http.MethodPost
						q.target = rest
						q.body = `{"ids":["x"]}`
						q.header = append(append([]string{}, c.header...), "Content-Type: application/json")
					}

					r := w.ask(t, q)
					refused := r.status == 401 || r.status == 403
					if wanted == ok && refused || wanted != ok && (r.status != wanted.status ||
						r.code() != wanted.code) {
						t.Errorf("%s answered %d %s, want %v", target, r.status, r.code(), wanted)
					}

					challenge := map[string]string{
						"unauthorized":    liveChallenge,
						"invalid_api_key": previewChallenge,
					}[r.code()]
					if got := r.header.Get("Www-Authenticate"); got != challenge &&
						r.header.Get("WWW-Authenticate") != challenge {
						t.Errorf("%s: WWW-Authenticate %q, want %q", target, got, challenge)
					}
				}
			}
		})
	}
}

// TestKeyInTheQueryIsNoKey wants a key in the query to be neither taken nor shown.
func TestKeyInTheQueryIsNoKey(t *testing.T) {
	w := shared()
	for _, name := range []string{"api_key", "key", "X-API-Key", "access_token", "Authorization"} {
		r := w.try(t, scenario{
			path: "/v1/games?" + name + "=" + w.keys["bench"], key: "-", status: 401,
			code: "unauthorized", want: []match{lacks(w.keys["bench"])},
		})
		if fmt.Sprint(r.header) != strings.ReplaceAll(fmt.Sprint(r.header), w.keys["bench"], "") {
			t.Errorf("a header shows the key: %v", r.header)
		}
	}
}

// TestScopes sends preview keys with one scope each everywhere.
func TestScopes(t *testing.T) {
	w := shared()
	for key, opens := range map[string]string{
		"preview_catalog": "/v1/products", "preview_prices": "/v1/prices/batch",
		"preview_usage": "/v1/usage",
	} {
		for _, path := range []string{"/v1/products", "/v1/products/prd_abc", "/v1/prices/batch", "/v1/usage"} {
			s := scenario{path: path, key: key}
			if path == "/v1/prices/batch" {
				s.body = `{"items":[]}`
			}

			r := w.ask(t, s.request(w))
			if allowed := strings.HasPrefix(path, opens); allowed == (r.code() == "insufficient_scope") || !allowed &&
				r.status != 403 {
				t.Errorf("%s with %s: %d %s", path, key, r.status, r.code())
			}
			if r.header.Get("X-Request-Credits-Charged") == "" || r.header.Get("X-Request-Credits-Remaining") == "" {
				t.Errorf("%s with %s: no credit headers on an authenticated answer", path, key)
			}
		}
	}
}

// TestLiveOnly switches the preview contract off.
func TestLiveOnly(t *testing.T) {
	w := liveWorld()
	w.run(t, []scenario{
		{path: "/v1/products", key: "preview", status: 404, code: "not_found"},
		{path: "/v1/products/prd_abc", key: "preview", status: 404, code: "not_found"},
		{path: "/v1/usage", key: "preview", status: 401, code: "unauthorized"},
		{path: "/v1/usage", want: []match{at("data.tenant_id", "bench")}},
		{path: "/v1/prices/batch", key: "preview", body: `{"items":[]}`, status: 401, code: "unauthorized"},
		{path: "/openapi.json", key: "-", want: []match{lacks("/v1/products", "idempotency")}},
		{path: "/openapi.live.json", key: "-", want: []match{lacks("/v1/products", "idempotency")}},
		{path: "/openapi.preview.json", key: "-", status: 404, code: "not_found"},
	})
}

// TestDefaultPreview lets the preview surface answer shared paths without a key.
func TestDefaultPreview(t *testing.T) {
	w := newWorld(t, setup{options: func(o *Options) { o.DefaultPreview = true }})
	w.run(t, []scenario{
		{path: "/v1/usage", key: "-", status: 401, code: "invalid_api_key"},
		{path: "/v1/usage", key: "nonsense", status: 401, code: "unauthorized"},
		{path: "/v1/games", key: "-", status: 401, code: "unauthorized"},
	})
}

// TestRevokedWhileServing revokes a key between two requests.
func TestRevokedWhileServing(t *testing.T) {
	w := shared()
	name := only("soon")
	key := w.tenant(t, name, "free")
	w.try(t, scenario{path: "/v1/games", key: key})
	w.revoke(t, name, time.Now())
	w.try(t, scenario{path: "/v1/games", key: key, status: 401, code: "unauthorized"})
}

// TestSuspendedWhileServing suspends a tenant between requests. MCP, usage, stored replies and
// large bodies are refused in the surface's own form, and charge nothing. After the suspension all
// is as before.
func TestSuspendedWhileServing(t *testing.T) {
	w := shared()
	name := only("late")
	live := w.tenant(t, name, "free")
	preview := w.key(t, keys.NewKey{Tenant: name, Surface: keys.Preview, Plan: "wide"})
	change := func(do func(string, time.Time) error) {
		t.Helper()
		w.mu.Lock()
		defer w.mu.Unlock()
		err := do(name, time.Now())
		if err == nil {
			err = w.ring.Replace(w.file)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	batch := func(key string) reply {
		return w.ask(t, request{
			method: http.MethodPost, target: "/v1/prices/batch",
			body:   `{"items":[{"kind":"sealed","product_id":"prd_x1x"}]}`,
			header: []string{"X-API-Key: " + key, "Content-Type: application/json", "Idempotency-Key: kept"},
		})
	}
	get := func(path, key string) reply {
		return w.ask(t, request{method: http.MethodGet, target: path, header: []string{"X-API-Key: " + key}})
	}
	call := func(key, body string) reply {
		// The document of REST does not have it.
		r, err := w.send(request{
			method: http.MethodPost, target: "/mcp", body: body,
			header: []string{"X-API-Key: " + key, "Content-Type: application/json"},
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	tools := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

	get("/v1/games", live)
	first := batch(preview)
	usage := func() string { return used(t, get("/v1/usage", live)) + ", " + used(t, get("/v1/usage", preview)) }
	before := usage()
	change(w.file.Suspend)
	large := `{"ids":["` + strings.Repeat("x", 64<<10) + `"]}`
	for what, r := range map[string]reply{
		"live": get("/v1/games", live), "usage": get("/v1/usage", live), "mcp": call(live, tools),
		"a large body": w.ask(t, request{
			method: http.MethodPost, target: "/v1/cards/batch", body: large,
			header: []string{"X-API-Key: " + live, "Content-Type: application/json"},
		}),
	} {
		if r.status != 403 || r.code() != "plan_limit" || !strings.Contains(string(r.body), "suspended") {
			t.Errorf("%s: %d %s", what, r.status, r.body)
		}
	}
	for what, r := range map[string]reply{"usage": get("/v1/usage", preview), "a replay": batch(preview)} {
		if r.status != 403 || r.code() != "insufficient_scope" || !strings.Contains(string(r.body), "suspended") ||
			r.header.Get("X-Request-Credits-Charged") != "0" {
			t.Errorf("preview %s: %d %s", what, r.status, r.body)
		}
	}

	change(w.file.Resume)
	again := batch(preview)
	if again.status != 200 || !strings.Contains(string(again.body), `"idempotent_replay":true`) || first.status != 200 {
		t.Errorf("a batch is answered %d, and repeated %d %s", first.status, again.status, again.body)
	}
	if after := usage(); after != before {
		t.Errorf("used %s, before %s", after, before)
	}
	if r := call(live, tools); r.status != 200 {
		t.Errorf("mcp: %d %s", r.status, r.body)
	}
}

// used returns what a usage report says was used.
func used(t *testing.T, r reply) string {
	t.Helper()
	_, rest, _ := strings.Cut(string(r.body), `"request_credits_used":`)
	figure, _, found := strings.Cut(rest, ",")
	if !found {
		t.Fatalf("no usage in %d %s", r.status, r.body)
	}
	return figure
}
