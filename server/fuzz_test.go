package server

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzRequest sends whole requests through the handler: never 5xx, never a hang, always an answer
// that the document allows.
func FuzzRequest(f *testing.F) {
	for _, seed := range [][3]string{
		{"GET", "/v1/cards?q=pikachu&limit=2", ""},
		{"GET", "/v1/cards/%zz/prices?days=1", ""},
		{"POST", "/v1/cards/batch", `{"ids":["a"]}`},
		{"POST", "/v1/prices/batch", `{"ids":[]}`},
		{"GET", "/v1/sets?cursor=AQEB", ""},
		{"GET", "/v1/market/movers?direction=up&period=7", ""},
		{"HEAD", "/v1/games", ""},
		{"DELETE", "/v1/usage", ""},
		{"GET", "/v1/cards/x/price-stats?window=7d", ""},
		{"GET", "//", ""},
		{"GET", "/v1/products?kind=card&limit=1", "preview"},
		{"POST", "/v1/prices/batch", oneItem},
		{"POST", "/v1/valuations", `{"items":[{"line":"2x Charizard 4/102 NM"},{"name":"Pikachu","quantity":3}]}`},
		{"POST", "/v1/prices/history/batch", `{"ids":["a"],"identifiers":["a:1"],"days":3e1,"variant":"holo"}`},
		{"POST", "/v1/prices/batch?fields=id,ref", `{"ids":["a"]}`},
		{"GET", "/v1/cards?fields=set.name,prices.variant,x&include=prices&sort=name&limit=2", ""},
		{"GET", "/v1/changes?kind=prices&since=20260101T000000Z-0000000000000000&limit=5000", ""},
		{"GET", "/v1/suggest?q=pik&limit=10&game=pokemon", ""},
		{"GET", "/v1/cards?number=4%2F102&rarity=%00&set=x", ""},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}

	w := shared()
	f.Fuzz(func(t *testing.T, method, target, body string) {
		if method == "" || target == "" || !printable(method) || !printable(target) || target[0] != '/' ||
			strings.HasPrefix(target, "/mcp") {
			return // not a request line of HTTP
		}

		for _, key := range []string{"bench", "preview", "-"} {
			q := (&scenario{method: method, path: target, key: key, body: body}).request(w)
			q.header = append(q.header, "Idempotency-Key: fuzz", "Content-Type: application/json")
			r, err := w.send(q)
			if err != nil {
				t.Fatalf("%s %q: %v", method, target, err)
			}
			if r.status >= 500 {
				t.Fatalf("%s %q: %d %s", method, target, r.status, r.body)
			}

			first := r
			if method == http.MethodHead { // GET says why
				q.method = http.MethodGet
				first, err = w.send(q)
				if err != nil {
					t.Fatalf("GET %q: %v", target, err)
				}
				q.method = method
			}

			switch {
			case bytes.Contains(first.body, []byte("not valid HTTP")): // what the parser refuses has no path yet
				faults := first.envelopeFaults(first.header.Get("X-Request-Id"))
				if len(faults) > 0 || r.status != first.status || method == http.MethodHead && len(r.body) > 0 {
					t.Fatalf("%s %q: %d, where GET has %d: %v", method, target, r.status, first.status, faults)
				}
			case method != http.MethodConnect:
				w.check(t, q, r)
			}
		}
	})
}

// printable reports whether s can stand in a request line as it is.
func printable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) < 0 && utf8.ValidString(s)
}
