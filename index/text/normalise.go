package text

import (
	"unicode/utf8"

	"ninepocket/cardvocab"
)

// A token is one normalised word of a name or query: its place in the normaliser's text, and how it
// was written. docs/dev/SEARCH.md, Normalise.
type token struct {
	start, end int
	// stem is the length of the word without its possessive ending ("mistys": 5), or 0.
	stem int
	// before is the sign between the word and the previous word. It is ' ' for a space (or no
	// previous word), '-', '_', '/', '.' for that sign alone, and 't' for any other.
	before byte
	// hash reports a number sign directly before the word.
	hash bool
	// bracket is the number of the pair of brackets around the word, 0 without one. dash reports
	// that the word is behind a dash with spaces around it. These are TCGCSV's places for
	// qualifiers.
	bracket int
	dash    bool
	// money reports a dollar sign at the word, and than is the '<' or '>' before it.
	money bool
	than  byte
	// from and til are where the word is in the text that was read, its HTML entities decoded.
	from, til int
}

// A normaliser splits text into tokens. It reuses its buffers: the tokens are valid until the next
// call.
type normaliser struct {
	text   []byte
	tokens []token
	signs  []byte // scratch: the decomposition of one character
}

func (norm *normaliser) word(tok token) []byte { return norm.text[tok.start:tok.end] }

// words returns the normalised words of a text.
func (norm *normaliser) words(text string) []string {
	norm.read(text, 0)
	words := make([]string, len(norm.tokens))
	for i, tok := range norm.tokens {
		words[i] = string(norm.word(tok))
	}
	return words
}

// read splits a text into normalised words. It decodes HTML entities, writes symbols as words,
// decomposes characters, and drops diacritics, apostrophes and the word "and". Every other sign
// separates words. Words are in lower case. It stops after limit words, or 400 folded bytes; 0
// means no limit.
func (norm *normaliser) read(text string, limit int) {
	norm.text = norm.text[:0]
	norm.tokens = norm.tokens[:0]
	sc := scanner{norm: norm, limit: limit, before: ' ', start: -1}
	text = cardvocab.Unescape(text)
	for sc.at < len(text) && !sc.full() {
		char, size := utf8.DecodeRuneInString(text[sc.at:])
		sc.rune(text[sc.at:sc.at+size], char)
		sc.at += size
	}

	sc.endWord()
}

// A scanner is the state of one normaliser.read.
type scanner struct {
	norm  *normaliser
	limit int
	// at is how far the text was read; from is where the open word begins in it.
	at, from int
	// start of the open word in norm.text, -1 when none is open; apostropheAt is the word's length
	// at its last apostrophe, 0 when it has none.
	start, apostropheAt int
	// isWide reports that the open word is of wide characters.
	isWide          bool
	before          byte
	hash            bool
	depth, brackets int
	dash            bool
	spaced          bool // the last sign was a space
	slashed         bool // a slash follows the last word somewhere
	pending         bool // a dash after a space: " - " when a space follows
	money           bool // a dollar sign follows the last word
	than            byte // a '<' or '>' that follows it
}

func (sc *scanner) full() bool {
	return sc.limit > 0 && (len(sc.norm.tokens) >= sc.limit || len(sc.norm.text) >= maxFolded)
}

func (sc *scanner) rune(c string, char rune) {
	// Most characters are plain letters and digits, which need only lower case.
	plain := cardvocab.Lower(byte(char))
	if char < utf8.RuneSelf && cardvocab.IsWordByte(plain) {
		if sc.start < 0 || sc.isWide {
			sc.beginWord(false)
		}
		sc.norm.text = append(sc.norm.text, plain)
		return
	}

	if cardvocab.IsApostrophe(char) {
		sc.apostrophe()
		return
	}

	// A ligature or a fraction decomposes into several signs.
	sc.norm.signs = cardvocab.AppendPlain(sc.norm.signs[:0], c, char)
	for i := 0; i < len(sc.norm.signs); {
		char, size := utf8.DecodeRune(sc.norm.signs[i:])
		words := ""
		isSymbol := false
		if char >= utf8.RuneSelf {
			words, isSymbol = symbolWords[char]
		}

		switch {
		case isSymbol:
			sc.symbol(words)
		case cardvocab.IsApostrophe(char):
			sc.apostrophe()
		default:
			sc.plain(sc.norm.signs[i:i+size], char)
		}

		i += size
	}
}

// apostrophe skips an apostrophe, and records where the open word had it.
func (sc *scanner) apostrophe() {
	if sc.start >= 0 {
		sc.apostropheAt = len(sc.norm.text) - sc.start
	}
}

// symbol scans the words that a symbol stands for; they are words of their own.
func (sc *scanner) symbol(words string) {
	sc.endWord()
	for _, char := range words { // ASCII
		one := [1]byte{byte(char)}
		sc.plain(one[:], char)
	}
}

// plain scans one sign of plain text.
func (sc *scanner) plain(c []byte, char rune) {
	if cardvocab.IsWordRune(char) {
		sc.beginWord(char >= firstWide)
		sc.norm.text = append(sc.norm.text, c...)
		return
	}

	sc.endWord()
	switch char {
	case '(', '[', '{':
		sc.depth++
		sc.brackets++
	case ')', ']', '}':
		sc.depth = max(0, sc.depth-1)
	case '#':
		sc.hash = true
	case '$':
		sc.dollar()
		return
	case '<', '>':
		sc.than = byte(char)
	}

	switch char {
	case ' ', '\t', '\n', '\r':
		if sc.pending && sc.depth == 0 {
			sc.dash = true
		}
		sc.before = ' '
		sc.spaced = true
		sc.pending = false
		sc.hash = false

	case '-', '–', '—':
		sc.pending = sc.spaced && len(sc.norm.tokens) > 0
		sc.tie('-')
	case '/', '_', '.':
		sc.slashed = sc.slashed || char == '/'
		sc.tie(byte(char))
	default:
		sc.tie('t')
	}
}

// dollar records a dollar sign at the word before it, or else at the next one.
func (sc *scanner) dollar() {
	n := len(sc.norm.tokens)
	sc.money = n == 0 || sc.before != 0
	if !sc.money {
		sc.norm.tokens[n-1].money = true
		sc.tie('t')
	}
}

// firstWide is the first of the characters, Hangul, kana and Han, that need no space before Latin ones.
const firstWide = '\u3000'

// isWide reports whether a word is of wide characters.
func isWide(w []byte) bool { return len(w) > 2 && w[0] >= firstOfKana }

// beginWord opens a word if none of its script is open: リザードンex are two.
func (sc *scanner) beginWord(isWide bool) {
	if sc.start >= 0 && sc.isWide != isWide {
		sc.endWord()
		sc.tie('t')
	}
	if sc.start < 0 {
		sc.start = len(sc.norm.text)
		sc.from = sc.at
		sc.isWide = isWide
		sc.apostropheAt = 0
	}
	sc.spaced = false
	sc.pending = false
}

// tie records a sign directly between two words.
func (sc *scanner) tie(sign byte) {
	switch sc.before {
	case ' ', sign:
	case 0:
		sc.before = sign
	default:
		sc.before = 't'
	}

	if sign != '-' {
		sc.spaced = false
		sc.pending = false
	}
}

func (sc *scanner) endWord() {
	if sc.start < 0 {
		return
	}

	tok := token{
		start: sc.start, end: len(sc.norm.text), before: sc.before, hash: sc.hash, dash: sc.dash, money: sc.money,
		than: sc.than, from: sc.from, til: sc.at,
	}
	if sc.depth > 0 {
		tok.bracket = sc.brackets
	}

	w := sc.norm.text[tok.start:]
	// "misty's" is mistys and misty.
	if a := sc.apostropheAt; a > 0 && a == len(w)-1 && w[a] == 's' {
		tok.stem = a
	}

	// Some write spaces around the slash of a total: "4 / 102".
	if n := len(sc.norm.tokens); sc.slashed && sc.before == ' ' && n > 0 && isNumberWord(w) &&
		isNumberWord(sc.norm.word(sc.norm.tokens[n-1])) {
		tok.before = '/'
	}

	sc.start = -1
	sc.before = 0
	sc.hash = false
	sc.slashed = false
	sc.money = false
	sc.than = 0
	if string(w) == "and" {
		// "&" and "and" come and go between catalogs.
		sc.norm.text = sc.norm.text[:tok.start]
		sc.before = ' '
		sc.spaced = true
		return
	}

	if sc.limit == 0 || len(sc.norm.tokens) < sc.limit {
		sc.norm.tokens = append(sc.norm.tokens, tok)
	}
}

// symbolWords are the signs printed in card names that have a spoken form (docs/dev/SEARCH.md,
// Normalise).
var symbolWords = map[rune]string{
	'♀': " female ", '♂': " male ",
	'★': " star ", '☆': " star ", '⭐': " star ", '✩': " star ", '✪': " star ", '✭': " star ", '✰': " star ",
	'◇': " prism star ", '♢': " prism star ", '◊': " prism star ", '⬦': " prism star ", '⋄': " prism star ",
	'α': " alpha ", 'β': " beta ", 'γ': " gamma ", 'δ': " delta ", '∂': " delta ",
}
