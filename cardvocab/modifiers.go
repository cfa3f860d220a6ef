package cardvocab

import (
	_ "embed"
	"strings"
	"unicode/utf8"
)

// A Modifier is the meaning of a query's phrase that does not name a card (docs/dev/SEARCH.md, Orders,
// prices, eras, sealed words).
type Modifier struct {
	Kind  ModifierKind
	Order string    // of ModifierOrder: a sort parameter
	Era   *Era      // of ModifierEra
	When  EraColumn // of ModifierEra: the columns of eras.txt in which the phrase is
}

// A ModifierKind is a section of modifiers.txt, or ModifierEra.
type ModifierKind uint8

// The kinds of modifiers.
const (
	NoModifier ModifierKind = iota
	ModifierOrder
	ModifierAsking     // left out
	ModifierUpperBound // before or behind a price
	ModifierLowerBound
	ModifierBetween
	ModifierDollars // behind a price
	ModifierCents
	ModifierSingle // a card is meant, not the product that it is from
	ModifierSealed // a product that holds cards
	ModifierSet    // words of sets that are called like products
	ModifierEra
)

// IsInNames reports whether names may have the phrase too. Most names with "ex" are of no era.
func (m Modifier) IsInNames() bool { return m.Kind != NoModifier && m.Kind != ModifierEra }

//go:embed modifiers.txt
var modifierText string

// MaxModifierWords is the maximum number of words of a phrase.
const MaxModifierWords = 5

// modifiers are the phrases of modifiers.txt and eras.txt, folded. modifierStarts are the first two words
// of each, folded together.
var modifiers, modifierStarts = readModifiers()

// FindModifier returns the meaning of a phrase, folded without spaces and "and".
func FindModifier(folded []byte) Modifier { return modifiers[string(folded)] }

func readModifiers() (phrases map[string]Modifier, starts map[string]bool) {
	phrases = map[string]Modifier{}
	starts = map[string]bool{"top": true}
	add := func(phrase string, meaning Modifier) {
		folded := Fold(phrase)
		if old := phrases[folded]; old.Era == meaning.Era {
			meaning.When |= old.When
		}
		phrases[folded] = meaning
		if meaning.Kind == ModifierSingle || meaning.Kind == ModifierSet {
			return
		}

		words := strings.SplitN(phrase, "_", 3)
		first := Fold(strings.Join(words[:min(2, len(words))], ""))
		starts[first] = starts[first] || meaning.When != EraBefore || len(words) > 1
		if meaning.When == EraBefore {
			for word := range eraWords {
				starts[first+word] = true
			}
		}
	}

	readPhrases(add)
	for i := range Eras {
		for column, list := range Eras[i].phrases {
			for _, phrase := range list {
				add(phrase, Modifier{Kind: ModifierEra, Era: &Eras[i], When: 1 << column})
			}
		}
	}
	return phrases, starts
}

// readPhrases calls add with the phrases of modifiers.txt.
func readPhrases(add func(phrase string, meaning Modifier)) {
	kinds := map[string]ModifierKind{
		"[asking]": ModifierAsking, "[at_most]": ModifierUpperBound, "[at_least]": ModifierLowerBound,
		"[between]": ModifierBetween, "[dollars]": ModifierDollars, "[cents]": ModifierCents,
		"[single]": ModifierSingle, "[sealed]": ModifierSealed, "[sets]": ModifierSet,
	}

	meaning := Modifier{}
	for line := range strings.Lines(modifierText) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			meaning = Modifier{Kind: kinds[line]}
			if meaning.Kind == NoModifier {
				meaning = Modifier{Kind: ModifierOrder, Order: strings.Trim(line, "[]")}
			}
		default:
			for phrase := range strings.FieldsSeq(line) {
				add(phrase, meaning)
			}
		}
	}
}

// maxStart bounds the first two words of a phrase, in bytes.
const maxStart = 16

// MayHaveModifier reports whether words of a text may begin a phrase, or an amount of money. Most queries
// have none, and are not read twice.
func MayHaveModifier(text string) bool {
	var joined [2 * maxStart]byte // the word before, and the word
	from := 0
	til := 0
	for i := range len(text) + 1 {
		b := byte(' ')
		if i < len(text) {
			b = Lower(text[i])
		}

		switch {
		case b == '$' || b == '<' || b == '>' || b >= utf8.RuneSelf:
			return true
		case IsWordByte(b):
			if til < len(joined) {
				joined[til] = b
				til++
			}

		case b == '\'' || til == from:
		case string(joined[from:til]) == "and":
			til = from
		case modifierStarts[string(joined[from:til])] || modifierStarts[string(joined[:til])]:
			return true
		default:
			til = copy(joined[:maxStart], joined[from:til])
			from = til
		}
	}
	return false
}
