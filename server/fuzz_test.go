package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/valyala/fasthttp"
)

// FuzzArgs holds args.parse against net/url's reading of the same query, where that has one.
func FuzzArgs(f *testing.F) {
	for _, seed := range []string{
		"", "q=a", "q=a&q=b", "q=%zz", "q=%", "%71=a", "q=a+b%20c", "&&q=&", "=", "q", "q==", "x=1&y=2", "q=%00", "q=\xff", "limit=1&q=é&q", "Q=1", "q;limit=1", "q=%C3%A9&%ff=1",
	} {
		f.Add([]byte(seed))
	}
	known := []string{"q", "limit"}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var a args
		before := string(raw)
		a.parse(raw, known)
		if string(raw) != before {
			t.Fatal("the query was changed")
		}
		if len(a.unknown) > maxUnknown || len(a.unknown) > a.strange || len(a.known) != len(known) {
			t.Fatalf("%d named of %d unknown, %d known", len(a.unknown), a.strange, len(a.known))
		}
		for _, name := range a.unknown {
			if name == "" || len(name) > 3*64 || strings.ContainsAny(name, " ,\r\n\"") || !utf8.ValidString(name) {
				t.Fatalf("unknown name %q", name)
			}
		}
		for i := range a.known {
			if v := a.known[i]; v.given > 0 && v.bad == "" && textProblem(v.value) != "" {
				t.Fatalf("%s=%q passed", v.name, v.value)
			}
		}
		if strings.Contains(before, ";") {
			return // net/url refuses it
		}
		values, err := url.ParseQuery(before)
		if err != nil {
			return
		}
		for i := range a.known {
			v, theirs := a.known[i], values[a.known[i].name]
			if v.given != len(theirs) || v.given > 0 && v.value != theirs[len(theirs)-1] {
				t.Fatalf("%s given %d times, last %q; net/url has %q", v.name, v.given, v.value, theirs)
			}
		}
	})
}

// FuzzReadIDs holds readIDs against encoding/json: what it takes is what that reads, and what it refuses is refused with
// a reason.
func FuzzReadIDs(f *testing.F) {
	for _, seed := range []string{
		`{"ids":["a"]}`, `{"ids":["a","a"],"x":[{}]}`, `{"ids":[]}`, `{"ids":null}`, `{"ids":["a"]}x`, `{"ids":["a"],"ids":["b"]}`, `[`, ``, `null`, "\ufeff{}", `{"ids":["\ud800"]}`,
		`{"\u0069ds":["\u0000"]}`, `{"ids":[1]}`, `{"x":` + nested(20) + `,"ids":["a"]}`, `{"ids":["a",`, "{\"ids\":[\"\xff\"]}",
		" {\t\"ids\"\n:\r[ \"a quite long one\" , \"\" ,\"é ☆\"] } ", `{"ids":["a",]}`, `{"ids":["a"]]`, `{"ids":["a"` + "\x00" + `]}`, `{"ids":["a"}}`, `{"ids" ["a"]}`, `{"ids":["1","2","3","4","5"]}`,
		`{"ids":["1","2","3","4","5","6"]}`, `{"ids":["a" "b"]}`, "{\"ids\":[\"\x7f\\\"\"]}", `{"ids":["a"]},`,
	} {
		f.Add([]byte(seed))
	}
	s := shared().Server
	f.Fuzz(func(t *testing.T, body []byte) {
		x := &exchange{s: s, ctx: &fasthttp.RequestCtx{}, surface: &liveSurface}
		x.ctx.Request.SetBody(body)
		usual := &exchange{s: x.s, ctx: x.ctx, surface: x.surface}
		if usual.scanIDs(5) {
			x.decodeIDs(5)
			if !slices.Equal(usual.ids, x.ids) || len(x.problems) > 0 || string(x.ctx.Request.Body()) != string(body) {
				t.Fatalf("scanned %q, decoded %q (%q)", usual.ids, x.ids, x.problems)
			}
		}
		ids := x.readIDs(5)
		if fault := x.invalid(); fault != nil {
			if len(fault.Detail) > 1000 || !utf8.ValidString(fault.Detail) {
				t.Fatalf("detail of %d bytes", len(fault.Detail))
			}
			return
		}
		var want struct {
			IDs []string `json:"ids"`
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(body, &members); err != nil {
			t.Fatalf("took %q: %v", body, err)
		}
		if err := json.Unmarshal(members["ids"], &want.IDs); err != nil || !slices.Equal(ids, want.IDs) || len(ids) == 0 || len(ids) > 5 {
			t.Fatalf("read %q, want %q (%v)", ids, want.IDs, err)
		}
	})
}

// FuzzReadSelections wants readSelections to take only what is well formed, and to refuse in few words.
func FuzzReadSelections(f *testing.F) {
	for _, seed := range []string{
		oneItem, `{"items":[{"kind":"card","product_id":"prd_abc","variant":"normal","condition":"near_mint"}]}`, `{"items":[1,{},[]]}`, `{"items":{}}`, `{"x":1}`, ``, `{"items":[{"kind":null}]}`,
		`{"items":[{"kind":"card"},{"kind":"box","product_id":"x"},{"variant":"é","condition":"damaged","product_id":"prd_abc","kind":"sealed"}]}`,
		`{"items":[{"kind":"sealed","product_id":"prd_abc"},{"product_id":"prd_abc","kind":"sealed"}]}`, `{"items":[{"kind":"card","kind":"card"}]}`, `{"items":[{}]}`, `{"items":[{"kind":"card",}]}`,
		`{"items":[{"kind":"card","product_id":"prd_abc","variant":"\u00e9","condition":"near_mint"}]}`, `{"items":[{"kind":"","product_id":"","variant":"","condition":""},{"kind":""}]}`,
	} {
		f.Add([]byte(seed))
	}
	s := shared().Server
	f.Fuzz(func(t *testing.T, body []byte) {
		x := &exchange{s: s, ctx: &fasthttp.RequestCtx{}, surface: &previewSurface, view: today().view}
		x.ctx.Request.SetBody(body)
		usual := &exchange{s: x.s, ctx: x.ctx, surface: x.surface, view: x.view}
		if usual.scanSelections() {
			x.decodeSelections()
			if !slices.Equal(usual.selections, x.selections) || !slices.Equal(usual.problems, x.problems) || usual.unnamed != x.unnamed {
				t.Fatalf("scanned %q with %q, decoded %q with %q", usual.selections, usual.problems, x.selections, x.problems)
			}
			x.problems, x.unnamed = nil, 0
		}
		items := x.readSelections()
		if fault := x.invalid(); fault != nil {
			if len(fault.Detail) > 8<<10 || !utf8.ValidString(fault.Detail) {
				t.Fatalf("detail of %d bytes", len(fault.Detail))
			}
			return
		}
		if len(items) == 0 || len(items) > maxSelections {
			t.Fatalf("%d items", len(items))
		}
		for i, s := range items {
			if s.Kind != "card" && s.Kind != "sealed" || (s.Kind == "card") != (s.Condition != "") || !x.validProductID(s.ProductID) || slices.Contains(items[:i], s) {
				t.Fatalf("item %d is %+v", i, s)
			}
		}
	})
}

// FuzzPathID holds pathID against net/url.
func FuzzPathID(f *testing.F) {
	for _, seed := range []string{"card_a", "%2F", "%2f", "%", "%zz", "%00", "a%20b", "é", "%ff", "%C3%A9", strings.Repeat("x", 201), "+", ".."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		x := &exchange{surface: &liveSurface, ctx: &fasthttp.RequestCtx{}}
		x.ctx.SetUserValue("id", raw)
		id, ok := x.pathID()
		want, err := url.PathUnescape(raw)
		good := err == nil && textProblem(want) == "" && utf8.RuneCountInString(want) <= maxID &&
			!strings.Contains(strings.ToLower(raw), "%2f")
		if ok != good || ok && id != want {
			t.Fatalf("%q is %q %v, want %q %v", raw, id, ok, want, good)
		}
	})
}

// FuzzIfNoneMatch wants the parser of validators to find exactly what is there.
func FuzzIfNoneMatch(f *testing.F) {
	const tag = `"a000000000000"`
	for _, seed := range []string{tag, `*`, `W/` + tag + `, "b"`, tag[:4], `,`, `""`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		x := &exchange{surface: &liveSurface, ctx: &fasthttp.RequestCtx{}, etag: 10}
		x.ctx.Request.Header.Set("If-None-Match", list)
		x.asked.read(&x.ctx.Request.Header)
		got := x.matches("")
		want := false
		for one := range strings.SplitSeq(string(x.ctx.Request.Header.Peek("If-None-Match")), ",") {
			one = strings.TrimSpace(one)
			want = want || one == "*" || strings.TrimPrefix(one, "W/") == tag
		}
		if got != want {
			t.Fatalf("%q matches: %v, want %v", list, got, want)
		}
	})
}

// FuzzAcceptEncoding wants the negotiation to end in an encoding that there is.
func FuzzAcceptEncoding(f *testing.F) {
	for _, seed := range []string{"gzip", "gzip;q=0", "*;q=0.5, zstd;q=0", "identity;q=0", ";;;,,,", "gzip;q=NaN", "gzip;q=1e9"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, accept string) {
		got := pickEncoding([]byte(accept))
		if !slices.Contains([]string{"", "gzip", "zstd"}, got) {
			t.Fatalf("encoding %q", got)
		}
		if lower := strings.ToLower(accept); got != "" && !strings.Contains(lower, got) && !strings.Contains(lower, "*") {
			t.Fatalf("%q is not asked for in %q", got, accept)
		}
	})
}

// FuzzRequest sends whole requests through the handler: never 5xx, never a hang, always an answer that the document
// allows.
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
		{"GET", "/v1/cards?number=4%2F102&rarity=%00&set=x", ""},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	w := shared()
	f.Fuzz(func(t *testing.T, method, target, body string) {
		if method == "" || target == "" || !printable(method) || !printable(target) || target[0] != '/' || strings.HasPrefix(target, "/mcp") {
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
			told := r
			if method == http.MethodHead { // GET says why
				q.method = http.MethodGet
				if told, err = w.send(q); err != nil {
					t.Fatalf("GET %q: %v", target, err)
				}
				q.method = method
			}
			switch {
			case bytes.Contains(told.body, []byte("not valid HTTP")): // what the parser refuses has no path yet
				faults := told.envelopeFaults(told.header.Get("X-Request-Id"))
				if len(faults) > 0 || r.status != told.status || method == http.MethodHead && len(r.body) > 0 {
					t.Fatalf("%s %q: %d, where GET has %d: %v", method, target, r.status, told.status, faults)
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
