package valuation

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"ninepocket/cardvocab"
	"ninepocket/index"
)

// readQualifiers reads what the words beside the core say: wishes, conditions, other copies, games,
// and what says nothing.
func (f *parsedLine) readQualifiers(a *Appraiser, words []word) {
	for i := 0; i < len(words); {
		n := f.readQualifier(a, words, i)
		i += max(n, 1)
	}
}

// maxQualifierWords is how many words of an aside are read together.
const maxQualifierWords = cardvocab.MaxPreferenceWords

// readQualifier reads the longest phrase that begins at word i and says how many words it has.
func (f *parsedLine) readQualifier(a *Appraiser, words []word, i int) int {
	first := &words[i]
	if first.role != required && (first.role != numberWord || !isGlued(first.text)) {
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

	// Among the words that say nothing, capitals tell the language from the pronoun.
	if isGlued(first.text) || first.raw == "IT" {
		first.role = copyWord
		f.addOtherCopy(first.raw)
		return 1
	}

	// The longest phrase goes first: "illustration rare" is another rarity than "rare".
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

// headLetters is by how many letters phrases are told apart from words that begin none.
const headLetters = 3

// phraseHeads are the beginnings of the phrases that readPhrase knows, but for games: most words of names
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

// isPhrase reports whether words stand together and may be one phrase.
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

// readPhrase reads a phrase, whose words a.key has joined and a.phrase divided by spaces.
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
		// A rarity of shining cards is none of their prices.
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
		// The card is told all the same; its price is another copy's (decision 2207).
		f.addOtherCopy(string(a.phrase))
		return setRole(copyWord)
	case isConditionPhrase(a.phrase):
		f.addCondition(conditionOf(string(a.phrase)))
		return setRole(conditionWord)
	case index.IsStopPhrase(string(a.phrase)) && !isSeveral(string(a.phrase)):
		return setRole(stopWord)
	}

	if game := a.View.Index.Lookup().Game(string(a.key)); game >= 0 && f.game < 0 {
		f.game = game
		return setRole(stopWord)
	}
	return false
}

// isSeveral reports whether a word says that a line is no single card, which search leaves out.
func isSeveral(w string) bool {
	return slices.Contains([]string{"lot", "lots", "bulk", "pack", "cards", "singles"}, w)
}

// isConditionPhrase reports whether a phrase is a condition wherever it stands, or says one of a
// copy: "mint", "excellent condition".
func isConditionPhrase(phrase []byte) bool {
	text := string(phrase)
	return conditionPhrases[text] || index.IsCopyPhrase(text) && isCondition(conditionOf(text))
}

// conditionOf is a condition without the word for one.
func conditionOf(phrase string) string { return strings.TrimSuffix(phrase, " condition") }

// conditionPhrases are the phrases of conditions, and those that are one beside a card's name,
// where search reads them otherwise.
var conditionPhrases = func() map[string]bool {
	all := map[string]bool{"played": true, "good": true, "gd": true}
	for _, phrase := range cardvocab.ConditionPhrases() {
		all[phrase] = true
	}
	return all
}()

// isGrader reports whether a word is a company that grades.
func isGrader(w string) bool { return slices.Contains(graders, w) }

var graders = []string{
	"psa", "cgc", "bgs", "sgc", "beckett", "ace", "tag", "ags", "pca", "cga", "hga", "gma", "mnt", "ars", "pgs", "ksa",
	"isa", "gsg", "aog", "egs",
}

// isGrade reports whether a number is a grade: 1 to 10, half ones among them, or to 100 in the old form.
func isGrade(raw string) bool {
	whole := strings.TrimSuffix(raw, ".5")
	return cardvocab.IsInteger(whole) && len(whole) <= maxBareDigits
}
