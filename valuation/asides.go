package valuation

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"ninepocket/collector"
	"ninepocket/index"
)

// readAsides reads what the words beside the core say: wishes, conditions, other copies, games, and
// what says nothing.
func (f *facts) readAsides(a *Appraiser, words []word) {
	for i := 0; i < len(words); {
		n := f.readAside(a, words, i)
		i += max(n, 1)
	}
}

// longestAside is how many words of an aside are read together.
const longestAside = collector.LongestWish

// readAside reads the longest phrase that begins at word i and says how many words it has.
func (f *facts) readAside(a *Appraiser, words []word, i int) int {
	first := &words[i]
	if first.kind != told && (first.kind != asNumber || !isGlued(first.text)) {
		return 1
	}

	if isVersion(first.raw) {
		first.kind = idle
		f.version, _ = strconv.Atoi(strings.TrimLeft(first.raw, "vV."))
		return 1
	}

	if isCopies(first.raw) {
		first.kind = idle
		return 1
	}

	// Among the words that say nothing, capitals tell the language from the pronoun.
	if isGlued(first.text) || first.raw == "IT" {
		first.kind = ofCopy
		f.addCopy(first.raw)
		return 1
	}

	// The longest phrase goes first: "illustration rare" is another rarity than "rare".
	longest := min(longestAside, len(words)-i)
	if !a.cards.mayBegin(first.text) {
		longest = 0
	}
	for n := longest; n > 0; n-- {
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
				f.denied(a, words, i)
			}
			return n
		}
	}

	if isNegation(first.text) {
		f.denied(a, words, i)
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

	for phrase := range collector.Wishes() {
		add(collector.Fold(phrase))
	}
	for _, phrase := range graders {
		add(phrase)
	}
	for phrase := range states {
		add(phrase)
	}
	index.NoisePhrases(add)
	return heads
}()

// mayBegin reports whether a phrase of readPhrase may begin with a word.
func (cs cards) mayBegin(w string) bool {
	if len(w) < headLetters {
		return true
	}
	head := w[:headLetters]
	return phraseHeads[head] || cs.view.Index.Facts().GameBegins(head)
}

// isPhrase reports whether words stand together and may be one phrase.
func isPhrase(words []word) bool {
	for k := range words {
		w := &words[k]
		if w.group != words[0].group || w.kind == inCore || w.kind == idle || w.kind == asNumber && k == 0 {
			return false
		}

		if w.kind == asNumber && !isGrader(words[0].text) {
			return false
		}
	}
	return true
}

// readPhrase reads a phrase, whose words a.key has joined and a.phrase divided by spaces.
func (f *facts) readPhrase(a *Appraiser, phrase []word) bool {
	mark := func(kind wordKind) bool {
		for k := range phrase {
			phrase[k].kind = kind
		}
		phrase[0].run = int8(len(phrase))
		return true
	}

	switch wish, ok := collector.FindWish(a.key); {
	case ok && wish.Have&^collector.Finishes == 0:
		// A rarity of shining cards is none of their prices.
		if !bytes.Contains(a.phrase, []byte("rare")) {
			f.addFinish(string(a.phrase), phrase)
		}
		phrase[0].wish = wish
		return mark(wished)
	case ok:
		phrase[0].wish = wish
		f.wishes = true
		return mark(wished)
	case isGrader(phrase[0].text) && len(phrase) == 2 && isGrade(phrase[1].raw),
		!isState(a.phrase) && index.IsGrading(string(a.phrase)):
		// The card is told all the same; its price is another copy's (decision 2207).
		f.addCopy(string(a.phrase))
		return mark(ofCopy)
	case isState(a.phrase):
		f.addState(stateOf(string(a.phrase)))
		return mark(ofState)
	case index.IsQuiet(string(a.phrase)) && !isSeveral(string(a.phrase)):
		return mark(idle)
	}

	if game := a.View.Index.Facts().Game(string(a.key)); game >= 0 && f.game < 0 {
		f.game = game
		return mark(idle)
	}
	return false
}

// isSeveral reports whether a word says that a line is no single card, which search leaves out.
func isSeveral(w string) bool {
	return slices.Contains([]string{"lot", "lots", "bulk", "pack", "cards", "singles"}, w)
}

// isState reports whether a phrase is a condition wherever it stands, or says one of a copy: "mint",
// "excellent condition".
func isState(phrase []byte) bool {
	text := string(phrase)
	return states[text] || index.IsGrading(text) && isCondition(stateOf(text))
}

// stateOf is a condition without the word for one.
func stateOf(phrase string) string { return strings.TrimSuffix(phrase, " condition") }

// states are the phrases of conditions, and those that are one beside a card's name, where search reads
// them otherwise.
var states = func() map[string]bool {
	all := map[string]bool{"played": true, "good": true, "gd": true}
	for _, phrase := range collector.ConditionPhrases() {
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
	return collector.IsInteger(whole) && len(whole) <= longestBare
}
