package api

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"ninepocket/wire"
)

// FuzzArgs holds Args.Parse against net/url's reading of the same query, where that has one.
func FuzzArgs(f *testing.F) {
	for _, seed := range []string{
		"", "q=a", "q=a&q=b", "q=%zz", "q=%", "%71=a", "q=a+b%20c", "&&q=&", "=", "q", "q==", "x=1&y=2", "q=%00",
		"q=\xff", "limit=1&q=é&q", "Q=1", "q;limit=1", "q=%C3%A9&%ff=1",
	} {
		f.Add([]byte(seed))
	}

	known := []string{"q", "limit"}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var a Args
		before := string(raw)
		a.Parse(raw, known)
		if string(raw) != before {
			t.Fatal("the query was changed")
		}
		if len(a.unknown) > maxUnknown || len(a.unknown) > a.unknownCount || len(a.known) != len(known) {
			t.Fatalf("%d named of %d unknown, %d known", len(a.unknown), a.unknownCount, len(a.known))
		}

		for _, name := range a.unknown {
			if name == "" || len(name) > 3*64 || strings.ContainsAny(name, " ,\r\n\"") || !utf8.ValidString(name) {
				t.Fatalf("unknown name %q", name)
			}
		}

		for i := range a.known {
			if v := a.known[i]; v.count > 0 && v.reason == "" && textProblem(v.value) != "" {
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
			v := a.known[i]
			theirs := values[a.known[i].name]
			if v.count != len(theirs) || v.count > 0 && v.value != theirs[len(theirs)-1] {
				t.Fatalf("%s given %d times, last %q; net/url has %q", v.name, v.count, v.value, theirs)
			}
		}
	})
}

// FuzzReadIDs compares readIDs with encoding/json: both accept the same bodies, and each refusal
// has a reason.
func FuzzReadIDs(f *testing.F) {
	for _, seed := range []string{
		`{"ids":["a"]}`, `{"ids":["a","a"],"x":[{}]}`, `{"ids":[]}`, `{"ids":null}`, `{"ids":["a"]}x`,
		`{"ids":["a"],"ids":["b"]}`, `[`, ``, `null`, "\ufeff{}", `{"ids":["\ud800"]}`,
		`{"\u0069ds":["\u0000"]}`, `{"ids":[1]}`, `{"x":` + nested(20) +
			`,"ids":["a"]}`, `{"ids":["a",`, "{\"ids\":[\"\xff\"]}",
		" {\t\"ids\"\n:\r[ \"a quite long one\" , \"\" ,\"é ☆\"] } ", `{"ids":["a",]}`, `{"ids":["a"]]`,
		`{"ids":["a"` + "\x00" + `]}`, `{"ids":["a"}}`, `{"ids" ["a"]}`, `{"ids":["1","2","3","4","5"]}`,
		`{"ids":["1","2","3","4","5","6"]}`, `{"ids":["a" "b"]}`, "{\"ids\":[\"\x7f\\\"\"]}", `{"ids":["a"]},`,
		`{"identifiers":["a:1"]}`, `{"identifiers":["a:1","a:2"],"ids":["b"]}`, `{"ids":[],"identifiers":["a:1"]}`,
		`{"ids":["a","b","c"],"identifiers":["d","e","f"]}`, `{"identifiers":[2]}`,
	} {
		f.Add([]byte(seed))
	}

	five := wire.Range{Min: 1, Max: 5}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := &Request{Op: searchOperation(), Body: body}
		usual := &Request{Op: r.Op, Body: body}
		before := string(body)
		if usual.scanIDs("ids", five) {
			decoded := r.object()
			r.references(decoded, decoded.Member("ids"), decoded.Member("identifiers"), five)
			if !slices.Equal(usual.ids, r.ids) || r.problems.count > 0 || string(body) != before {
				t.Fatalf("scanned %q, decoded %q (%q)", usual.ids, r.ids, r.problems.listed)
			}
		}

		refs, n := r.readIDs(five)
		if fault := r.invalid(); fault != nil {
			if len(fault.Detail) > 1000 || !utf8.ValidString(fault.Detail) {
				t.Fatalf("detail of %d bytes", len(fault.Detail))
			}
			return
		}

		var ids, identifiers []string
		var members map[string]json.RawMessage
		if err := json.Unmarshal(body, &members); err != nil {
			t.Fatalf("took %q: %v", body, err)
		}
		for name, into := range map[string]*[]string{"ids": &ids, "identifiers": &identifiers} {
			if members[name] == nil {
				continue
			}
			if err := json.Unmarshal(members[name], into); err != nil {
				t.Fatalf("took %q: %v", body, err)
			}
		}
		if !slices.Equal(refs[:n], ids) || !slices.Equal(refs[n:], identifiers) || len(refs) == 0 || len(refs) > 5 {
			t.Fatalf("read %q, %d of them ids; want %q and %q", refs, n, ids, identifiers)
		}
	})
}

// FuzzReadSelections wants readSelections to take only what is well formed and can be written without
// escapes, and to refuse in few words.
func FuzzReadSelections(f *testing.F) {
	for _, seed := range []string{
		oneItem, `{"items":[{"kind":"card","product_id":"prd_abc","variant":"normal","condition":"near_mint"}]}`,
		`{"items":[1,{},[]]}`, `{"items":{}}`, `{"x":1}`, ``, `{"items":[{"kind":null}]}`,
		`{"items":[{"kind":"card"},{"kind":"box","product_id":"x"},` +
			`{"variant":"é","condition":"damaged","product_id":"prd_abc","kind":"sealed"}]}`,
		`{"items":[{"kind":"sealed","product_id":"prd_abc"},{"product_id":"prd_abc","kind":"sealed"}]}`,
		`{"items":[{"kind":"card","kind":"card"}]}`, `{"items":[{}]}`, `{"items":[{"kind":"card",}]}`,
		`{"items":[{"kind":"card","product_id":"prd_abc","variant":"\u00e9","condition":"near_mint"}]}`,
		`{"items":[{"kind":"","product_id":"","variant":"","condition":""},{"kind":""}]}`, `{}`,
		`{"items":[{"kind":"sealed","product_id":"prd_ab\"c"},{"kind":"sealed","product_id":"prd_abc\\"}]}`,
	} {
		f.Add([]byte(seed))
	}

	// The members begin with each of them, in the usual order and against it.
	all := []string{`"kind":"card"`, `"product_id":"prd_abc"`, `"variant":"normal"`, `"condition":"near_mint"`}
	for n := range all {
		members := slices.Concat(all[n:], all[:n])
		f.Add([]byte(`{"items":[{` + strings.Join(members, ",") + `}]}`))
		f.Add([]byte(`{"items":[{` + strings.Join(members[:n], ",") + `}]}`))
		slices.Reverse(members)
		f.Add([]byte(`{"items":[{` + strings.Join(members, ",") + `}]}`))
	}

	view := testView(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		op := &Operation{Path: pricesPath}
		r := &Request{Body: body, View: view, Strict: true, Op: op}
		usual := &Request{Body: body, View: view, Strict: true, Op: op}
		if usual.scanSelections() {
			r.decodeSelections()
			if !slices.Equal(usual.selections, r.selections) || !cmp.Equal(usual.problems, r.problems,
				cmp.AllowUnexported(problems{})) {
				t.Fatalf("scanned %q with %v, decoded %q with %v", usual.selections, usual.problems, r.selections,
					r.problems)
			}
			r.problems = problems{}
		}

		r.readSelections()
		items := r.selections
		if fault := r.invalid(); fault != nil {
			if len(fault.Detail) > 8<<10 || !utf8.ValidString(fault.Detail) {
				t.Fatalf("detail of %d bytes", len(fault.Detail))
			}
			return
		}
		if len(items) == 0 || len(items) > wire.MaxSelections {
			t.Fatalf("%d items", len(items))
		}

		for i, s := range items {
			if s.Kind != "card" && s.Kind != "sealed" || (s.Kind == "card") != (s.Condition != "") ||
				!r.validProductID(s.ProductID) || slices.Contains(items[:i], s) {
				t.Fatalf("item %d is %+v", i, s)
			}
		}
		text := wire.AppendPriceResults(nil, items, make([]wire.PriceResult, len(items)), 0)
		if !jsontext.Value(text).IsValid() {
			t.Fatalf("the response has %s", text)
		}
	})
}

func TestPlainTexts(t *testing.T) {
	r := &Request{View: testView(t)}
	for char := range 256 {
		text := string([]byte{byte(char)})
		plain := regexp.MustCompile(`^[a-z0-9_]$`).MatchString(text)
		if id := "prd_ab" + text + "c"; r.validProductID(id) != plain {
			t.Errorf("product id %q is valid: %t", id, !plain)
		}
	}

	for text, want := range map[string]string{
		"": "", "a~ ": "", "é": "", "\u0085": "", "\x1f": "control", "a\x00": "control", "a\x7f": "control",
		"\x80": "UTF-8", "aé\xff": "UTF-8", "\xed\xa0\x80": "UTF-8",
	} {
		if got := textProblem(text); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q %s, want %q", text, got, want)
		}
	}
}

// FuzzPathID holds PathID against net/url.
func FuzzPathID(f *testing.F) {
	for _, seed := range []string{
		"card_a", "%2F", "%2f", "%", "%zz", "%00", "a%20b", "é", "%ff", "%C3%A9",
		strings.Repeat("x", 201), "+", "..",
	} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, raw string) {
		r := &Request{Ref: raw}
		id, ok := r.PathID()
		want, err := url.PathUnescape(raw)
		good := err == nil && textProblem(want) == "" && utf8.RuneCountInString(want) <= int(wire.RefText.Max) &&
			!strings.Contains(strings.ToLower(raw), "%2f")
		if ok != good || ok && id != want {
			t.Fatalf("%q is %q %v, want %q %v", raw, id, ok, want, good)
		}
	})
}

const oneItem = `{"items":[{"kind":"sealed","product_id":"prd_abc"}]}`

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// FuzzFields chooses members of a record and wants JSON with its id, whose members are the record's.
func FuzzFields(f *testing.F) {
	for _, seed := range []string{
		"id", "name,set.name", "prices.variant,prices", "set.id,set.id", ",", "", "set.",
		"identifiers.value,product_id",
		"url,x", "prices.market_price_cents,prices.change_7d_percent", "ID", "set.name.x",
	} {
		f.Add(seed)
	}

	const record = `{"id":"card_1","name":"a,\\\"}","set":{"id":"set_1","name":"B"},"url":null,` +
		`"prices":[{"variant":"normal","market_price_cents":7},{"variant":"foil","market_price_cents":8}],` +
		`"identifiers":[],"product_id":null}`
	f.Fuzz(func(t *testing.T, text string) {
		op := &Operation{Params: []string{"fields"}}
		r := &Request{Op: op}
		r.ReadQuery([]byte("fields=" + url.QueryEscape(text)))
		fields := r.fieldsArg(detailFields)
		if f := r.invalid(); f != nil {
			if !strings.HasPrefix(f.Detail, "fields ") {
				t.Fatalf("%q: %s", text, f.Detail)
			}
			return
		}

		got := fields.appendRecord(nil, []byte(record))
		var whole, part map[string]any
		if err := json.Unmarshal(got, &part); err != nil || part["id"] != "card_1" {
			t.Fatalf("%q leaves %s (%v)", text, got, err)
		}
		_ = json.Unmarshal([]byte(record), &whole)
		for name := range part {
			if _, ok := whole[name]; !ok || name != "id" && !strings.Contains(text, name) {
				t.Fatalf("%q leaves %s", text, got)
			}
		}
	})
}
