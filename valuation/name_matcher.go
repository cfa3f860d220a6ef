package valuation

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"ninepocket/cardvocab"
)

// nameMatcher compares the words of a line with one card's name, in which they may be misspelled,
// joined or divided: "charizrd", "mew two".
type nameMatcher struct {
	name  []string // the folded words of the card's name
	words []word   // of the line
	found bool     // a word of the line was of the name and more than a suffix
}

// matcherOf returns a matcher of words for the name of a card, or for the names of the card and its
// set.
func (cs catalogLookup) matcherOf(words []word, card uint32, andSet bool) nameMatcher {
	matcher := nameMatcher{words: words, name: foldedWords(nil, cs.view.Catalog.Cards.Name.At(int(card)))}
	if set := cs.view.Catalog.Cards.Set[card]; andSet && set >= 0 {
		matcher.name = foldedWords(matcher.name, cs.view.Catalog.Sets.Name.At(int(set)))
	}
	return matcher
}

// foldedWords appends the folded words of a text.
func foldedWords(dst []string, text string) []string {
	for part := range dividedText(text) {
		if w := cardvocab.Fold(part); w != "" && w != "and" {
			dst = append(dst, w)
		}
	}
	return dst
}

// dividedText yields the words of a text as they are written.
func dividedText(text string) iter.Seq[string] {
	return strings.FieldsFuncSeq(text, func(r rune) bool { return r < utf8.RuneSelf && divides(byte(r)) })
}

// maxSuffixLen is the maximum length of a word that says too little by itself: every second card is
// an ex.
const maxSuffixLen = 3

// has reports whether word i may be of the name. A word that the catalog has is no misspelling: Mew
// is not a mistaken Mewtwo.
func (sp *nameMatcher) has(i int) bool {
	w := &sp.words[i]
	if !slices.Contains(sp.name, w.text) && (w.known || !sp.isNear(w.text)) && !sp.isJoined(i) {
		return false
	}

	// A name may be as short as a suffix: N, Mew.
	sp.found = sp.found || len(w.text) > maxSuffixLen || len(sp.name) == 1 ||
		sp.name[0] == w.text && w.role == baseNameWord
	return true
}

// isNear reports whether a word is a word of the name with one or two errors. Short words are all a
// letter or two apart, so they must be exact.
func (sp *nameMatcher) isNear(w string) bool {
	limit := min(len(w)/4, 2)
	return limit > 0 && slices.ContainsFunc(sp.name, func(one string) bool {
		return cardvocab.Distance(one, w, limit+1) <= limit
	})
}

// maxJoined is how many words are compared as one.
const maxJoined = 4

// isJoined reports whether word i and its neighbours are words of the name if spaces are ignored in
// both.
func (sp *nameMatcher) isJoined(i int) bool {
	var joined []byte
	for from := max(0, i-maxJoined+1); from <= i; from++ {
		joined = joined[:0]
		for to := from; to < min(len(sp.words), from+maxJoined); to++ {
			joined = append(joined, sp.words[to].text...)
			if to >= i && sp.hasRun(joined) {
				return true
			}
		}
	}
	return false
}

// hasRun reports whether consecutive words of the name, joined, are a text.
func (sp *nameMatcher) hasRun(joined []byte) bool {
	for from := range sp.name {
		rest := joined
		for _, w := range sp.name[from:] {
			if len(w) > len(rest) || string(rest[:len(w)]) != w {
				break
			}
			rest = rest[len(w):]
			if len(rest) == 0 {
				return true
			}
		}
	}
	return false
}
