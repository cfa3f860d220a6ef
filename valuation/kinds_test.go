package valuation_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"ninepocket/internal/fixture"
	"ninepocket/valuation"
)

// kind is one way in which people write a card; make changes the line that the service prints for
// the card.
type kind struct {
	name string
	// other says that the line may have a word that is false for its card: a letter, half of a name.
	other bool
	make  func(s *shop, r *rand.Rand, item *valuation.Item, card int)
}

// kinds are the kinds of lines in lists.
var kinds = []kind{
	{"as printed", false, func(*shop, *rand.Rand, *valuation.Item, int) {}},
	{"no set", false, func(_ *shop, _ *rand.Rand, item *valuation.Item, _ int) { item.Set = "" }},
	{"no number", false, func(_ *shop, _ *rand.Rand, item *valuation.Item, _ int) { item.Number = "" }},
	{"no game", false, func(_ *shop, _ *rand.Rand, item *valuation.Item, _ int) { item.Game = "" }},
	{"name alone", false, func(_ *shop, _ *rand.Rand, item *valuation.Item, _ int) {
		item.Set = ""
		item.Number = ""
	}},
	{"no name", false, func(_ *shop, _ *rand.Rand, item *valuation.Item, _ int) { item.Name = "" }},
	{"no qualifiers", false, func(_ *shop, _ *rand.Rand, item *valuation.Item, _ int) { item.Name = bare(item.Name) }},
	{"no qualifiers, no set", false, func(_ *shop, _ *rand.Rand, item *valuation.Item, _ int) {
		item.Name = bare(item.Name)
		item.Set = ""
	}},
	{"no qualifiers, no number", false, func(_ *shop, _ *rand.Rand, item *valuation.Item, _ int) {
		item.Name = bare(item.Name)
		item.Number = ""
	}},
	{"no brackets", false, func(_ *shop, _ *rand.Rand, item *valuation.Item, _ int) {
		item.Name = strings.NewReplacer("(", "", ")", "", "[", "", "]", "", " - ", " ").Replace(item.Name)
	}},
	{"no brackets, no set", false, func(_ *shop, _ *rand.Rand, item *valuation.Item, _ int) {
		item.Name = strings.NewReplacer("(", "", ")", "", "[", "", "]", "", " - ", " ").Replace(item.Name)
		item.Set = ""
	}},
	{"a typo in the name", true, func(_ *shop, r *rand.Rand, item *valuation.Item, _ int) {
		item.Name = misspell(r, item.Name)
	}},
	{"a typo, no number", true, func(_ *shop, r *rand.Rand, item *valuation.Item, _ int) {
		item.Name = misspell(r, item.Name)
		item.Number = ""
	}},
	{"a typo, no set", true, func(_ *shop, r *rand.Rand, item *valuation.Item, _ int) {
		item.Name = misspell(r, item.Name)
		item.Set = ""
	}},
	{"a typo in the set", false, func(_ *shop, r *rand.Rand, item *valuation.Item, _ int) {
		item.Set = misspell(r, item.Set)
	}},
	{"small letters", false, func(_ *shop, _ *rand.Rand, item *valuation.Item, _ int) {
		item.Name = strings.ToLower(item.Name)
		item.Set = strings.ToLower(item.Set)
		item.Number = strings.ToLower(item.Number)
	}},
	{"words in another order", false, func(_ *shop, r *rand.Rand, item *valuation.Item, _ int) {
		words := strings.Fields(bare(item.Name))
		r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] }) // air: a swap
		item.Name = strings.Join(words, " ")
	}},
	{"a plain number", false, func(_ *shop, _ *rand.Rand, item *valuation.Item, _ int) {
		item.Number = plainNumber(item.Number)
	}},
	{"a plain number, no set", false, func(_ *shop, _ *rand.Rand, item *valuation.Item, _ int) {
		item.Number = plainNumber(item.Number)
		item.Set = ""
	}},
	{"an everyday set", false, func(_ *shop, _ *rand.Rand, item *valuation.Item, _ int) {
		item.Set = withoutSetCode(item.Set)
	}},
	{"an everyday set, no number", false, func(_ *shop, _ *rand.Rand, item *valuation.Item, _ int) {
		item.Set = withoutSetCode(item.Set)
		item.Number = ""
	}},
	{"a code", false, func(s *shop, _ *rand.Rand, item *valuation.Item, card int) {
		item.Set = s.codeOf(card)
	}},
	{"number in the name", false, func(_ *shop, _ *rand.Rand, item *valuation.Item, _ int) {
		item.Name += " " + item.Number
		item.Number = ""
	}},
	{"number in the name, no set", false, func(_ *shop, _ *rand.Rand, item *valuation.Item, _ int) {
		item.Name += " #" + item.Number
		item.Number = ""
		item.Set = ""
	}},
	{"all in the name", false, func(_ *shop, _ *rand.Rand, item *valuation.Item, _ int) {
		item.Name += " " + withoutSetCode(item.Set) + " " + item.Number
		item.Number = ""
		item.Set = ""
	}},
	{"set in the name", false, func(_ *shop, _ *rand.Rand, item *valuation.Item, _ int) {
		item.Name = bare(item.Name) + " " + withoutSetCode(item.Set)
		item.Number = ""
		item.Set = ""
	}},
	{"a message", false, func(_ *shop, r *rand.Rand, item *valuation.Item, _ int) {
		text := item.Name + " " + withoutSetCode(item.Set) + " " + item.Number + " NM"
		*item = valuation.Item{Line: strconv.Itoa(1+r.IntN(9)) + "x " + text}
	}},
	{"a message without qualifiers and number", false, func(_ *shop, r *rand.Rand, item *valuation.Item, _ int) {
		text := strings.ToLower(bare(item.Name) + " " + withoutSetCode(item.Set))
		*item = valuation.Item{Line: strconv.Itoa(1+r.IntN(9)) + " " + text + " english lp"}
	}},
	{"a finish", false, func(s *shop, r *rand.Rand, item *valuation.Item, card int) {
		item.Name = bare(item.Name)
		item.Set = ""
		item.Variant = s.finish(r, card)
	}},
	{"a finish, no number", false, func(s *shop, r *rand.Rand, item *valuation.Item, card int) {
		item.Number = ""
		item.Variant = s.finish(r, card)
	}},
	{"rarity in the name", false, func(s *shop, _ *rand.Rand, item *valuation.Item, card int) {
		item.Name = bare(item.Name) + " " + s.View.Catalog.Cards.Rarity.At(card)
		item.Number = ""
	}},
	{"rarity in the name, no set", false, func(s *shop, _ *rand.Rand, item *valuation.Item, card int) {
		item.Name = bare(item.Name) + " " + s.View.Catalog.Cards.Rarity.At(card)
		item.Set = ""
	}},
	{"one word of a set", false, func(s *shop, r *rand.Rand, item *valuation.Item, card int) {
		// "Base" is a set, and one word of others.
		words := strings.Fields(withoutSetCode(item.Set))
		word := words[r.IntN(len(words))]
		own := uint32(s.View.Catalog.Cards.Set[card])
		if sets := s.View.Index.SetNames().Resolve(word); len(sets) == 0 || slices.Contains(sets, own) {
			item.Set = word
		}
	}},
	{"half of the name", true, func(_ *shop, _ *rand.Rand, item *valuation.Item, _ int) {
		words := strings.Fields(bare(item.Name))
		item.Name = strings.Join(words[:(len(words)+1)/2], " ")
	}},
}

// Replacers that spoil lines, and that simplify names.
var (
	misspell = fixture.Misspell
	bare     = fixture.Bare
)

// plainNumber is a number without its total and padding.
func plainNumber(number string) string {
	number, _, _ = strings.Cut(number, "/")
	if plain := strings.TrimLeft(number, "0"); plain != "" {
		return plain
	}
	return number
}

// withoutSetCode is a set's name without the code in front.
func withoutSetCode(set string) string {
	for _, sign := range []string{": ", " - "} {
		if head, tail, ok := strings.Cut(set, sign); ok && len(head) <= 6 && strings.ToUpper(head) == head {
			return tail
		}
	}
	return set
}

// codeOf is the code of a card's set, or a code in the set's name, else its name.
func (s *shop) codeOf(card int) string {
	set := s.View.Catalog.Cards.Set[card]
	if set < 0 {
		return ""
	}
	if code := s.View.Catalog.Sets.Code.At(int(set)); code != "" {
		return code
	}
	name := s.View.Catalog.Sets.Name.At(int(set))
	if head, _, ok := strings.Cut(name, ": "); ok && strings.ContainsAny(head, "0123456789") {
		return head
	}
	return name
}

// spoken are finishes in the words of people and apps.
var spoken = map[string][]string{
	"normal": {"Normal", "non holo", "regular"}, "holofoil": {"Holo", "Holofoil", "foil"},
	"reverse_holofoil": {"Reverse Holo", "rev holo", "Reverse"}, "foil": {"Foil", "holo"},
	"1st_edition": {"1st Edition", "First Edition"}, "1st_edition_holofoil": {"1st Edition Holo", "1st ed"},
	"unlimited": {"Unlimited"}, "unlimited_holofoil": {"Unlimited Holo", "unlimited"},
}

// finish is a finish of a card, in words; "" for a card without one.
func (s *shop) finish(r *rand.Rand, card int) string {
	l := &s.View.Catalog.Lanes
	from, to := l.Of.Range(card)
	if from == to {
		return ""
	}
	words := spoken[s.View.Catalog.Variants.At(int(l.Variant[from+r.IntN(to-from)]))]
	if len(words) == 0 {
		return ""
	}
	return words[r.IntN(len(words))]
}
