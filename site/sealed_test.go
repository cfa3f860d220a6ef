package site_test

import (
	"strings"
	"testing"
	"time"

	"ninepocket/engine"
	"ninepocket/internal/fixture"
	"ninepocket/site"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// sealedWorld has an Elite Trainer Box, a Booster Box and a case of a set; licensed says whether their
// prices may be shown.
func sealedWorld(t *testing.T, licensed bool) *world {
	t.Helper()
	at := time.Date(2026, 8, 22, 20, 5, 0, 0, time.UTC).UnixMilli()
	date := snapshot.DayOf(at)
	w := &fixture.World{
		At: at, Games: []fixture.Game{{Slug: "pokemon", Name: "Pokémon"}},
		Feeds: []fixture.Feed{{Namespace: "t", Attribution: "T"}},
		Sets: []fixture.Set{{
			ID: "set_aaaaaaaaaaaaaaaa", Slug: "evolving-skies", Name: "Evolving Skies", Code: "EVS",
			Release: date - 300,
		}},
	}
	for i, kind := range []struct{ name, kind string }{
		{"Evolving Skies Elite Trainer Box", "elite_trainer_box"},
		{"Evolving Skies Booster Box", "booster_box"},
		{"Evolving Skies Booster Box Case", "booster_case"},
	} {
		w.Sealed = append(w.Sealed, fixture.Sealed{
			Tail: fixture.ID("", 1, i), Name: kind.name, PackageType: kind.kind, UnitKind: "booster_pack",
			Edition: "standard", Units: 36, UpdatedAt: at,
			Lanes: []fixture.Lane{{
				Condition: snapshot.FactorySealed, Licensed: licensed, Cents: 241066, SourceAsOf: at, CollectedAt: at,
				Seen:   date,
				Points: []snapshot.Point{{Day: date - 7, Cents: 200000}, {Day: date, Cents: 241066}},
			}},
		})
	}

	c := w.Catalog()
	c.ID = "sealed"
	v, err := engine.NewView(c, wire.URLs{URL: base, ProductPrefix: "prd"})
	if err != nil {
		t.Fatal(err)
	}
	return &world{view: v, pages: basePages(), now: time.UnixMilli(at)}
}

// TestSealedPage expects name, package, set, price and history of a licensed product, and no price of
// an unlicensed product.
func TestSealedPage(t *testing.T) {
	w := sealedWorld(t, true)
	id := "prd_" + fixture.ID("", 1, 1)
	body, found := w.pages.Sealed(nil, w.view, w.now, site.SealedQuery{ID: id, Days: 180})
	for _, want := range []string{
		"<h1>Evolving Skies Booster Box</h1>", "Booster Box · 36 booster packs", `<a href="/sets/evolving-skies">`,
		"$2,410.66", "+$410.66", "in 7 days", `viewBox="0 0 179 200"`, "/sealed/" + id + "?days=30",
	} {
		if !found || !strings.Contains(string(body), want) {
			t.Errorf("the page lacks %s", want)
		}
	}

	w = sealedWorld(t, false)
	body, found = w.pages.Sealed(nil, w.view, w.now, site.SealedQuery{ID: id})
	if page := string(body); !found || !strings.Contains(page, "No current price") || strings.Contains(page, "$2,") ||
		strings.Contains(page, `id="history"`) {
		t.Errorf("without a licence: found %t\n%s", found, page)
	}
	results := w.pages.Search(nil, w.view, w.now, site.SearchQuery{Words: "evs etb"})
	if page := string(results); !strings.Contains(page, "Elite Trainer Box") || strings.Contains(page, "$2,") {
		t.Error("a search shows a price without a licence, or lacks the product")
	}

	for _, id := range []string{"", "prd_", "prd_nope", fixture.ID("", 1, 1), "prd2_" + fixture.ID("", 1, 1)} {
		if _, found := w.pages.Sealed(nil, w.view, w.now, site.SealedQuery{ID: id}); found {
			t.Errorf("%q has a page", id)
		}
	}
}

// TestSealedSearch expects sealed products by the words that people use for them, and not by others.
func TestSealedSearch(t *testing.T) {
	w := sealedWorld(t, true)
	const (
		box     = "Evolving Skies Booster Box<"
		trainer = "Evolving Skies Elite Trainer Box<"
		boxCase = "Booster Box Case<"
	)
	f := func(q site.SearchQuery, want ...string) {
		t.Helper()
		page := string(w.pages.Search(nil, w.view, w.now, q))
		for _, name := range []string{box, trainer, boxCase} {
			wanted := strings.Contains(strings.Join(want, " "), name)
			if strings.Contains(page, name) != wanted {
				t.Errorf("%+v: %s is listed: %t", q, name, !wanted)
			}
		}
	}

	words := func(s string) site.SearchQuery { return site.SearchQuery{Words: s} }
	f(words("evolving skies booster box"), box, boxCase)
	f(words("Evolving Skies ETB"), trainer)
	f(words("evs booster boxes"), box, boxCase)
	f(words("evs display"), box)
	f(words("sealed evolving skies case"), boxCase)
	f(words("evolving skies"), box, trainer, boxCase)
	f(words("evolvin skyes booster box"), box, boxCase)
	f(words("cheapest evolving skies booster box"), box, boxCase)
	f(words("evolving skies booster box under $9,000"), box, boxCase)
	f(words("evolving skies booster box over $9,000"))
	f(words("evolving skyes"))
	f(words("umbreon booster box"))
	f(words("evolving skies booster bundle"))
	f(words("umbreon"))
	f(words("pokemon cards"))
	f(words(""))
	f(words("evolving skies bundle"))
	f(site.SearchQuery{Words: "evs etb", Page: 2}, trainer) // the only page there is
	f(site.SearchQuery{Words: "evs etb", Game: "one-piece"})
	f(site.SearchQuery{Words: "evs etb", Rarity: "Rare"})
	text, _ := w.pages.AppendSitemap(nil, w.view, 1)
	if !strings.Contains(string(text), "/sealed/prd_"+fixture.ID("", 1, 2)) {
		t.Error("the sitemap lacks sealed products")
	}
}

// TestSealedReading expects sealed products in the requested order, priced products before others, and a
// sentence if no product is below the requested price.
func TestSealedReading(t *testing.T) {
	w := sealedWorld(t, true)
	c := w.view.Catalog
	prices := []int64{30000, 20000, snapshot.NoCents} // trainer box, box, case
	for row, cents := range prices {
		lane, _ := c.Lanes.Of.Range(c.Cards.ID.Len() + row)
		c.Lanes.Cents[lane] = cents
	}

	for query, want := range map[string]string{
		"evolving skies":                     "Booster Box<,Trainer Box<,Box Case<",
		"cheapest evolving skies box":        "Booster Box<,Trainer Box<",
		"most expensive evolving skies box":  "Trainer Box<,Booster Box<,Box Case<",
		"cheapest booster box of celebratio": "no sealed product here fits all of the words",
		"evolving skies booster box":         "sealed products are listed below the cards",
	} {
		page := string(w.pages.Search(nil, w.view, w.now, site.SearchQuery{Words: query}))
		for part := range strings.SplitSeq(want, ",") {
			_, rest, found := strings.Cut(page, part)
			if !found {
				t.Errorf("%q lacks %q at its place", query, part)
			}
			page = rest
		}
	}
	filtered := string(w.pages.Search(nil, w.view, w.now, site.SearchQuery{Words: "evs etb", Rarity: "Rare"}))
	if !strings.Contains(filtered, "sealed products are on the first page without filters") {
		t.Error("filters do not say where sealed products are")
	}
}
