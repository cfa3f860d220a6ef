package valuation

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ninepocket/cardvocab"
)

// Bounds of a line's name: search reads as much (docs/dev/SEARCH.md, Cost).
const (
	maxWords   = 24
	maxLetters = 400
)

// wordRole is the role of a word in a line.
type wordRole uint8

const (
	required      wordRole = iota // the card must have it
	baseNameWord                  // of the card's name
	numberWord                    // written as a number
	setWord                       // part of the set
	preferred                     // a preferred rarity, finish or edition
	stopWord                      // the word does not change the card
	copyWord                      // describes another copy: a grade, a language
	conditionWord                 // part of a condition
)

// word is a word of a line's name.
type word struct {
	text       string // folded
	id         uint32 // its TermID, if it is known
	known      bool
	raw        string // as written
	group      int8   // the pair of brackets around it, 0 for none
	role       wordRole
	preference cardvocab.Preference
	// suffix reports that it comes after the name: the code and number of "(MEW 199)", "#4".
	suffix bool
	run    int8     // on the first word of a phrase: its number of words
	cards  []uint32 // that have the number, ascending
}

// readWords divides a name into words. plain is false if the name has signs or letters that only
// search reads, or is too long for a name.
func readWords(dst []word, name string) (words []word, plain bool) {
	name = cardvocab.Unescape(name)
	begins := len(dst)
	defer func() { words = withoutGold(words, begins) }()
	groups := int8(0)
	group := int8(0)
	letters := 0

	for at := 0; at < len(name); {
		begin := at
		for at < len(name) && !endsChunk(name[at], group > 0, at == begin) {
			at++
		}

		if at > begin {
			chunk := name[begin:at]
			dst = appendChunk(dst, chunk, group)
			letters += at - begin

			if len(dst) > maxWords || letters > maxLetters {
				return dst, false
			}
			continue
		}

		switch {
		case isOpen(name[at]):
			groups++
			group = groups
		case isClose(name[at]):
			group = 0
		}
		at++
	}

	return dst, !strings.ContainsAny(name, signs)
}

// withoutGold removes the first word of "gold star" from the words after from: the card has only a
// star printed.
func withoutGold(words []word, from int) []word {
	for i := from; i < len(words); i++ {
		w := &words[i]
		switch {
		case w.text == "goldstar":
			w.text = "star"
			w.raw = "star"
		case w.text == "gold" && i+1 < len(words) && words[i+1].text == "star" && words[i+1].group == w.group:
			words = append(words[:i], words[i+1:]...)
		}
	}
	return words
}

// endsChunk reports whether a byte ends a chunk between spaces. Brackets begin only after a space
// (decision 83).
func endsChunk(b byte, inside, first bool) bool {
	return isSpace(b) || inside && isClose(b) || first && isOpen(b)
}

func isSpace(b byte) bool { return b == ' ' || b == ',' || b == ';' || b == '"' }
func isOpen(b byte) bool  { return b == '(' || b == '[' || b == '{' }
func isClose(b byte) bool { return b == ')' || b == ']' || b == '}' }

// signs are the symbols that search reads as words, as ♀ is female (docs/dev/SEARCH.md, Normalise).
const signs = "♀♂★☆⭐✩✪✭✰◇♢◊⬦⋄αβγδ∂"

// appendChunk appends the words of a chunk between spaces: a number stays whole.
func appendChunk(dst []word, chunk string, group int8) []word {
	trimmed := strings.TrimRight(strings.TrimLeft(chunk, "#"), ".:!?")
	isCode := strings.HasSuffix(chunk, ":") && startsWord(trimmed) && !strings.ContainsAny(trimmed, "/-")
	if isNumberLike(trimmed) && !isCode || isSignNumber(trimmed) {
		return append(dst, word{
			text: cardvocab.Fold(trimmed), raw: trimmed, group: group, role: numberWord,
			suffix: strings.HasPrefix(chunk, "#"),
		})
	}

	// Divided, "V.1" would be a letter and a number.
	if isVersion(trimmed) {
		return append(dst, word{text: cardvocab.Fold(trimmed), raw: trimmed, group: group})
	}

	// Likewise a half grade would be two numbers.
	if head, ok := strings.CutSuffix(trimmed, ".5"); ok && isGluedGrade(cardvocab.Fold(head)) {
		return append(dst, word{text: cardvocab.Fold(head), raw: trimmed, group: group})
	} else if ok && isGrade(head) {
		return append(dst, word{text: trimmed, raw: trimmed, group: group})
	}

	for raw := range dividedText(chunk) {
		switch text := cardvocab.Fold(raw); {
		case text == "" && isPictograph(raw):
			// No card has it; it may be a flag that means a language.
			dst = append(dst, word{text: raw, raw: raw, group: group})
		case text != "" && text != "and":
			dst = append(dst, word{text: text, raw: raw, group: group})
		}
	}
	return dst
}

// isPictograph reports whether a text without letters and digits still means something: it has more
// than punctuation and the signs that search reads.
func isPictograph(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return r >= utf8.RuneSelf && !unicode.IsPunct(r) && !unicode.IsSpace(r) && !strings.ContainsRune(signs, r)
	})
}

// divides reports whether a byte separates words.
func divides(b byte) bool {
	return b < utf8.RuneSelf && b != '\'' && !cardvocab.IsWordByte(cardvocab.Lower(b))
}

// maxPrefixLen is the maximum number of letters at the start of a number: SWSH241, HGSS18,
// PRB02-006.
const maxPrefixLen = 5

// isNumberLike reports whether a text may be a collector number: digits, perhaps with letters before
// them, dashes and a total.
func isNumberLike(s string) bool {
	digits := 0
	letters := 0

	for i := range len(s) {
		switch b := cardvocab.Lower(s[i]); {
		case cardvocab.IsDigit(b):
			digits++
			letters = 0
		case b == '/' || b == '-' || b == '_':
			letters = 0
		case cardvocab.IsWordByte(b):
			letters++
			if letters > maxPrefixLen {
				return false
			}
		default:
			return false
		}
	}

	return digits > 0 && cardvocab.IsWordByte(cardvocab.Lower(s[0])) && !isOrdinal(s) && !isCopies(s)
}

// isSignNumber reports whether a text is a number of a sign with a total: "?/28".
func isSignNumber(s string) bool { return len(s) > 2 && (s[0] == '?' || s[0] == '!') && s[1] == '/' }

// isOrdinal reports whether a text is 1st, 2nd, 25th.
func isOrdinal(s string) bool {
	return len(s) > 2 && cardvocab.IsInteger(s[:len(s)-2]) &&
		slices.Contains([]string{"st", "nd", "rd", "th"}, strings.ToLower(s[len(s)-2:]))
}

// isCopies reports whether a text is a quantity: 2x, x4.
func isCopies(s string) bool {
	if s == "" || !cardvocab.IsDigit(s[0]) && !cardvocab.IsDigit(s[len(s)-1]) {
		return false
	}

	s = strings.ToLower(s)
	head, ok := strings.CutSuffix(s, "x")
	if !ok {
		head, ok = strings.CutPrefix(s, "x")
	}

	return ok && cardvocab.IsInteger(head) && len(head) <= 4
}

// isVersion reports whether a text is one of Cardmarket's versions: V.1, V2.
func isVersion(s string) bool {
	if len(s) < 2 || cardvocab.Lower(s[0]) != 'v' {
		return false
	}

	digits := strings.TrimPrefix(s[1:], ".")
	return cardvocab.IsInteger(digits) && len(digits) <= 2 && digits[0] != '0'
}

// isBare reports whether a number may also be a word: an integer without a total.
func (w *word) isBare() bool { return cardvocab.IsInteger(w.raw) }
