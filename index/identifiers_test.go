package index_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ninepocket/cardvocab"
	"ninepocket/index"
	"ninepocket/internal/fixture"
)

// TestIdentifiersNameTheirCards looks up every identifier of every card, and texts that are none.
func TestIdentifiersNameTheirCards(t *testing.T) {
	asked := 0
	for seed := range uint64(6) {
		o := newOracle(t, fixture.Random(seed, size))
		for card := range uint32(len(o.Cards)) {
			c := o.row(card)
			own := fixture.Identifier{Namespace: "ninepocket", Value: c.ID}
			for _, id := range append(slices.Clone(c.Identifiers), own) {
				ref := id.Namespace + ":" + id.Value
				asked++

				var want []uint32
				for other := range uint32(len(o.Cards)) {
					if named(o.row(other), ref) {
						want = append(want, other)
					}
				}
				if got := o.x.ByIdentifier(ref); !slices.Equal(got, want) {
					t.Fatalf("%s names %v, want %v", ref, got, want)
				}

				// People write spaces, and namespaces in other letters.
				written := " " + strings.ToUpper(id.Namespace) + " : " + id.Value + " "
				if got := o.x.CanonicalIdentifier(written); id != own && got != ref {
					t.Fatalf("%q is corrected as %q, want %q", written, got, ref)
				}
				if got := o.x.CanonicalIdentifier(ref); got != ref {
					t.Fatalf("%q is corrected as %q", ref, got)
				}

				at, ok := o.x.Resolve(ref)
				if ok != (len(want) == 1) || ok && at != int(want[0]) {
					t.Fatalf("%s names card %d, %t; %d cards have it", ref, at, ok, len(want))
				}
			}
			if at, ok := o.x.Resolve(c.Slug); !ok || at != int(card) {
				t.Fatalf("%s names card %d, %t", c.Slug, at, ok)
			}
		}

		for _, none := range []string{
			"", ":", "partner", "partner:", "ninepocket:", "ninepocket:card_none", "nobody:1",
		} {
			if got := o.x.ByIdentifier(none); len(got) > 0 {
				t.Errorf("%q names %v", none, got)
			}
		}
	}
	if asked < 500 {
		t.Errorf("only %d identifiers", asked)
	}
}

// TestKnownValues misspells values of the catalog and expects the intended value.
func TestKnownValues(t *testing.T) {
	o := newOracle(t, fixture.Random(3, size))
	for _, c := range []struct {
		kind           index.Kind
		value, nearest string
		known          bool
	}{
		{index.GameKind, "Pokémon", "", true},
		{index.GameKind, "ONE_piece", "", true},
		{index.GameKind, "Pokemn", "pokemon", false},
		{index.GameKind, "magic the gathering", "", false},
		{index.GameKind, "!!", "", false},
		{index.GameKind, "op", "one-piece", false},
		{index.GameKind, "OPTCG", "one-piece", false},
		{index.GameKind, "pkmn", "pokemon", false},
		{index.GameKind, "mtg", "", false},
		{index.GameKind, "tcg", "", false},
		{index.GameKind, "o", "", false},
		{index.NamespaceKind, "nobody-at-all", "", false},
	} {
		if nearest, known := o.x.HasValue(c.kind, c.value); nearest != c.nearest || known != c.known {
			t.Errorf("%q: %q, %t; want %q, %t", c.value, nearest, known, c.nearest, c.known)
		}
	}

	for i := range o.Cards {
		rarity := o.Cards[i].Rarity
		if len(cardvocab.Fold(rarity)) < 6 {
			continue
		}
		if _, known := o.x.HasValue(index.RarityKind, rarity); !known {
			t.Errorf("rarity %q is unknown", rarity)
		}
		nearest, known := o.x.HasValue(index.RarityKind, rarity+"x")
		if known || cardvocab.Fold(nearest) != cardvocab.Fold(rarity) {
			t.Errorf("rarity %qx: %q, %t", rarity, nearest, known)
		}
	}
}

// TestRaritiesInOtherWords expects the equivalent rarity as the nearest, not the rarity with similar
// letters.
func TestRaritiesInOtherWords(t *testing.T) {
	world := fixture.Random(3, size)
	rarities := []string{"Holo Rare", "Special Illustration Rare", "SR", "Uncommon", "C"}
	for i := range world.Cards {
		world.Cards[i].Rarity = rarities[i%len(rarities)]
	}
	o := newOracle(t, world)

	for value, want := range map[string]string{
		"rare holo": "Holo Rare", "SIR": "Special Illustration Rare", "special art rare": "Special Illustration Rare",
		"common": "", "Uncomon": "Uncommon", "uc": "Uncommon", "Hollo Rare": "Holo Rare",
	} {
		if got, known := o.x.HasValue(index.RarityKind, value); known || got != want {
			t.Errorf("nearest to %q is %q, %t; want %q", value, got, known, want)
		}
	}
}

// TestVariantsAsPeopleWriteThem filters by variants in people's words: the filter finds the cards of the
// code, under any of its names, and knows the words.
func TestVariantsAsPeopleWriteThem(t *testing.T) {
	world := fixture.Random(3, size)
	codes := []string{
		"normal", "holofoil", "reverse_holofoil", "1st_edition", "1st_edition_holofoil", "unlimited",
		"unlimited_holofoil", "foil", "galaxy",
	}
	priced := map[string]int{}
	for i := range world.Cards {
		code := codes[i%len(codes)]
		priced[code]++
		world.Cards[i].Lanes = []fixture.Lane{{Variant: code, Cents: 100}}
	}
	o := newOracle(t, world)

	for asked, want := range map[string]int{
		"reverse_holofoil": priced["reverse_holofoil"], "rev holo": priced["reverse_holofoil"],
		"Reverse Holo": priced["reverse_holofoil"], "reverseholofoil": priced["reverse_holofoil"],
		"holo": priced["holofoil"] + priced["foil"], "foil": priced["holofoil"] + priced["foil"],
		"1st ed": priced["1st_edition"], "1st edition holo": priced["1st_edition_holofoil"],
		"unlimited-holo": priced["unlimited_holofoil"], "non holo": priced["normal"],
		"Galaxy": priced["galaxy"], "rev": priced["reverse_holofoil"],
		"gold": 0, " ": 0, "reverse galaxy": 0, "1st": priced["1st_edition"],
	} {
		q := index.Query{Filter: index.NoFilter, Sort: index.PriceDesc}
		q.Variant = asked
		page := o.x.Cards(nil, q, nil, len(world.Cards))
		if len(page.Cards) != want {
			t.Errorf("%q finds %d cards, want %d", asked, len(page.Cards), want)
		}
		if _, known := o.x.HasValue(index.VariantKind, asked); known != (want > 0) {
			t.Errorf("%q is known: %t", asked, known)
		}
	}
}

// BenchmarkResolve finds cards by id and by identifier: the second is to be as fast as the first.
func BenchmarkResolve(b *testing.B) {
	o := newOracle(b, fixture.Random(1, fixture.Size{Sets: 20, Cards: 4000, Days: 1}))
	var ids, identifiers []string
	for i := range o.Cards {
		ids = append(ids, o.Cards[i].ID)
		for _, id := range o.Cards[i].Identifiers {
			identifiers = append(identifiers, id.Namespace+":"+id.Value)
		}
	}

	for name, refs := range map[string][]string{"id": ids, "identifier": identifiers} {
		b.Run(fmt.Sprintf("by=%s", name), func(b *testing.B) {
			b.ReportAllocs()
			found := 0
			for i := range b.N {
				if name == "id" {
					_, ok := o.x.Card(refs[i%len(refs)])
					if ok {
						found++
					}
					continue
				}
				found += min(1, len(o.x.ForBatch(refs[i%len(refs)])))
			}
			if found != b.N {
				b.Errorf("%d of %d were found", found, b.N)
			}
		})
	}
}
