package text

import (
	"slices"

	"ninepocket/cardvocab"
)

// digitFor returns the digit that a scanner reads as this letter; ok is false for other letters.
func digitFor(letter byte) (digit byte, ok bool) {
	switch letter {
	case 'o':
		return '0', true
	case 'l', 'i':
		return '1', true
	case 's':
		return '5', true
	case 'b':
		return '8', true
	}
	return letter, false
}

// letterFor returns the letter of a number that a scanner reads as this digit.
func letterFor(digit byte) (letter byte, ok bool) {
	switch digit {
	case '0':
		return 'o', true
	case '5':
		return 's', true
	case '8':
		return 'b', true
	}
	return digit, false
}

// minLookalikes is the least length of a number without a total of which letters are read as digits.
const minLookalikes = 3

// readLookalikes corrects numbers in which letters stand for digits, or digits for letters, where no
// card has the number as typed (docs/SEARCH.md, Numbers): "O11/198", "OPO5-119", "4/lO2".
func (q *query) readLookalikes(ix *Index) {
	tokens := q.norm.tokens
	for i := 0; i < len(tokens); {
		til := i + 1
		for til < len(tokens) && (tokens[til].before == '-' || tokens[til].before == '_') {
			til++
		}

		switch {
		case i > 0 && tokens[i].before == '/':
			q.correctTotal(i)
		case til < len(tokens) && tokens[til].before == '/':
			q.correctNumber(ix, i, til)
		case len(q.span(i, til)) >= minLookalikes && isNumberWord(q.span(i, til)) && !ix.isKnownWord(q.span(i, til)):
			q.correctNumber(ix, i, til)
		}
		i = til
	}
}

// correctNumber makes the tokens from i to til the known number that they look like, which has
// letters and then digits; it changes nothing if there is none.
func (q *query) correctNumber(ix *Index, i, til int) {
	if ix.numbers.find(q.numberKey(i, til)) != none {
		return
	}

	text := q.span(i, til)
	typed := slices.Clone(text)
	for head := range text {
		if readAs(text[:head], letterFor, isLetter) && readAs(text[head:], digitFor, cardvocab.IsDigit) &&
			ix.numbers.find(q.numberKey(i, til)) != none {
			return
		}
		copy(text, typed)
	}
}

// correctTotal makes the token behind a slash the total that it looks like. It may begin with the
// letters of the number: "GG69/GG7O".
func (q *query) correctTotal(i int) {
	number := q.norm.word(q.norm.tokens[i-1])
	text := q.norm.word(q.norm.tokens[i])
	head := 0
	for head < min(len(text), len(number)) && text[head] == number[head] && isLetter(text[head]) {
		head++
	}

	if cardvocab.IsInteger(text[head:]) {
		return
	}
	typed := slices.Clone(text)
	if !readAs(text[head:], digitFor, cardvocab.IsDigit) {
		copy(text, typed)
	}
}

// readAs replaces characters by what they look like, unless they are right already. It reports whether all
// are right then.
func readAs(text []byte, like func(byte) (byte, bool), right func(byte) bool) bool {
	for i, b := range text {
		if right(b) {
			continue
		}
		other, ok := like(b)
		if !ok {
			return false
		}
		text[i] = other
	}
	return true
}

func isLetter(b byte) bool { return b >= 'a' && b <= 'z' }

// maxMisreadDigits is how many digits of a word may be misread letters.
const maxMisreadDigits = 2

// isMisread reports whether a word may be a word of letters some of which a scanner read as digits:
// "squirt1e". Two digits at the end are a number.
func isMisread(w []byte) bool {
	digits := 0
	for _, b := range w {
		switch {
		case isLetter(b):
		case b == '0', b == '1', b == '5', b == '8':
			digits++
		default:
			return false
		}
	}

	n := len(w)
	return digits <= maxMisreadDigits && n-digits >= 3 && (isLetter(w[n-1]) || isLetter(w[n-2]))
}
