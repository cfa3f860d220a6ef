package index

import (
	"context"
	"testing"

	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
)

// TestPrintedTotals: 4/102 means the set with 102 printed after its numbers, although the set has
// cards beyond 102. It does not mean a set whose highest number happens to be 102. If no set has
// the total, the highest number replaces it.
func TestPrintedTotals(t *testing.T) {
	f := func(total uint16, want string) {
		t.Helper()
		w := &fixture.World{At: 1_787_428_800_000, Games: []fixture.Game{{Slug: "pokemon", Name: "Pokémon"}}}
		w.Sets = []fixture.Set{
			{ID: "set_base", Slug: "base", Name: "Base", Release: snapshot.NoDay, Total: total},
			{ID: "set_jungle", Slug: "jungle", Name: "Jungle", Release: snapshot.NoDay},
		}

		for _, c := range []struct{ set, name, number string }{
			{"base", "Alakazam", "4"}, {"base", "Mewtwo", "130"}, {"jungle", "Jynx", "4"}, {"jungle", "Gastly", "102"},
		} {
			id := c.set + c.number
			w.Cards = append(w.Cards,
				fixture.Card{
					ID: "card_" + id, Slug: id, Name: c.name, Number: c.number, Printing: "standard",
					Set: "set_" + c.set,
				})
		}

		ix, err := Build(context.Background(), nil, w.Catalog(), nil)
		if err != nil {
			t.Fatal(err)
		}

		found := ix.Cards(nil, Query{Filter: NoFilter, HasWords: true, Words: "4/102"}, nil, 1).Cards
		if len(found) != 1 || ix.c.Cards.Name.At(int(found[0])) != want {
			t.Errorf("with the total %d, 4/102 means %v, want %s", total, found, want)
		}
	}

	f(102, "Alakazam")
	f(0, "Jynx")
}
