package index_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ninepocket/index"
	"ninepocket/internal/testsweep"
	"ninepocket/snapshot"
)

// A modifierRow is a query with the requirements on all its first cards, and its notes.
type modifierRow struct {
	query, name, sort string
	min, max          int64
	remarks           string // "" for nothing
}

// modifierRows were written before the lists of phrases were complete, without the rows of testdata.
var modifierRows = []modifierRow{
	{query: "cheapest blastoise", name: "blastoise", sort: "price_asc", remarks: "sorted price_asc"},
	{query: "Venusaur cheapest first", name: "venusaur", sort: "price_asc", remarks: "sorted price_asc"},
	{query: "whats the most expensive mew", name: "mew", sort: "price_desc", remarks: "sorted price_desc"},
	{query: "priciest zoro cards", name: "zoro", sort: "price_desc", remarks: "sorted price_desc"},
	{query: "dearest latias", name: "latias", sort: "price_desc", remarks: "sorted price_desc"},
	{query: "most valuable typhlosion card", name: "typhlosion", sort: "price_desc", remarks: "sorted price_desc"},
	{query: "top 3 ho-oh", name: "ho-oh", sort: "price_desc", remarks: "sorted price_desc"},
	{query: "top 100 pokemon cards", sort: "price_desc", remarks: "sorted price_desc"},
	{query: "eevee, low to high", name: "eevee", sort: "price_asc", remarks: "sorted price_asc"},
	{query: "jolteon high to low price", name: "jolteon", sort: "price_desc", remarks: "sorted price_desc"},
	{query: "billigste pikachu", name: "pikachu", sort: "price_asc", remarks: "sorted price_asc"},
	{query: "mewtwo le plus cher", name: "mewtwo", sort: "price_desc", remarks: "sorted price_desc"},
	{query: "newest gengar", name: "gengar", remarks: "sorted newest"},
	{query: "latest luffy cards", name: "luffy", remarks: "sorted newest"},
	{query: "cheapest card in evolving skies", sort: "price_asc", remarks: "sorted price_asc"},
	{query: "flareon under $20", name: "flareon", max: 2000, remarks: "bounded -2000"},
	{query: "vaporeon under 20", name: "vaporeon", max: 2000, remarks: "bounded -2000"},
	{query: "leafeon below 12.50 dollars", name: "leafeon", max: 1250, remarks: "bounded -1250"},
	{query: "cards under $1 in fossil", max: 100, remarks: "bounded -100"},
	{query: "lugia over $300", name: "lugia", min: 30000, remarks: "bounded 30000-"},
	{query: "shanks above $250", name: "shanks", min: 25000, remarks: "bounded 25000-"},
	{query: "glaceon $5 to $25", name: "glaceon", min: 500, max: 2500, remarks: "bounded 500-2500"},
	{query: "espeon between 10 and 40 dollars", name: "espeon", min: 1000, max: 4000, remarks: "bounded 1000-4000"},
	{query: "nami $1-$2", name: "nami", min: 100, max: 200, remarks: "bounded 100-200"},
	{query: "articuno max $8", name: "articuno", max: 800, remarks: "bounded -800"},
	{query: "zapdos at least $100", name: "zapdos", min: 10000, remarks: "bounded 10000-"},
	{
		query: "cheapest moltres over $50", name: "moltres", sort: "price_asc", min: 5000,
		remarks: "sorted price_asc, bounded 5000-",
	},
	{query: "umbreon >= $400", name: "umbreon", min: 40000, remarks: "bounded 40000-"},
	{query: "arcanine wotc", name: "arcanine", remarks: "era Wizards of the Coast"},
	{query: "old school machamp", name: "machamp", remarks: "era Wizards of the Coast"},
	{query: "ampharos e-card", name: "ampharos", remarks: "era e-Card"},
	{query: "salamence ex series", name: "salamence", remarks: "era EX"},
	{query: "cynthia sm era", name: "cynthia", remarks: "era Sun & Moon"},
	{query: "giratina dp era", name: "giratina", remarks: "era Diamond & Pearl"},
	{query: "snorlax sword and shield series", name: "snorlax", remarks: "era Sword & Shield"},
	{
		query: "cheapest vintage ninetales", name: "ninetales", sort: "price_asc",
		remarks: "sorted price_asc, era Wizards of the Coast",
	},
	{query: "most expensive neo era card", sort: "price_desc", remarks: "sorted price_desc, era Neo"},
	{query: "koraidon wotc", name: "koraidon", remarks: "missing wotc"},
	{query: "card list", remarks: "left-out card list"},
	{query: "most expensive card", sort: "price_desc", remarks: "sorted price_desc"},
	{query: "most expensive one piece cards", sort: "price_desc", remarks: "sorted price_desc"},
	{query: "lost origin booster box", name: "^", remarks: "no-card booster box"},
	{query: "how much is a twilight masquerade etb", name: "^", remarks: "no-card etb"},
	{query: "charizard upc cheapest", name: "^", remarks: "no-card upc"},
	{query: "two legends display", name: "^", remarks: "no-card display"},
	{query: "premium collection umbreon", name: "^", remarks: "no-card premium collection"},
	{query: "mini tins paldean fates", name: "^", remarks: "no-card mini tins"},
	{query: "sealed brilliant stars theme deck", name: "^", remarks: "no-card sealed theme deck"},
	{query: "pikachu from the booster pack", name: "pikachu"},
	{query: "ancient booster energy capsule", name: "ancient booster"},
	{query: "iron bundle", name: "iron"},
	{query: "premium booster the best nami", name: "nami"},
	{query: "charizard 4/102 booster pack", name: "charizard"},
}

// modifierTokens are the words of the header for notes about modifiers.
var modifierTokens = map[index.NoteKind]string{
	index.Sorted: "sorted", index.Bounded: "bounded", index.InEra: "era", index.NoCard: "no-card",
	index.Missing: "missing",
}

// explanationText writes notes in the rows' format; without any, it returns the text of none.
func explanationText(notes []index.Note) string {
	var remarks []string
	for _, note := range notes {
		switch token := modifierTokens[note.Kind]; note.Kind {
		case index.Sorted, index.InEra:
			remarks = append(remarks, token+" "+note.To)
		case index.Bounded:
			remarks = append(remarks, token+" "+note.From+"-"+note.To)
		case index.NoCard, index.Missing:
			remarks = append(remarks, token+" "+note.From)
		}
	}
	if len(remarks) == 0 && len(notes) > 0 && notes[0].Kind == index.Dropped && notes[0].From == "card list" {
		return "left-out card list"
	}
	return strings.Join(remarks, ", ")
}

// TestModifiers asks for orders, prices, eras and sealed products in words.
func TestModifiers(t *testing.T) {
	testsweep.OnlyFull(t)
	x := openReal(t, "t")
	for _, row := range modifierRows {
		query := index.Query{Filter: index.NoFilter, Words: row.query, HasWords: true}
		page, notes := x.CardsInterpreted(nil, query, 20)
		if remarks := explanationText(notes); remarks != row.remarks {
			t.Errorf("%q tells %q, want %q", row.query, remarks, row.remarks)
		}
		if (len(page.Cards) == 0) != (row.name == "^") {
			t.Errorf("%q has %d cards", row.query, len(page.Cards))
		}

		order := blindRow{notes: map[string]string{"sort": row.sort}}
		if !x.inOrder(&order, page.Cards) {
			t.Errorf("%q is not in the order of %s", row.query, row.sort)
		}
		for _, card := range page.Cards {
			cents := x.c.DisplayCents(int(card))
			priced := cents >= 0 || row.min+row.max == 0 && row.sort != "price_asc"
			if !strings.Contains(strings.ToLower(x.c.Cards.Name.At(int(card))), row.name) || !priced ||
				cents < row.min && row.min > 0 || cents > cmp.Or(row.max, snapshot.MaxCents) {
				t.Errorf("%q has %s at %d", row.query, x.describe(int(card)), cents)
			}
		}
	}
}

// TestModifiersOnPages reads the pages of modifiers one by one: together they equal one big page.
func TestModifiersOnPages(t *testing.T) {
	testsweep.OnlyFull(t)
	x := openReal(t, "t")
	for _, words := range []string{
		"cheapest charizard", "most expensive luffy", "newest pikachu", "umbreon under $20", "cheapest gengar over $5",
		"wotc gyarados", "lycanroc sun & moon", "koraidon wotc", "most expensive wotc cards", "card list",
	} {
		query := index.Query{Filter: index.NoFilter, Words: words, HasWords: true}
		const maxCards = 60
		whole := x.Cards(nil, query, nil, maxCards).Cards
		var walked []uint32
		var after *index.Position

		for len(walked) < len(whole) {
			page := x.Cards(nil, query, after, 7)
			walked = append(walked, page.Cards...)
			if !page.More {
				break
			}
			after = &page.Last
		}

		walked = walked[:min(len(walked), maxCards)]
		if len(whole) < 5 || !slices.Equal(walked, whole) {
			t.Errorf("%q: pages have %d cards, one page has %d, or others", words, len(walked), len(whole))
		}
	}
}

// TestGivenWins gives a parameter that contradicts the words: the parameter counts, and the words are dropped.
func TestGivenWins(t *testing.T) {
	testsweep.OnlyFull(t)
	x := openReal(t, "t")
	for _, given := range []struct {
		change func(q *index.Query)
		words  string
		left   string
	}{
		{func(q *index.Query) { q.Sort = index.PriceDesc }, "cheapest charizard", "cheapest"},
		{func(q *index.Query) { q.Ordered = true }, "cheapest charizard", "cheapest"},
		{func(q *index.Query) { q.Max = 1000 }, "charizard over $500", "over 500"},
		{func(q *index.Query) { q.Min = 0 }, "charizard under $5", "under 5"},
	} {
		query := index.Query{Filter: index.NoFilter, Words: "charizard", HasWords: true}
		given.change(&query)

		want := x.Cards(nil, query, nil, 20).Cards
		query.Words = given.words

		page, notes := x.CardsInterpreted(nil, query, 20)
		if !slices.Equal(page.Cards, want) {
			t.Errorf("%q counts beside what is given", given.words)
		}
		if !slices.Contains(notes, index.Note{Kind: index.Dropped, From: given.left}) {
			t.Errorf("%q tells %s", given.words, fmt.Sprint(notes))
		}
	}
}

// TestBoundsFindNoOther asks for cards that cost more than the bound: no other card is meant in their place.
func TestBoundsFindNoOther(t *testing.T) {
	testsweep.OnlyFull(t)
	x := openReal(t, "t")
	for _, words := range []string{"neo genesis lugia under $100", "luffy op01 under $0.01", "mew ex 151 under $1"} {
		page, notes := x.CardsInterpreted(nil, index.Query{Filter: index.NoFilter, Words: words, HasWords: true}, 5)
		if len(page.Cards) > 0 || !index.HasKind(notes, index.Bounded) {
			t.Errorf("%q finds %d cards, and says %v", words, len(page.Cards), notes)
		}
	}
}

// TestMatchesHaveNoModifiers values a name with modifiers next to it: the words are stop words.
func TestMatchesHaveNoModifiers(t *testing.T) {
	testsweep.OnlyFull(t)
	x := openReal(t, "t")
	for _, words := range []string{"cheapest charizard", "charizard booster box", "vintage charizard"} {
		query := index.Query{Filter: index.NoFilter, Words: words, HasWords: true}
		found := x.Matches(nil, query, 1)
		query.Words = "charizard"
		if want := x.Matches(nil, query, 1); len(found) != 1 || found[0].Card != want[0].Card {
			t.Errorf("%q has other matches than charizard", words)
		}
	}
}
