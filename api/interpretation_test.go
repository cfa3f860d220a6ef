package api

import (
	"slices"
	"strings"
	"testing"

	"ninepocket/access/keys"
	"ninepocket/engine"
	"ninepocket/internal/fixture"
	"ninepocket/wire"
)

// TestInterpretation sends queries that are used literally, and queries that are not.
func TestInterpretation(t *testing.T) {
	view := testView(t)
	service := testService(t, view)
	name := view.Catalog.Cards.Name.At(0)
	set := view.Catalog.Sets.Name.At(0)
	f := func(query, want string) {
		t.Helper()
		out, fault := run(service, view, searchOperation(), ask{query: query})
		if fault != nil {
			t.Fatalf("%s: %v", query, fault)
		}
		if got := string(out.Interpretation); got != want && (want == "" || !strings.Contains(got, want)) {
			t.Errorf("%s tells %q, want %q", query, got, want)
		}
	}

	word, _, _ := strings.Cut(name, " ")
	f("q="+word, "")
	f("q=the+price+of+"+word, `left-out;q="the price of"`)
	f("q="+word+"&sort=newest", "")
	f("set="+strings.ReplaceAll(set, " ", "+"), "")
	f("set="+strings.ReplaceAll(set, " ", "+")+"xq", `nearest-set;q="`)
}

// TestSetsInterpreted wants every operation that takes a set by name to say what it made of the
// name.
func TestSetsInterpreted(t *testing.T) {
	world := fixture.Random(1, fixture.Size{Sets: 12, Cards: 80, Days: 8})
	world.Sets[3].Name = "SWSH07: Evolving Skies"
	view, err := engine.NewView(world.Catalog(), wire.URLs{URL: "https://cards.test", ProductPrefix: "prd"})
	if err != nil {
		t.Fatal(err)
	}
	service := testService(t, view)

	all := Operations()
	for path, query := range map[string]string{
		"/v1/cards": "set=", "/v1/market/movers": "direction=up&set=", "/v1/sets": "q=",
	} {
		at := slices.IndexFunc(all, func(op *Operation) bool { return op.Path == path && op.Surface == keys.Live })
		for ref, want := range map[string]string{
			"evolving+skies":      "",
			"evolving+skys":       `corrected;q="evolving skys";as="SWSH07: Evolving Skies"`,
			"evolving+sky+boxers": `nearest-set;q="evolving sky boxers";as="SWSH07: Evolving Skies"`,
		} {
			out, fault := run(service, view, all[at], ask{query: query + ref})
			if fault != nil {
				t.Fatalf("%s: %v", path, fault)
			}
			if got := string(out.Interpretation); got != want && (want == "" || !strings.HasPrefix(got, want)) {
				t.Errorf("%s?%s%s tells %q, want %q", path, query, ref, got, want)
			}
		}
	}
}

func TestAppendToken(t *testing.T) {
	got := string(appendToken([]byte("x"), "corrected", `a"b\c`, "é 5%"))
	if want := `x, corrected;q="a\"b\\c";as="%C3%A9 5%25"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	long := []byte("kept")
	if got := string(appendToken(long, "missing", strings.Repeat("x", maxInterpretation), "")); got != "kept" {
		t.Errorf("a header too long ends in %d bytes", len(got))
	}
}

// TestOtherNamesInterpreted wants the header to say which card a name in another language was read as.
func TestOtherNamesInterpreted(t *testing.T) {
	c := fixture.Random(1, fixture.Size{Sets: 12, Cards: 80, Days: 8}).Catalog()
	english := c.Cards.Name.At(0)
	as := string(appendQuoted(nil, strings.ToLower(english)))
	for _, name := range []string{"Glurakso", "ピカ"} {
		c.Names.English.Append(english)
		c.Names.Language.Append("de")
		c.Names.Name.Append(name)
		c.Names.Game = append(c.Names.Game, c.Cards.Game[0])
	}
	view, err := engine.NewView(c, wire.URLs{URL: "https://cards.test", ProductPrefix: "prd"})
	if err != nil {
		t.Fatal(err)
	}

	for query, want := range map[string]string{
		"q=Glurakso": `read-as;q="glurakso";as=` + as,
		"q=ピカ":       `read-as;q="%E3%83%94%E3%82%AB";as=` + as,
	} {
		out, fault := run(testService(t, view), view, searchOperation(), ask{query: query})
		if fault != nil {
			t.Fatal(fault)
		}
		if got := string(out.Interpretation); got != want {
			t.Errorf("%s tells %q, want %q", query, got, want)
		}
	}
}
