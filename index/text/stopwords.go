package text

import (
	_ "embed"
	"slices"
	"strings"
)

// A noise says how little a word tells (docs/SEARCH.md, Noise).
type stopClass uint8

const (
	significant stopClass = iota
	// stopTerms words tell little where they are missing.
	commonWord
	// stopWord words are left out, and the card is the same.
	stopWord
	// sealedTerm words are quiet ones, but beside a word that a name or a set has them beside.
	sealedTerm
	// copyWord words are left out, but the copy is another one: a grade, a condition, a language.
	copyWord
)

//go:embed noise.txt
var stopText string

// stopWords are the words and phrases of noise.txt, the words of a phrase divided by spaces.
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
			// A word that is in two sections is what the first one says.
			word = strings.ReplaceAll(word, "_", " ")
			if table[word] == significant {
				table[word] = kind
			}
		}
	}

	return table
}

// isGrader says whether a word is a company whose name a grade follows: "psa 10", "bgs 9.5".
func isGrader(w []byte) bool {
	return slices.Contains([]string{"psa", "cgc", "bgs", "sgc", "beckett"}, string(w))
}

// gameAbbreviations are what people call games beside their names, which the catalog has.
var gameAbbreviations = map[string]string{
	"ptcg": "pokemon", "pkmn": "pokemon", "optcg": "onepiece",
}

// StopPhrases calls each with the words and phrases that tell little or nothing, their words
// divided by spaces.
func StopPhrases(each func(phrase string)) {
	for phrase := range stopWords {
		each(phrase)
	}
}

// IsStopPhrase says whether the card is the same without some folded words, divided by spaces:
// "the", "english".
func IsStopPhrase(phrase string) bool { return stopWords[phrase] == stopWord }

// IsCopyPhrase says whether folded words, divided by spaces, say that a copy is another one: "psa",
// "japanese". Conditions do, too.
func IsCopyPhrase(phrase string) bool { return stopWords[phrase] == copyWord }
