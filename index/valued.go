package index

import (
	"cmp"
	"slices"
	"strings"

	"ninepocket/collector"
	"ninepocket/index/text"
	"ninepocket/snapshot"
)

// What a valuation asks beside a query: docs/MCP.md, How a list is valued.

// Core is a card's name without what only qualifies it: brackets after a space and what stands behind
// a dash between spaces, up to the end, and the card's own number.
func Core(name, number string) string {
	core := PlainName(name)
	if at := strings.Index(core, " - "); at > 0 {
		return core[:at]
	}

	at := strings.LastIndexByte(core, ' ')
	if at <= 0 || number == "" || !strings.ContainsRune(core[at:], '/') {
		return core
	}
	if collector.NumberKey(core[at:]) == collector.NumberKey(number) {
		return strings.TrimRight(core[:at], "- ")
	}
	return core
}

// coreKey is a core as it is looked up: its words without "and", joined.
func coreKey(core string) string { return strings.Join(setWords(core), "") }

// Cored are the cards whose core has a key: folded words without "and", joined. They ascend.
func (ix *Index) Cored(key string) []uint32 { return ix.cores.find(key) }

// Game is the number of a game by its slug, in which only letters and digits count; -1 for none.
func (ix *Index) Game(slug string) int {
	game, ok := ix.games.find(slug)
	if !ok {
		return -1
	}
	return game
}

// Numbered are the cards whose number is the one asked for, ascending (decision 23).
func (ix *Index) Numbered(number string) []uint32 { return ix.cardsNumbered(number) }

// InSet are the cards of a set, ascending.
func (ix *Index) InSet(set uint32) []uint32 { return ix.bySet.list(int(set)) }

// SetsSpelt are the sets that have a key as their name, code or everyday name, to the letter.
func (ix *Index) SetsSpelt(key string) []uint32 {
	if sets := ix.setNames.find(key); len(sets) > 0 {
		return sets
	}
	if sets := ix.book.everyday.find(key); len(sets) > 0 {
		return sets
	}
	if name, ok := ix.book.aliases[key]; ok {
		return ix.book.everyday.find(name)
	}
	return nil
}

// idleSetWords are what people write of a set without telling it from others.
var idleSetWords = []string{
	"pokemon", "tcg", "the", "series", "set", "card", "cards", "edition", "1st", "black", "star",
}

// SetsLike are the sets that have every word of a name that tells something, ascending: "Pokémon
// Prize Pack Series" is Prize Pack Series Cards. None where no word tells anything.
func (ix *Index) SetsLike(ref string) []uint32 {
	if isTooLong(ref) {
		return nil
	}

	words := slices.DeleteFunc(setWords(ref), func(w string) bool { return slices.Contains(idleSetWords, w) })
	if len(words) == 0 {
		return nil
	}
	if sets := ix.setsWith(words); len(sets) > 0 {
		return sets
	}

	// "promos" is the set that has "promo".
	for i, w := range words {
		words[i] = strings.TrimSuffix(w, "s")
	}
	return ix.setsWith(words)
}

// Wished are the traits of a card (docs/SEARCH.md, Preferences).
func (ix *Index) Wished(card uint32) collector.Traits { return ix.words.Traits(card) }

// NumberGroup tells numbers apart: cards have the same one when they have the same number, or are
// parallels of it. False without a number.
func (ix *Index) NumberGroup(card uint32) (group uint32, ok bool) { return ix.words.NumberGroup(card) }

// Word is the number of a folded word; false for one that nothing has.
func (ix *Index) Word(folded string) (word uint32, ok bool) { return ix.words.Word(folded) }

// Names reports whether a card's name, or what qualifies it, has a word.
func (ix *Index) Names(card, word uint32) bool { return ix.words.Names(card, word) }

// IsOfSet reports whether a card's set is called by a word, among others.
func (ix *Index) IsOfSet(card, word uint32) bool { return ix.words.IsOfSet(card, word) }

// CompareLikely is negative where a is likelier to be meant than b (docs/SEARCH.md, Order).
func (ix *Index) CompareLikely(a, b uint32) int {
	return cmp.Compare(ix.orders.rankFit[a], ix.orders.rankFit[b])
}

// IsHome reports whether a card is of the set that its number names, as OP05-119 does; of cards whose
// number names none it is false.
func (ix *Index) IsHome(card uint32) bool {
	number := ix.c.Cards.Number.At(int(card))
	set := ix.c.Cards.Set[card]
	if set == snapshot.NoSet || !namesItsSet(number) {
		return false
	}
	prefix, _, _ := strings.Cut(number, "-")
	code := ix.c.Sets.Code.At(int(set))
	if letters, digits, ok := strings.Cut(code, "-"); ok {
		at := min(len(letters), len(prefix))
		return strings.EqualFold(prefix[:at], letters) && prefix[at:] == digits
	}
	return strings.EqualFold(prefix, code)
}

// IsTooLong says whether a name folds to more than any card or set is called (docs/SEARCH.md, Cost).
func IsTooLong(name string) bool { return isTooLong(name) }

// IsQuiet says whether a card is the same without some folded words, divided by spaces
// (docs/SEARCH.md, Noise).
func IsQuiet(phrase string) bool { return text.IsQuiet(phrase) }

// IsGrading says whether folded words, divided by spaces, tell of another copy: a grade, a language.
func IsGrading(phrase string) bool { return text.IsGrading(phrase) }
