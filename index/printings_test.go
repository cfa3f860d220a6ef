package index

import (
	"context"
	"slices"
	"testing"

	"ninepocket/internal/fixture"
)

// TestPrintings finds the other printings of a card by number where that names its set, else by
// name, in its game alone.
func TestPrintings(t *testing.T) {
	w := &fixture.World{
		At:    1_787_428_800_000,
		Games: []fixture.Game{{Slug: "pokemon", Name: "Pokémon"}, {Slug: "one-piece", Name: "One Piece"}},
	}

	for i, c := range []struct {
		name, number string
		game         int
	}{
		{"Pikachu", "58/102", 0},
		{"Pikachu (Cosmos Holo)", "25/25", 0},
		{"PIKACHU [Staff]", "", 0},
		{"Pikachu V", "58/102", 0},
		{"Pikachu", "58/102", 1},
		{"Luffy", "OP05-119", 1},
		{"Monkey.D.Luffy (Manga)", "OP05-119_p1", 1},
		{"Luffy", "OP01-001", 1},
		{"Luffy", "op5-119", 1},
		{"Luffy", "OP05-119", 0},
	} {
		w.Cards = append(w.Cards,
			fixture.Card{
				ID: fixture.ID("card_", 1, i), Slug: string(rune('a' + i)), Name: c.name, Number: c.number,
				Game: c.game,
			})
	}

	c := w.Catalog()
	ix, err := Build(context.Background(), nil, c, nil)
	if err != nil {
		t.Fatal(err)
	}

	f := func(slug string, want ...string) {
		t.Helper()
		card, _ := ix.Card(slug)
		cards, more := ix.Printings([]uint32{77}, card, 5)
		var got []string
		for _, other := range cards[1:] {
			got = append(got, c.Cards.Slug.At(int(other)))
		}

		slices.Sort(got)
		if more || !slices.Equal(got, want) {
			t.Errorf("printings of %s: %v, want %v", slug, got, want)
		}
	}

	f("a", "b", "c")
	f("b", "a", "c")
	f("c", "a", "b")
	f("d")
	f("e")
	f("f", "g", "i")
	f("g", "f", "i")
	f("h")
	f("j")
	card, _ := ix.Card("a")
	if cards, more := ix.Printings(nil, card, 1); len(cards) != 1 || !more {
		t.Errorf("one of two: %v, more %t", cards, more)
	}

	for number, want := range map[string]bool{
		"OP05-119": true, "P-001": true, "4/102": false, "SWSH-12/20": false,
		"12-3": false, "A-B": false, "-1": false, "A-": false, "": false,
	} {
		if namesItsSet(number) != want {
			t.Errorf("%q names its set: %t", number, !want)
		}
	}
}
