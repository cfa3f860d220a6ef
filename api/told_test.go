package api

import (
	"strings"
	"testing"
)

// TestTold asks for what is taken as it is, and for what is not.
func TestTold(t *testing.T) {
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
		if got := string(out.Told); got != want && (want == "" || !strings.Contains(got, want)) {
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

func TestAppendNote(t *testing.T) {
	got := string(appendNote([]byte("x"), "respelt", `a"b\c`, "é 5%"))
	if want := `x, respelt;q="a\"b\\c";as="%C3%A9 5%25"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	long := []byte("kept")
	if got := string(appendNote(long, "missing", strings.Repeat("x", maxTold), "")); got != "kept" {
		t.Errorf("a header too long ends in %d bytes", len(got))
	}
}
