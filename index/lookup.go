package index

import (
	"cmp"
	"slices"
	"strings"

	"ninepocket/cardvocab"
	"ninepocket/index/text"
	"ninepocket/snapshot"
)

// Lookup looks up cards by number, set, base name and word, for valuation.
type Lookup struct{ ix *Index }

// Lookup returns the lookups of the catalog.
func (ix *Index) Lookup() Lookup { return Lookup{ix} }

// BaseName returns a card's base name: no qualifiers in brackets or behind a dash, and no collector
// number.
func BaseName(name, number string) string {
	base := PlainName(name)
	if at := strings.Index(base, " - "); at > 0 {
		return base[:at]
	}

	at := strings.LastIndexByte(base, ' ')
	if at <= 0 || number == "" || !strings.ContainsRune(base[at:], '/') {
		return base
	}
	if cardvocab.NumberKey(base[at:]) == cardvocab.NumberKey(number) {
		return strings.TrimRight(base[:at], "- ")
	}
	return base
}

// baseNameKey is the lookup key of a base name: its folded words without "and", joined.
func baseNameKey(base string) string { return strings.Join(setWords(base), "") }

// ByBaseName returns the cards whose base name, with its brackets or without them, has a
// baseNameKey. They ascend.
func (f Lookup) ByBaseName(key string) []uint32 { return f.ix.baseNames.find(key) }

// MaxBaseNameLen is the length of the longest of these keys in bytes.
func (f Lookup) MaxBaseNameLen() int { return f.ix.baseNames.maxLen }

// Game returns the number of a game by its slug, -1 for none. Only letters and digits of the slug
// count.
func (f Lookup) Game(slug string) int {
	game, ok := f.ix.games.find(slug)
	if !ok {
		return -1
	}
	return game
}

// GameHasPrefix reports whether a game's folded slug begins with head.
func (f Lookup) GameHasPrefix(head string) bool {
	return slices.ContainsFunc(f.ix.games.folded, func(game string) bool { return strings.HasPrefix(game, head) })
}

// ByNumber returns the cards with a collector number, ascending.
func (f Lookup) ByNumber(number string) []uint32 { return f.ix.cardsNumbered(number) }

// Traits returns a card's rarity, finishes and edition (docs/dev/SEARCH.md, Preferences).
func (f Lookup) Traits(card uint32) cardvocab.Traits { return f.ix.words.Traits(card) }

// NumberGroup identifies a collector number: cards with an equal number, or with parallels of it,
// have one group. ok is false without a number.
func (f Lookup) NumberGroup(card uint32) (group uint32, ok bool) { return f.ix.words.NumberGroup(card) }

// TermID returns the id of a folded word; ok is false for a word that nothing has.
func (f Lookup) TermID(folded string) (word uint32, ok bool) { return f.ix.words.TermID(folded) }

// NameHasTerm reports whether a card's name or its qualifiers have a word.
func (f Lookup) NameHasTerm(card, word uint32) bool { return f.ix.words.NameHasTerm(card, word) }

// SetHasTerm reports whether the name or a code of a card's set has a word.
func (f Lookup) SetHasTerm(card, word uint32) bool { return f.ix.words.SetHasTerm(card, word) }

// ComparePrior is negative if a is more likely to be meant than b (docs/dev/SEARCH.md, Order).
func (f Lookup) ComparePrior(a, b uint32) int {
	return cmp.Compare(f.ix.orders.priorRank[a], f.ix.orders.priorRank[b])
}

// NumberNamesSet reports whether a card's number names the card's own set, as OP05-119 does.
func (f Lookup) NumberNamesSet(card uint32) bool {
	number := f.ix.c.Cards.Number.At(int(card))
	set := f.ix.c.Cards.Set[card]
	if set == snapshot.NoSet || !namesItsSet(number) {
		return false
	}
	prefix, _, _ := strings.Cut(number, "-")
	code := f.ix.c.Sets.Code.At(int(set))
	if letters, digits, ok := strings.Cut(code, "-"); ok {
		at := min(len(letters), len(prefix))
		return strings.EqualFold(prefix[:at], letters) && prefix[at:] == digits
	}
	return strings.EqualFold(prefix, code)
}

// IsStopPhrase reports whether folded words, separated by spaces, do not change which card is meant
// (docs/dev/SEARCH.md, Words that are left out).
func IsStopPhrase(phrase string) bool { return text.IsStopPhrase(phrase) }

// StopPhrases calls each with the phrases of IsStopPhrase and IsCopyPhrase, among others.
func StopPhrases(each func(phrase string)) { text.StopPhrases(each) }

// IsCopyPhrase reports whether folded words, separated by spaces, describe another copy: a grade, a
// language.
func IsCopyPhrase(phrase string) bool { return text.IsCopyPhrase(phrase) }

// Alias returns the words that a folded phrase stands for, "" for none, and whether it is their name in another
// language (docs/dev/SEARCH.md, Other names).
func (f Lookup) Alias(folded string) (words string, isTranslated bool) {
	return f.ix.words.Alias(folded)
}
