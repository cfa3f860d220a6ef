package loader

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// TestUsualUnits checks the rules against products that a person looked up; 0 means that looking is
// necessary.
func TestUsualUnits(t *testing.T) {
	const (
		center  = "pokemon_center"
		box     = source.BoosterBox
		boxes   = source.BoosterCase
		bundle  = source.BoosterBundle
		trainer = source.EliteTrainerBox
	)

	for _, c := range []struct {
		units               int
		game, kind, edition string
		set, name           string
	}{
		{36, "pokemon", box, "standard", "Base Set", "Base Set Booster Box [Revised Unlimited Edition]"},
		{36, "pokemon", box, "standard", "SV08: Surging Sparks", "Surging Sparks Booster Box"},
		{6, "pokemon", boxes, "standard", "SWSH07: Evolving Skies", "Evolving Skies Booster Box Case"},
		{6, "pokemon", bundle, "standard", "SV: Scarlet & Violet 151", "151 Booster Bundle"},
		{0, "pokemon", bundle, "standard", "ME: 30th Celebration", "30th Celebration Booster Bundle"},
		{8, "pokemon", trainer, "standard", "XY Base Set", "XY Elite Trainer Box [Xerneas]"},
		{8, "pokemon", trainer, "standard", "SWSH07: Evolving Skies", "Evolving Skies Elite Trainer Box"},
		{10, "pokemon", trainer, center, "SWSH07: Evolving Skies", "Evolving Skies Pokemon Center (Exclusive)"},
		{10, "pokemon", trainer, "standard", "SWSH: Crown Zenith", "Crown Zenith Elite Trainer Box"},
		{0, "pokemon", trainer, center, "SWSH: Crown Zenith", "Pokemon Center Elite Trainer Box Plus"},
		{0, "pokemon", trainer, "standard", "Celebrations", "Celebrations Elite Trainer Box"},
		{0, "pokemon", trainer, center, "SM - Team Up", "Team Up Pokemon Center Elite Trainer Box"},
		{9, "pokemon", trainer, "standard", "SV: Paldean Fates", "Paldean Fates Elite Trainer Box"},
		{11, "pokemon", trainer, center, "SV: Paldean Fates", "Pokemon Center Elite Trainer Box (Exclusive)"},
		{0, "pokemon", trainer, "standard", "SV: Prismatic Evolutions", "Box (Dollar General Exclusive)"},
		{9, "pokemon", trainer, "standard", "ME02: Phantasmal Flames", "Phantasmal Flames Elite Trainer Box"},
		{24, "one-piece", box, "standard", "Romance Dawn", "Romance Dawn - Booster Box (Wave 1 - Blue)"},
		{20, "one-piece", box, "standard", "Premium Booster -The Best-", "Premium Booster - Booster Box"},
		{12, "one-piece", boxes, "standard", "Romance Dawn", "Romance Dawn - Booster Box Case"},
		{0, "one-piece", boxes, "standard", "Premium Booster -The Best-", "Premium Booster - Booster Box Case"},
	} {
		units, reason := usualUnits(c.game, c.kind, c.edition, c.set, c.name)
		if units != c.units || reason == "" || (units == 0) != strings.HasPrefix(reason, "look it up") {
			t.Errorf("%s: %d units (%s), want %d", c.name, units, reason, c.units)
		}
	}
}

// TestSuggestAliases proposes the set with common cards under another name. It proposes none for a
// set without common cards, or with as many in two sets.
func TestSuggestAliases(t *testing.T) {
	shop := fake{feed: source.Feed{Namespace: "tcgcsv", HasCatalog: true}}
	other := fake{feed: source.Feed{Namespace: "pokemon-tcg-data", HasCatalog: true}}
	add := func(to *fake, set, name, cards string, from, until int) {
		to.sets = append(to.sets, source.Set{Ref: set, Game: "pokemon", Name: name, Release: snapshot.NoDay})
		for n := from; n < until; n++ {
			to.cards = append(to.cards, source.Card{
				Ref: fmt.Sprint(set, "-", n), Game: "pokemon", SetRef: set, Name: fmt.Sprint(cards, " ", n),
				Number: fmt.Sprint(n), UpdatedAt: snapshot.NoTime,
			})
		}
	}
	// Five cards of twenty are too few to join, and enough to propose; four are not.
	add(&shop, "1", "Wizards Promos", "Promo", 1, 21)
	add(&other, "basep", "Black Star", "Promo", 16, 40)
	add(&shop, "5", "Academy", "Academy", 1, 21)
	add(&other, "academy", "Battle", "Academy", 17, 41)
	add(&shop, "2", "Gym", "Gym", 1, 21)
	add(&other, "odd", "Something Else", "Nothing", 1, 21)
	add(&shop, "3", "Twin A", "Twin", 1, 21)
	add(&shop, "4", "Twin B", "Twin", 1, 21)
	add(&other, "twin", "Twins", "Twin", 15, 50)
	// Two halves of one.
	add(&shop, "6", "Kit", "Kit", 1, 21)
	add(&other, "kit1", "Kit Latias", "Kit", 1, 11)
	add(&other, "kit2", "Kit Latios", "Kit", 11, 21)

	open := func(kind, _ string, _ source.Options) (source.Source, error) {
		if kind == "a" {
			return &shop, nil
		}
		return &other, nil
	}
	b, err := newBuilder(Options{Sources: []Input{{Kind: "a"}, {Kind: "b"}}}, open)
	if err != nil {
		t.Fatal(err)
	}
	found, err := b.suggest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Aliases) != 1 || found.Unmatched != 5 {
		t.Fatalf("proposed are %+v, apart %d", found.Aliases, found.Unmatched)
	}
	var text bytes.Buffer
	if err := found.WriteAliases(&text); err != nil {
		t.Fatal(err)
	}
	want := "kind,namespace,ref,target_namespace,target_ref,name,set,reason\n" +
		"set,pokemon-tcg-data,basep,tcgcsv,1,Black Star,Wizards Promos,"
	if !strings.HasPrefix(text.String(), want) || !strings.Contains(text.String(), "5 of its 24 cards") {
		t.Errorf("the file is %s", &text)
	}

	// A build accepts the proposal, and joins the sets.
	m := mapping{aliases: map[string]map[string][]string{aliasSet: {}, aliasCard: {}}}
	if err := tableReader(m.aliasRow, aliasesHeader...)(&text); err != nil {
		t.Fatal(err)
	}
	same := m.aliases[aliasSet][fullRef("pokemon-tcg-data", "basep")]
	if len(same) != 1 || same[0] != fullRef("tcgcsv", "1") {
		t.Errorf("the alias leads to %q", same)
	}
}
