package server

import (
	"net/http"
	"strings"
	"testing"

	"ninepocket/engine"
)

// TestModifiersAreTakenAway follows the links that take an order and a bound away: each leaves the other.
func TestModifiersAreTakenAway(t *testing.T) {
	w := sharedSite()
	page := string(w.page(t, "/search?q=cheapest%20pikachu%20under%20%249").body)
	for undo, want := range map[string]string{
		"Sort by match instead": "/search?max=9&amp;q=pikachu",
		"Show all prices":       "/search?q=cheapest+pikachu",
	} {
		before, _, found := strings.Cut(page, `">`+undo+"</a>")
		address := before[strings.LastIndex(before, `"`)+1:]
		if !found || !strings.HasSuffix(address, want) {
			t.Errorf("%s leads to %q, want %q", undo, address, want)
			continue
		}

		r := w.page(t, strings.ReplaceAll(want, "&amp;", "&"))
		if r.status != http.StatusOK || strings.Contains(string(r.body), undo) ||
			!strings.Contains(string(r.body), "Pikachu") {
			t.Errorf("%s: status %d", want, r.status)
		}
	}
}

// TestPagesSayTheReading asks for what modifiers change: header and page both say it.
func TestPagesSayTheReading(t *testing.T) {
	w := sharedSite()
	for words, want := range map[string][2]string{
		"cheapest%20pikachu":         {`sorted;by="price_asc"`, "Sorted by price, cheapest first."},
		"pikachu%20under%20%249":     {`bounded;max=900`, "Prices to $9.00."},
		"pikachu%20booster%20box":    {`no-card;q="booster box"`, "is no card, and no sealed product here fits"},
		"the%20price%20of%20pikachu": {`left-out;q="the price of"`, "was left out."},
	} {
		got := w.get(t, "/v1/cards?q="+words).header.Get("X-Search-Interpretation")
		if !strings.Contains(got, want[0]) {
			t.Errorf("%s: the header has %q, want %q", words, got, want[0])
		}

		_, reading, _ := strings.Cut(string(w.page(t, "/search?q="+words).body), `<p class="reading">`)
		reading, _, _ = strings.Cut(reading, "</p>")
		if !strings.Contains(reading, want[1]) {
			t.Errorf("%s: the page has %q, want %q", words, reading, want[1])
		}
	}
}

// TestUnlistedPage: the page of a card that no source lists any more stays, and says since when.
func TestUnlistedPage(t *testing.T) {
	w := siteWorld(t, func(s *setup) { s.views = []*engine.View{tomorrow().view} })
	c := w.view0().Catalog
	const sentence = "No source has listed this card since "
	since := c.Date().Time().Format("2 Jan 2006")
	files := readTruth(tomorrow())
	unlisted := 0
	for card := range c.Cards.ID.Len() {
		_, listed := files.byID[c.Cards.ID.At(card)]
		if listed && card%97 > 0 {
			continue
		}

		r := w.page(t, "/cards/"+c.Cards.Slug.At(card))
		if r.status != http.StatusOK {
			t.Errorf("card %d: status %d", card, r.status)
		}
		if says := strings.Contains(string(r.body), sentence); says == listed {
			t.Errorf("card %d is listed: %t, and its page says that it is not: %t", card, listed, says)
		}
		if listed {
			continue
		}

		unlisted++
		if !strings.Contains(string(r.body), sentence+since+".") {
			t.Errorf("card %d: the page does not say %s", card, since)
		}
	}
	if unlisted == 0 {
		t.Error("no card of tomorrow is unlisted")
	}
}
