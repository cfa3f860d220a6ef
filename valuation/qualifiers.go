package valuation

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"ninepocket/cardvocab"
	"ninepocket/index"
)

// readQualifiers reads the words outside the base name: preferences, conditions, other copies,
// games, and stop words.
func (f *parsedLine) readQualifiers(a *Appraiser, words []word) {
	for i := 0; i < len(words); {
		n := f.readQualifier(a, words, i)
		i += max(n, 1)
	}
}

// maxQualifierWords is the maximum number of words of a qualifier.
const maxQualifierWords = cardvocab.MaxPreferenceWords

// readQualifier reads the longest phrase that begins at word i and returns its number of words.
func (f *parsedLine) readQualifier(a *Appraiser, words []word, i int) int {
	first := &words[i]
	if first.role != required && (first.role != numberWord || !isGluedGrade(first.text)) {
		return 1
	}

	if isVersion(first.raw) {
		first.role = stopWord
		f.version, _ = strconv.Atoi(strings.TrimLeft(first.raw, "vV."))
		return 1
	}

	if isCopies(first.raw) {
		first.role = stopWord
		return 1
	}

	// "it" is a stop word, but capitals mean the language.
	if isGluedGrade(first.text) || first.raw == "IT" {
		first.role = copyWord
		f.addOtherCopy(first.raw)
		return 1
	}

	// The longest phrase comes first: "illustration rare" is another rarity than "rare".
	limit := min(maxQualifierWords, len(words)-i)
	if !a.lookup.mayBegin(first.text) {
		limit = 0
	}
	for n := limit; n > 0; n-- {
		phrase := words[i : i+n]
		if !isPhrase(phrase) {
			continue
		}

		a.key = a.key[:0]
		a.phrase = a.phrase[:0]
		for k := range phrase {
			if k > 0 {
				a.phrase = append(a.phrase, ' ')
			}
			a.key = append(a.key, phrase[k].text...)
			a.phrase = append(a.phrase, phrase[k].text...)
		}
		if f.readPhrase(a, phrase) {
			if isNegation(string(a.phrase)) {
				f.readNegation(a, words, i)
			}
			return n
		}
	}

	if isNegation(first.text) {
		f.readNegation(a, words, i)
	}
	return 1
}

// headLetters is how many letters mayBegin compares.
const headLetters = 3

// phraseHeads are the first letters of the phrases of readPhrase, games aside: most words of names
// begin none.
var phraseHeads = func() map[string]bool {
	heads := map[string]bool{}
	add := func(phrase string) {
		joined := strings.ReplaceAll(phrase, " ", "")
		heads[joined[:min(len(joined), headLetters)]] = true
	}

	for phrase := range cardvocab.Preferences() {
		add(cardvocab.Fold(phrase))
	}
	for _, phrase := range graders {
		add(phrase)
	}
	for phrase := range conditionPhrases {
		add(phrase)
	}
	index.StopPhrases(add)
	return heads
}()

// mayBegin reports whether a phrase of readPhrase may begin with a word.
func (cs catalogLookup) mayBegin(w string) bool {
	if len(w) < headLetters {
		return true
	}
	head := w[:headLetters]
	return phraseHeads[head] || cs.view.Index.Lookup().GameHasPrefix(head)
}

// isPhrase reports whether words belong together and may be one phrase.
func isPhrase(words []word) bool {
	for k := range words {
		w := &words[k]
		if w.group != words[0].group || w.role == baseNameWord || w.role == stopWord || w.role == numberWord && k == 0 {
			return false
		}

		if w.role == numberWord && !isGrader(words[0].text) {
			return false
		}
	}
	return true
}

// readPhrase reads a phrase. Its words are joined in a.key and separated by spaces in a.phrase.
func (f *parsedLine) readPhrase(a *Appraiser, phrase []word) bool {
	setRole := func(role wordRole) bool {
		for k := range phrase {
			phrase[k].role = role
		}
		phrase[0].run = int8(len(phrase))
		return true
	}

	switch preference, ok := cardvocab.FindPreference(a.key); {
	case ok && preference.Exact&^cardvocab.Finishes == 0:
		// A rarity that contains "holo" is no finish of a price.
		if !bytes.Contains(a.phrase, []byte("rare")) {
			f.addFinish(string(a.phrase), phrase)
		}
		phrase[0].preference = preference
		return setRole(preferred)
	case ok:
		phrase[0].preference = preference
		f.hasPreference = true
		return setRole(preferred)
	case isGrader(phrase[0].text) && len(phrase) == 2 && isGrade(phrase[1].raw),
		!isConditionPhrase(a.phrase) && index.IsCopyPhrase(string(a.phrase)):
		// The card is still identified, but the price is for another copy (decision 2207).
		f.addOtherCopy(string(a.phrase))
		return setRole(copyWord)
	case isConditionPhrase(a.phrase):
		f.addCondition(conditionOf(string(a.phrase)))
		return setRole(conditionWord)
	case index.IsStopPhrase(string(a.phrase)) && !isBulkWord(string(a.phrase)):
		return setRole(stopWord)
	}

	if game := a.View.Index.Lookup().Game(string(a.key)); game >= 0 && f.game < 0 {
		f.game = game
		return setRole(stopWord)
	}
	return false
}

// isBulkWord reports whether a word means that a line is no single card; search drops such words.
func isBulkWord(w string) bool {
	return slices.Contains([]string{"lot", "lots", "bulk", "pack", "cards", "singles"}, w)
}

// isConditionPhrase reports whether a phrase is a condition anywhere, or describes the condition of
// a copy: "mint", "excellent condition".
func isConditionPhrase(phrase []byte) bool {
	text := string(phrase)
	return conditionPhrases[text] || index.IsCopyPhrase(text) && isCondition(conditionOf(text))
}

// conditionOf returns a condition without the word "condition".
func conditionOf(phrase string) string { return strings.TrimSuffix(phrase, " condition") }

// conditionPhrases are the phrases for conditions, with those that are conditions only next to a
// card's name and that search reads otherwise.
var conditionPhrases = func() map[string]bool {
	all := map[string]bool{"played": true, "good": true, "gd": true}
	for _, phrase := range cardvocab.ConditionPhrases() {
		all[phrase] = true
	}
	return all
}()

// isGrader reports whether a word is a grading company.
func isGrader(w string) bool { return slices.Contains(graders, w) }

var graders = []string{
	"psa", "cgc", "bgs", "sgc", "beckett", "ace", "tag", "ags", "pca", "cga", "hga", "gma", "mnt", "ars", "pgs", "ksa",
	"isa", "gsg", "aog", "egs",
}

// isGrade reports whether a number is a grade: 1 to 10, half ones included, or up to 100 in the old
// scale.
func isGrade(raw string) bool {
	whole := strings.TrimSuffix(raw, ".5")
	return cardvocab.IsInteger(whole) && len(whole) <= maxBareDigits
}
