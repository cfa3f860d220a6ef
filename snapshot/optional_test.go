package snapshot_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
)

// withAliases is a catalog with three optional sections.
func withAliases() *snapshot.Catalog {
	c := fixture.Random(3, fixture.Small).Catalog()
	for card := range c.Cards.ID.Len() {
		c.Prior = append(c.Prior, uint32(card*7%5))
	}

	a := &c.Aliases
	a.Phrase.Append("zard")
	a.Replacement.Append("charizard")
	a.Phrase.Append("the best one")
	a.Replacement.Append("")
	a.Game = []uint8{snapshot.AnyGame, 0}
	a.Card = []int32{-1, 2}

	addNames(c, "Alolan", snapshot.AnyGame, "de", "Alola", "ja", "アローラ")
	addNames(c, "Fox", 0, "de", "Fuchs", "fr", "Renard")
	addNames(c, "Fox Cub", 0, "de", "Welpe")
	return c
}

// addNames adds pairs of a language and a name.
func addNames(c *snapshot.Catalog, english string, game uint8, names ...string) {
	for i := 0; i < len(names); i += 2 {
		c.Names.English.Append(english)
		c.Names.Language.Append(names[i])
		c.Names.Name.Append(names[i+1])
		c.Names.Game = append(c.Names.Game, game)
	}
}

// TestNamesOf holds that a card has the other names of the longest part of its name, in its game.
func TestNamesOf(t *testing.T) {
	for name, want := range map[string]string{
		"Fox": "Fuchs Renard", "Dark Fox": "Fuchs Renard", "Fox-GX": "Fuchs Renard", "Alolan Fox Cub": "Welpe",
		"Fox Cubs": "Fuchs Renard", "Foxes": "", "Alolan Owl": "", "": "",
	} {
		c := &snapshot.Catalog{}
		addNames(c, "Alolan", snapshot.AnyGame, "de", "Alola")
		addNames(c, "Fox", 0, "de", "Fuchs", "fr", "Renard")
		addNames(c, "Fox Cub", 0, "de", "Welpe")
		c.Cards.Name.Append(name)
		c.Cards.Name.Append(name)
		c.Cards.Game = []uint8{0, 1}

		var got []string
		for row, til := c.NamesOf(0); row < til; row++ {
			got = append(got, c.Names.Name.At(row))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q is also called %q, want %q", name, got, want)
		}
		if from, til := c.NamesOf(1); from < til {
			t.Errorf("%q of another game has other names", name)
		}
	}
}

// TestOptionalTables: the rows of optional tables are stored and read again, and no others.
func TestOptionalTables(t *testing.T) {
	c := withAliases()
	d := snapshot.OpenStore(t.TempDir())
	m := write(t, d, c)
	var optional []string
	for _, s := range m.Sections {
		if s.Optional {
			optional = append(optional, s.Name)
		}
	}
	if diff := cmp.Diff([]string{"aliases", "fit", "names"}, optional); diff != "" {
		t.Errorf("optional sections (-want +got):\n%s", diff)
	}

	got, err := d.Load(context.Background(), m.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.Prior, got.Prior); diff != "" {
		t.Errorf("fit (-want +got):\n%s", diff)
	}
	for i := range c.Aliases.Phrase.Len() {
		a := &got.Aliases
		if a.Phrase.At(i) != c.Aliases.Phrase.At(i) || a.Replacement.At(i) != c.Aliases.Replacement.At(i) ||
			a.Game[i] != c.Aliases.Game[i] || a.Card[i] != c.Aliases.Card[i] {
			t.Errorf("alias %d is %q, %q, %d, %d", i, a.Phrase.At(i), a.Replacement.At(i), a.Game[i], a.Card[i])
		}
	}

	if got.Names.English.At(2) != "Fox" || got.Names.Language.At(2) != "de" || got.Names.Name.At(2) != "Fuchs" ||
		got.Names.Game[1] != snapshot.AnyGame || len(got.Names.Game) != 5 {
		t.Errorf("names are %+v", got.Names)
	}

	// Without any, a snapshot has the tables of format 3 alone.
	bare := write(t, d, fixture.Random(3, fixture.Small).Catalog())
	if len(bare.Sections) != len(m.Sections)-3 {
		t.Errorf("it has %d sections, with three optional ones %d", len(bare.Sections), len(m.Sections))
	}
}

// TestOptionalTablesAreChecked: references to nothing are refused.
func TestOptionalTablesAreChecked(t *testing.T) {
	if err := withAliases().Validate(); err != nil {
		t.Fatal(err)
	}

	for what, damage := range map[string]func(c *snapshot.Catalog){
		"a game that is none":      func(c *snapshot.Catalog) { c.Aliases.Game[0] = 254 },
		"a card that is none":      func(c *snapshot.Catalog) { c.Aliases.Card[1] = 1 << 20 },
		"a card below none":        func(c *snapshot.Catalog) { c.Aliases.Card[1] = -2 },
		"words and a card":         func(c *snapshot.Catalog) { c.Aliases.Card[0] = 0 },
		"neither words nor card":   func(c *snapshot.Catalog) { c.Aliases.Card[1] = -1 },
		"columns that differ":      func(c *snapshot.Catalog) { c.Aliases.Game = c.Aliases.Game[:1] },
		"names that do not ascend": func(c *snapshot.Catalog) { addNames(c, "Ant", 0, "de", "Ameise") },
		"names of no game":         func(c *snapshot.Catalog) { c.Names.Game[4] = 254 },
		"a name without a game":    func(c *snapshot.Catalog) { c.Names.Game = c.Names.Game[:4] },
		"a fit of too many cards":  func(c *snapshot.Catalog) { c.Prior = append(c.Prior, 1) },
	} {
		c := withAliases()
		damage(c)
		if c.Validate() == nil {
			t.Errorf("%s passes", what)
		}
	}
}
