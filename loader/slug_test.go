package loader

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ninepocket/snapshot"
)

func TestSlugify(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := slugify(in); got != want {
			t.Errorf("slugify(%q) = %q, want %q", in, got, want)
		}
	}

	f("Pokémon 151 Charizard ex 4/102", "pokemon-151-charizard-ex-4-102")
	f("Nidoran♀", "nidoran-female")
	f("Team Rocket's  Meowth", "team-rockets-meowth")
	f("Scarlet & Violet", "scarlet-and-violet")
	f("Flabébé δ ★", "flabebe-delta-star")
	f("Straße — Ø", "strasse-o")
	f("リザードン", "")
	f("--a--", "a")
	f(strings.Repeat("ab ", 100), strings.TrimRight(strings.Repeat("ab-", 50), "-"))
}

func want(tail, prior string, stems ...string) slugWant {
	return slugWant{id: cardPrefix + tail, tail: tail, prior: prior, stems: stems}
}

func TestSlugsAreUniqueAndStable(t *testing.T) {
	wants := []slugWant{
		want("aaaaaaaaaaaaaaaa", "", "base-abra-1"),
		want("bbbbbbbbbbbbbbbb", "", "base-abra-2"),
		want("cccccccccccccccc", "", "base-abra-2"),
		want("dddddddddddddddd", "base-kadabra-3", "base-kadabra-3"),
		want("eeeeeeeeeeeeeeee", "", "base-kadabra-3"),           // came later
		want("ffffffffffffffff", "base-old-4", "base-new-4"),     // renamed
		want("gggggggggggggggg", "", "base-old-4"),               // wants a former slug
		want("hhhhhhhhhhhhhhhh", "base-x-hhhhhh", "base-x"),      // keeps its tail
		want("iiiiiiiiiiiiiiii", "", "base-left"),                // a slug of an item that left
		want("jjjjjjjjjjjjjjjj", "base-abra-9", "base-returned"), // back to its own former slug
	}

	former := map[string]string{
		"base-old-4": "card_ffffffffffffffff", "base-left": "card_zzzzzzzzzzzzzzzz",
		"base-returned": "card_jjjjjjjjjjjjjjjj",
	}

	wantSlugs := []string{
		"base-abra-1", "base-abra-2-bbbbbb", "base-abra-2-cccccc", "base-kadabra-3", "base-kadabra-3-eeeeee",
		"base-new-4",
		"base-old-4-gggggg", "base-x-hhhhhh", "base-left-iiiiii", "base-returned",
	}

	for i, slug := range assignSlugs(wants, former) {
		if slug != wantSlugs[i] {
			t.Errorf("item %d gets slug %q, want %q", i, slug, wantSlugs[i])
		}
	}
}

func TestSlugsOfHostileNames(t *testing.T) {
	wants := []slugWant{
		want("aaaaaaaaaaaaaaaa", "", "x"), want("aaaaaabbbbbbbbbb", "", "x"), // equal short tails
		want("cccccccccccccccc", "", "x-aaaaaaaaaaaaaaaa"), // looks like the long tail of the first
	}
	got := assignSlugs(wants, nil)
	if got[0] != "x-aaaaaaaaaaaaaaaa-2" || got[1] != "x-aaaaaabbbbbbbbbb" || got[2] != "x-aaaaaaaaaaaaaaaa" {
		t.Errorf("slugs are %q", got)
	}

	// The API has a path of this name, new or not.
	for _, prior := range []string{"", "batch"} {
		named := assignSlugs([]slugWant{want("aaaaaaaaaaaaaaaa", prior, "batch")}, nil)
		if named[0] != "batch-aaaaaa" {
			t.Errorf("a card named Batch gets slug %q", named[0])
		}
	}

	again := assignSlugs([]slugWant{want("aaaaaaaaaaaaaaaa", got[0], "x")}, nil)
	if again[0] != got[0] {
		t.Errorf("the slug with a counter became %q", again[0])
	}
}

func TestSlugsDoNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		wants := make([]slugWant, n)
		former := map[string]string{}
		for i := range wants {
			tail := tailOf(strconv.Itoa(i))
			stem := rapid.SampledFrom([]string{"a", "b", "a-b", "c", "a-" + tailOf("1")[:6]}).Draw(t, "stem")
			wants[i] = want(tail, "", stem)
			if rapid.Bool().Draw(t, "formerly") {
				former[stem] = wants[i].id
			}
		}

		first := assignSlugs(wants, former)
		byID := map[string]string{}
		seen := map[string]bool{}
		for i, w := range wants {
			if seen[first[i]] || first[i] == "" {
				t.Fatalf("slug %q is issued twice", first[i])
			}
			if owner, was := former[first[i]]; was && owner != w.id {
				t.Fatalf("slug %q led to %q and is given to %q", first[i], owner, w.id)
			}
			seen[first[i]] = true
			byID[w.id] = first[i]
		}

		seed := rapid.Uint64().Draw(t, "seed")
		rand.New(rand.NewPCG(seed, 1)).Shuffle(n, func(i, j int) { wants[i], wants[j] = wants[j], wants[i] }) // air: a swap
		for i, slug := range assignSlugs(wants, former) {
			if byID[wants[i].id] != slug {
				t.Fatalf("item %q gets slug %q in one order and %q in another", wants[i].id, byID[wants[i].id], slug)
			}
			wants[i].prior = slug
		}

		for i, slug := range assignSlugs(wants[:n/2], former) {
			if slug != wants[i].prior {
				t.Fatalf("slug %q became %q although nothing changed", wants[i].prior, slug)
			}
		}
	})
}

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
		for i, name := range more {
			f.card(fmt.Sprint("more", i), "s", name, number)
		}
		return one(t, Options{Base: base, SnapshotAt: atDay(today)}, f).Catalog
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
