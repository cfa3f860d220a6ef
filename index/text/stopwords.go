package text

import (
	_ "embed"
	"slices"
	"strings"
	"unicode/utf8"

	"ninepocket/cardvocab"
)

// A stopClass is how little a word contributes (docs/dev/SEARCH.md, Words that are left out).
type stopClass uint8

const (
	significant stopClass = iota
	// commonWord words weigh little if they are missing.
	commonWord
	// stopWord words are dropped; the card is the same without them.
	stopWord
	// sealedTerm words are stop words, unless a name or a set has them next to the same neighbour.
	sealedTerm
	// copyWord words are dropped, but they describe another copy: a grade, a condition, a language.
	copyWord
)

//go:embed stopwords.txt
var stopText string

// stopWords are the words and phrases of stopwords.txt, the words of a phrase separated by spaces.
var stopWords = readStopWords(stopText)

func readStopWords(text string) map[string]stopClass {
	sections := map[string]stopClass{
		"[everyday]": commonWord, "[quiet]": stopWord, "[sealed]": sealedTerm,
		"[grading]": copyWord,
	}
	table := map[string]stopClass{}
	kind := significant
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if next, ok := sections[line]; ok {
			kind = next
			continue
		}
		if strings.HasPrefix(line, "#") {
			continue
		}

		for word := range strings.FieldsSeq(line) {
			// If a word is in two sections, the first counts.
			word = strings.ReplaceAll(word, "_", " ")
			if word[0] >= utf8.RuneSelf {
				word = cardvocab.Fold(word)
			}
			if table[word] == significant {
				table[word] = kind
			}
		}
	}

	return table
}

// isGrader reports whether a word is a company whose name a grade follows: "psa 10", "bgs 9.5".
func isGrader(w []byte) bool {
	return slices.Contains([]string{"psa", "cgc", "bgs", "sgc", "beckett"}, string(w))
}

// gameAbbreviations are common abbreviations of the games' names, which the catalog has.
var gameAbbreviations = map[string]string{
	"ptcg": "pokemon", "pkmn": "pokemon", "optcg": "onepiece",
}

// StopPhrases calls each with the words and phrases that say little or nothing, their words
// separated by spaces.
func StopPhrases(each func(phrase string)) {
	for phrase := range stopWords {
		each(phrase)
	}
}

// IsStopPhrase reports whether the card is the same without some folded words, separated by spaces:
// "the", "english".
func IsStopPhrase(phrase string) bool { return stopWords[phrase] == stopWord }

// IsCopyPhrase reports whether folded words, separated by spaces, describe another copy: "psa",
// "japanese". Conditions do, too.
func IsCopyPhrase(phrase string) bool { return stopWords[phrase] == copyWord }
