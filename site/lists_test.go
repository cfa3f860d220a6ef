package site_test

import (
	"fmt"
	"strings"
	"testing"

	"ninepocket/internal/fixture"
	"ninepocket/site"
	"ninepocket/snapshot"
)

// TestPagesBeyondTheEnd expects the last page, with a sentence about the requested one.
func TestPagesBeyondTheEnd(t *testing.T) {
	w := today(t)
	set := 0
	last := (int(w.view.Catalog.Sets.Cards[set]) + 107) / 108
	f := func(page []byte, want string) {
		t.Helper()
		if !strings.Contains(string(page), want) || strings.Contains(string(page), "No card fits") {
			t.Errorf("the page lacks %q", want)
		}
	}

	f(w.pages.Search(nil, w.view, w.now, site.SearchQuery{Page: 99}),
		"There is no page 99. This is page 8, the last one.")
	f(w.pages.Set(nil, w.view, w.now, site.SetQuery{Set: set, Page: 1234}),
		fmt.Sprintf("There is no page 1,234. This is page %d, the last one.", last))
	f(w.pages.Sets(nil, w.view, w.now, site.SetsQuery{Page: 2}), "There is no page 2. This is page 1, the last one.")
	for _, page := range [][]byte{
		w.pages.Search(nil, w.view, w.now, site.SearchQuery{Page: 8}),
		w.pages.Set(nil, w.view, w.now, site.SetQuery{Set: set, Page: last}),
		w.pages.Sets(nil, w.view, w.now, site.SetsQuery{Page: 1}),
	} {
		if strings.Contains(string(page), "There is no page") {
			t.Error("the last page is said to be missing")
		}
	}
}

// TestChecklist expects every card of a set on one page, with the data that the script needs to add up.
func TestChecklist(t *testing.T) {
	w := today(t)
	c := w.view.Catalog
	for set := range c.Sets.ID.Len() {
		page := string(w.pages.Set(nil, w.view, w.now, site.SetQuery{Set: set, Checklist: true}))
		if n := strings.Count(page, "<li data-card="); n != int(c.Sets.Cards[set]) {
			t.Errorf("%s: %d rows of %d cards", c.Sets.Slug.At(set), n, c.Sets.Cards[set])
		}
	}

	for card := range 20 {
		set := int(c.Cards.Set[card])
		want := fmt.Sprintf(`<li data-card="%s" data-price="%d.%02d">`, c.Cards.ID.At(card), c.DisplayCents(card)/100,
			c.DisplayCents(card)%100)
		page := w.pages.Set(nil, w.view, w.now, site.SetQuery{Set: set, Checklist: true})
		if !strings.Contains(string(page), want) {
			t.Errorf("the checklist lacks %s", want)
		}
	}
}

// TestYearsOfSets expects a link to each year, and that year.
func TestYearsOfSets(t *testing.T) {
	w := today(t)
	page := string(w.pages.Sets(nil, w.view, w.now, site.SetsQuery{}))
	_, rest, found := strings.Cut(page, `<nav aria-label="Year">`)
	nav, rest, _ := strings.Cut(rest, "</nav>")
	years := strings.Split(nav, `href="#`)[1:]
	if !found || len(years) < 5 {
		t.Fatalf("%d years", len(years))
	}
	for _, year := range years {
		id, _, _ := strings.Cut(year, `"`)
		if !strings.Contains(rest, `<section id="`+id+`">`) {
			t.Errorf("nothing is at #%s", id)
		}
	}
}

// TestPrintingsSideBySide expects a row of each variant of each printing with its price, and a line for
// each printing.
func TestPrintingsSideBySide(t *testing.T) {
	w := today(t)
	card, _ := w.view.Index.Card("kanto-classic-charizard-4-102")
	page := string(w.pages.Printings(nil, w.view, w.now, site.CardQuery{Card: card, Days: 180}))
	for _, want := range []string{
		">Kanto Classic</a>", "$450.00", "$6,200.00", "<h2>Price history of 3 printings</h2>", `viewBox="0 0 179 200"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}

	others, _ := w.view.Index.Printings(nil, card, 23)
	for _, other := range others {
		if !strings.Contains(page, `href="/cards/`+w.view.Catalog.Cards.Slug.At(int(other))+`"`) {
			t.Errorf("%s is not compared", w.view.Catalog.Cards.Slug.At(int(other)))
		}
	}
	if lines := strings.Count(page, `<path class="line`); lines != 3 || len(others) < 2 {
		t.Errorf("%d lines, %d other printings", lines, len(others))
	}
}

// TestManyVariantsFold expects a page of 300 variants to show some, and to have the others folded.
func TestManyVariantsFold(t *testing.T) {
	_, show := oneCard(t, site.Options{BaseURL: base}, func(k *fixture.Card) {
		first := k.Lanes[0]
		for i := range 299 {
			lane := first
			lane.Variant = fmt.Sprintf("variant_%d", i)
			lane.Points = []snapshot.Point{{Day: lane.Seen, Cents: lane.Cents}}
			k.Lanes = append(k.Lanes, lane)
		}
	})
	page := show(site.CardQuery{})
	if !strings.Contains(page, "<summary>276 more prices</summary>") ||
		!strings.Contains(page, "<summary>300 variants</summary>") {
		t.Error("300 variants are not folded")
	}

	_, show = oneCard(t, site.Options{BaseURL: base}, func(*fixture.Card) {})
	if page := show(site.CardQuery{}); strings.Contains(page, "more prices") {
		t.Error("one variant is folded")
	}
}

// TestFigures expects a caption to be the last child of its figure, as HTML wants it.
func TestFigures(t *testing.T) {
	w := today(t)
	query := site.CardQuery{Card: w.busiest(), Days: 180}
	for _, page := range [][]byte{
		w.pages.Card(nil, w.view, w.now, query), w.pages.Printings(nil, w.view, w.now, query),
	} {
		_, figure, found := strings.Cut(string(page), "<figure")
		figure, _, _ = strings.Cut(figure, "</figure>")
		_, after, _ := strings.Cut(figure, "</figcaption>")
		if !found || strings.TrimSpace(after) != "" || !strings.Contains(figure, "<data") {
			t.Errorf("a figure ends with %s", after)
		}
	}
}
