package text

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"ninepocket/cardvocab"
)

// modifierIndex has names that look like modifiers.
func modifierIndex(t *testing.T) *Index {
	t.Helper()
	names := []string{
		"Charizard", "Charizard ex", "Ancient Booster Energy Capsule", "BB", "Will", "Over the Top Hat", "Iron Bundle",
		"Vintage Cellar Door", "Celebi (EX Collector's Carry Tin)",
	}

	ix, err := Build(context.Background(), complete(Corpus{
		Len: len(names), Games: []string{"Pokémon"}, Unpriced: true,
		Game:    func(int) uint8 { return 0 },
		Set:     func(int) int32 { return -1 },
		SetName: func(int) string { return "" },
		Name:    func(i int) string { return names[i] },
		Number:  func(i int) string { return fmt.Sprintf("%03d/150", i+1) },
	}), noStep)
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

// modifierQueries have the meaning of queries: order, bounds, era, sealed and alone, and the remaining
// words. It is empty for queries without modifiers.
var modifierQueries = map[string]string{
	"cheapest charizard":                   "price_asc | charizard",
	"Charizard, price low to high":         "price_asc | charizard",
	"charizard cheapest to most expensive": "price_asc | charizard",
	"top 10 charizard ex cards":            "price_desc | charizard ex cards",
	"teuerstes charizard":                  "price_desc | charizard",
	"charizard le moins cher":              "price_asc | charizard",
	"günstigste charizard":                 "price_asc | charizard",
	"newest charizard":                     "newest | charizard",
	"oldest charizard":                     "| charizard",
	"charizard under $5":                   "-1..500 | charizard",
	"charizard under 5":                    "-1..500 | charizard",
	"charizard < $4.99":                    "-1..499 | charizard",
	"charizard >$50":                       "5000..-1 | charizard",
	"charizard over 1,000 dollars":         "100000..-1 | charizard",
	"charizard $10-$20":                    "1000..2000 | charizard",
	"charizard 10-20 bucks":                "1000..2000 | charizard",
	"charizard from $20 to $10":            "1000..2000 | charizard",
	"charizard between 5 and 15":           "500..1500 | charizard",
	"charizard 50$ or less":                "-1..5000 | charizard",
	"charizard less than 50 cents":         "-1..50 | charizard",
	"charizard up to $7":                   "-1..700 | charizard",
	"charizard $20":                        "| charizard",
	"cheapest charizard over $5 wotc":      "price_asc 500..-1 Wizards of the Coast | charizard",
	"e-reader charizard":                   "e-Card | charizard",
	"charizard ex era":                     "EX | charizard",
	"charizard sun & moon era":             "Sun & Moon | charizard",
	"most expensive card":                  "price_desc alone | card",
	"card list":                            "alone |",
	"wotc pokemon cards":                   "Wizards of the Coast alone game | pokemon cards",
	"most expensive will":                  "price_desc | will",
	"charizard booster box":                "sealed | charizard",
	"charizard elite trainer boxes":        "sealed | charizard",
	"coffret dresseur d'élite charizard":   "sealed | charizard",
	"charizard from the etb cheapest":      "price_asc | charizard from the etb",
	"charizard tin 001/150 cheapest":       "price_asc | charizard tin 001/150",

	// These ask for nothing.
	"charizard":                    "",
	"charizard 4/102":              "",
	"charizard over 001/150":       "",
	"charizard ex":                 "",
	"charizard sun moon":           "",
	"ancient booster":              "",
	"iron bundle":                  "",
	"over the top hat":             "",
	"bb":                           "",
	"booster":                      "",
	"celebi carry tin":             "",
	"charizard (cheapest)":         "",
	"vintage cellar door":          "",
	"charizard up to":              "",
	"charizard plus 5":             "",
	strings.Repeat("$", 40) + "5a": "",
}

// TestReadModifiers reads queries.
func TestReadModifiers(t *testing.T) {
	ix := modifierIndex(t)
	for query, want := range modifierQueries {
		modifiers, ok := ix.ReadModifiers(query, false)
		if got := modifiers.text(); ok && got != want || !ok && want != "" {
			t.Errorf("%q asks for %q, %t, want %q", query, got, ok, want)
		}
	}
}

// text writes modifiers as modifierQueries does.
func (m *Modifiers) text() string {
	parts := []string{m.Order}
	if max(m.Min, m.Max) >= 0 {
		parts = append(parts, fmt.Sprintf("%d..%d", m.Min, m.Max))
	}
	if m.Era != nil {
		parts = append(parts, m.Era.Name)
	}

	for word, is := range map[string]bool{"sealed": m.Sealed, "alone": m.Alone} {
		if is {
			parts = append(parts, word)
		}
	}
	if m.Alone && m.Game >= 0 {
		parts = append(parts, "game")
	}
	return strings.Join(strings.Fields(strings.Join(append(parts, "|", m.Rest), " ")), " ")
}

// TestMayHaveModifier holds that the short look misses no query with a modifier, and passes over plain
// ones.
func TestMayHaveModifier(t *testing.T) {
	ix := modifierIndex(t)
	for query := range modifierQueries {
		if _, ok := ix.ReadModifiers(query, true); ok && !cardvocab.MayHaveModifier(query) {
			t.Errorf("%q is not seen", query)
		}
	}

	for _, plain := range []string{"charizard ex 199/165", "monkey d luffy", "mr. mime", "m charizard ex", "sand"} {
		if cardvocab.MayHaveModifier(plain) {
			t.Errorf("%q is read twice", plain)
		}
	}
}
