package engine

import (
	"fmt"
	"strings"
	"testing"

	"ninepocket/internal/fixture"
	"ninepocket/internal/testsweep"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

func smokeView(t *testing.T) *View {
	t.Helper()
	c := fixture.Random(1, fixture.Size{Sets: 3, Cards: 150, Sealed: 5, Days: 40}).Catalog()
	c.ID = "20260315T000000Z-0000000000000001"
	v, err := NewView(c, wire.URLs{URL: "https://cards.example", ProductPrefix: "np"})
	if err != nil {
		t.Fatal(err)
	}

	return v
}

func TestSmokePasses(t *testing.T) {
	for seed := range uint64(20 / testsweep.Stride(5)) {
		for _, size := range []fixture.Size{{}, fixture.Small, {Sets: 3, Cards: 150, Sealed: 5, Days: 40}} {
			c := fixture.Random(seed, size).Catalog()
			c.ID = "20260315T000000Z-0000000000000001"
			v, err := NewView(c, wire.URLs{ProductPrefix: "np"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := v.Smoke(); err != nil {
				t.Errorf("seed %d, size %+v: %v", seed, size, err)
			}
		}
	}
}

// TestSmokePassesNamesWithoutWords: nothing is left of some names when they are normalised, so that
// no search finds the card by its name. That must not keep a catalog from being published; in a
// small one every card is asked for.
func TestSmokePassesNamesWithoutWords(t *testing.T) {
	w := fixture.Random(1, fixture.Small)
	names := []string{"And", "And And", "ʼ", "&", "and & AND"}
	for i, name := range names {
		w.Cards[i].Name = name
	}

	v, err := NewView(w.Catalog(), wire.URLs{ProductPrefix: "np"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Smoke(); err != nil {
		t.Errorf("cards named %q: %v", names, err)
	}
}

// TestSmokeFinds breaks one thing of a View at a time.
func TestSmokeFinds(t *testing.T) {
	if _, err := smokeView(t).Smoke(); err != nil {
		t.Fatalf("before any damage: %v", err)
	}

	for _, tt := range []struct {
		name, want string
		damage     func(v *View)
	}{
		{"games cut off", "list games is not whole JSON", func(v *View) { v.games = v.games[:len(v.games)-1] }},
		{"a byte of the details", "detail of card", func(v *View) { v.texts.chunks[0][0] = 'x' }},
		{"the details end early", "detail of card", func(v *View) { v.texts.ranges[0].to-- }},
		{"details of other cards", "does not name", func(v *View) {
			v.texts.ranges = append(v.texts.ranges[1:], v.texts.ranges[0])
		}},
		{"price entries", "price entry of card", func(v *View) {
			v.parts[0].from++ // the quote of a name
		}},
		{"summaries", "summary of card", func(v *View) { v.parts[0].head-- }},
		{"set pages", "page of set", func(v *View) { v.setDetails.ranges[0].to++ }},
		{"sets", "summary of set", func(v *View) { v.sets.chunks[0][3] = '"' }},
		{"a product prefix with a quote", "product a", func(v *View) { v.site.ProductPrefix = `a"b` }},
		{"products of other ids", "is not found", func(v *View) {
			v.Catalog.Sealed.Tail = reversed(&v.Catalog.Sealed.Tail)
		}},
		{"a name that the search does not know", "is not found by its name", func(v *View) { rename(v, "Zyxwvutsrq") }},
		{"ids of other cards", "is not found by", func(v *View) { v.Catalog.Cards.ID = reversed(&v.Catalog.Cards.ID) }},
		{
			"slugs of other cards", "is not found by",
			func(v *View) { v.Catalog.Cards.Slug = reversed(&v.Catalog.Cards.Slug) },
		},
		{"ids of other sets", "is not found by", func(v *View) { v.Catalog.Sets.ID = reversed(&v.Catalog.Sets.ID) }},
		{"a day that is none", "statistics of card", func(v *View) { v.Catalog.SnapshotAt = snapshot.NoTime }},
		{"history that is gone", "panics", func(v *View) { v.Catalog.History.Points = nil }},
		{"movers beyond the cards", "movers up do not", func(v *View) { v.Catalog.Movers.Up = []uint32{1 << 20} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := smokeView(t)
			tt.damage(v)
			_, err := v.Smoke()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// reversed is a column in the other direction.
func reversed(s *snapshot.Strings) snapshot.Strings {
	var out snapshot.Strings
	for i := s.Len() - 1; i >= 0; i-- {
		out.Append(s.At(i))
	}
	return out
}

// rename gives every card a name that was not there when the index was made.
func rename(v *View, name string) {
	var names snapshot.Strings
	for range v.Catalog.Cards.Name.Len() {
		names.Append(name)
	}
	v.Catalog.Cards.Name = names
}

// TestSmokeWrongNames spoils the names of some of the asked cards: nine are warnings that name card
// and name, ten refuse.
func TestSmokeWrongNames(t *testing.T) {
	for _, wrong := range []int{0, 1, 9, 10, 11} {
		v := smokeView(t)
		var names snapshot.Strings
		for card := range v.Catalog.Cards.Name.Len() {
			name := v.Catalog.Cards.Name.At(card)
			// Every third, so that they are spread.
			if card%3 == 0 && card/3 < wrong {
				name = "Zyxwvutsrq"
			}
			names.Append(name)
		}
		v.Catalog.Cards.Name = names

		notFound, err := v.Smoke()
		if wrong > 9 {
			if err == nil || !strings.Contains(err.Error(), `is not found by its name "Zyxwvutsrq"`) {
				t.Errorf("%d wrong names: %v", wrong, err)
			}
			continue
		}
		if err != nil || len(notFound) != wrong {
			t.Errorf("%d wrong names: %d not found, %v", wrong, len(notFound), err)
		}
		for i, card := range notFound {
			id := v.Catalog.Cards.ID.At(3 * i)
			if want := fmt.Sprintf("card %q is not found by its name \"Zyxwvutsrq\"", id); card != want {
				t.Errorf("%s, want %s", card, want)
			}
		}
	}
}

// TestSmokeMovers lets the movers name a card that wire encodes differently.
func TestSmokeMovers(t *testing.T) {
	v := smokeView(t)
	if len(v.Catalog.Movers.Up) == 0 {
		t.Fatal("no movers")
	}

	if _, err := v.Smoke(); err != nil {
		t.Fatal(err)
	}

	n := 0
	sampleRows(10, 3, func(int) { n++ })

	if n != 3 {
		t.Errorf("a spread of 3 has %d", n)
	}

	for _, n := range []int{0, 1, 2, 63, 64, 65, 40_000} {
		var got []int
		sampleRows(n, 64, func(k int) { got = append(got, k) })
		if len(got) != min(n, 64) || n > 0 && (got[0] != 0 || got[len(got)-1] != n-1) {
			t.Errorf("a spread over %d is %v", n, got)
		}
	}
}
