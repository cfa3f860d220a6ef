package loader

import (
	"fmt"
	"strings"
	"testing"

	"ninepocket/snapshot"
)

func TestSetSlugsNameTheGame(t *testing.T) {
	f := newFake("shop").set("a", "Promos").set("b", "Promos").set("c", "Base").set("d", "★")
	f.sets[1].Game = "one-piece"
	f.card("1", "a", "Abra", "1")
	c := one(t, Options{SnapshotAt: atDay(today)}, f).Catalog
	got := map[string]string{}
	for i := range c.Sets.ID.Len() {
		got[c.Sets.Slug.At(i)] = c.Games.Slug.At(int(c.Sets.Game[i]))
	}

	for slug, game := range map[string]string{
		"promos-pokemon": "pokemon", "promos-one-piece": "one-piece",
		"base": "pokemon", "star": "pokemon",
	} {
		if got[slug] != game {
			t.Errorf("sets have slugs %v, want %q", got, slug)
		}
	}
}

// TestRenames renames a card, its set and a number: ids stay, former slugs lead on, and nobody else
// gets them.
func TestRenames(t *testing.T) {
	build := func(base *snapshot.Catalog, set, name, number string, more ...string) *snapshot.Catalog {
		f := newFake("shop").set("s", set).card("1", "s", name, number).card("2", "", "Mew", "151")
		mapping := ""
		if len(more) == 0 {
			// The second card left by an operator's word.
			mapping = t.TempDir()
			writeFile(t, mapping, removedFile, "kind,namespace,ref,reason\ncard,shop,more0,sold\n")
		}
		for i, name := range more {
			f.card(fmt.Sprint("more", i), "s", name, number)
		}
		return one(t, Options{Base: base, SnapshotAt: atDay(today), Mapping: mapping}, f).Catalog
	}

	leads := func(c *snapshot.Catalog, slug string) string {
		var to []string
		for i := range c.Registry.Slug.Len() {
			if c.Registry.Slug.At(i) == slug {
				to = append(to, c.Registry.SlugID.At(i))
			}
		}
		return strings.Join(to, " ")
	}

	slugOf := func(c *snapshot.Catalog, ref string) string { return c.Cards.Slug.At(cardRow(c, "shop", ref)) }
	id := cardPrefix + tailOf("shop\x001")
	first := build(nil, "Base", "Abra", "1")
	same := build(first, "BASE!", "Ábra", "#1")
	if slugOf(same, "1") != "base-abra-1" || same.Registry.Slug.Len() != 0 {
		t.Errorf("a change of spelling made slug %q", slugOf(same, "1"))
	}

	second := build(first, "Base", "Kadabra", "1", "Abra")
	third := build(second, "Base Set", "Kadabra", "1")
	fourth := build(third, "Base", "Abra", "1")
	for i, c := range []*snapshot.Catalog{first, second, third, fourth} {
		if idOf(c, "shop", "1", cardPrefix) != id || c.Cards.ID.At(cardRow(c, "shop", "1")) != id {
			t.Errorf("build %d changed the id", i)
		}
		want := []string{"base-abra-1", "base-kadabra-1", "base-set-kadabra-1", "base-abra-1"}[i]
		if slugOf(c, "1") != want {
			t.Errorf("build %d gives slug %q, want %q", i, slugOf(c, "1"), want)
		}
	}

	if got := leads(second, "base-abra-1"); got != id {
		t.Errorf("the former slug leads to %q", got)
	}

	if got := slugOf(second, "more0"); !strings.HasPrefix(got, "base-abra-1-") {
		t.Errorf("another card got slug %q", got)
	}

	for _, slug := range []string{"base-kadabra-1", "base-set-kadabra-1"} {
		if got := leads(fourth, slug); got != id {
			t.Errorf("former slug %q leads to %q", slug, got)
		}
	}

	if got := leads(fourth, "base-abra-1"); got != "" {
		t.Errorf("the current slug is also a former one of %q", got)
	}

	if got := leads(fourth, "base-set"); got != setPrefix+tailOf("shop\x00s") {
		t.Errorf("the former slug of the set leads to %q", got)
	}

	// The card that left keeps its reference and its slug.
	if got := leads(fourth, slugOf(second, "more0")); got != idOf(fourth, "shop", "more0", cardPrefix) || got == "" {
		t.Errorf("the slug of a card that left leads to %q", got)
	}
}
