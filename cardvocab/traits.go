package cardvocab

import (
	"slices"
	"strings"
)

// Traits is a bit set of a printing's rarity, finish and edition. One vocabulary serves search,
// valuations and filters (docs/dev/SEARCH.md, Preferences).
type Traits uint32

// The traits.
const (
	SpecialIllustration Traits = 1 << iota
	Illustration
	Ultra
	Hyper
	MegaHyper
	Secret
	SuperRare
	Rainbow
	Gold
	FullArt
	AltArt
	Manga
	Special // One Piece's "SP"
	Treasure
	Leader
	Double
	Shiny
	Radiant
	Amazing
	AceSpec
	Promo
	AnyRare
	Uncommon
	Common
	Holo
	Reverse
	NonHolo
	First
	Unlimited
	Shadowless
	Parallel
	TagTeam // several names on one card
)

// A Preference is a preferred trait: exact matches come first, near ones count if no card matches
// exactly.
type Preference struct{ Exact, Near Traits }

// MaxPreferenceWords is the maximum number of words of a preference.
const MaxPreferenceWords = 4

// FindPreference returns the preference that folded words express: "fullart", "1stedition", "sir".
func FindPreference(folded []byte) (Preference, bool) {
	w, ok := foldedPreferences[string(folded)]
	return w, ok
}

// Preferences returns all phrases that express a preference, their words separated by spaces.
func Preferences() map[string]Preference { return preferencesBy(strings.TrimSpace, preferenceTable) }

// preferencesBy returns the preferences of the phrases in a table, by the key of each phrase.
func preferencesBy(key func(phrase string) string, table []phrases) map[string]Preference {
	all := map[string]Preference{}
	for _, p := range table {
		for phrase := range strings.SplitSeq(p.words, ",") {
			all[key(phrase)] = p.Preference
		}
	}
	return all
}

// RarityTraits returns the traits of a rarity, given as folded words. One-letter codes count only
// here: "l" next to a name does not mean Leader.
func RarityTraits(words []string) Traits {
	if len(words) == 1 {
		if code, ok := rarityCodes[words[0]]; ok {
			return code
		}
	}
	return TraitsOf(words)
}

// rarityCodes are the codes of One Piece rarities in feeds, which nobody types next to a name.
var rarityCodes = map[string]Traits{"l": Leader, "c": Common, "r": AnyRare, "pr": Promo}

// TraitsOf returns the traits that folded words state.
func TraitsOf(words []string) (all Traits) {
	var buf [64]byte
	for i := 0; i < len(words); {
		// The longest phrase counts: "special illustration rare" is no "rare".
		n := 1
		var found Traits
		key := buf[:0]
		for k := i; k < min(i+MaxPreferenceWords, len(words)); k++ {
			key = append(key, words[k]...)
			if stated, ok := statedPreferences[string(key)]; ok {
				found = stated.Exact
				n = k + 1 - i
			}
		}

		all |= found
		i += n
	}

	return all
}

// preferenceTable has rarities, finishes and editions as people and catalogs write them. If a
// phrase prefers one thing but states another of a card, preferenceTable has the preference and
// statedTable the statement.
var preferenceTable = []phrases{
	{
		Preference{SpecialIllustration, Illustration | FullArt | AltArt},
		"sir, sar, special illustration rare, special illustration, special art rare, special art",
	},
	{Preference{Illustration, SpecialIllustration}, "ir, ar, illustration rare, art rare, illustration, illus rare"},
	{Preference{Hyper, MegaHyper | Secret | Rainbow | Gold}, "hr, hyper rare, hyper"},
	{Preference{MegaHyper, Hyper | Gold}, "mhr, mega hyper rare, mega hyper"},
	{Preference{Ultra, FullArt | Secret}, "ur, ultra rare, rare ultra"},
	{Preference{Secret, Hyper | Rainbow | Gold | SuperRare}, "secret rare, rare secret, secret, sec, scr"},
	{Preference{SuperRare, Secret}, "sr, super rare"},
	{Preference{Rainbow, Hyper | Secret}, "rainbow rare, rare rainbow, rainbow, rr rainbow"},
	{Preference{Gold | Hyper | MegaHyper, Secret}, "gold, golden, gold rare, gold secret rare, gold secret, gold card"},
	{Preference{FullArt, Ultra | AltArt | Illustration}, "fa, full art, fullart rare, full art rare"},
	{Preference{AltArt, FullArt | SpecialIllustration | Secret}, altFullArt},
	// One Piece calls its alternate arts parallels in some sets.
	{Preference{AltArt | Parallel, SpecialIllustration | Special | Secret | FullArt}, altArt},
	{Preference{AltArt | Secret, SpecialIllustration | FullArt}, "alternate art secret, alt art secret"},
	{Preference{Manga, Secret | AltArt}, "manga, manga rare, manga art"},
	{Preference{Special, SpecialIllustration | AltArt}, "sp, special, special rare, special card, sp card"},
	{Preference{Treasure, 0}, "treasure rare, tr"},
	{Preference{Leader, 0}, "leader, leader card, leader rare"},
	{Preference{Double, 0}, "double rare, dr rare"},
	{Preference{Shiny, 0}, "shiny, shiny rare, shiny holo rare, rare shiny, shiny holo"},
	{Preference{Shiny | Ultra, 0}, "shiny ultra rare"},
	{Preference{Amazing, 0}, "amazing rare"},
	{Preference{Radiant, 0}, "radiant rare"},
	{Preference{AceSpec, 0}, "ace spec, ace spec rare, rare ace"},
	{Preference{Promo, 0}, "promo, promos, promotional, promo card, black star promo"},
	{Preference{AnyRare, Holo | Ultra | Secret}, "rare"},
	{Preference{Uncommon, 0}, "uncommon, uc"},
	{Preference{Common, 0}, "common"},
	{Preference{Holo, Reverse}, "holo, holofoil, holographic, foil, holo rare, rare holo, foiled, hologram"},
	{
		Preference{Reverse, 0},
		"reverse holo, reverse holofoil, reverse foil, reverse, rev holo, rev, rh, reverse holographic, rev foil",
	},
	{Preference{NonHolo, 0}, "non holo, nonholo, non foil, nonfoil, not holo, non holofoil, regular, normal"},
	{
		Preference{First, 0},
		"1st edition, 1st ed, first edition, first ed, 1st, 1sted, edition 1, 1re edition, 1ere edition, 1 edition",
	},
	{Preference{First | Holo, 0}, "1st edition holofoil, 1st edition holo, 1st ed holo"},
	{Preference{Unlimited, 0}, "unlimited, unlimited edition, unl"},
	{Preference{Unlimited | Holo, 0}, "unlimited holofoil, unlimited holo"},
	{Preference{Shadowless, 0}, "shadowless"},
	{Preference{Parallel, AltArt}, "parallel, parallel rare"},
	{Preference{TagTeam, 0}, "tag team"},
}

const (
	altArt     = "alt, aa, alt art, alternate art, alternative art, alternate, alternative, altart"
	altFullArt = "alternate full art, alt full art, full art alt"
)

// statedTable has the traits that phrases state of a card if these differ from their preference.
var statedTable = []phrases{
	{Preference{Exact: AltArt}, altArt},
	{Preference{Exact: AltArt | FullArt}, altFullArt},
}

type phrases struct {
	Preference
	words string // separated by commas
}

// foldedPreferences are the preferences by folded phrase. The exact traits of statedPreferences are
// those that a phrase states of a card.
var (
	foldedPreferences = preferencesBy(Fold, preferenceTable)
	statedPreferences = preferencesBy(Fold, slices.Concat(preferenceTable, statedTable))
)

// Finishes are the traits that distinguish variants.
const Finishes = Holo | Reverse | NonHolo | First | Unlimited | Shadowless

// SameFinish reports whether two names of variants have the same finish and edition, and nothing
// else: "rev holo" and reverse_holofoil, "1st Edition Holo" and 1st_edition_holofoil.
func SameFinish(a, b string) bool {
	x, known := Finish(a)
	y, also := Finish(b)
	return known && also && x == y
}

// The longest name of a variant that is read, in bytes and in words. The longest in the feeds has
// 24 bytes and 3 words.
const maxFinishLen, maxFinishWords = 64, 8

// Finish reads the name of a variant in people's or catalogs' words; false if a word is neither
// finish nor edition. Valuations call it for every lane of a line, so it does not allocate.
func Finish(name string) (Traits, bool) {
	if len(name) > maxFinishLen {
		return 0, false
	}

	// The words without separators, and where each one begins.
	var buf [maxFinishLen]byte
	var begins [maxFinishWords + 1]int
	letters := buf[:0]
	words := 0
	inWord := false
	for i := range len(name) {
		b := name[i]
		if b == ' ' || b == '-' || b == '_' {
			inWord = false
			continue
		}

		if !inWord {
			if words == maxFinishWords {
				return 0, false
			}
			begins[words] = len(letters)
			words++
			inWord = true
		}
		letters = append(letters, Lower(b))
	}
	begins[words] = len(letters)

	var all Traits
	for i := 0; i < words; {
		n := 0
		for k := min(MaxPreferenceWords, words-i); k > 0 && n == 0; k-- {
			if w, ok := foldedPreferences[string(letters[begins[i]:begins[i+k]])]; ok && w.Exact&^Finishes == 0 {
				all |= w.Exact
				n = k
			}
		}
		if n == 0 {
			return 0, false
		}
		i += n
	}

	return all, all != 0
}
