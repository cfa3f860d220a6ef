package index_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"ninepocket/cardvocab"
	"ninepocket/index"
	"ninepocket/internal/testsweep"
)

// templates are the forms in which people search for a card by its name, X.
var templates = []string{
	"X", "the X", "my X", "how much is X", "how much is my X worth", "GAME X", "GAME tcg X", "X GAME card", "X price",
	"price of X", "buy X", "X for sale", "psa 10 X", "X psa 9", "X cgc 9.5", "X near mint english", "X nm", "english X",
	"2023 X", "X 2023", "X card", "single card X", "rare X", "looking for X", "is X worth anything?", "🔥 X 🔥",
	"what is the value of a X", "X lightly played", "selling X lot", "X gem mint 10",
}

// topPrinted are the n most frequent names of a game, without qualifiers.
func (x *realIndex) topPrinted(game uint8, n int) []string {
	counts := map[string]int{}
	for card := range x.c.Cards.ID.Len() {
		if x.c.Cards.Game[card] == game {
			counts[index.PlainName(x.c.Cards.Name.At(card))]++
		}
	}

	names := slices.Collect(keysIn(counts))
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	return names[:min(n, len(names))]
}

func keysIn(m map[string]int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// TestTemplates searches for the most frequent names in everyday forms: the first card must have
// the name in at least 98 of 100. index/text has a sample.
func TestTemplates(t *testing.T) {
	testsweep.OnlyFull(t)
	const names = 300

	for _, catalog := range []string{"t", "n", "j"} {
		x := openReal(t, catalog)
		for game := range x.c.Games.Slug.Len() {
			asked := x.topPrinted(uint8(game), names)
			all := 0
			correct := 0
			for _, template := range templates {
				good := 0
				count := 0
				for _, name := range asked {
					q := strings.ReplaceAll(template, "GAME", x.c.Games.Name.At(game))
					q = strings.ReplaceAll(q, "X", name)
					count++
					if x.firstHas(q, name) {
						good++
					} else if count-good <= 2 {
						t.Logf("%s %q: first is %s", catalog, q, x.firstOf(q))
					}
				}

				all += count
				correct += good
				if good < count {
					t.Logf("%s %s: %d of %d", catalog, template, good, count)
				}
			}

			share := float64(correct) / float64(all)
			t.Logf("%s %s: %.2f %% of %d keep the name first", catalog, x.c.Games.Slug.At(game), 100*share, all)
			if share < 0.98 {
				t.Errorf("%s %s: only %.2f %% keep the name first", catalog, x.c.Games.Slug.At(game), 100*share)
			}
		}
	}
}

// firstCard is the first card of a search, -1 for none.
func (x *realIndex) firstCard(q string) int {
	page := x.Cards(nil, index.Query{Filter: index.NoFilter, Words: q, HasWords: true}, nil, 1)
	if len(page.Cards) == 0 {
		return -1
	}
	return int(page.Cards[0])
}

// firstOf returns the first card of a search.
func (x *realIndex) firstOf(q string) string {
	if card := x.firstCard(q); card >= 0 {
		return x.describe(card)
	}
	return "nothing"
}

// firstHas reports whether the first card has the name.
func (x *realIndex) firstHas(q, name string) bool {
	page := x.Cards(nil, index.Query{Filter: index.NoFilter, Words: q, HasWords: true}, nil, 1)
	return len(page.Cards) > 0 &&
		strings.Contains(cardvocab.Fold(x.c.Cards.Name.At(int(page.Cards[0]))), cardvocab.Fold(name))
}
