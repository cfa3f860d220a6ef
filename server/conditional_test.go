package server

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// gets are targets of every live GET that has a validator.
func gets() []string {
	k := todaysTruth().cards[0].id
	s := todaysTruth().sets[0].id
	return []string{
		"/v1/games", "/v1/cards?limit=3", "/v1/cards?q=luffy", "/v1/cards?q=nothinglikethis", "/v1/cards/" + k,
		"/v1/cards/" + k + "/prices", "/v1/cards/" + k + "/price-stats?window=7d",
		"/v1/sets", "/v1/sets?limit=1", "/v1/sets/" + s, "/v1/market/movers?direction=down", "/openapi.json",
		"/openapi.live.json", "/openapi.preview.json",
	}
}

// TestHistoryValidators wants another validator for each other history, and the same for the same.
func TestHistoryValidators(t *testing.T) {
	w := still()
	bodies := map[string]string{}
	compared := 0
	for _, card := range todaysTruth().cards[:20] {
		for _, query := range []string{
			"", "?days=7", "?days=30", "?days=30&variant=normal", "?variant=holofoil", "?days=007",
		} {
			for _, accept := range []string{"application/json", "text/csv"} {
				r := w.get(t, "/v1/cards/"+card.id+"/prices"+query, "Accept: "+accept)
				tag := r.header.Get("ETag")
				if r.status != http.StatusOK {
					continue // of a parameter that is none
				}

				before, known := bodies[tag]
				if tag == "" || known && before != string(r.body) {
					t.Errorf("%s%s as %s: ETag %q is of another body", card.id, query, accept, tag)
				}
				bodies[tag] = string(r.body)
				compared++
			}
		}
	}
	if compared < 150 || len(bodies) < 100 {
		t.Errorf("%d answers with %d validators", compared, len(bodies))
	}
}

// TestIfNoneMatch holds the validators of decision 9 on every GET.
func TestIfNoneMatch(t *testing.T) {
	w := still()
	tags := map[string]string{}
	for _, path := range gets() {
		first := w.get(t, path)
		tag := first.header.Get("ETag")
		if again := w.get(t, path); again.header.Get("ETag") != tag {
			t.Errorf("%s: ETag %s, then %s", path, tag, again.header.Get("ETag"))
		}
		if other, taken := tags[tag]; taken {
			t.Errorf("%s and %s share the ETag %s", path, other, tag)
		}
		tags[tag] = path
		f := func(status int, lines ...string) {
			t.Helper()
			for i, line := range lines {
				lines[i] = "If-None-Match: " + line
			}

			r := w.get(t, path, lines...)
			if r.status != status {
				t.Errorf("%s, %q: %d, want %d", path, lines, r.status, status)
			}
			if status == http.StatusNotModified {
				checkNotModified(t, first, r)
			}
		}
		for _, same := range []string{
			tag, "W/" + tag, "*", `"x", ` + tag, tag + `,"x"`, `"x" , W/` + tag + ` , "y"`,
			" " + tag + " ", `"a","b",*`, `,,` + tag,
		} {
			f(http.StatusNotModified, same)
		}

		f(http.StatusNotModified, `"x"`, tag)
		for _, other := range []string{
			`"x"`, strings.Trim(tag, `"`), "", `""`, `"` + tag, tag[:len(tag)-1],
			`w/` + tag, `"x" ` + tag, strings.ToUpper(tag) + "x", `"**"`, "W/", "W/*x",
		} {
			f(http.StatusOK, other)
		}

		// A validator of an error is none.
		if r := w.get(t, path+"/none", "If-None-Match: *"); r.status != http.StatusNotFound &&
			r.status != http.StatusOK && r.status != http.StatusBadRequest && r.status != http.StatusNotModified {
			t.Errorf("%s/none: %d", path, r.status)
		}
	}

	for _, path := range []string{"/v1/cards/none", "/v1/nothing", "/v1/cards?limit=0"} {
		if r := w.get(t, path, "If-None-Match: *"); r.status < 400 || r.header.Get("ETag") != "" {
			t.Errorf("%s: %d, ETag %q", path, r.status, r.header.Get("ETag"))
		}
	}

	if r := w.get(t, "/v1/usage", "If-None-Match: *"); r.status != http.StatusOK {
		t.Errorf("usage: %d", r.status)
	}
	if r := w.get(t, "/v1/games", "If-Modified-Since: Fri, 20 Nov 2099 00:00:00 GMT"); r.status != http.StatusOK {
		t.Errorf("If-Modified-Since is not ignored: %d", r.status)
	}
	if r := w.try(t, scenario{
		path: "/v1/cards/batch", body: `{"ids":["x"]}`,
		header: []string{"If-None-Match: *"},
	}); r.header.Get("ETag") != "" {
		t.Error("a batch has an ETag")
	}
}

// checkNotModified wants 304 to say what 200 said about caching, and no more.
func checkNotModified(t *testing.T, ok, r reply) {
	t.Helper()
	for _, name := range []string{"ETag", "Cache-Control", "Vary", "X-Snapshot-Id"} {
		if r.header.Get(name) != ok.header.Get(name) {
			t.Errorf("304 has %s %q, 200 had %q", name, r.header.Get(name), ok.header.Get(name))
		}
	}

	for _, name := range []string{"Content-Type", "Content-Encoding", "Link", "Retry-After"} {
		if got := r.header.Get(name); got != "" {
			t.Errorf("304 has %s: %s", name, got)
		}
	}
	if len(r.wire) != 0 {
		t.Errorf("304 has %d bytes", len(r.wire))
	}
}

// TestEncodings negotiates gzip and zstd (RFC 9110, 12.5.3): the same body, another strong
// validator.
func TestEncodings(t *testing.T) {
	w := still()
	f := func(accept, want string) {
		t.Helper()
		for _, path := range []string{
			"/v1/sets?limit=50", "/v1/cards/" + todaysTruth().byRef["c0000003"].id,
			"/openapi.json",
		} {
			r := w.get(t, path, accept)
			plain := w.get(t, path)
			if got := r.header.Get("Content-Encoding"); got != want {
				t.Errorf("%s, %q: encoding %q, want %q", path, accept, got, want)
			}
			if !strings.Contains(r.header.Get("Vary"), "Accept-Encoding") {
				t.Errorf("%s: Vary %q", path, r.header.Get("Vary"))
			}
			if string(r.body) != string(plain.body) {
				t.Errorf("%s, %q: another body", path, accept)
			}
			if want != "" && (len(r.wire) >= len(plain.wire) || r.header.Get("ETag") == plain.header.Get("ETag")) {
				t.Errorf("%s in %s: %d bytes of %d, ETag %s", path, want, len(r.wire), len(plain.wire),
					r.header.Get("ETag"))
			}

			// The validator of one encoding is not that of another.
			if match := w.get(t, path, accept,
				"If-None-Match: "+r.header.Get("ETag")); match.status != http.StatusNotModified ||
				match.header.Get("ETag") != r.header.Get("ETag") {
				t.Errorf("%s in %q: %d for its own ETag", path, want, match.status)
			}
			if match := w.get(t, path, accept, "If-None-Match: "+plain.header.Get("ETag")); want != "" &&
				match.status != http.StatusOK {
				t.Errorf("%s in %q: %d for the ETag of the plain body", path, want, match.status)
			}
		}
	}

	for accept, want := range map[string]string{
		"": "", "identity": "", "gzip": "gzip", "GZIP": "gzip", "zstd": "zstd", "gzip, zstd": "zstd",
		"zstd, gzip": "zstd", "gzip, deflate, br": "gzip", "br": "", "deflate": "",
		"*": "zstd", "gzip;q=0": "", "gzip;q=0, *": "zstd", "*;q=0": "", "*;q=0, gzip": "gzip",
		"gzip;q=1, zstd;q=0.5": "gzip", "gzip;q=0.5, zstd;q=0.8": "zstd", "gzip; q=0.9 , zstd; q=0.1": "gzip",
		"gzip;Q=0": "", "gzip;q=0.001": "gzip", "identity;q=1, gzip;q=0.5": "", "identity;q=0.5, gzip;q=1": "gzip",
		"identity;q=0, gzip": "gzip", "identity;q=0": "", "gzip;q=0.0": "", "gzip;q=0.000": "",
		"gzip;q=2": "", "gzip;q=x": "", ", ,gzip,": "gzip", "identity;q=0, *;q=0": "", "gzip;q=0.5, *;q=0.1": "gzip",
		"zstd;q=0, *": "gzip", "gzipped": "", "gzip zstd": "",
	} {
		f("Accept-Encoding: "+accept, want)
	}
	if r := w.get(t, "/v1/sets?limit=50", "Accept-Encoding: identity",
		"Accept-Encoding: gzip"); r.header.Get("Content-Encoding") != "gzip" {
		t.Error("two lines of Accept-Encoding are one list")
	}

	for _, path := range []string{"/v1/games", "/v1/cards?q=nothinglikethis", "/v1/cards/none", "/healthz"} {
		if r := w.get(t, path, "Accept-Encoding: gzip, zstd"); r.header.Get("Content-Encoding") != "" {
			t.Errorf("%s of %d bytes is compressed", path, len(r.body))
		}
	}

	r := w.try(t, scenario{path: "/v1/cards/batch", body: `{"ids":["` + todaysTruth().cards[0].id + `","` +
		todaysTruth().cards[1].id + `"]}`, header: []string{"Accept-Encoding: zstd"}})
	if r.header.Get("Content-Encoding") != "zstd" {
		t.Error("a batch is not compressed")
	}
}

// TestSnapshotTags wants another catalog to have other validators, and the same one the same again.
func TestSnapshotTags(t *testing.T) {
	w := newWorld(t, setup{still: true})
	tags := func() (list []string) {
		for _, path := range gets()[1:8] {
			list = append(list, w.get(t, path).header.Get("ETag"))
		}
		return list
	}

	before := tags()
	w.Engine.Swap(tomorrow().view, time.Now())
	after := tags()
	w.Engine.Swap(today().view, time.Now())
	if again := tags(); cmp.Diff(before, again) != "" {
		t.Errorf("after a rollback the validators are %v, before %v", again, before)
	}

	for i := range before {
		if i != 2 && before[i] == after[i] && slices.Index(before, before[i]) == i &&
			!strings.Contains(gets()[1+i], "cards/") {
			t.Errorf("%s has the validator %s of another catalog", gets()[1+i], before[i])
		}
	}
}

// TestOrigins holds what browsers of allowed origins get (decision 4).
func TestOrigins(t *testing.T) {
	const origin = "https://shop.test"
	w := newWorld(t, setup{options: func(o *Options) { o.Origins = []string{"https://other.test", origin} }})
	for _, path := range []string{"/v1/games", "/v1/cards/none", "/v1/nothing", "/v1/usage", "/v1/cards?limit=0"} {
		r := w.get(t, path, "Origin: "+origin)
		if got := r.header.Get("Access-Control-Allow-Origin"); got != origin ||
			!strings.Contains(r.header.Get("Access-Control-Expose-Headers"), "X-Request-Id") {
			t.Errorf("%s: Access-Control-Allow-Origin %q", path, got)
		}
		if r := w.get(t, path, "Origin: https://evil.test"); r.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: an unknown origin is allowed", path)
		}

		for _, header := range []string{"Origin: " + origin, "Origin: https://evil.test", "X-None: 1"} {
			if r := w.get(t, path, header); !strings.Contains(r.header.Get("Vary"), "Origin") {
				t.Errorf("%s, %s: Vary %q does not name Origin", path, header, r.header.Get("Vary"))
			}
		}
	}

	// The document is for everybody, and says so once.
	r := w.get(t, "/openapi.json", "Origin: "+origin)
	if got := r.header.Values("Access-Control-Allow-Origin"); len(got) != 1 || got[0] != "*" {
		t.Errorf("/openapi.json: Access-Control-Allow-Origin %q", got)
	}

	for _, path := range []string{"/v1/cards", "/v1/cards/batch", "/v1/usage", "/v1/nothing"} {
		preflight := request{
			method: http.MethodOptions, target: path,
			header: []string{
				"Origin: " + origin, "Access-Control-Request-Method: GET",
				"Access-Control-Request-Headers: x-api-key",
			},
		}
		r := w.ask(t, preflight)
		if path == "/v1/nothing" {
			if r.status != http.StatusNotFound {
				t.Errorf("preflight of nothing: %d", r.status)
			}
			continue
		}
		if r.status != http.StatusNoContent || r.header.Get("Access-Control-Allow-Origin") != origin ||
			!strings.Contains(strings.ToLower(r.header.Get("Access-Control-Allow-Headers")), "x-api-key") ||
			r.header.Get("Access-Control-Allow-Methods") == "" || len(r.wire) != 0 {
			t.Errorf("preflight of %s: %d %v", path, r.status, r.header)
		}

		preflight.header[0] = "Origin: https://evil.test"
		if r := w.ask(t, preflight); r.status != http.StatusMethodNotAllowed ||
			r.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("preflight of %s from an unknown origin: %d", path, r.status)
		}
	}

	for _, listed := range []bool{false, true} { // MCP promises only what its gate lets pass
		w := newWorld(t, setup{options: func(o *Options) {
			o.Origins = []string{origin}
			if listed {
				o.AllowedOrigins = o.Origins
			}
		}})
		r, err := w.send(request{
			method: http.MethodOptions, target: "/mcp",
			header: []string{"Origin: " + origin, "Access-Control-Request-Method: POST"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if allowed := r.header.Get("Access-Control-Allow-Headers"); (r.status == http.StatusNoContent) != listed ||
			strings.Contains(allowed, "MCP-Protocol-Version") != listed {
			t.Errorf("preflight of /mcp, with the origin among MCP's %v: %d %q", listed, r.status, allowed)
		}
	}

	if r := shared().get(t, "/v1/games", "Origin: "+origin); r.header.Get("Access-Control-Allow-Origin") != "" ||
		strings.Contains(r.header.Get("Vary"), "Origin") {
		t.Error("CORS is on without configuration")
	}
	if r := shared().get(t, "/openapi.json", "Origin: "+origin); r.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Error("the document is not for every origin")
	}
}
