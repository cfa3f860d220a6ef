package ninepocket

import "testing"

// TestAppliedCardsAreNew checks that the records of readers stay unchanged, while a Sync changes cards.
func TestAppliedCardsAreNew(t *testing.T) {
	t.Parallel()
	number := "4/102"
	rarity := "Rare"
	later := "4/130"
	old := &CardDetail{
		ID: "card_a", Number: &number, Rarity: &rarity, Set: &SetRef{ID: "set_a"},
		Prices:      []VariantPrice{{Variant: "holofoil", MarketPriceCents: 5}},
		Identifiers: []Identifier{{Namespace: "tcgplayer", Value: "1"}},
	}
	c := &catalog{Cards: map[string]*CardDetail{"card_a": old}}
	row := Change{ID: "card_a", Change: "changed"}
	row.Card = &ChangedCard{
		ID: "card_a", Number: &later, Set: &SetRef{ID: "set_b"},
		Identifiers: []Identifier{{Namespace: "tcgplayer", Value: "2"}},
	}
	if err := c.apply("cards", &row); err != nil {
		t.Fatal(err)
	}

	now := c.Cards["card_a"]
	if *now.Number != later || now.Rarity != nil || now.Set.ID != "set_b" || now.Identifiers[0].Value != "2" ||
		len(now.Prices) != 1 {
		t.Errorf("now it is %+v", now)
	}
	if *old.Number != "4/102" || *old.Rarity != "Rare" || old.Set.ID != "set_a" || old.Identifiers[0].Value != "1" {
		t.Errorf("a reader sees %+v", old)
	}
}
