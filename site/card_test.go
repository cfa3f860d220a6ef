package site_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"ninepocket/engine"
	"ninepocket/internal/fixture"
	"ninepocket/site"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// oneCard returns a world of one card, which change can edit.
func oneCard(t *testing.T, options site.Options, change func(*fixture.Card)) (*world, func(site.CardQuery) string) {
	t.Helper()
	at := time.Date(2026, 8, 22, 20, 5, 0, 0, time.UTC).UnixMilli()
	day := snapshot.DayOf(at)
	card := fixture.Card{
		ID: fixture.ID("card_", 1, 1), Slug: "a-card", Name: "A card", UpdatedAt: at, Image: "a b.png",
		Lanes: []fixture.Lane{{
			Variant: "normal", Licensed: true, Cents: 1200, SourceAsOf: at, CollectedAt: at, Seen: day,
			Points: []snapshot.Point{
				{Day: day - 40, Cents: 900},
				{Day: day - 20, Cents: 1000},
				{Day: day, Cents: 1200},
			},
		}},
	}
	change(&card)
	c := (&fixture.World{
		At: at, Games: []fixture.Game{{Slug: "pokemon", Name: "Pokémon"}},
		Feeds: []fixture.Feed{{Namespace: "t", Attribution: "T"}, {Namespace: "u", Attribution: "T"}},
		Cards: []fixture.Card{card},
	}).Catalog()
	c.ID = "one"
	v, err := engine.NewView(c, wire.URLs{
		URL: "https://own.test", Images: options.BaseURL + "/images/",
		ProductPrefix: "prd", HasImage: func(file string) bool { return file == "a b.png" },
	})
	if err != nil {
		t.Fatal(err)
	}

	pages, err := site.New(options)
	if err != nil {
		t.Fatal(err)
	}

	w := &world{view: v, pages: pages, now: time.UnixMilli(at)}
	return w, func(q site.CardQuery) string {
		t.Helper()
		return string(pages.Card(nil, v, w.now, q))
	}
}

const (
	oldPrice   = "An old price, of "
	oldCatalog = "These prices are of "
	unobserved = "Seen <time"
)

// TestAgeOfPrices expects warnings about a price and a catalog that are over 36 hours old, exact to
// the millisecond, and another text for prices of unknown age.
func TestAgeOfPrices(t *testing.T) {
	f := func(what string, age, later time.Duration, asserted bool, want ...string) {
		t.Helper()
		w, show := oneCard(t, site.Options{BaseURL: base}, func(k *fixture.Card) {
			at := k.UpdatedAt - age.Milliseconds()
			k.Lanes[0].CollectedAt = at
			k.Lanes[0].SourceAsOf = at
			if !asserted {
				k.Lanes[0].SourceAsOf = snapshot.NoTime
			}
		})
		w.now = w.now.Add(later)
		page := show(site.CardQuery{})
		for _, phrase := range []string{oldPrice, oldCatalog, unobserved} {
			wanted := false
			for _, one := range want {
				wanted = wanted || one == phrase
			}
			if strings.Contains(page, phrase) != wanted {
				t.Errorf("%s: %q is there: %t", what, phrase, !wanted)
			}
		}
	}

	const limit = 36 * time.Hour
	f("fresh", time.Hour, time.Hour, true)
	f("exactly 36 hours", limit, limit, true)
	f("older", limit+time.Millisecond, 0, true, oldPrice)
	f("an old catalog", 0, limit+time.Millisecond, true, oldCatalog)
	f("of unknown age", time.Hour, 0, false, unobserved)
	f("collected long ago", limit+time.Millisecond, limit*9, false, oldPrice, oldCatalog)
}

// TestCardWithout renders the page of a card that lacks all optional data.
func TestCardWithout(t *testing.T) {
	_, show := oneCard(t, site.Options{BaseURL: base}, func(k *fixture.Card) {
		k.Lanes[0].Cents = snapshot.NoCents
		k.Lanes[0].CollectedAt = snapshot.NoTime
	})
	page := show(site.CardQuery{})
	for _, want := range []string{
		"No current price", "Last seen at <b>$12.00</b> on 22 Aug 2026: Normal", "<svg ",
		"no current market price",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("a card out of stock lacks %q", want)
		}
	}

	if strings.Contains(page, `"additionalProperty":`) || strings.Contains(page, "<h2>Prices by") {
		t.Error("a card out of stock has offers or a table of prices")
	}

	_, show = oneCard(t, site.Options{BaseURL: base}, func(k *fixture.Card) {
		k.Lanes = nil
		k.Image = "not-there.png"
	})
	page = show(site.CardQuery{Days: 7, Variant: "holofoil"})
	if strings.Contains(page, `id="history"`) || strings.Contains(page, "not-there") ||
		!strings.Contains(page, "No picture of A card is here") ||
		!strings.Contains(page, "No price of this card was ever seen") {
		t.Errorf("a card without any price shows a history or an image that is not there:\n%s", page)
	}
}

// TestRangeOfChart expects the requested range, or else one with data.
func TestRangeOfChart(t *testing.T) {
	_, show := oneCard(t, site.Options{BaseURL: base}, func(*fixture.Card) {})
	f := func(q site.CardQuery, viewBox, observations string) {
		t.Helper()
		if page := show(q); !strings.Contains(page, `viewBox="`+viewBox+`"`) ||
			!strings.Contains(page, " of "+observations+".</desc>") {
			t.Errorf("%+v: not %s with %s", q, viewBox, observations)
		}
	}

	f(site.CardQuery{}, "0 0 89 200", "3 observations")
	f(site.CardQuery{Days: 30}, "0 0 29 200", "2 observations")
	f(site.CardQuery{Days: 31, Variant: "none such"}, "0 0 89 200", "3 observations")
	page := show(site.CardQuery{Days: 7})
	if !strings.Contains(page, "One price was seen within 7 days: <b>$12.00</b> on 22 Aug 2026.") ||
		strings.Contains(page, `class="chart"`) {
		t.Error("a range of one observation is drawn, or its price is not said")
	}

	_, show = oneCard(t, site.Options{BaseURL: base},
		func(k *fixture.Card) { k.Lanes[0].Points[0].Day -= 100; k.Lanes[0].Points[1].Day -= 100 })
	f(site.CardQuery{}, "0 0 364 200", "3 observations")
	_, show = oneCard(t, site.Options{BaseURL: base},
		func(k *fixture.Card) { k.Lanes[0].Points = k.Lanes[0].Points[:1] })
	page = show(site.CardQuery{Days: 7})
	if !strings.Contains(page, "Nothing was observed within 7 days") || strings.Contains(page, `class="chart"`) {
		t.Error("a range without observations is not said to be one")
	}
}

// TestWeekOfEmbeddedCard expects the change of a week on an embedded card, and no text about it
// without one.
func TestWeekOfEmbeddedCard(t *testing.T) {
	f := func(before snapshot.Day, want bool) {
		t.Helper()
		w, _ := oneCard(t, site.Options{BaseURL: base}, func(k *fixture.Card) {
			points := k.Lanes[0].Points[1:]
			points[0].Day = points[1].Day - before
			k.Lanes[0].Points = points
		})
		page := string(w.pages.Embed(nil, w.view, 0))
		if strings.Contains(page, "in 7 days") != want || !strings.Contains(page, "$12.00") {
			t.Errorf("%d days before: a change of the week is there: %t\n%s", before, !want, page)
		}
	}

	f(8, true)
	f(3, false)
}

// TestBelowAPath expects that every link begins with the path of the base URL, and that public URLs
// are those of the site.
func TestBelowAPath(t *testing.T) {
	w, show := oneCard(t, site.Options{BaseURL: "https://shop.test/tcg"}, func(*fixture.Card) {})
	page := show(site.CardQuery{})
	for _, m := range regexp.MustCompile(`(?:href|src|action|data-from)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(m[1], "/tcg/") && m[1][0] != '#' && m[1] != "https://own.test/cards/a-card" {
			t.Errorf("a link leads to %q", m[1])
		}
	}

	for _, want := range []string{
		`<link rel="canonical" href="https://own.test/cards/a-card">`,
		`<meta property="og:url" content="https://own.test/cards/a-card">`,
		`<meta property="og:image" content="https://shop.test/tcg/images/a%20b.png">`,
		`<img src="/tcg/images/a%20b.png"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}

	if strings.Count(page, "<p>Source: T</p>") != 1 {
		t.Error("an attribution of two feeds is not there once")
	}

	for name, text := range map[string]string{
		"guide": string(w.pages.AppendGuide(nil)), "robots": string(w.pages.AppendRobots(nil)),
		"sitemaps": string(w.pages.AppendSitemapIndex(nil, w.view)),
	} {
		if !strings.Contains(text, "https://shop.test/tcg/") {
			t.Errorf("%s leads elsewhere: %s", name, text)
		}
	}

	if text, ok := w.pages.AppendSitemap(nil, w.view, 1); !ok ||
		!strings.Contains(string(text), "<loc>https://own.test/cards/a-card</loc>") {
		t.Errorf("the sitemap is %s", text)
	}

	if _, ok := w.pages.AppendSitemap(nil, w.view, 2); ok {
		t.Error("there is a second sitemap of one card")
	}
}

// TestOtherNames expects the names of a card in other languages on one line, each name once and with its language.
func TestOtherNames(t *testing.T) {
	w, page := oneCard(t, site.Options{}, func(c *fixture.Card) { c.Name = "Dark Fox" })
	if strings.Contains(page(site.CardQuery{}), "in other languages") {
		t.Error("a card without other names has some")
	}

	names := &w.view.Catalog.Names
	for _, row := range []string{"de Fuchs", "fr Renard", "it Renard", "ja-roma Kitsune", "zh-hans 狐<"} {
		language, name, _ := strings.Cut(row, " ")
		names.English.Append("Fox")
		names.Language.Append(language)
		names.Name.Append(name)
		names.Game = append(names.Game, 0)
	}
	want := `<p class="data">Fox in other languages: <span lang="de">Fuchs</span> · <span lang="fr">Renard</span> · ` +
		`<span lang="ja-Latn">Kitsune</span> · <span lang="zh-hans">狐&lt;</span></p>`
	text := strings.NewReplacer("> <p", "><p", "</span> </p>", "</span></p>").Replace(page(site.CardQuery{}))
	if !strings.Contains(text, want) {
		t.Errorf("the page does not have %s:\n%s", want, regexp.MustCompile(`Fox in other.*`).FindString(text))
	}
}
