package cardvocab

import "testing"

func TestTraitsOf(t *testing.T) {
	f := func(want Traits, words ...string) {
		t.Helper()
		if got := TraitsOf(words); got != want {
			t.Errorf("%q say %b, want %b", words, got, want)
		}
	}

	f(SpecialIllustration, "special", "illustration", "rare")
	f(Illustration, "illustration", "rare")
	f(Holo, "rare", "holo")
	f(Holo, "rare", "holo", "vmax")
	f(First|Holo, "1st", "edition", "holofoil")
	f(AltArt|Secret, "alternate", "art", "secret")
	f(0, "charizard", "ex")

	f(SuperRare, "sr")
	f(Secret, "sec")
	f(AltArt|FullArt, "alternate", "full", "art")
	f(AltArt, "alternate", "art")
	f(Parallel, "parallel")
	f(0, "l")
}

func TestRarityTraits(t *testing.T) {
	for rarity, want := range map[string]Traits{
		"l": Leader, "c": Common, "uc": Uncommon, "r": AnyRare, "sr": SuperRare, "sec": Secret, "pr": Promo,
		"tr": Treasure,
	} {
		if got := RarityTraits([]string{rarity}); got != want {
			t.Errorf("%q says %b, want %b", rarity, got, want)
		}
	}

	if got := RarityTraits([]string{"rare", "c"}); got != AnyRare {
		t.Errorf("a code beside another word says %b", got)
	}
}

func TestSameFinish(t *testing.T) {
	f := func(a, b string, want bool) {
		t.Helper()
		if SameFinish(a, b) != want || SameFinish(b, a) != want {
			t.Errorf("%q and %q: want %t", a, b, want)
		}
	}

	f("holofoil", "Holo", true)
	f("holofoil", "Foil", true)
	f("reverse_holofoil", "rev holo", true)
	f("reverse_holofoil", "Reverse Holo", true)
	f("1st_edition_holofoil", "1st Edition Holo", true)
	f("1st_edition", "first edition", true)
	f("normal", "non-holo", true)
	f("normal", "regular", true)
	f("unlimited_holofoil", "Unlimited Holo", true)
	f("holofoil", "reverse_holofoil", false)
	f("1st_edition", "1st_edition_holofoil", false)
	f("holofoil", "shadowless holofoil", false)
	f("holofoil", "special", false)
	f("cosmos_holo", "holo", false)
	f("", "", false)
}

func TestCondition(t *testing.T) {
	for written, want := range map[string]string{
		"NM": "near_mint", "NearMint": "near_mint", "Near Mint": "near_mint", "nm-m": "near_mint", "MT": "near_mint",
		"near_mint": "near_mint", "LP": "lightly_played", "EX": "lightly_played", "Excellent": "lightly_played",
		"GD": "moderately_played", "mp": "moderately_played", "PL": "heavily_played", "HP": "heavily_played",
		"DMG": "damaged", "Poor": "damaged", "raw": "ungraded", "Ungraded": "ungraded",
	} {
		if got, ok := Condition(written); !ok || got != want {
			t.Errorf("%q is %q, %t; want %q", written, got, ok, want)
		}
	}

	for _, written := range []string{"", "holo", "psa 10", "new"} {
		if got, ok := Condition(written); ok {
			t.Errorf("%q is %q", written, got)
		}
	}
}
