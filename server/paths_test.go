package server

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ninepocket/engine"
	"ninepocket/loader"
	"ninepocket/wire"
)

// TestPathIDs encodes ids in every way (decision 4).
func TestPathIDs(t *testing.T) {
	w := shared()
	tr := todaysTruth()
	k := tr.cards[0]
	var detail struct{ URL string }
	r := w.get(t, "/v1/cards/"+k.id)
	r.decode(t, &detail)
	slug := detail.URL[strings.LastIndexByte(detail.URL, '/')+1:]
	id := at("id", k.id)
	ok := func(path string) scenario { return scenario{name: "found " + path, path: path, want: []match{id}} }
	gone := func(path string) scenario {
		return scenario{name: "gone " + path, path: path, status: http.StatusNotFound, code: "not_found"}
	}
	// Without a key an operation answers 401, so a 404 shows that there is none.
	none := func(path string) scenario {
		return scenario{name: "none " + path, path: path, key: "-", status: http.StatusNotFound, code: "not_found"}
	}

	set := scenario{name: "set", path: "/v1/sets/" + tr.sets[0].id + "/", want: []match{at("id", tr.sets[0].id)}}
	w.run(t, []scenario{
		set,
		ok("/v1/cards/" + k.id), ok("/v1/cards/" + k.id + "/"), ok("/v1/cards/" + slug), ok("/v1/cards/" + slug +
			"/?x=1"),
		ok("/v1/cards/" + percentAll(slug)), ok("/v1/cards/" + percentAll(k.id)), ok("/v1/cards/" + k.id +
			"/prices"), ok("/v1/cards/" + k.id + "/prices/"),
		ok("/v1/cards/" + percentAll(slug) + "/price-stats"), ok("/v1/cards/" + k.id + "?"),
		gone("/v1/cards/" + k.id + "//"), gone("/v1/cards//" + k.id), gone("//v1/cards/" + k.id), gone("/v1//cards/" +
			k.id), none("/v1/cards//prices"), none("/v1/cards//price-stats"),
		gone("/v1/cards//"), gone("/v1/games//"), gone("/v1/cards/" + k.id +
			"/prices//"), gone("/"), gone("//"), gone("/v1"), gone("/v1/"), gone("/V1/games"),
		gone("/v1/Games"), gone("/v1/games.json"), gone("/v1/cards/" + strings.ToUpper(k.id)), gone("/v1/cards/" +
			strings.ToUpper(slug)),
		gone("/v1/cards/a%2Fb"), gone("/v1/cards/a%2fb"), gone("/v1/cards/%2F"), gone("/v1/cards/" + k.id +
			"%2Fprices"), gone("/v1/cards%2F" + k.id), gone("/v1%2Fgames"),
		gone("/v1/cards/%00"), gone("/v1/cards/" + k.id +
			"%00"), gone("/v1/cards/%0a"), gone("/v1/cards/%1f"), gone("/v1/cards/%7f"), gone("/v1/cards/%"),
		gone("/v1/cards/%4"),
		gone("/v1/cards/%zz"), gone("/v1/cards/%ff"), gone("/v1/cards/%C3"), gone("/v1/cards/%20" +
			k.id), gone("/v1/cards/+" + k.id), gone("/v1/cards/" + k.id + "%20"),
		gone("/v1/cards/" + strings.Repeat("x", 200)), gone("/v1/cards/" + strings.Repeat("x",
			201)), gone("/v1/cards/" + strings.Repeat("%F0%9D%92%B3", 200)),
		gone("/v1/cards/" + strings.Repeat("%F0%9D%92%B3",
			201)), gone("/v1/cards/."), gone("/v1/cards/.."), gone("/v1/cards/../games"),
		gone("/v1/cards/%2e%2e/games"),
		gone("/v1/./games"), gone("/v1/cards/{id}"), gone("/v1/cards/*"), gone("/v1/cards/b%61tch"),
		gone("/v1/cards/batch/prices"), gone("/v1/cards/" + k.id + "/prices/x"), gone("/v1/cards/" + k.id +
			"/stats"), gone("/v1/sets/" + k.id), gone("/v1/cards/" + tr.sets[0].id),
		gone("/v1/market"), gone("/v1/prices"), gone("/openapi.yaml"), gone("/v1/openapi.json"),
		gone("/errors/not_found"), gone("/favicon.ico"), gone("/v1/cards;x=1/" + k.id),
		gone("/v1/games%20"), gone("/v1/games%3Fx"), gone("/%76%31/games"),
		gone("/.well-known/oauth-protected-resource"),
		{name: "healthz/", path: "/healthz/", key: "-", want: []match{at("status", "ok")}},
		{name: "games/", path: "/v1/games/", want: []match{at("data.#", 2)}},
		gone("/v1/cards/"), gone("/v1/sets/"), gone("/v1/cards/?limit=1"),
		{name: "facets/", path: "/v1/facets/?game=pokemon", want: []match{at("games.#", 2)}},
	})

	a := w.get(t, "/v1/cards/"+k.id)
	b := w.get(t, "/v1/cards/"+slug)
	if string(a.body) != string(b.body) ||
		a.header.Get("ETag") != b.header.Get("ETag") {
		t.Error("id and slug answer differently")
	}
}

// TestCardNamedBatch wants the card whose name is that of a path to have a slug that the API takes.
func TestCardNamedBatch(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"source.toml": "namespace = \"t\"\nattribution = \"t\"\n", "sets.jsonl": "", "sealed.jsonl": "",
		"cards.jsonl": `{"ref":"a","game":"pokemon","name":"Batch","updated_at":"2026-01-01T00:00:00Z"}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	result, err := loader.Build(t.Context(), loader.Options{
		Sources:    []loader.Input{{Kind: "native", Path: dir}},
		SnapshotAt: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}

	result.Catalog.ID = "batch"
	v, err := engine.NewView(result.Catalog, wire.URLs{URL: baseURL, ProductPrefix: "prd"})
	if err != nil {
		t.Fatal(err)
	}

	slug := result.Catalog.Cards.Slug.At(0)
	w := newWorld(t, setup{views: []*engine.View{v}})
	w.run(t, []scenario{
		{path: "/v1/cards/" + slug, want: []match{at("name", "Batch"), at("url", baseURL+"/cards/"+slug)}},
		{path: "/v1/cards/" + slug + "/prices", want: []match{at("data.#", 0)}},
		{path: "/v1/cards/batch", body: `{"ids":["` + slug + `"]}`, want: []match{at("data.0.name", "Batch")}},
		{path: "/v1/cards", want: []match{at("data.#", 1), at("data.0.price.market_price_cents", nil)}},
		{path: "/v1/sets", want: []match{exact(`{"data":[],"next_cursor":null}`)}},
		{path: "/v1/market/movers?direction=up", want: []match{at("data.#", 0)}},
		{path: "/v1/products", key: "preview", want: []match{at("data.#", 0), at("pagination.next_cursor", nil)}},
	})
}

// TestMethods wants 405 with a sorted Allow before any key is looked at, and 404 for paths that do
// not exist.
func TestMethods(t *testing.T) {
	w := shared()
	allow := map[string]string{
		"/v1/games": "GET, HEAD", "/v1/cards": "GET, HEAD", "/v1/cards/x": "GET, HEAD", "/v1/cards/batch": "POST",
		"/v1/cards/x/prices": "GET, HEAD", "/v1/cards/x/price-stats": "GET, HEAD", "/v1/sets": "GET, HEAD",
		"/v1/sets/x":        "GET, HEAD",
		"/v1/market/movers": "GET, HEAD", "/v1/prices/batch": "POST", "/v1/usage": "GET, HEAD",
		"/v1/valuations": "POST",
		"/openapi.json":  "GET, HEAD", "/healthz": "GET, HEAD",
		"/openapi.live.json": "GET, HEAD", "/openapi.preview.json": "GET, HEAD",
		"/v1/products": "GET, HEAD", "/v1/products/prd_abc": "GET, HEAD",
	}
	for path, want := range allow {
		for _, method := range []string{
			"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE",
			"PROPFIND", "BREW",
		} {
			if containsMethod(want, method) {
				continue
			}

			for _, key := range []string{"-", "bench", "revoked", "preview"} {
				r := w.ask(t, (&scenario{method: method, path: path, key: key}).request(w))
				if r.status != http.StatusMethodNotAllowed || r.header.Get("Allow") != want || method != "HEAD" &&
					r.code() != "method_not_allowed" {
					t.Errorf("%s %s with key %s: %d, Allow %q, want %q", method, path, key, r.status,
						r.header.Get("Allow"), want)
				}
			}
		}
	}

	for _, method := range []string{"GET", "HEAD", "POST", "DELETE", "OPTIONS"} {
		if r := w.ask(t, request{method: method, target: "/v1/nothing"}); r.status != http.StatusNotFound {
			t.Errorf("%s of an unknown path: %d", method, r.status)
		}
	}
}

func containsMethod(list, method string) bool {
	for one := range strings.SplitSeq(list, ", ") {
		if one == method {
			return true
		}
	}
	return false
}

// TestRefusedBeforeTheKeyTakesNothing wants 404 and 405 to leave the minute alone.
func TestRefusedBeforeTheKeyTakesNothing(t *testing.T) {
	w := shared()
	key := w.tenant(t, only("refused"), "free")
	for range 40 {
		w.try(t, scenario{path: "/v1/nothing", key: key, status: 404, code: "not_found"})
		w.try(t, scenario{method: "DELETE", path: "/v1/games", key: key, status: 405, code: "method_not_allowed"})
	}

	r := w.try(t, scenario{path: "/v1/games", key: key})
	if minute, _ := r.remaining(t); minute != 29 {
		t.Errorf("%d of 30 remain after the first counted request", minute)
	}
}

// TestHead wants the headers of GET, all of them, and no body.
func TestHead(t *testing.T) {
	w := still()
	tr := todaysTruth()
	moving := map[string]bool{
		"Date": true, "X-Request-Id": true, "Ratelimit": true, "X-Ratelimit-Remaining": true,
		"X-Ratelimit-Reset": true, "Link": true,
		"X-Request-Credits-Remaining": true,
	}

	for _, path := range []string{
		"/v1/games", "/v1/cards?limit=50", "/v1/cards?limit=1&x=1", "/v1/cards/" + tr.cards[0].id,
		"/v1/cards/" + tr.cards[0].id + "/prices?days=365",
		"/v1/cards/" + tr.cards[0].id + "/price-stats", "/v1/sets", "/v1/sets/" + tr.sets[0].id,
		"/v1/market/movers?direction=up", "/v1/usage", "/openapi.json", "/healthz",
		"/v1/cards/none", "/v1/nothing", "/v1/cards?limit=0", "/v1/prices/batch",
	} {
		for _, encoding := range []string{"", "gzip", "zstd"} {
			q := (&scenario{path: path, header: []string{"Accept-Encoding: " + encoding}}).request(w)
			get := w.ask(t, q)
			q.method = http.MethodHead
			head := w.ask(t, q)
			if len(head.wire) != 0 || head.status != get.status {
				t.Errorf("HEAD %s: %d with %d bytes, GET %d", path, head.status, len(head.wire), get.status)
			}

			for name := range get.header {
				if name == "Content-Length" && encoding != "" && get.header.Get("Link") != "" {
					continue // a cursor is different each time, like its compressed length
				}
				if !moving[name] && head.header.Get(name) != get.header.Get(name) {
					t.Errorf("HEAD %s (%s): %s is %q, GET's %q", path, encoding, name, head.header.Get(name),
						get.header.Get(name))
				}
			}

			for name := range head.header {
				if get.header.Get(name) == "" {
					t.Errorf("HEAD %s (%s) alone has %s: %q", path, encoding, name, head.header.Get(name))
				}
			}
		}
	}
}
