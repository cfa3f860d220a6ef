package mcp_test

import (
	"testing"

	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
)

// TestValueNeverGuesses checks lines with missing parts.
func TestValueNeverGuesses(t *testing.T) {
	w := shop()
	long := "Gum-Gum Jet Pistol of the Straw Hat Crew (Offline Regional 2024) [Winner]"
	w.Cards = append(w.Cards, fixture.Card{
		ID: "card_long", Slug: "long", Name: long, Number: "P-001", Set: "set_op05", Game: 1,
		Lanes: []fixture.Lane{{
			Variant: "foil", Licensed: true, Cents: 5, CollectedAt: w.At,
			SourceAsOf: snapshot.NoTime, Seen: w.Date(),
		}},
	})

	d := newDesk(t, newView(t, w.Catalog()))
	f := func(line args, status, card string) {
		t.Helper()
		got := d.value(t, line).Lines[0]
		id := ""
		if got.Card != nil {
			id = got.Card.ID
		}
		if got.Status != status || id != card {
			t.Errorf("%v is %s %q (%s), want %s %q", line, got.Status, id, got.Message, status, card)
		}
	}

	// A name alone is enough if only one card has it.
	f(args{"name": "Charizard"}, "priced", "card_charizard_base")
	f(args{"name": "CHARIZARD EX"}, "ambiguous", "")
	f(args{"name": "charizard-ex", "number": "#6"}, "priced", "card_charizard_ex_6")
	f(args{"name": "charizard ex 183/165"}, "priced", "card_charizard_ex_183")
	f(args{"name": "Pikachu", "game": "one-piece"}, "unmatched", "")

	// A part of a name or a misspelling is not the name, unless set and number agree.
	f(args{"name": "Charizard", "set": "151"}, "unmatched", "")
	f(args{"name": "Charizard", "set": "151", "number": "199"}, "priced", "card_charizard_ex_199")
	f(args{"name": "Charizrd", "set": "151", "number": "199/165"}, "priced", "card_charizard_ex_199")
	f(args{"name": "Charizrd ex", "number": "199/165"}, "unmatched", "")

	// A contradictory line matches no card.
	f(args{"name": "Pikachu", "set": "151", "number": "199/165"}, "unmatched", "")
	f(args{"name": "Charizard", "number": "4/130"}, "unmatched", "")
	f(args{"name": "Charizard", "set": "Base"}, "priced", "card_charizard_base")

	// The plain name is printed on the alternate art too.
	f(args{"name": "Monkey.D.Luffy", "number": "OP05-119"}, "ambiguous", "")
	f(args{"name": "Monkey.D.Luffy", "set": "OP05"}, "ambiguous", "")
	// Exactly the name, set and number that are printed mean the plain card.
	f(args{"name": "Monkey.D.Luffy", "set": "OP05", "number": "OP05-119"}, "priced", "card_luffy")
	f(args{"name": "Monkey D. Luffy Alternate Art"}, "priced", "card_luffy_p1")
	// Search reads eight words: the rest of a longer name must match, too.
	f(args{"name": long}, "priced", "card_long")
	f(args{"name": long[:len(long)-len("[Winner]")] + "[Champion]"}, "unmatched", "")
	f(args{"name": long[:len(long)-len("[Winner]")] + "[Champion]", "set": "OP05", "number": "P-001"}, "unmatched", "")
	// An id selects the card; a contradiction about the copy leaves the line without a price.
	f(args{"id": "charizard-base", "name": "Charizrd", "set": "Base"}, "priced", "card_charizard_base")
	f(args{"id": "charizard-base", "name": "Pikachu"}, "priced", "card_charizard_base")
	f(args{"id": "charizard-base", "set": "Jungle"}, "priced", "card_charizard_base")
	f(args{"id": "charizard-base", "line": "Charizard signed"}, "unpriced", "card_charizard_base")
	f(args{"id": "charizard-base", "line": "Charizard PSA 10"}, "unpriced", "card_charizard_base")
	f(args{"id": "charizard", "name": "Charizard"}, "unmatched", "")
	// A condition or variant is never silently replaced.
	f(args{"id": "charizard-base", "condition": "near_mint"}, "priced", "card_charizard_base")
	f(args{"id": "charizard-base", "condition": "DMG"}, "priced", "card_charizard_base")
	f(args{"id": "charizard-base", "condition": "LP"}, "unpriced", "card_charizard_base")
	f(args{"id": "charizard-base", "variant": "normal"}, "unpriced", "card_charizard_base")
	f(args{"id": "charizard-base", "variant": "1st Edition Holofoil", "condition": "damaged"}, "unpriced",
		"card_charizard_base")
	f(args{"id": "charizard-ex-6", "condition": "Near Mint"}, "priced", "card_charizard_ex_6")
	f(args{"id": "mew-151"}, "unpriced", "card_mew_151")
}

// TestValueAdds compares totals with sums, also for unrealistically large amounts.
func TestValueAdds(t *testing.T) {
	w := shop()
	for i := range w.Cards {
		for k := range w.Cards[i].Lanes {
			w.Cards[i].Lanes[k].Cents = snapshot.MaxCents / 9999
		}
	}

	d := newDesk(t, newView(t, w.Catalog()))
	var lines []args
	for range 50 {
		lines = append(lines, args{"id": "luffy", "quantity": 9999})
	}

	v := d.value(t, lines...)
	if want := int64(50 * (snapshot.MaxCents / 9999 * 9999)); v.TotalCents != want || v.TotalIsPartial {
		t.Errorf("total %d, want %d", v.TotalCents, want)
	}

	w.Cards[0].Lanes[0].Cents = snapshot.MaxCents
	d = newDesk(t, newView(t, w.Catalog()))
	v = d.value(t, args{"id": w.Cards[0].ID, "quantity": 2}, args{"id": w.Cards[0].ID}, args{"id": "mew-151"})
	if v.Lines[0].Status != "unpriced" || v.Lines[0].Total != nil || *v.Lines[1].Unit != snapshot.MaxCents ||
		v.TotalCents != snapshot.MaxCents || !v.TotalIsPartial {
		t.Errorf("%+v", v)
	}
}

// TestNullArguments calls tools with null in place of arguments, which equals no arguments.
func TestNullArguments(t *testing.T) {
	d := shopDesk(t)
	for _, tool := range d.Tools() {
		null := d.callRaw(t, tool, "null")
		none := d.callRaw(t, tool, "{}")
		if null.IsError != none.IsError || null.text() != none.text() {
			t.Errorf("%s answers null with %s, and no arguments with %s", tool, null.text(), none.text())
		}
	}
}
