package valuation_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
	"ninepocket/valuation"
)

// TestDecksAndAmounts goes through lines with the codes of deck lists, with stars, and with amounts.
func TestDecksAndAmounts(t *testing.T) {
	w := smallWorld()
	w.Sets = append(w.Sets, fixture.Set{ID: "set_neo2", Slug: "neo2", Name: "Neo Genesis 2", Game: 0})
	w.Cards = append(w.Cards,
		fixture.Card{
			ID: "card_lugia2", Slug: "lugia2", Name: "Lugia", Number: "9/75", Set: "set_neo2", Game: 0,
			Lanes: lanes(fixture.Lane{Variant: "holofoil", Condition: snapshot.Ungraded, Cents: 5000}),
		},
		fixture.Card{
			ID: "card_star", Slug: "star", Name: "Charizard Star", Number: "100/101", Set: "set_neo2", Game: 0,
			Lanes: lanes(fixture.Lane{Variant: "holofoil", Condition: snapshot.Ungraded, Cents: 700000}),
		},
	)
	s := newShop(t, w.Catalog())

	type item = valuation.Item
	for _, test := range []struct {
		item item
		want string
	}{
		{item{Line: "2 Charizard ex MEW 199"}, "priced card_sir 24950 49900"},
		{item{Line: "1 Mew MEW 151"}, "unpriced card_mew"},
		{item{Line: "4 Charizard ex MEW 19"}, "unmatched ask the whole name, set and number"},
		{item{Line: "4 CHARIZARD EX MEW 199"}, "priced card_sir 24950 99800"},
		{item{Line: "4 Charizard ex OBF 199"}, "unmatched ask the whole name, set and number"},
		{item{Line: "2 Charizard ex MEW199"}, "priced card_sir 24950 49900"},
		{item{Line: "Charizard ex mew199"}, "unmatched ask the whole name, set and number"},
		{item{Line: "Charizard ex MEW888"}, "unmatched ask the whole name, set and number"},
		{item{Line: "3 pcs Rattata 19/165"}, "priced card_rattata 10 30"},
		{item{Line: "3x pcs. of Rattata 19/165"}, "priced card_rattata 10 30"},
		{item{Line: "3 copies of Rattata 19/165"}, "priced card_rattata 10 30"},
		{item{Line: "qty: 3 Rattata 19/165"}, "priced card_rattata 10 30"},
		{item{Line: "Rattata 19/165 qty 3"}, "priced card_rattata 10 30"},
		{item{Line: "Rattata 19/165 (3 pieces)"}, "priced card_rattata 10 30"},
		{item{Line: "Rattata 19/165, 1 copy"}, "priced card_rattata 10"},
		{item{Line: "Rattata 19/165 25 zł"}, "priced card_rattata 10"},
		{item{Line: "Rattata 19/165 PLN 2,50"}, "priced card_rattata 10"},
		{item{Name: "Charizard ex (MEW 199)"}, "priced card_sir 24950"},
		{item{Name: "Rattata", Set: "MEW"}, "priced card_rattata 10"},
		{item{Line: "Charizard Gold Star"}, "priced card_star 700000"},
		{item{Line: "charizard goldstar NM"}, "priced card_star 700000 condition"},
		{item{Line: "Rattata 151 19/165 0.15"}, "priced card_rattata 10"},
		{item{Line: "Rattata 19/165 - 0,15 | NM"}, "priced card_rattata 10 condition"},
		{item{Line: "Rattata 19/165 €"}, "priced card_rattata 10"},
		{item{Line: "2x Rattata 2 €"}, "priced card_rattata 10 20"},
		{item{Line: "Lugia Neo Genesis 2 € NM"}, "ambiguous ask the set of 2"},
		{item{Line: "Lugia | Neo Genesis 2 EUR | NM"}, "ambiguous ask the set of 2"},
		{item{Line: "Lugia | Neo Genesis 2 EUR", Set: "Neo Genesis 2"}, "priced card_lugia2 5000"},
		{item{Line: "Lugia Neo Genesis 2 €", Set: "Neo Genesis"}, "priced card_lugia 80000"},
		{item{Line: "Lugia Neo Genesis 12.50"}, "priced card_lugia 80000"},
		{item{Line: "Lugia Neo Genesis 2 12.50"}, "priced card_lugia2 5000"},
	} {
		r := s.Value(test.item)
		if got := s.summary(&r); got != test.want {
			t.Errorf("%+v is %s, want %s (%s)", test.item.Line+test.item.Name, got, test.want, r.Remark)
		}
	}
}

// deckCodes are codes of deck lists with their sets, by the names in feeds without codes.
var deckCodes = map[string]string{
	"OBF": "SV03: Obsidian Flames", "MEW": "SV: Scarlet & Violet 151", "SVI": "SV01: Scarlet & Violet Base Set",
	"PAL": "SV02: Paldea Evolved", "EVS": "SWSH07: Evolving Skies", "SUM": "SM Base Set", "BLW": "Black and White",
	"LOT": "SM - Lost Thunder", "PR-SV": "SV: Scarlet & Violet Promo Cards", "SVP": "SV: Scarlet & Violet Promo Cards",
}

// TestDeckLists values cards in the deck format of the game's apps: copies, name, code, number. Each
// priced card has this set and number.
func TestDeckLists(t *testing.T) {
	s := realShop(t)
	r := rand.New(rand.NewPCG(21, 5))
	for _, code := range slices.Sorted(maps.Keys(deckCodes)) {
		set := deckCodes[code]
		sets := s.View.Index.SetNames().Resolve(set)
		if len(sets) != 1 {
			t.Errorf("%d sets are called %s", len(sets), set)
			continue
		}

		cards := s.View.Index.CardsOfSet(int(sets[0]))
		priced := 0
		const each = 100
		for range each {
			card := int(cards[r.IntN(len(cards))])
			p := s.asPrinted(card)
			number, _, _ := strings.Cut(p.Number, "/")
			item := valuation.Item{
				Line: fmt.Sprintf("%d %s %s %s", 1+r.IntN(4), bare(p.Name), code, strings.TrimLeft(number, "0")),
			}

			got := s.Value(item)
			if got.Status == valuation.Priced {
				priced++
			}
			if got.Card < 0 {
				continue
			}

			// A plain name in a deck means the plain card; its set and number are the line's.
			other := s.asPrinted(got.Card)
			if other.Set != p.Set || other.Number != p.Number ||
				!strings.HasPrefix(bare(p.Name), bare(other.Name)) {
				t.Errorf("%s of %s is taken for %s", item.Line, s.describe(card), s.describe(got.Card))
			}
		}
		t.Logf("%s: %d of %d priced at once", code, priced, each)
		// Promos are printed for one shop or another, and about one line in four does not name the shop.
		if priced < each*60/100 {
			t.Errorf("%s: only %d of %d lines are priced at once", code, priced, each)
		}
	}
}

// TestWholeAmounts writes a whole amount after the name of a set, where the amount also ends another
// set's name. If both sets have the card, no line is priced.
func TestWholeAmounts(t *testing.T) {
	s := realShop(t)
	c := s.View.Catalog
	lines := 0
	for set := range c.Sets.ID.Len() {
		name := c.Sets.Name.At(set)
		for n := 1; n < 10; n++ {
			more := s.View.Index.SetNames().Resolve(fmt.Sprint(name, " ", n))
			if len(more) != 1 || c.Sets.Name.At(int(more[0])) != fmt.Sprint(name, " ", n) {
				continue
			}

			for _, card := range s.View.Index.CardsOfSet(set) {
				p := s.asPrinted(int(card))
				for _, format := range []string{"%s %s %d €", "%s %s %d€ NM", "%s | %s %d EUR", "2x %s %s %d dollars"} {
					line := fmt.Sprintf(format, p.Name, p.Set, n)
					got := s.Value(valuation.Item{Line: line})
					lines++
					if got.Card >= 0 && got.Card != int(card) && s.asPrinted(got.Card).Name == p.Name {
						t.Errorf("%s of %s is taken for %s", line, s.describe(int(card)), s.describe(got.Card))
					}
					if got.Status != valuation.Priced {
						continue
					}
					for _, other := range s.View.Index.CardsOfSet(int(more[0])) {
						if q := s.asPrinted(int(other)); q.Name == p.Name {
							t.Errorf("%s is priced, and %s has the name as well", line, s.describe(int(other)))
						}
					}
				}
			}
		}
	}
	t.Logf("%d lines", lines)
	if lines < 100 {
		t.Errorf("only %d lines", lines)
	}
}
