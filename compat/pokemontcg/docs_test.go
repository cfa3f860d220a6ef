package pokemontcg

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPageMapsFields: docs/MOVE-FROM.md has a row for each field that the server gives, and no other rows.
func TestPageMapsFields(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/MOVE-FROM.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	cards := append(slices.Clone(cardMembers), "set", "tcgplayer.url", "tcgplayer.updatedAt")
	for _, kind := range priceNames {
		cards = append(cards, "tcgplayer.prices.*."+kind)
	}

	name := regexp.MustCompile("`([^`]+)`")
	for head, want := range map[string][]string{"field of a card": cards, "field of a set": setMembers} {
		_, table, _ := strings.Cut(page, "\n| "+head+" |")
		table, _, _ = strings.Cut(table, "\n\n")
		var rows []string
		for _, row := range strings.Split(table, "\n")[2:] {
			for _, found := range name.FindAllStringSubmatch(strings.Split(row, "|")[1], -1) {
				rows = append(rows, found[1])
			}
		}
		slices.Sort(rows)
		want = slices.Sorted(slices.Values(want))
		if !slices.Equal(rows, want) {
			t.Errorf("rows of %s: %v\nthe server gives: %v", head, rows, want)
		}
	}

	// Parameters and routes have rows too.
	_, asked, _ := strings.Cut(page, "\n| there | here |")
	asked, _, _ = strings.Cut(asked, "\n\n")
	names := slices.Clone(listParams)
	for route := range valueRoutes {
		names = append(names, "/v2/"+route)
	}
	for _, name := range names {
		if !strings.Contains(asked, "`"+name+"`") && !strings.Contains(asked, "`"+name+"=") {
			t.Errorf("no row says what %s is on /v1", name)
		}
	}
}
