package valuation_test

import (
	"strings"
	"testing"

	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
	"ninepocket/valuation"
)

// TestFoilIsTheOneThatShines applies the words of apps that know only foil and normal to cards with
// other variants.
func TestFoilIsTheOneThatShines(t *testing.T) {
	w := smallWorld()
	for name, variants := range map[string]string{
		"Rattata": "normal reverse_holofoil", "Charizard": "normal holofoil reverse_holofoil",
		"Mew": "reverse_holofoil cracked_ice", "Lugia": "1st_edition unlimited", "Gastly": "cracked_ice",
		"Haunter": "1st_edition_holofoil unlimited_holofoil", "Gengar": "holofoil", "Nami": "normal foil",
	} {
		card := fixture.Card{ID: "card_foil" + name, Slug: "foil-" + name, Name: "Foil " + name, Set: "set_neo"}
		for i, variant := range strings.Fields(variants) {
			card.Lanes = append(card.Lanes, lanes(fixture.Lane{
				Variant: variant, Condition: snapshot.Ungraded, Cents: int64(100 + i),
			})...)
		}
		w.Cards = append(w.Cards, card)
	}

	s := newShop(t, w.Catalog())
	for line, want := range map[string]string{
		"Rattata foil": "reverse_holofoil assumed", "Rattata Foil": "reverse_holofoil assumed",
		"Rattata normal": "normal",
		"Rattata holo":   "", "Rattata holofoil": "", "Charizard foil": "holofoil assumed",
		"Charizard holofoil": "holofoil",

		"Mew foil": "", "Mew normal": "", "Lugia foil": "", "Lugia normal": "unlimited assumed",
		"Gastly foil":   "",
		"Gastly normal": "cracked_ice assumed", "Haunter normal": "", "Gengar foil": "holofoil",
		"Gengar Normal": "holofoil assumed", "Gengar nonfoil": "", "Gengar reverse": "", "Nami foil": "foil",
		"Nami normal": "normal",
	} {
		name, variant, _ := strings.Cut(line, " ")
		r := s.Value(valuation.Item{ID: "card_foil" + name, Variant: variant})
		got := ""
		if r.Status == valuation.Priced {
			got = s.View.Catalog.Variants.At(int(s.View.Catalog.Lanes.Variant[r.Lane]))
			if r.Assumes("variant") {
				got += " assumed"
			}
		}
		if got != want {
			t.Errorf("%s is %q, want %q: %s", line, got, want, r.Remark)
		}
	}
}

// TestFoilOfAllCards gives every card with a price the word foil: the price is that of the only variant
// that shines, or of a holo variant with the assumption reported.
func TestFoilOfAllCards(t *testing.T) {
	s := realShop(t)
	c := s.View.Catalog
	counts := map[string]int{}
	for card := range c.Cards.ID.Len() {
		var shining []string
		for lane, to := c.Lanes.Of.Range(card); lane < to; lane++ {
			variant := c.Variants.At(int(c.Lanes.Variant[lane]))
			if strings.Contains(variant, "foil") {
				shining = append(shining, variant)
			}
		}

		r := s.Value(valuation.Item{ID: s.cardID(card), Variant: "foil"})
		switch {
		case r.Status != valuation.Priced:
			counts["unpriced"]++
			continue
		case len(shining) == 1:
			counts["the only one"]++
		default:
			counts["one of several"]++
		}

		used := c.Variants.At(int(c.Lanes.Variant[r.Lane]))
		if len(shining) == 1 && used != shining[0] || len(shining) != 1 && !r.Assumes("variant") {
			t.Errorf("%s has %q and is priced as %s, assumed %v", s.describe(card), shining, used, r.Assumed)
		}
	}
	t.Log(counts)
}
