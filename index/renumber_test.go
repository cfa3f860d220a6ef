package index

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
)

// TestBuildAfterIsBuild compares indexes that were made with an earlier one to those that were made
// alone, field by field: prices move, and then one text does.
func TestBuildAfterIsBuild(t *testing.T) {
	for seed := range uint64(2) {
		r := rand.New(rand.NewPCG(seed, 43))
		world := fixture.Random(seed, fixture.Size{Sets: 6, Cards: 300, Sealed: 8, Days: 5})
		world.Cards[7].Name = "Pikachu 999/102" // of another number
		earlier := built(t, nil, catalogOf(world))

		// Shuffled lanes are other prices, finishes and rows.
		next := world.Clone()
		r.Shuffle(len(next.Cards), func(i, k int) {
			next.Cards[i].Lanes, next.Cards[k].Lanes = next.Cards[k].Lanes, next.Cards[i].Lanes // air: a swap
		})
		next.At += 86_400_000
		after := built(t, earlier, catalogOf(next))
		if !sharesTexts(after, earlier) {
			t.Fatal("the texts are not shared")
		}
		sameIndex(t, "prices", after, built(t, nil, catalogOf(next)))
		sameIndex(t, "a chain", built(t, after, catalogOf(world)), earlier)

		for what, change := range map[string]func(w *fixture.World, c *snapshot.Catalog){
			"a name":          func(w *fixture.World, _ *snapshot.Catalog) { w.Cards[3].Name += " ex" },
			"a number":        func(w *fixture.World, _ *snapshot.Catalog) { w.Cards[3].Number = "77/78" },
			"a printing":      func(w *fixture.World, _ *snapshot.Catalog) { w.Cards[3].Printing = "Zebra Art" },
			"a rarity":        func(w *fixture.World, _ *snapshot.Catalog) { w.Cards[3].Rarity = "Zebra Rare" },
			"a set":           func(w *fixture.World, _ *snapshot.Catalog) { w.Cards[3].Set = "" },
			"a product":       func(w *fixture.World, _ *snapshot.Catalog) { w.Cards[3].Product = !w.Cards[3].Product },
			"an id":           func(w *fixture.World, _ *snapshot.Catalog) { w.Cards[3].ID = "card_of_another_day" },
			"a card less":     func(w *fixture.World, _ *snapshot.Catalog) { w.Cards = w.Cards[1:] },
			"a set's name":    func(w *fixture.World, _ *snapshot.Catalog) { w.Sets[1].Name = "Another Set" },
			"a set's alias":   func(w *fixture.World, _ *snapshot.Catalog) { w.Sets[1].Aliases = []string{"zz9"} },
			"a set's release": func(w *fixture.World, _ *snapshot.Catalog) { w.Sets[1].Release += 800 },
			"a set's slug of old": func(w *fixture.World, _ *snapshot.Catalog) {
				w.Former = append(w.Former, fixture.Former{Slug: "151", ID: w.Sets[1].ID}) // MEW in set_codes.txt
			},
			"a sealed tail": func(w *fixture.World, _ *snapshot.Catalog) { w.Sealed[0].Tail = "zzz_another" },
			"a partner":     func(w *fixture.World, _ *snapshot.Catalog) { w.Feeds[0].Partner = "other" },
			"an identifier": func(w *fixture.World, _ *snapshot.Catalog) {
				w.Cards[3].Identifiers = []fixture.Identifier{{Namespace: "tcgplayer", Value: "4711"}}
			},
			"an identifier of a sealed product": func(w *fixture.World, _ *snapshot.Catalog) {
				w.Sealed[0].Identifiers = []fixture.Identifier{{Namespace: "tcgplayer", Value: "4712"}}
			},
			"a game":   func(w *fixture.World, _ *snapshot.Catalog) { w.Games[0].Name = "Another Game" },
			"an alias": func(_ *fixture.World, c *snapshot.Catalog) { addAlias(c, "zzzz", "charizard", -1) },
			"the catalog's order": func(_ *fixture.World, c *snapshot.Catalog) {
				last := uint32(len(c.Cards.Order) - 1)
				for i, place := range c.Cards.Order {
					c.Cards.Order[i] = last - place
				}
			},
			"an alias's words": func(_ *fixture.World, c *snapshot.Catalog) {
				card := c.Aliases.Card[0]
				c.Aliases = snapshot.Aliases{}
				addAlias(c, "that card", "", card)
				addAlias(c, "zard", "pikachu", -1)
			},
			"an alias's card": func(_ *fixture.World, c *snapshot.Catalog) {
				c.Aliases.Card[0] = (c.Aliases.Card[0] + 1) % 9
			},
			"a name elsewhere": func(_ *fixture.World, c *snapshot.Catalog) { addName(c, "Zorua", "de", "Zorua") },
		} {
			changed := next.Clone()
			c := catalogOf(changed)
			change(changed, c)
			if c.Aliases.Phrase.Len() == 2 && c.Names.Name.Len() == 1 && !strings.HasPrefix(what, "an alias") &&
				what != "the catalog's order" {
				c = catalogOf(changed)
			}

			after := built(t, earlier, c)
			if sharesTexts(after, earlier) {
				t.Fatalf("seed %d, %s: the texts are shared", seed, what)
			}
			sameIndex(t, what, after, built(t, nil, c))
		}
	}
}

// catalogOf is a world's catalog with names in other languages and aliases, one of them of a card.
func catalogOf(w *fixture.World) *snapshot.Catalog {
	c := w.Catalog()
	for row := range c.Cards.ID.Len() {
		c.Prior = append(c.Prior, uint32(len(c.Cards.Name.At(row))))
		if c.Cards.ID.At(row) == w.Cards[5%len(w.Cards)].ID {
			addAlias(c, "that card", "", int32(row))
		}
	}
	addAlias(c, "zard", "charizard", -1)
	addName(c, "Charizard", "de", "Glurak")
	return c
}

func addAlias(c *snapshot.Catalog, phrase, replacement string, card int32) {
	c.Aliases.Phrase.Append(phrase)
	c.Aliases.Replacement.Append(replacement)
	c.Aliases.Game = append(c.Aliases.Game, snapshot.AnyGame)
	c.Aliases.Card = append(c.Aliases.Card, card)
}

func addName(c *snapshot.Catalog, english, language, name string) {
	c.Names.English.Append(english)
	c.Names.Language.Append(language)
	c.Names.Name.Append(name)
	c.Names.Game = append(c.Names.Game, snapshot.AnyGame)
}

func built(t *testing.T, earlier *Index, c *snapshot.Catalog) *Index {
	t.Helper()
	ix, err := Build(t.Context(), earlier, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

// sharesTexts reports whether two indexes have one lexicon and one list of names.
func sharesTexts(a, b *Index) bool {
	lexicon := func(ix *Index) uintptr { return reflect.ValueOf(ix.words).Elem().FieldByName("lexicon").Pointer() }
	return lexicon(a) == lexicon(b) && a.names.keys == b.names.keys
}

// sameIndex compares two indexes of one catalog. It passes over functions, and over what a seed orders.
func sameIndex(t *testing.T, what string, got, want *Index) {
	t.Helper()
	if path := difference(reflect.ValueOf(got), reflect.ValueOf(want), map[uintptr]bool{}); path != "" {
		t.Fatalf("%s: the indexes differ in %s", what, path)
	}
}

// seeded are the fields that depend on a random seed, or on earlier searches. near is of bleve.
var seeded = []string{"seed", "slots", "scratch", "cache", "near", "key"}

// difference returns the place of the first difference, "" if there is none.
func difference(a, b reflect.Value, seen map[uintptr]bool) string {
	if a.Kind() != b.Kind() {
		return a.Kind().String()
	}

	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() || seen[a.Pointer()] {
			if a.IsNil() != b.IsNil() {
				return " (nil)"
			}
			return ""
		}
		seen[a.Pointer()] = true
		return difference(a.Elem(), b.Elem(), seen)

	case reflect.Struct:
		for i := range a.NumField() {
			name := a.Type().Field(i).Name
			if slices.Contains(seeded, name) {
				continue
			}
			if path := difference(a.Field(i), b.Field(i), seen); path != "" {
				return "." + name + path
			}
		}

	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return fmt.Sprintf(" (length %d, not %d)", a.Len(), b.Len())
		}
		for i := range a.Len() {
			if path := difference(a.Index(i), b.Index(i), seen); path != "" {
				return fmt.Sprintf("[%d]%s", i, path)
			}
		}

	case reflect.Map:
		if a.Len() != b.Len() {
			return fmt.Sprintf(" (%d keys, not %d)", a.Len(), b.Len())
		}
		for _, key := range a.MapKeys() {
			// A key that is a pointer is one of the program's tables.
			if !b.MapIndex(key).IsValid() {
				return fmt.Sprintf("[%v] (missing)", key)
			}
			if path := difference(a.MapIndex(key), b.MapIndex(key), seen); path != "" {
				return fmt.Sprintf("[%v]%s", key, path)
			}
		}

	default:
		if !a.Equal(b) {
			return fmt.Sprintf(" (%v, not %v)", a, b)
		}
	}
	return ""
}
