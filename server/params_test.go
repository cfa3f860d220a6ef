package server

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ninepocket/engine/bulk"
	"ninepocket/internal/contracttest"
)

// target is a request of an operation that succeeds without any optional parameter.
func target(op contracttest.Operation) (path string, query url.Values) {
	tr := todaysTruth()
	query = url.Values{}
	path = op.Path
	if strings.HasPrefix(path, "/v1/sets/") {
		path = strings.ReplaceAll(path, "{id}", tr.sets[0].id)
	}

	path = strings.ReplaceAll(path, "{snapshot_id}", today().view.ID)
	path = strings.ReplaceAll(path, "{name}", bulk.Sets)
	path = strings.ReplaceAll(path, "{id}", tr.cards[0].id)
	path = strings.ReplaceAll(path, "{product_id}", "prd_"+tr.cards[0].id[len("card_"):])
	for _, p := range op.Parameters {
		if p.In == "query" && p.Required {
			query.Set(p.Name, append(p.Enum, p.Example)[0])
		}
	}

	// The document's snapshot is of long ago, and prices have the longest pages.
	if op.ID == "changes_list" {
		query = url.Values{"since": {today().view.ID}, "kind": {"prices"}}
	}
	return path, query
}

// surfaceKey is a key that opens an operation.
func surfaceKey(op contracttest.Operation) string {
	if op.Surface == contracttest.Preview {
		return "preview"
	}
	return "bench"
}

// eachParameter calls each with every query parameter of the document.
func eachParameter(t *testing.T, each func(t *testing.T, op contracttest.Operation, p contracttest.Parameter)) {
	t.Helper()
	n := 0
	for _, op := range contracttest.Operations() {
		for _, p := range op.Parameters {
			if p.In == "query" {
				n++
				t.Run(op.ID+"."+p.Name, func(t *testing.T) { each(t, op, p) })
			}
		}
	}

	if n < 25 {
		t.Errorf("only %d parameters in the document", n)
	}
}

func pattern(p contracttest.Parameter) string {
	switch {
	case p.Pattern == "^[0-9]+$":
		return "7"
	case p.Name == "identifier":
		return "a:1"
	case p.Name == "updated_since":
		return "2026-08-01T00:00:00Z"
	case strings.HasPrefix(p.Name, "released_"):
		return "2020-02-29"
	}
	return "x"
}

// TestParameters probes every query parameter of the document: its bounds at min-1, min, max and
// max+1, its values, and the rules of decision 5.
func TestParameters(t *testing.T) {
	w := shared()
	eachParameter(t, func(t *testing.T, op contracttest.Operation, p contracttest.Parameter) {
		path, base := target(op)
		ask := func(written string, status int, parts ...string) {
			t.Helper()
			query := url.Values{}
			for name, v := range base {
				if name != p.Name {
					query[name] = v
				}
			}

			full := path + "?" + written
			if rest := query.Encode(); rest != "" {
				full += "&" + rest
			}

			s := scenario{path: full, key: surfaceKey(op), status: status}
			if op.Method == http.MethodPost {
				s.body = `{"ids":["x"]}`
			}
			if status == http.StatusBadRequest {
				s.code = "invalid_request"
				parts = append(parts, p.Name)
			}
			if status == http.StatusOK && p.Name == "since" {
				s.status = http.StatusGone // a valid text is no snapshot yet
				s.code = "snapshot_gone"
			}
			s.want = []match{has(parts...)}
			w.try(t, s)
		}

		good := func(value string) { t.Helper(); ask(p.Name+"="+url.QueryEscape(value), http.StatusOK) }
		bad := func(value string, parts ...string) {
			t.Helper()
			ask(p.Name+"="+url.QueryEscape(value), http.StatusBadRequest, parts...)
		}

		raw := func(value string) { t.Helper(); ask(p.Name+"="+value, http.StatusBadRequest) }
		valid := pattern(p)
		switch {
		case len(p.Enum) > 0:
			for _, v := range p.Enum {
				good(v)
				if p.Type == "string" {
					bad(strings.ToUpper(v), p.Enum...)
				}
				bad(v+" ", p.Enum...)
				bad(" "+v, p.Enum...)
			}

			bad("nonsense", p.Enum...)
			bad("")
			valid = p.Enum[0]
		case p.Type == "integer":
			lo := *p.Minimum
			hi := *p.Maximum
			good(fmt.Sprint(lo))
			good(fmt.Sprint(hi))
			good("0" + fmt.Sprint(hi)) // still a plain decimal
			for _, v := range []string{
				fmt.Sprint(hi + 1), "-1", "+1", "1.0", "1e2", " 1", "1 ", "", "0x1", "1_0", "NaN", "٣", "１", "true",
				"null",
				"9223372036854775808", "18446744073709551617", "99999999999999999999999999",
			} {
				bad(v, fmt.Sprint(lo), fmt.Sprint(hi))
			}

			if lo > 0 {
				bad(fmt.Sprint(lo - 1))
			}
			valid = fmt.Sprint(lo)
		case p.Name == "cursor":
			bad("")
			bad("x")
			bad(strings.Repeat("A", int(*p.MaxLength)))
			bad(strings.Repeat("A", int(*p.MaxLength)+1), fmt.Sprint(*p.MaxLength))
			valid = ""
		case p.Name == "identifier":
			good("a:b:c")
			good("a:" + strings.Repeat("𝒳", 299))
			for _, v := range []string{"", "x", ":", "a:", ":1", "42382", "a:" + strings.Repeat("x", 300)} {
				bad(v, "NAMESPACE:VALUE")
			}
		case p.Name == "updated_since":
			good("2026-08-01T02:00:00.5+02:00")
			for _, v := range []string{"", "x", "2026-08-01", "2026-08-01T00:00:00", "2026-13-01T00:00:00Z", "0"} {
				bad(v, "2026-11-20T20:05:00Z")
			}
		case strings.HasPrefix(p.Name, "released_"):
			good("1970-01-01")
			for _, v := range []string{"", "x", "2023-02-29", "20230228", "2023-2-1", "2026-08-01T00:00:00Z"} {
				bad(v, "must be a date YYYY-MM-DD, such as 2026-11-20")
			}
		case p.Name == "fields":
			valid = "id"
			good(p.Example)
			good(strings.Repeat("id,", 15) + "id")
			bad(strings.Repeat("id,", 16)+"id", "16", "(got 17)")
			for _, v := range []string{"", "ID", "id,", " id", "set.", ".", "a.b.c", "id,x1,x2,x1"} {
				bad(v, "no member here")
			}
			bad("x1,id,x2", `\"x1\", \"x2\" (there are id`)
		case p.Pattern != "":
			good("1")
			good("00")
			for _, v := range []string{"", "x", "-1", "1 ", "1.0", "+1", "٣"} {
				bad(v)
			}
		case p.MaxLength != nil:
			n := int(*p.MaxLength)
			good("x")
			good(strings.Repeat("x", n))
			good(strings.Repeat("𝒳", n)) // four bytes each: lengths count code points
			good("é\u0301\u200d")
			bad(strings.Repeat("x", n+1), fmt.Sprint(n))
			bad(strings.Repeat("𝒳", n+1), fmt.Sprint(n))
			bad("")
			good("a+b&c=d%2")
			good("\u0080") // not C0
		default:
			t.Fatalf("nothing bounds %s", p.Name)
		}

		for _, v := range []string{
			"%", "%4", "%zz", "%C3", "%ff", "%ED%A0%80", "%C0%AF", "%00", "a%00b", "%09",
			"%0a", "%1F", "a\xffb", "a\x80",
		} {
			raw(v)
		}
		if valid != "" {
			v := url.QueryEscape(valid)
			ask(p.Name+"="+v+"&"+p.Name+"="+v, http.StatusBadRequest, "2 times")
			ask(p.Name+"="+v+"&x=1&"+p.Name+"="+v+"&"+p.Name, http.StatusBadRequest, "3 times")
			ask(percentAll(p.Name)+"="+percentAll(valid), http.StatusOK)
		}
		if p.Required {
			w.try(t, scenario{
				path: path, key: surfaceKey(op), status: 400, code: "invalid_request",
				want: []match{has(p.Name, "required")},
			})
			ask(strings.ToUpper(p.Name)+"="+valid, http.StatusBadRequest) // names have a case
		}
	})
}

func percentAll(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02x", s[i])
	}
	return b.String()
}

// TestDefaults holds a parameter's default in the document against leaving the parameter out.
func TestDefaults(t *testing.T) {
	w := shared()
	eachParameter(t, func(t *testing.T, op contracttest.Operation, p contracttest.Parameter) {
		if p.Default == "" {
			return
		}

		path, query := target(op)
		without := w.try(t, scenario{path: path + "?" + query.Encode(), key: surfaceKey(op)})
		query.Set(p.Name, p.Default)
		with := w.try(t, scenario{path: path + "?" + query.Encode(), key: surfaceKey(op)})
		a, _ := dig(t, without.body, "data")
		b, _ := dig(t, with.body, "data")
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%s=%s differs from leaving it out", p.Name, p.Default)
		}
	})
}

// TestAllProblemsAreNamed wants every problem of a request in one detail.
func TestAllProblemsAreNamed(t *testing.T) { // air: one table
	shared().run(t, []scenario{
		{
			path: "/v1/cards?q=%20&set=&game=" + strings.Repeat("g", 65) +
				"&number=%zz&rarity=%00&min_price_cents=-1&max_price_cents=1.5&sort=up&limit=51&cursor=",
			status: 400, code: "invalid_request",
			want: []match{has("q must not be blank", "set must have between 1 and 200",
				"game must have between 1 and 64 characters (got 65)", "number has an invalid percent escape",
				"rarity has a control character", "min_price_cents must be a whole number", "max_price_cents must be",
				"sort must be one of relevance, price_desc, price_asc, newest",
				"limit must be between 1 and 50 (got 51)", "cursor must have")},
		},
		{
			name: "a cursor beside a bad limit", path: "/v1/cards?limit=0&cursor=x", status: 400,
			code: "invalid_request",
			want: []match{has("limit must be between 1 and 50 (got 0); cursor is not one")},
		},
		{
			name: "a cursor of products beside a bad limit", path: "/v1/products?limit=0&cursor=x", key: "preview",
			status: 400, code: "invalid_request", want: []match{has("limit must be", "cursor is not one")},
		},
		{
			name: "the document's example", path: "/v1/cards?limit=51&sort=best", status: 400, code: "invalid_request",
			want: []match{at("detail", "sort must be one of relevance, price_desc, price_asc, newest, name, number "+
				`(got "best"); limit must be between 1 and 50 (got 51)`)},
		},
		{
			path: "/v1/cards?min_price_cents=2&max_price_cents=1", status: 400, code: "invalid_request",
			want: []match{has("min_price_cents", "max_price_cents")},
		},
		{path: "/v1/cards?min_price_cents=2&max_price_cents=2", want: []match{at("next_cursor", nil)}},
		{
			path: "/v1/market/movers?limit=0&period=2&direction=left", status: 400, code: "invalid_request",
			want: []match{has("direction", "period", "limit")},
		},
		{
			path: "/v1/sets?series=&game=&limit=a", status: 400, code: "invalid_request",
			want: []match{has("series", "game", "limit")},
		},
		{
			path: "/v1/cards/card_none/prices?days=0&variant=", status: 400, code: "invalid_request",
			want: []match{has("days", "variant")},
		},
		{
			path: "/v1/cards/card_none/price-stats?window=1d&variant=", status: 400, code: "invalid_request",
			want: []match{has("window", "variant")},
		},
		{
			path: "/v1/products?limit=0&game=one-piece&kind=box&partner_id=x&page=1", key: "preview", status: 400,
			code: "invalid_request",
			want: []match{has("limit", "game", "kind", "partner_id", "page")},
		},
		{
			name: "blank q", path: "/v1/cards?q=%C2%A0%E2%80%83+", status: 400, code: "invalid_request",
			want: []match{has("blank")},
		},
		{
			name: "blank q of sets", path: "/v1/sets?q=%20%20", status: 400, code: "invalid_request",
			want: []match{has("q must not be blank: give a word, or leave q out")},
		},
		{
			name: "blank set", path: "/v1/cards?set=%20%20%20", status: 400, code: "invalid_request",
			want: []match{has("set must not be blank: give a word, or leave set out")},
		},
		{
			name: "blank set of movers", path: "/v1/market/movers?direction=up&set=%20%C2%A0", status: 400,
			code: "invalid_request", want: []match{has("set must not be blank")},
		},
		{
			name: "q of punctuation", path: "/v1/cards?q=!%3F.,-%27",
			want: []match{exact(`{"data":[],"next_cursor":null}`)},
		},
		{
			name: "q of symbols", path: "/v1/cards?q=%F0%9F%98%80",
			want: []match{exact(`{"data":[],"next_cursor":null}`)},
		},
		{name: "unknown set", path: "/v1/cards?set=nowhere", want: []match{exact(`{"data":[],"next_cursor":null}`)}},
		{name: "unknown game", path: "/v1/cards?game=magic", want: []match{exact(`{"data":[],"next_cursor":null}`)}},
		{
			name: "preview spelling of a game", path: "/v1/cards?game=one_piece&limit=1",
			want: []match{at("data.0.game", "one-piece")},
		},
		{name: "unknown rarity", path: "/v1/cards?rarity=!!", want: []match{exact(`{"data":[],"next_cursor":null}`)}},
		{name: "unknown number", path: "/v1/cards?number=-", want: []match{exact(`{"data":[],"next_cursor":null}`)}},
		{
			name: "unknown series", path: "/v1/sets?series=nowhere",
			want: []match{exact(`{"data":[],"next_cursor":null}`)},
		},
		{
			name: "movers of an unknown set", path: "/v1/market/movers?direction=up&set=nowhere",
			want: []match{at("data.#", 0), at("period_days", 7)},
		},
		{
			name: "movers of 30 days", path: "/v1/market/movers?direction=up&period=30",
			want: []match{at("period_days", 7)},
		},
		{
			name: "untracked variant", path: "/v1/cards/" + todaysTruth().cards[0].id + "/prices?variant=gold",
			want: []match{at("data.#", 0), at("days", 90)},
		},
		{name: "statistics of an untracked variant", path: "/v1/cards/" + todaysTruth().cards[0].id +
			"/price-stats?variant=gold", want: []match{at("data.variants.#", 0), at("variant", "gold")}},
	})
}

// TestIgnoredParameters wants unknown parameters named, percent-encoded, ten at most, on live; on
// preview they are 400.
func TestIgnoredParameters(t *testing.T) {
	w := shared()
	f := func(query, want string) {
		t.Helper()
		r := w.get(t, "/v1/games?"+query)
		if got := r.header.Get("X-Ignored-Params"); r.status != http.StatusOK || got != want {
			t.Errorf("%s: %d, X-Ignored-Params %q, want %q", query, r.status, got, want)
		}
	}
	f("", "")
	f("&&&", "")
	f("page=2", "page")
	f("page", "page")
	f("page=1&colour=red", "page, colour")
	f("Limit=%zz", "Limit") // of an unknown parameter only the name counts
	f("a%20b=1&c,d=2&%C3%A9=3", "a%20b, c%2Cd, %C3%A9")
	f("x%0d%0aSet-Cookie:1=2", "x%0D%0ASet-Cookie%3A1")
	f("limit=1", "limit") // games has no parameters
	f("=1", "")
	var many, first []string
	for i := range 12 {
		many = append(many, "p"+strconv.Itoa(i)+"=1")
		first = append(first, "p"+strconv.Itoa(i))
	}

	f(strings.Join(many, "&"), strings.Join(first[:10], ", "))
	f("p=1&p=2&q=1", "p, q")
	for _, query := range []string{"%ff=1", "%zz=1", "a%=1"} {
		w.try(t, scenario{path: "/v1/games?" + query, status: 400, code: "invalid_request"})
	}

	for _, path := range []string{"/v1/products", "/v1/products/prd_abc", "/v1/usage"} {
		w.try(t, scenario{
			path: path + "?page=1&colour=1", key: "preview", status: 400, code: "invalid_request",
			want: []match{has("page", "colour")},
		})
		w.try(t, scenario{path: path + "?=", key: "preview", status: 400, code: "invalid_request"})
	}

	r := w.try(t, scenario{path: "/v1/cards/batch?x=1", body: `{"ids":["a"]}`})
	if got := r.header.Get("X-Ignored-Params"); got != "x" {
		t.Errorf("X-Ignored-Params of a batch is %q", got)
	}
}

// operations lists the route table as the document does: "GET /v1/games" and so on, without MCP, which tools/list
// describes, and without the public pages.
func (s *Server) operations() []string {
	var all []string
	for _, p := range s.routeTable() {
		if p.pattern != mcpPath && p.metric.surface != surfaceSite {
			all = append(all, p.method+" "+p.pattern)
		}
	}
	slices.Sort(all)
	return all
}

// routed is how the route table writes paths of the document.
var routed = strings.NewReplacer("{product_id}", "{id}", "{snapshot_id}", "{id}")

// TestRouteTableIsTheDocument holds the route table against the document, both ways.
func TestRouteTableIsTheDocument(t *testing.T) {
	f := func(w *world, include func(contracttest.Operation) bool) {
		t.Helper()
		var documented []string
		for _, op := range contracttest.Operations() {
			if include(op) {
				documented = append(documented, op.Method+" "+routed.Replace(op.Path))
			}
		}

		slices.Sort(documented)
		if got := w.operations(); !slices.Equal(got, documented) {
			t.Errorf("routes %v\ndocument %v", got, documented)
		}
	}
	f(shared(), func(contracttest.Operation) bool { return true })
	f(liveWorld(), func(op contracttest.Operation) bool { return op.Surface != contracttest.Preview && !op.BothOnly })
	names := map[string]contracttest.Operation{}
	for _, op := range contracttest.Operations() {
		names[op.ID] = op
	}

	for _, p := range shared().routeTable() {
		for _, o := range []*operation{p.live, p.preview} {
			if o == nil {
				continue
			}

			op, ok := names[string(o.Name)]
			if !ok || routed.Replace(op.Path) != p.pattern {
				t.Errorf("operation %s is not the document's at %s", o.Name, p.pattern)
			}

			var params []string
			for _, q := range op.Parameters {
				if q.In == "query" && (q.Surface == contracttest.Preview) == (o == p.preview) {
					params = append(params, q.Name)
				}
			}

			if op.Surface == contracttest.Preview {
				params = params[:0]
				for _, q := range op.Parameters {
					if q.In == "query" {
						params = append(params, q.Name)
					}
				}
			}
			slices.Sort(params)
			mine := slices.Clone(o.Params)
			slices.Sort(mine)
			if !slices.Equal(mine, params) {
				t.Errorf("%s knows %v, the document %v", o.Name, mine, params)
			}
		}
	}
}
