package index

import (
	"strings"

	"ninepocket/cardvocab"
)

// Printings appends at most limit other printings of a card, the most expensive first, and reports
// whether there are more. If a collector number names its set, as One Piece's OP05-119 does, they
// are the cards of the game with that number or a parallel. If each set has its own numbers, they
// are the cards of the game with an equal name, without the brackets after it.
func (ix *Index) Printings(dst []uint32, card, limit int) (cards []uint32, more bool) {
	cards = dst
	for _, other := range ix.printings(card) {
		if int(other) == card || ix.c.Cards.Game[other] != ix.c.Cards.Game[card] {
			continue
		}
		if len(cards)-len(dst) == limit {
			return cards, true
		}
		cards = append(cards, other)
	}

	return cards, false
}

func (ix *Index) printings(card int) []uint32 {
	if number := ix.c.Cards.Number.At(card); namesItsSet(number) {
		return ix.numbers.find(cardvocab.NumberBase(number))
	}
	return ix.names.find(cardvocab.Fold(PlainName(ix.c.Cards.Name.At(card))))
}

// CardsBaseNamed returns the cards with a base name, ascending.
func (ix *Index) CardsBaseNamed(base string) []uint32 { return ix.baseNames.find(baseNameKey(base)) }

// namesItsSet reports whether a collector number identifies one card of the whole game: letters,
// perhaps digits, a hyphen and a digit.
func namesItsSet(number string) bool {
	prefix, rest, ok := strings.Cut(number, "-")
	if !ok || prefix == "" || rest == "" || !cardvocab.IsInteger(rest[:1]) || strings.Contains(number, "/") {
		return false
	}
	first := prefix[0] | 0x20
	return 'a' <= first && first <= 'z'
}

// PlainName is a name without its qualifiers: brackets after a space, up to the end (decision 83).
func PlainName(name string) string {
	for _, bracket := range []string{" (", " ["} {
		if i := strings.Index(name, bracket); i > 0 {
			name = name[:i]
		}
	}
	return name
}
