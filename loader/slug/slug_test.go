package slug_test

import (
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ninepocket/loader/slug"
)

// tailOf is the tail of an id, as a build derives one.
func tailOf(of string) string {
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:8])
}

func TestOf(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := slug.Of(in); got != want {
			t.Errorf("slug.Of(%q) = %q, want %q", in, got, want)
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

func want(tail, prior string, stems ...string) slug.Request {
	return slug.Request{ID: "card_" + tail, Tail: tail, Prior: prior, Stems: stems}
}

func TestSlugsAreUniqueAndStable(t *testing.T) {
	wants := []slug.Request{
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

	for i, given := range slug.Assign(wants, former) {
		if given != wantSlugs[i] {
			t.Errorf("item %d gets slug %q, want %q", i, given, wantSlugs[i])
		}
	}
}

func TestSlugsOfHostileNames(t *testing.T) {
	wants := []slug.Request{
		want("aaaaaaaaaaaaaaaa", "", "x"), want("aaaaaabbbbbbbbbb", "", "x"), // equal short tails
		want("cccccccccccccccc", "", "x-aaaaaaaaaaaaaaaa"), // looks like the long tail of the first
	}
	got := slug.Assign(wants, nil)
	if got[0] != "x-aaaaaaaaaaaaaaaa-2" || got[1] != "x-aaaaaabbbbbbbbbb" || got[2] != "x-aaaaaaaaaaaaaaaa" {
		t.Errorf("slugs are %q", got)
	}

	// The API has a path of this name, new or not.
	for _, prior := range []string{"", "batch"} {
		named := slug.Assign([]slug.Request{want("aaaaaaaaaaaaaaaa", prior, "batch")}, nil)
		if named[0] != "batch-aaaaaa" {
			t.Errorf("a card named Batch gets slug %q", named[0])
		}
	}

	again := slug.Assign([]slug.Request{want("aaaaaaaaaaaaaaaa", got[0], "x")}, nil)
	if again[0] != got[0] {
		t.Errorf("the slug with a counter became %q", again[0])
	}
}

func TestSlugsDoNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		wants := make([]slug.Request, n)
		former := map[string]string{}
		for i := range wants {
			tail := tailOf(strconv.Itoa(i))
			stem := rapid.SampledFrom([]string{"a", "b", "a-b", "c", "a-" + tailOf("1")[:6]}).Draw(t, "stem")
			wants[i] = want(tail, "", stem)
			if rapid.Bool().Draw(t, "formerly") {
				former[stem] = wants[i].ID
			}
		}

		first := slug.Assign(wants, former)
		byID := map[string]string{}
		seen := map[string]bool{}
		for i, w := range wants {
			if seen[first[i]] || first[i] == "" {
				t.Fatalf("slug %q is issued twice", first[i])
			}
			if owner, was := former[first[i]]; was && owner != w.ID {
				t.Fatalf("slug %q led to %q and is given to %q", first[i], owner, w.ID)
			}
			seen[first[i]] = true
			byID[w.ID] = first[i]
		}

		seed := rapid.Uint64().Draw(t, "seed")
		rand.New(rand.NewPCG(seed, 1)).Shuffle(n, func(i, j int) { wants[i], wants[j] = wants[j], wants[i] }) // air: a swap
		for i, given := range slug.Assign(wants, former) {
			if byID[wants[i].ID] != given {
				t.Fatalf("item %q gets slug %q in one order and %q in another", wants[i].ID, byID[wants[i].ID], given)
			}
			wants[i].Prior = given
		}

		for i, given := range slug.Assign(wants[:n/2], former) {
			if given != wants[i].Prior {
				t.Fatalf("slug %q became %q although nothing changed", wants[i].Prior, given)
			}
		}
	})
}
