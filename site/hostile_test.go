package site_test

import (
	"encoding/json"
	"fmt"
	"html"
	"strings"
	"sync"
	"testing"
	"time"

	"ninepocket/engine"
	"ninepocket/internal/fixture"
	"ninepocket/site"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// basePages are the pages of every ownWorld; their assets are hashed once.
var basePages = sync.OnceValue(func() *site.Pages {
	pages, err := site.New(site.Options{BaseURL: base})
	if err != nil {
		panic(err)
	}
	return pages
})

// ownCatalog returns a catalog of two cards in which text replaces every text of a feed.
func ownCatalog(text string) *snapshot.Catalog {
	at := time.Date(2026, 8, 22, 20, 5, 0, 0, time.UTC).UnixMilli()
	day := snapshot.DayOf(at)
	lane := func(variant string, cents int64) fixture.Lane {
		return fixture.Lane{
			Variant: variant, Licensed: true, Cents: cents, SourceAsOf: snapshot.NoTime, CollectedAt: at, Seen: day,
			Points: []snapshot.Point{{Day: day - 7, Cents: cents / 2}, {Day: day, Cents: cents}},
		}
	}

	w := &fixture.World{
		At: at, Games: []fixture.Game{{Slug: "pokemon", Name: text}},
		Feeds: []fixture.Feed{{Namespace: "t", Attribution: text, Partner: ""}},
		Sets: []fixture.Set{{
			ID: "set_aaaaaaaaaaaaaaaa", Slug: "a-set", Name: text, Series: text, Code: "A",
			Release: day,
		}},
	}
	sealed := lane("", 9900)
	sealed.Condition = snapshot.FactorySealed
	w.Sealed = []fixture.Sealed{{
		Tail: "aaaaaaaaaaaaaaaa", Name: text, PackageType: text, UnitKind: text, Edition: text, Units: 36,
		UpdatedAt: at, Lanes: []fixture.Lane{sealed},
	}}
	for i, slug := range []string{"a-card", "another"} {
		w.Cards = append(w.Cards, fixture.Card{
			ID: fixture.ID("card_", 1, i), Slug: slug, Name: text, Number: text, Rarity: text, Printing: text,
			Image: text + ".png", Set: "set_aaaaaaaaaaaaaaaa",
			UpdatedAt: at, Lanes: []fixture.Lane{lane("normal", 1200), lane("zz"+text, 1500)},
		})
	}

	c := w.Catalog()
	c.ID = "own"
	return c
}

// ownWorld returns a world with an ownCatalog.
func ownWorld(tb testing.TB, text string) *world {
	tb.Helper()
	c := ownCatalog(text)
	v, err := engine.NewView(c, wire.URLs{URL: base, Images: base + "/images/", ProductPrefix: "prd"})
	if err != nil {
		tb.Fatal(err)
	}
	return &world{view: v, pages: basePages(), now: time.UnixMilli(c.SnapshotAt)}
}

// rendered returns pages that show every text of the catalog, and a visitor's input.
func (w *world) rendered(tb testing.TB, typed string) map[string]string {
	tb.Helper()
	all := map[string]string{}
	collect := func(name string) func([]byte) {
		return func(page []byte) { all[name] = string(page) }
	}

	card, _ := w.view.Index.Card("a-card")
	collect("card")(w.pages.Card(nil, w.view, w.now, site.CardQuery{Card: card, Days: 30, Variant: typed}))
	collect("printings")(w.pages.Printings(nil, w.view, w.now, site.CardQuery{Card: card, Days: 30}))
	sealed, _ := w.pages.Sealed(nil, w.view, w.now, site.SealedQuery{ID: "prd_aaaaaaaaaaaaaaaa"})
	collect("sealed")(sealed)
	collect("set")(w.pages.Set(nil, w.view, w.now, site.SetQuery{}))
	collect("checklist")(w.pages.Set(nil, w.view, w.now, site.SetQuery{Checklist: true}))
	collect("sets")(w.pages.Sets(nil, w.view, w.now, site.SetsQuery{Game: typed}))
	collect("home")(w.pages.Home(nil, w.view, w.now))
	collect("movers")(w.pages.Movers(nil, w.view, w.now, site.MoversQuery{Game: typed}))
	collect("search")(w.pages.Search(nil, w.view, w.now, site.SearchQuery{Words: typed, Game: typed, Sort: typed}))
	collect("filtered")(w.pages.Search(nil, w.view, w.now, site.SearchQuery{
		Set: typed, Rarity: typed, Variant: typed, Min: 1, List: true,
	}))
	collect("list")(w.pages.Search(nil, w.view, w.now, site.SearchQuery{List: true}))
	collect("embed")(w.pages.Embed(nil, w.view, card))
	// A picked card is priced, whatever the line says.
	var list site.List
	_, _ = list.Write([]byte(strings.Join(strings.Fields(typed), " "))) // List.Write does not fail
	valued, err := w.pages.Value(nil, w.view, w.now, site.ValueQuery{
		List: list, Picks: []site.Pick{{Line: 1, Card: "a-card", Variant: "normal"}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	collect("value")(valued)
	collect("all")(w.pages.Search(nil, w.view, w.now, site.SearchQuery{}))
	collect("suggest")(w.pages.Suggest(nil, w.view, indexed))
	return all
}

// skeleton returns a page without its texts: each tag with the names of its attributes, and the
// format of its URLs. A text that escapes from its place changes the skeleton.
func skeleton(page string) (string, error) {
	var b strings.Builder
	for {
		_, rest, ok := strings.Cut(page, "<")
		if !ok {
			return b.String(), nil
		}

		var quote byte
		end := 0
		var names strings.Builder
		for ; end < len(rest); end++ {
			switch c := rest[end]; {
			case quote != 0:
				if c == quote {
					quote = 0
				}
				continue
			case c == '"' || c == '\'':
				quote = c
			case c == '<':
				return "", fmt.Errorf("a tag opens within a tag: %.60q", rest)
			}

			if rest[end] == '>' {
				break
			}

			if quote == 0 {
				names.WriteByte(rest[end])
			}
		}

		if end == len(rest) {
			return "", fmt.Errorf("a tag does not end: %.60q", rest)
		}

		b.WriteString("<" + names.String() + ">\n")
		page = rest[end+1:]
		if strings.HasPrefix(rest, "script type") {
			_, page, ok = strings.Cut(page, "</script>")
			if !ok {
				return "", fmt.Errorf("structured data does not end")
			}
		}
	}
}

// between returns the text of a page between two marks, and the page without it.
func between(page, from, to string) (inside, without string, found bool) {
	before, rest, opened := strings.Cut(page, from)
	inside, after, closed := strings.Cut(rest, to)
	return inside, before + after, opened && closed
}

// hostileTexts are seeds of hostile texts.
var hostileTexts = []string{
	"Charizard", `<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`,
	"</title><svg onload=alert(1)>", "a\x00b", "&lt;&amp;",
	"</script><script>alert(1)</script>", "javascript:alert(1)", "{{.}}[[root]][[style.css]]", "\u2028\u2029", "<!--",
	"]]>", "\xff\xfe<", "`${x}`", "../..//evil.example/", "%3Cscript%3E",
}

// indexed is the name that the index of FuzzPages has for every card.
const indexed = "xindexedname"

// FuzzPages puts a text into every place for untrusted text. It expects pages that differ from
// those of a harmless text in their texts alone. All inputs share one index, because it takes
// longer to make than the pages. Only the other printings of a card depend on the index, and
// they are listed like search results. TestHostilePages makes an index for each text.
func FuzzPages(f *testing.F) {
	for _, s := range hostileTexts {
		f.Add(s)
	}

	w := ownWorld(f, indexed)
	retold := func(tb testing.TB, text, typed string) map[string]string {
		*w.view.Catalog = *ownCatalog(text)
		view := *w.view
		w.view = &view // pages may remember their last output
		return w.rendered(tb, typed)
	}

	harmless := skeletons(f, retold(f, "xa", "xqqqqqqq"))
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 150 {
			t.Skip("names are shorter")
		}
		s = "x" + s // a null text would leave out its place
		if strings.Contains(s, indexed) {
			t.Skip("is found")
		}
		checkPages(t, retold(t, s, "x"+s), harmless, s)
	})
}

// TestHostilePages makes a world of each hostile text.
func TestHostilePages(t *testing.T) {
	harmless := skeletons(t, ownWorld(t, "xa").rendered(t, "xqqqqqqq"))
	for _, s := range hostileTexts {
		pages := ownWorld(t, "x"+s).rendered(t, "xx"+s)
		checkPages(t, pages, harmless, "x"+s)
	}
}

// skeletons returns the skeletons of pages without search results.
func skeletons(tb testing.TB, pages map[string]string) map[string]string {
	tb.Helper()
	all := map[string]string{}
	for name, page := range pages {
		if name == "search" {
			for _, list := range [][2]string{
				{`<div class="binder">`, "</div>"},
				{`<p class="about">`, "</p>"},
				{`<p class="none">No card fits`, "</p>"},
				{`<p>Did you mean`, "</p>"},
				{`<p class="named">`, "</p>"},
				{`<details class="filters">`, "</details>"},
				{`<section class="sealed">`, "</section>"},
			} {
				if _, without, found := between(page, list[0], list[1]); found {
					page = without
				}
			}
		}
		bones, err := skeleton(page)
		if err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		all[name] = bones
	}

	return all
}

// checkPages checks that pages in which every text is s have the skeletons of harmless ones, and
// show s.
func checkPages(t *testing.T, pages, harmless map[string]string, s string) {
	t.Helper()
	for name, got := range skeletons(t, pages) {
		if want := harmless[name]; got != want {
			t.Errorf("%s with %q has other tags:\n%s\nwant\n%s", name, s, got, want)
		}
	}
	checkData(t, pages["card"], s)
	heading := "<h1>" + strings.NewReplacer("\x00", "\uFFFD", "&#34;", "&quot;").Replace(html.EscapeString(s)) + "</h1>"
	if !strings.Contains(pages["card"], heading) {
		t.Errorf("the card page does not show %q", s)
	}
}

// checkData checks that structured data is JSON with the unchanged name.
func checkData(t *testing.T, page, name string) {
	t.Helper()
	data, _, found := between(page, `<script type="application/ld+json">`, "</script>")
	if !found {
		t.Fatalf("%q: the card page has no structured data", name)
	}

	var product struct {
		Name       string
		Offers     any
		Properties []struct{ Value string } `json:"additionalProperty"`
	}

	if err := json.Unmarshal([]byte(data), &product); err != nil {
		t.Fatalf("%q: structured data is not JSON: %v\n%s", name, err, data)
	}

	want := strings.ToValidUTF8(name, "\uFFFD")
	if strings.ReplaceAll(product.Name, "\uFFFD", "") != strings.ReplaceAll(want, "\uFFFD", "") {
		t.Errorf("%q is named %q", name, product.Name)
	}

	// Nothing is for sale.
	if product.Offers != nil || len(product.Properties) != 1 || product.Properties[0].Value != "12.00" {
		t.Errorf("%q: %+v", name, product)
	}
}

// TestSkeleton checks that FuzzPages can fail.
func TestSkeleton(t *testing.T) {
	a, _ := skeleton(`<p title="a > b">x</p>`)
	if b, err := skeleton(`<p title="<>&quot;">y</p>`); err != nil || a != b {
		t.Errorf("texts count: %q %q %v", a, b, err)
	}
	for _, broken := range []string{
		`<p title="a" onload="x">x</p>`, `<p title="a">x<b></p>`, `<p title=a>x</p>`,
		`<p title='a'>`,
	} {
		if b, err := skeleton(broken); err == nil && a == b {
			t.Errorf("%s passes", broken)
		}
	}
}
