package source

import (
	"regexp"
	"slices"
	"strings"

	"ninepocket/snapshot"
)

// cutNumber moves the number that TCGplayer puts at the end of many names to the number (decision
// 25): "Shaymin VSTAR - 014/172" with Number "014/172" is "Shaymin VSTAR". Only what trails the
// whole name is cut, so that "Machamp - 59/108 (Prerelease)" stays as the feed has it. The text
// is only taken for a number when it is the card's Number, its part before the slash, or completes
// it ("Leafeon - 11/116" with Number "11"): "Castaway - 2008" and "Seviper - Darkrai Deck" are left
// alone.
func cutNumber(name, number string) (string, string) {
	if number == "" {
		return name, number
	}

	want := looseNumber(number)
	for i := len(name) - 1; i > 0; i-- {
		// A dash with a space on one side parts name and number; one without belongs to a word
		// ("Ho-Oh", "OP01-001").
		if name[i] != '-' || name[i-1] != ' ' && (i+1 == len(name) || name[i+1] != ' ') {
			continue
		}

		// From the end of the name to its beginning: the last dash that parts a number wins.
		text := strings.TrimSpace(name[i+1:])
		head := strings.TrimRight(name[:i], " -")
		got := looseNumber(text)
		switch {
		case head == "":
			return name, number
		case got == want, got != "" && strings.HasPrefix(want, got+"/"):
			return head, number
		case strings.HasPrefix(got, want+"/") && !strings.ContainsAny(text, "([ "):
			return head, text
		}
	}

	return name, number
}

// looseNumber is a number without case, spaces and padding zeros, for comparison: "SV 009/SV122" is
// "sv9/sv122".
func looseNumber(s string) string {
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		c := s[i]
		switch {
		case c == ' ':
			continue
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case c == '0' && (len(out) == 0 || !isDigit(out[len(out)-1])) && i+1 < len(s) && isDigit(s[i+1]):
			continue
		}

		out = append(out, c)
	}

	return string(out)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// setAlias is a set's name without the series that TCGplayer puts before it: "SV09: Journey
// Together" is known as "Journey Together", "XY - Evolutions" as "Evolutions". It is "" when there
// is none.
func setAlias(name string) string {
	at := series.FindStringIndex(name)
	if at == nil {
		return ""
	}
	return name[at[1]:]
}

// series is two to four capitals with up to two digits, as "SWSH09" is, and what parts it from a name.
var series = regexp.MustCompile(`^[A-Z]{2,4}[0-9]{0,2}(: | - )`)

// The words of sealed products (docs/API.md, Product).
const (
	BoosterBundle    = "booster_bundle"
	EliteTrainerBox  = "elite_trainer_box"
	BoosterBox       = "booster_box"
	BoosterCase      = "booster_case"
	BoosterPack      = "booster_pack"
	pokemonCenterBox = "pokemon_center"
)

// PackageTypes and UnitKinds are those that a verified product may have.
var (
	PackageTypes = []string{BoosterBundle, EliteTrainerBox, BoosterBox, BoosterCase}
	UnitKinds    = []string{BoosterPack, BoosterBox}
)

// MaxUnits bounds units_per_package: the column is 32 bits wide, and no package holds a million.
const MaxUnits = 1_000_000

// packageRules are the ends of names that are sure: whole words, with no more than qualifiers in
// brackets after them. So "Code Card - … Elite Trainer Box" (no sealed product at all), "… Elite
// Trainer Box Case", "… Half Booster Box", "… Sleeved Booster Case" and "… Booster Bundle Display"
// are none of them; an operator's mapping may say more.
var packageRules = []struct{ end, kind, unit string }{
	{"booster box case", BoosterCase, BoosterBox},
	{"booster box", BoosterBox, BoosterPack},
	{"booster bundle", BoosterBundle, BoosterPack},
	{"elite trainer box", EliteTrainerBox, BoosterPack},
	{"elite trainer box plus", EliteTrainerBox, BoosterPack},
}

// ambiguousWords are words that make a name mean something else in spite of its end: several
// products in one, a part of one, or a thing with the same name (the bundles of miniature Halloween
// packs).
var ambiguousWords = []string{
	"half", "enhanced", "sleeved", "display", "set of", "costco", "with", "bulk",
	"trick or trade", "code card", "deck",
}

// packageOf reads a sealed product's package type and unit kind from its name, "" when the name
// does not make it sure (decision 27). How many units are in it no feed says.
func packageOf(name string) (kind, unit string) {
	words := plainWords(outsideBrackets(name))
	all := plainWords(name)
	if slices.ContainsFunc(ambiguousWords, func(word string) bool { return strings.Contains(all, " "+word+" ") }) {
		return "", ""
	}
	for _, rule := range packageRules {
		if strings.HasSuffix(words, " "+rule.end+" ") {
			return rule.kind, rule.unit
		}
	}
	return "", ""
}

// editionOf distinguishes Pokémon Center's own edition from the standard one. It is written "… Pokemon
// Center Elite Trainer Box (Exclusive)", "(Pokemon Center)" or "[Pokemon Center]".
func editionOf(name string) string {
	words := plainWords(strings.NewReplacer("é", "e", "É", "e").Replace(name))
	if strings.Contains(words, " pokemon center ") {
		return pokemonCenterBox
	}
	return snapshot.StandardEdition
}

// outsideBrackets is text without what stands in brackets and parentheses.
func outsideBrackets(s string) string {
	out := make([]byte, 0, len(s))
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(', '[':
			depth++
			out = append(out, ' ')
		case ')', ']':
			depth = max(0, depth-1)
		default:
			if depth == 0 {
				out = append(out, s[i])
			}
		}
	}

	return string(out)
}

// plainWords is text in lower case with one space around every word, so that " word " finds whole
// words.
func plainWords(s string) string {
	return " " + strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r < 0x80
	}), " ") + " "
}
