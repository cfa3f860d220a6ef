package valuation_test

import (
	"errors"
	"strings"
	"testing"

	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
	"ninepocket/valuation"
)

// TestTraps checks lines that once had the price of another card or copy, or could not be read.
func TestTraps(t *testing.T) {
	w := smallWorld()
	w.Sets = append(w.Sets, fixture.Set{ID: "set_neo2", Slug: "neo2", Name: "Neo Genesis 2", Game: 0})
	add := func(id, name, number, set string, cents int64) {
		w.Cards = append(w.Cards, fixture.Card{
			ID: "card_" + id, Slug: id, Name: name, Number: number, Set: set, Game: 0,
			Lanes: lanes(fixture.Lane{Variant: "holofoil", Condition: snapshot.Ungraded, Cents: cents}),
		})
	}
	add("blastoise", "Blastoise", "2/111", "set_neo", 22000)
	add("blastoise2", "Blastoise", "2/75", "set_neo2", 15000)
	w.Sets = append(w.Sets, fixture.Set{ID: "set_gg", Slug: "gg", Name: "SV: Scarlet & Violet 151: Gallery", Game: 0})
	add("gallery", "Lugia", "GG70/GG70", "set_gg", 700)
	add("lugia2", "Lugia", "9/75", "set_neo2", 5000)
	s := newShop(t, w.Catalog())

	type item = valuation.Item
	for _, test := range []struct {
		item item
		want string
	}{
		// A number that ends a set's name may be the card's.
		{item{Line: "Blastoise Neo Genesis #2"}, "priced card_blastoise 22000"},
		{item{Line: "Blastoise Neo Genesis 2"}, "ambiguous ask the set of 2"},
		{item{Line: "Blastoise Genesis 2"}, "ambiguous ask the set of 2"},
		{item{Line: "Blastoise Neo Genesis 2 2"}, "priced card_blastoise2 15000"},
		{item{Name: "Blastoise", Set: "Neo Genesis 2"}, "priced card_blastoise2 15000"},
		{item{Line: "Lugia Neo Genesis 2"}, "priced card_lugia2 5000"},
		{item{Line: "Lugia Neo Genesis 2,-"}, "ambiguous ask the set of 2"},
		{item{Line: "Blastoise 2/111 25,– €"}, "priced card_blastoise 22000"},

		// A word that search ignores may describe a copy.
		{item{Line: "Blastoise 2/111 Good"}, "priced card_blastoise 22000 condition"},
		{item{Line: "Blastoise 2/111 GD"}, "priced card_blastoise 22000 condition"},
		{item{Line: "Blastoise 2/111 (IT)"}, "unpriced card_blastoise 22000-22000"},
		{item{Line: "Blastoise 2/111 is it"}, "priced card_blastoise 22000"},
		{item{Line: "Blastoise 2/111 | NM | DE"}, "unpriced card_blastoise 22000-22000"},
		{item{Line: "Blastoise 2/111 CGC 9.5"}, "unpriced card_blastoise 22000-22000"},
		{item{Line: "Blastoise 2/111 CGC9.5"}, "unpriced card_blastoise 22000-22000"},
		{item{Line: "Blastoise 2/111 9.5"}, "unmatched ask the whole name, set and number"},

		// A number that names its set is enough to ask.
		{item{Line: "4xOP05-119"}, "ambiguous ask the whole name, set and number of 2"},
		{item{Line: "2xOP05-119 Monkey.D.Luffy (119) (Alternate Art)"}, "priced card_alt 25021 50042"},
		{item{Line: "OP05-119", Game: "pokemon"}, "unmatched ask the number"},
		{item{Line: "OP05-120"}, "unmatched ask the whole name, set and number"},

		{item{Line: "2 Lugia MEW GG70"}, "priced card_gallery 700 1400"},
		{item{Line: "2 Lugia MEW GG71"}, "unmatched ask the whole name, set and number"},

		// If the line has an id, a code is not needed.
		{item{ID: "card_sir", Line: "2 Charizard ex MEW 199"}, "priced card_sir 24950 49900"},
		{item{ID: "card_lugia", Line: "Lugia MEW 9"}, "priced card_lugia 80000"},
	} {
		r := s.Value(test.item)
		if got := s.summary(&r); got != test.want {
			t.Errorf("%+v is %s, want %s (%s)", test.item.Line+test.item.Name, got, test.want, r.Remark)
		}
	}
}

// TestColumnsTwice sends headers with a repeated column: it is unknown which of the two counts.
func TestColumnsTwice(t *testing.T) {
	const header = "Quantity,Name,Set,Card Number,Printing"
	for _, test := range []struct{ more, want string }{
		{",Quantity, NAME", `the header has a column more than once: "Quantity", "NAME"`},
		{",Card-Number", `the header has a column more than once: "Card-Number"`},
		{",,", ""},
	} {
		_, _, err := valuation.ReadExport(header+test.more+"\n,Rattata,151,19,,5,\n", 10)
		if test.want == "" && err != nil || test.want != "" && (err == nil || err.Error() != test.want) {
			t.Errorf("%s: %v, want %s", test.more, err, test.want)
		}
		if errors.Is(err, valuation.ErrHeader) || err != nil && strings.Contains(err.Error(), "row") {
			t.Errorf("%s: %v", test.more, err)
		}
	}
}
