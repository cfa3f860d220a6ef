package collector

import (
	"slices"
	"strings"
)

// Traits are what people say of a printing beside its name: its rarity, its finish, its edition.
// One vocabulary serves search, valuations and filters (docs/SEARCH.md, Preferences).
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

// A Wish is what words ask for: cards that have one of the traits, and where none has, those that
// have one that comes near.
type Wish struct{ Have, Near Traits }

// LongestWish is how many words a wish has at most.
const LongestWish = 4

// FindWish returns what folded words wish for: "fullart", "1stedition", "sir".
func FindWish(folded []byte) (Wish, bool) {
	w, ok := wishes[string(folded)]
	return w, ok
}

// Wishes are all phrases that wish for something, their words divided by spaces.
func Wishes() map[string]Wish { return wishesOf(wishTable) }

func wishesOf(table []phrases) map[string]Wish {
	all := map[string]Wish{}
	for _, p := range table {
		for phrase := range strings.SplitSeq(p.words, ",") {
			all[strings.TrimSpace(phrase)] = p.Wish
		}
	}
	return all
}

// RarityTraits returns the traits that a rarity says, its words folded. A code of one letter says
// something only there: who types "l" beside a name means no Leader.
func RarityTraits(words []string) Traits {
	if len(words) == 1 {
		if code, ok := rarityCodes[words[0]]; ok {
			return code
		}
	}
	return TraitsOf(words)
}

// rarityCodes are what feeds of One Piece write for a rarity and nobody types beside a name.
var rarityCodes = map[string]Traits{"l": Leader, "c": Common, "r": AnyRare, "pr": Promo}

// TraitsOf returns the traits that some words say; words are folded, one each.
func TraitsOf(words []string) (all Traits) {
	var buf [64]byte
	for i := 0; i < len(words); {
		// The longest run of words that says something: "special illustration rare" is no "rare".
		n := 1
		var found Traits
		key := buf[:0]
		for k := i; k < min(i+LongestWish, len(words)); k++ {
			key = append(key, words[k]...)
			if said, ok := sayings[string(key)]; ok {
				found = said
				n = k + 1 - i
			}
		}

		all |= found
		i += n
	}

	return all
}

// wishTable has rarities, finishes and editions as people and catalogs write them. Where a phrase
// wishes for one thing and says another of a card, wishTable has the wish and sayTable what it says.
var wishTable = []phrases{
	{
		Wish{SpecialIllustration, Illustration | FullArt | AltArt},
		"sir, sar, special illustration rare, special illustration, special art rare, special art",
	},
	{Wish{Illustration, SpecialIllustration}, "ir, ar, illustration rare, art rare, illustration, illus rare"},
	{Wish{Hyper, MegaHyper | Secret | Rainbow | Gold}, "hr, hyper rare, hyper"},
	{Wish{MegaHyper, Hyper | Gold}, "mhr, mega hyper rare, mega hyper"},
	{Wish{Ultra, FullArt | Secret}, "ur, ultra rare, rare ultra"},
	{Wish{Secret, Hyper | Rainbow | Gold | SuperRare}, "secret rare, rare secret, secret, sec, scr"},
	{Wish{SuperRare, Secret}, "sr, super rare"},
	{Wish{Rainbow, Hyper | Secret}, "rainbow rare, rare rainbow, rainbow, rr rainbow"},
	{Wish{Gold | Hyper | MegaHyper, Secret}, "gold, golden, gold rare, gold secret rare, gold secret, gold card"},
	{Wish{FullArt, Ultra | AltArt | Illustration}, "fa, full art, fullart rare, full art rare"},
	{Wish{AltArt, FullArt | SpecialIllustration | Secret}, altFullArt},
	// One Piece calls its alternate arts parallels in some sets.
	{Wish{AltArt | Parallel, SpecialIllustration | Special | Secret | FullArt}, altArt},
	{Wish{AltArt | Secret, SpecialIllustration | FullArt}, "alternate art secret, alt art secret"},
	{Wish{Manga, Secret | AltArt}, "manga, manga rare, manga art"},
	{Wish{Special, SpecialIllustration | AltArt}, "sp, special, special rare, special card, sp card"},
	{Wish{Treasure, 0}, "treasure rare, tr"},
	{Wish{Leader, 0}, "leader, leader card, leader rare"},
	{Wish{Double, 0}, "double rare, dr rare"},
	{Wish{Shiny, 0}, "shiny, shiny rare, shiny holo rare, rare shiny, shiny holo"},
	{Wish{Shiny | Ultra, 0}, "shiny ultra rare"},
	{Wish{Amazing, 0}, "amazing rare"},
	{Wish{Radiant, 0}, "radiant rare"},
	{Wish{AceSpec, 0}, "ace spec, ace spec rare, rare ace"},
	{Wish{Promo, 0}, "promo, promos, promotional, promo card, black star promo"},
	{Wish{AnyRare, Holo | Ultra | Secret}, "rare"},
	{Wish{Uncommon, 0}, "uncommon, uc"},
	{Wish{Common, 0}, "common"},
	{Wish{Holo, Reverse}, "holo, holofoil, holographic, foil, holo rare, rare holo, foiled, hologram"},
	{
		Wish{Reverse, 0},
		"reverse holo, reverse holofoil, reverse foil, reverse, rev holo, rev, rh, reverse holographic, rev foil",
	},
	{Wish{NonHolo, 0}, "non holo, nonholo, non foil, nonfoil, not holo, non holofoil, regular, normal"},
	{Wish{First, 0}, "1st edition, 1st ed, first edition, first ed, 1st, 1sted"},
	{Wish{First | Holo, 0}, "1st edition holofoil, 1st edition holo, 1st ed holo"},
	{Wish{Unlimited, 0}, "unlimited, unlimited edition, unl"},
	{Wish{Unlimited | Holo, 0}, "unlimited holofoil, unlimited holo"},
	{Wish{Shadowless, 0}, "shadowless"},
	{Wish{Parallel, AltArt}, "parallel, parallel rare"},
	{Wish{TagTeam, 0}, "tag team"},
}

const (
	altArt     = "alt, aa, alt art, alternate art, alternative art, alternate, alternative, altart"
	altFullArt = "alternate full art, alt full art, full art alt"
)

// sayTable has what phrases say of a card where that is not what they wish for.
var sayTable = []phrases{
	{Wish{Have: AltArt}, altArt},
	{Wish{Have: AltArt | FullArt}, altFullArt},
}

type phrases struct {
	Wish
	words string // divided by commas
}

// wishes are the phrases of the table, folded.
var wishes = func() map[string]Wish {
	table := map[string]Wish{}
	for phrase, w := range Wishes() {
		table[Fold(phrase)] = w
	}
	return table
}()

// sayings are what the phrases say of a card, folded.
var sayings = func() map[string]Traits {
	table := map[string]Traits{}
	for phrase, w := range wishesOf(slices.Concat(wishTable, sayTable)) {
		table[Fold(phrase)] = w.Have
	}
	return table
}()

// Finishes are the traits that tell variants apart.
const Finishes = Holo | Reverse | NonHolo | First | Unlimited | Shadowless

// SameFinish reports whether two names of variants say the same finish and edition, and nothing
// else: "rev holo" and reverse_holofoil, "1st Edition Holo" and 1st_edition_holofoil.
func SameFinish(a, b string) bool {
	x, known := Finish(a)
	y, also := Finish(b)
	return known && also && x == y
}

// The longest name of a variant that is read, in bytes and in words: the longest that feeds write
// has 24 bytes and 3 words.
const longestFinish, mostFinishWords = 64, 8

// Finish reads the name of a variant as people and catalogs write it; false when a word of it is no
// finish and no edition. It is asked for every lane of a line, so that it allocates nothing.
func Finish(name string) (Traits, bool) {
	if len(name) > longestFinish {
		return 0, false
	}

	// The words without what divides them, and where each one begins.
	var buf [longestFinish]byte
	var begins [mostFinishWords + 1]int
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
			if words == mostFinishWords {
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
		for k := min(LongestWish, words-i); k > 0 && n == 0; k-- {
			if w, ok := wishes[string(letters[begins[i]:begins[i+k]])]; ok && w.Have&^Finishes == 0 {
				all |= w.Have
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
