package index

import (
	"cmp"
	"slices"
	"strings"

	"ninepocket/collector"
	"ninepocket/index/text"
	"ninepocket/snapshot"
)

// Facts tells what a valuation asks beside a query (docs/MCP.md, How a list is valued).
type Facts struct{ ix *Index }

// Facts are the facts of the catalog.
func (ix *Index) Facts() Facts { return Facts{ix} }

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

// Cored are the cards whose core, its brackets or not, has a key: folded words without "and", joined.
// They ascend.
func (f Facts) Cored(key string) []uint32 { return f.ix.cores.find(key) }

// LongestCore is how many bytes the longest of these keys has.
func (f Facts) LongestCore() int { return f.ix.cores.longest }

// Game is the number of a game by its slug, in which only letters and digits count; -1 for none.
func (f Facts) Game(slug string) int {
	game, ok := f.ix.games.find(slug)
	if !ok {
		return -1
	}
	return game
}

// GameBegins reports whether a game's slug begins with some folded letters.
func (f Facts) GameBegins(head string) bool {
	return slices.ContainsFunc(f.ix.games.folded, func(game string) bool { return strings.HasPrefix(game, head) })
}

// Numbered are the cards whose number is the one asked for, ascending (decision 23).
func (f Facts) Numbered(number string) []uint32 { return f.ix.cardsNumbered(number) }

// InSet are the cards of a set, ascending.
func (f Facts) InSet(set uint32) []uint32 { return f.ix.bySet.Of(set) }

// Wished are the traits of a card (docs/SEARCH.md, Preferences).
func (f Facts) Wished(card uint32) collector.Traits { return f.ix.words.Traits(card) }

// NumberGroup tells numbers apart: cards have the same one when they have the same number, or are
// parallels of it. False without a number.
func (f Facts) NumberGroup(card uint32) (group uint32, ok bool) { return f.ix.words.NumberGroup(card) }

// Word is the number of a folded word; false for one that nothing has.
func (f Facts) Word(folded string) (word uint32, ok bool) { return f.ix.words.Word(folded) }

// Names reports whether a card's name, or what qualifies it, has a word.
func (f Facts) Names(card, word uint32) bool { return f.ix.words.Names(card, word) }

// IsOfSet reports whether a card's set is called by a word, among others.
func (f Facts) IsOfSet(card, word uint32) bool { return f.ix.words.IsOfSet(card, word) }

// CompareLikely is negative where a is likelier to be meant than b (docs/SEARCH.md, Order).
func (f Facts) CompareLikely(a, b uint32) int {
	return cmp.Compare(f.ix.orders.rankFit[a], f.ix.orders.rankFit[b])
}

// IsHome reports whether a card is of the set that its number names, as OP05-119 does; of cards whose
// number names none it is false.
func (f Facts) IsHome(card uint32) bool {
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

// IsQuiet says whether a card is the same without some folded words, divided by spaces
// (docs/SEARCH.md, Noise).
func IsQuiet(phrase string) bool { return text.IsQuiet(phrase) }

// NoisePhrases calls each with the phrases of IsQuiet and IsGrading, among others.
func NoisePhrases(each func(phrase string)) { text.NoisePhrases(each) }

// IsGrading says whether folded words, divided by spaces, tell of another copy: a grade, a language.
func IsGrading(phrase string) bool { return text.IsGrading(phrase) }
