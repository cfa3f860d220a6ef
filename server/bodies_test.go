package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"ninepocket/server/httpconn"
)

// nested is a value of n levels of arrays.
func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// TestBodies sends the bodies of decision 7 to both live batches.
func TestBodies(t *testing.T) {
	w := shared()
	k := todaysTruth().cards[0]
	good := fmt.Sprintf(`{"ids":[%q]}`, k.id)
	for path, limit := range map[string]int{"/v1/cards/batch": 200, "/v1/prices/batch": 100} {
		list := func(n int) string {
			ids := make([]string, n)
			for i := range ids {
				ids[i] = fmt.Sprint("none", i)
			}

			text, _ := json.Marshal(object{"ids": ids})
			return string(text)
		}
		var all []scenario
		found := func(body string) {
			all = append(all, scenario{
				name: "good " + body[:min(60, len(body))], path: path, body: body,
				want: []match{at("data.0.id", k.id), at("data.#", 1), at("not_found.#", 0)},
			})
		}

		bad := func(body string, parts ...string) {
			all = append(all, scenario{
				name: "bad " + body[:min(60, len(body))], method: http.MethodPost, path: path,
				body: body, status: 400, code: "invalid_request", want: []match{has(parts...)},
			})
		}
		found(good)
		found(" \t\r\n" + good + "\n\n ")
		found(`{"\u0069ds":["` + k.id + `"]}`)
		found(`{"ids":["` + strings.Replace(k.id, "c", `\u0063`, 1) + `"]}`)
		found(`{"page":null,"ids":["` + k.id + `"],"x":{"ids":[1,{}]},"y":[[],1.5e300,true]}`)
		found(`{"IDS":[],"ids":["` + k.id + `"]}`)
		found(`{"ids":["` + k.id + `"],"items":[1]}`)
		found(`{"deep":` + nested(15) + `,"ids":["` + k.id + `"]}`)
		bad(`{"deep":`+nested(16)+`,"ids":["`+k.id+`"]}`, "16 levels")
		bad(`{"ids":`+nested(16)+`}`, "16 levels")
		bad(nested(100_000), "16 levels")
		bad(`{"a":`+strings.Repeat(`{"a":`, 50_000), "")
		bad(`{"ids":["`+k.id+`"],"ids":["`+k.id+`"]}`, "twice")
		bad(`{"ids":["`+k.id+`"],"\u0069ds":[]}`, "twice")
		bad(`{"a":1,"ids":["x"],"a":2}`, "twice")
		bad(`{"a":{"b":1,"b":2},"ids":["x"]}`, "twice")
		bad(good+"x", "not")
		bad(good+good, "after")
		bad(good+",", "not")
		bad(good+"\x00", "not")
		bad(good+" null", "after")
		bad("\ufeff"+good, "not JSON")
		bad(`{"ids":[NaN]}`, "not JSON")
		bad(`{"a":NaN,"ids":["x"]}`, "not JSON")
		bad(`{"a":Infinity,"ids":["x"]}`, "not JSON")
		bad("{\"ids\":[\"a\xff\"]}", "not JSON")
		bad("{\"\xff\":1,\"ids\":[\"a\"]}", "not JSON")
		bad(`{"ids":["\ud800"]}`, "not JSON")
		bad(`{"ids":["\udc00\ud800"]}`, "not JSON")
		bad("{\"ids\":[\"a\nb\"]}", "not JSON")
		bad("{\"ids\":[\"a\x00b\"]}", "not JSON")
		bad(`{'ids':['x']}`, "not JSON")
		bad(`{"ids":["x",]}`, "not JSON")
		bad(`{"ids":["x"],}`, "not JSON")
		bad(`{"ids":["x"] /* no */}`, "not JSON")
		bad(`{"ids":["x"`, "ends before its JSON does")
		bad(`{"ids"`, "ends before its JSON does")
		bad(`{`, "ends before its JSON does")
		bad(` `, "ends before its JSON does")
		bad("", "ends before its JSON does")
		bad(`null`, "object")
		bad(`[]`, "object")
		bad(`["`+k.id+`"]`, "object")
		bad(`"ids"`, "object")
		bad(`1`, "object")
		bad(`{}`, "ids or identifiers is required")
		bad(`{"Ids":["x"]}`, `ids or identifiers is required (got \"Ids\"): send`)
		bad(`{"d":1,"c":[],"b":{},"a":"x"}`, `(got \"d\", \"c\", \"b\", …): send`)
		variant := ""
		if path == "/v1/prices/batch" {
			variant = ", which is the form of preview keys"
		}
		bad(`{"items":[{"kind":"card"}]}`, `(got \"items\"`+variant+`): send {\"ids\":`)
		bad(`{"ids":null}`, "array")
		bad(`{"ids":"x"}`, "array")
		bad(`{"ids":{"0":"x"}}`, "array")
		bad(`{"ids":[]}`, fmt.Sprintf("between 1 and %d entries (got 0)", limit))
		bad(`{"ids":[null]}`, "strings")
		bad(`{"ids":["x",1]}`, "strings")
		bad(`{"ids":[["x"]]}`, "strings")
		bad(`{"ids":[{"id":"x"}]}`, "strings")
		bad(list(limit+1), fmt.Sprintf("between 1 and %d entries (got %d)", limit, limit+1))
		bad(list(limit*20), fmt.Sprintf("(got %d)", limit*20))
		bad(strings.Replace(list(limit+1), `"none0"`, `7`, 1), "strings", fmt.Sprintf("(got %d)", limit+1))
		all = append(all,
			scenario{name: "most", path: path, body: list(limit), want: []match{
				at("data.#", 0),
				at("not_found.#", limit),
			}},
			scenario{name: "one id many times", path: path, body: `{"ids":[` + strings.Repeat(`"`+k.id+`",`, limit-1) +
				`"` + k.id + `"]}`, want: []match{at("data.#", 1)}},
			scenario{
				name: "verbatim", path: path, body: `{"ids":["","a b","\u0000","é\u0301","\"\\","😀","\u2028","` +
					strings.Repeat("x", 300) + `"]}`,
				want: []match{exact(`{"data":[],"not_found":["","a b","\u0000","é\u0301","\"\\","😀","\u2028","` +
					strings.Repeat("x", 300) + `"]}`)},
			},
		)
		if !testing.Short() {
			t.Run(path, func(t *testing.T) { w.run(t, all) })
		}
	}
}

// TestBatches holds the rules of decision 24: order, collapse, two references to one card, what is
// not found.
func TestBatches(t *testing.T) {
	w := shared()
	tr := todaysTruth()
	slug := func(k *trueCard) string {
		url, _ := dig(t, w.get(t, "/v1/cards/"+k.id).body, "url")
		text, _ := url.(string)
		return text[strings.LastIndexByte(text, '/')+1:]
	}

	a := tr.cards[3]
	b := tr.cards[700]
	ids := []string{
		"zzz", b.id, a.id, "AAA", b.id, slug(a), "zzz", slug(a), " " + a.id, strings.ToUpper(a.id), "aaa",
		a.id,
	}
	body, _ := json.Marshal(object{"ids": ids})
	for _, path := range []string{"/v1/cards/batch", "/v1/prices/batch"} {
		r := w.try(t, scenario{path: path, body: string(body)})
		var got struct {
			Data     []struct{ ID string }
			NotFound []string `json:"not_found"`
		}
		r.decode(t, &got)
		var order []string
		for _, d := range got.Data {
			order = append(order, d.ID)
		}

		if want := []string{b.id, a.id, a.id}; !reflect.DeepEqual(order, want) {
			t.Errorf("%s: data %v, want %v", path, order, want)
		}
		if want := []string{"zzz", "AAA", " " + a.id, strings.ToUpper(a.id), "aaa"}; !reflect.DeepEqual(got.NotFound,
			want) {
			t.Errorf("%s: not_found %q, want %q", path, got.NotFound, want)
		}
		if r.header.Get("Cache-Control") != "no-store" || r.header.Get("ETag") != "" {
			t.Errorf("%s: Cache-Control %q, ETag %q", path, r.header.Get("Cache-Control"), r.header.Get("ETag"))
		}
	}
}

// TestMediaTypes is the matrix of Content-Type and Content-Encoding (decision 3).
func TestMediaTypes(t *testing.T) {
	w := shared()
	f := func(status int, header ...string) {
		t.Helper()
		for _, path := range []string{"/v1/cards/batch", "/v1/prices/batch"} {
			key := []string{"X-API-Key: " + w.keys["bench"]}
			q := request{method: http.MethodPost, target: path, body: `{"ids":["x"]}`, header: append(key, header...)}
			r := w.ask(t, q)
			if r.status != status || status == 415 && r.code() != "unsupported_media_type" {
				t.Errorf("%s %q: %d %s", path, header, r.status, r.code())
			}
		}
	}

	for _, good := range []string{
		"application/json", "Application/JSON", "application/json; charset=utf-8", "application/json;charset=UTF-8",
		`application/json; charset="utf-8"`,
		"application/json ; charset=utf-8", "application/json;", "application/json; profile=x",
	} {
		f(200, "Content-Type: "+good)
	}

	for _, bad := range []string{
		"", "text/plain", "text/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
		"application/json, text/plain", "application/problem+json",
		"application/vnd.api+json", "application/jsonx", "application", "json", "*/*",
		"application/json; charset=latin1", "application/json; charset=utf-16", "application/*",
	} {
		f(415, "Content-Type: "+bad)
	}

	f(415)
	f(200, "Content-Type: application/json", "Content-Encoding: identity")
	f(200, "Content-Type: application/json", "Content-Encoding: Identity")
	for _, bad := range []string{"gzip", "zstd", "br", "deflate", "identity, gzip", "gzip, identity", "aes128gcm"} {
		f(415, "Content-Type: application/json", "Content-Encoding: "+bad)
	}

	f(415, "Content-Type: application/json", "Content-Encoding: identity", "Content-Encoding: gzip")
	// A GET's body and its type are nobody's business.
	r := w.ask(t, request{
		method: http.MethodGet, target: "/v1/games", body: "hello",
		header: []string{"X-API-Key: " + w.keys["bench"], "Content-Type: text/plain"},
	})
	if r.status != http.StatusOK {
		t.Errorf("GET with a body: %d", r.status)
	}
}

// TestBodySize holds the limit of 256 KiB, with a length and chunked. Of a client without a key,
// chunks are not read so far (TestBodiesOfStrangers).
func TestBodySize(t *testing.T) {
	w := shared()
	body := func(n int) string {
		text := `{"ids":["x"],"pad":"`
		return text + strings.Repeat("p", n-len(text)-2) + `"}`
	}

	for _, chunked := range []bool{false, true} {
		for _, key := range []string{"bench", "-", "preview"} {
			for _, path := range []string{"/v1/cards/batch", "/v1/prices/batch", "/v1/nothing"} {
				if chunked && key == "-" {
					continue
				}
				s := scenario{path: path, body: body(httpconn.MaxBody + 1), key: key}
				q := s.request(w)
				q.chunked = chunked
				if r := w.ask(t, q); r.status != http.StatusRequestEntityTooLarge || r.code() != "payload_too_large" {
					t.Errorf("%s, chunked %v, key %s: %d %s for a byte too much", path, chunked, key, r.status,
						r.code())
				}
			}
		}

		s := scenario{path: "/v1/cards/batch", body: body(httpconn.MaxBody)}
		q := s.request(w)
		q.chunked = chunked
		if r := w.ask(t, q); r.status != http.StatusOK {
			t.Errorf("chunked %v: %d for exactly 256 KiB", chunked, r.status)
		}
	}
}

// TestManyProblems wants an answer of reasonable size to a request that is wrong in very many ways.
func TestManyProblems(t *testing.T) {
	w := shared()
	idempotent := "Idempotency-Key: many"
	var members strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&members, `"m%d":1,`, i)
	}

	w.run(t, []scenario{
		{
			name: "items", path: "/v1/prices/batch", key: "preview", header: []string{idempotent},
			body: `{"items":[` + strings.Repeat("1,", 100_000) + `1]}`, status: 400, code: "invalid_request",
		},
		{
			name: "members", path: "/v1/prices/batch", key: "preview", header: []string{idempotent},
			body: `{` + members.String() + `"items":[]}`, status: 400, code: "invalid_request",
		},
		{
			name: "duplicates", path: "/v1/prices/batch", key: "preview", header: []string{idempotent},
			body: `{"items":[` + strings.Repeat(`{"kind":"sealed","product_id":"prd_abc"},`, 49) +
				`{"kind":"sealed","product_id":"prd_abc"}]}`, status: 400, code: "invalid_request",
		},
		{
			name: "parameters", path: "/v1/products?" + strings.Repeat("abcdefghijklmnopqrstuvwxyz%20=1&", 300),
			key: "preview", status: 400, code: "invalid_request",
		},
		{name: "repeated", path: "/v1/cards?" + strings.Repeat("q=&", 3000), status: 400, code: "invalid_request"},
	})
}
