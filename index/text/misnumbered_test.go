package text

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMisnumbered asks for cards by whole names that have another number than the card.
func TestMisnumbered(t *testing.T) {
	cards := []testCard{
		{id: "a", name: "Zebstrika - 82/214 (League Challenge) [3rd Place]", number: "082/114"},
		{id: "b", name: "Zebstrika", number: "082/114"},
		{id: "c", name: "Zebstrika", number: "82/214"},
		{id: "d", name: "Pikachu (#12)", number: "58"},
		{id: "e", name: "Pikachu (#12)", number: "59"},
		{id: "f", name: "Pikachu (#58)", number: "58"},
		{id: "g", name: "Rayquaza V 100/159", number: "101/159"},
	}
	var catalog testCatalog
	catalog.add(t, cards)

	for query, want := range map[string]string{
		"Zebstrika - 82/214 (League Challenge) [3rd Place]": "a",
		"zebstrika 82/214 LEAGUE challenge 3rd place":       "a",
		// Less than the name is a search as any other.
		"Zebstrika 82/214":   "c",
		"Zebstrika 82/114":   "a b",
		"Pikachu (#12)":      "d e",
		"Pikachu (#58)":      "d f",
		"rayquaza v 100/159": "g",
		"rayquaza v 101/159": "g",
	} {
		var found []string
		for _, hit := range catalog.index.Search(nil, query, nil) {
			found = append(found, cards[hit.Card].id)
		}
		slices.Sort(found)
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%q finds %s, want %s", query, got, want)
		}
	}
}

// numberInName is a number with a total, or behind a number sign.
var numberInName = regexp.MustCompile(`\d+/\d+|#\w+`)

// TestRealMisnumbered asks for each real card whose name has a number, by that name.
func TestRealMisnumbered(t *testing.T) {
	catalog := tcgcsvCatalog(t)
	asked := 0
	for card := range catalog.cards {
		name := catalog.cards[card].name
		if !numberInName.MatchString(name) {
			continue
		}

		asked++
		inSet := func(other uint32) bool { return catalog.cards[other].set == catalog.cards[card].set }
		isCard := func(hit Hit) bool { return int(hit.Card) == card }
		if !slices.ContainsFunc(catalog.index.Search(nil, name, inSet), isCard) {
			t.Errorf("%q, number %s, is not found by its name", name, catalog.cards[card].number)
		}
	}
	if asked == 0 {
		t.Error("no real name has a number")
	}
	t.Logf("%d names with a number, %d of them with another one", asked, len(catalog.index.misnumbered))
}
