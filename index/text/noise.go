package text

import (
	_ "embed"
	"slices"
	"strings"
)

// A noise says how little a word tells (docs/SEARCH.md, Noise).
type noise uint8

const (
	telling noise = iota
	// everyday words tell little where they are missing.
	everyday
	// quiet words are left out, and the card is the same.
	quiet
	// sealed words are quiet ones, but beside a word that a name or a set has them beside.
	sealed
	// grading words are left out, but the copy is another one: a grade, a condition, a language.
	grading
)

//go:embed noise.txt
var noiseText string

// noises are the words and phrases of noise.txt, the words of a phrase divided by spaces.
var noises = readNoise(noiseText)

func readNoise(text string) map[string]noise {
	sections := map[string]noise{"[everyday]": everyday, "[quiet]": quiet, "[sealed]": sealed, "[grading]": grading}
	table := map[string]noise{}
	kind := telling
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
			if table[word] == telling {
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

// shortGames are what people call games beside their names, which the catalog has.
var shortGames = map[string]string{
	"ptcg": "pokemon", "pkmn": "pokemon", "optcg": "onepiece",
}

// NoisePhrases calls each with the words and phrases that tell little or nothing, their words divided by
// spaces.
func NoisePhrases(each func(phrase string)) {
	for phrase := range noises {
		each(phrase)
	}
}

// IsQuiet says whether the card is the same without some folded words, divided by spaces: "the",
// "english".
func IsQuiet(phrase string) bool { return noises[phrase] == quiet }

// IsGrading says whether folded words, divided by spaces, say that a copy is another one: "psa",
// "japanese". Conditions do, too.
func IsGrading(phrase string) bool { return noises[phrase] == grading }
