package text

import (
	"unicode/utf8"

	"ninepocket/collector"
)

// A token is one normalised word of a name or of a query: where it stands in the normaliser's text,
// and how it was written. docs/SEARCH.md, Normalise.
type token struct {
	start, end int
	// stem is the length of the word without its possessive ending ("mistys": 5), or 0.
	stem int
	// before is what stands between the word and the one before it: ' ' when there is a space (or
	// no word before), else '-', '_', '/', '.' for that sign alone and 't' for any other.
	before byte
	// hash says that a number sign stands right before the word.
	hash bool
	// bracket is the number of the pair of brackets around the word, 0 when there is none; dash
	// says that the word stands behind a dash with spaces around it: TCGCSV's places for what is
	// not the name.
	bracket int
	dash    bool
}

// A normaliser turns text into tokens. It keeps its buffers between calls; the tokens are valid
// until the next one.
type normaliser struct {
	text   []byte
	tokens []token
	signs  []byte // scratch: what came of one character
}

func (n *normaliser) word(t token) []byte { return n.text[t.start:t.end] }

// read splits s into normalised words: HTML-unescaped, symbols spelled out, decomposed, without
// marks and apostrophes, lower case, divided at every other sign, the word "and" left out. It stops
// after limit words, or 400 folded bytes; 0 means no limit.
func (n *normaliser) read(s string, limit int) {
	n.text = n.text[:0]
	n.tokens = n.tokens[:0]
	sc := scanner{n: n, limit: limit, before: ' ', start: -1}
	s = collector.Unescape(s)
	for i := 0; i < len(s) && !sc.full(); {
		r := rune(s[i])
		size := 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		sc.rune(s[i:i+size], r)
		i += size
	}

	sc.endWord()
}

// A scanner is the state of one normaliser.read.
type scanner struct {
	n     *normaliser
	limit int
	// start of the open word in n.text, -1 when none is open; mark is the word's length at its last
	// apostrophe, 0 when it has none.
	start, mark     int
	before          byte
	hash            bool
	depth, brackets int
	dash            bool
	spaced          bool // the last sign was a space
	pending         bool // a dash after a space: " - " when a space follows
}

func (sc *scanner) full() bool {
	return sc.limit > 0 && (len(sc.n.tokens) >= sc.limit || len(sc.n.text) >= maxFolded)
}

func (sc *scanner) rune(c string, r rune) {
	if collector.IsApostrophe(r) {
		sc.apostrophe()
		return
	}

	// Feed what comes of the character sign by sign: a ligature or a fraction is several.
	sc.n.signs = collector.AppendPlain(sc.n.signs[:0], c, r)
	for i := 0; i < len(sc.n.signs); {
		q, size := collector.DecodeRune(sc.n.signs[i:])
		words := ""
		isSymbol := false
		if q >= utf8.RuneSelf {
			words, isSymbol = symbolWords[q]
		}

		switch {
		case isSymbol:
			sc.symbol(words)
		case collector.IsApostrophe(q):
			sc.apostrophe()
		default:
			sc.plain(sc.n.signs[i:i+size], q)
		}

		i += size
	}
}

// apostrophe leaves out an apostrophe, remembering where the open word had it.
func (sc *scanner) apostrophe() {
	if sc.start >= 0 {
		sc.mark = len(sc.n.text) - sc.start
	}
}

// symbol feeds the words that a symbol stands for; they are words of their own.
func (sc *scanner) symbol(words string) {
	sc.endWord()
	for _, r := range words { // ASCII
		one := [1]byte{byte(r)}
		sc.plain(one[:], r)
	}
}

// plain takes one sign of plain text.
func (sc *scanner) plain(c []byte, r rune) {
	if collector.IsWordRune(r) {
		if sc.start < 0 {
			sc.start = len(sc.n.text)
			sc.mark = 0
		}
		sc.n.text = append(sc.n.text, c...)
		sc.spaced = false
		sc.pending = false
		return
	}

	sc.endWord()
	switch r {
	case '(', '[', '{':
		sc.depth++
		sc.brackets++
	case ')', ']', '}':
		sc.depth = max(0, sc.depth-1)
	case '#':
		sc.hash = true
	}

	sc.separate(r)
}

func (sc *scanner) separate(r rune) {
	switch r {
	case ' ', '\t', '\n', '\r':
		if sc.pending && sc.depth == 0 {
			sc.dash = true
		}
		sc.before = ' '
		sc.spaced = true
		sc.pending = false
		sc.hash = false

	case '-', '–', '—':
		sc.pending = sc.spaced && len(sc.n.tokens) > 0
		sc.tie('-')
	case '/', '_', '.':
		sc.tie(byte(r))
	default:
		sc.tie('t')
	}
}

// tie notes a sign between two words that touch it.
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

	t := token{start: sc.start, end: len(sc.n.text), before: sc.before, hash: sc.hash, dash: sc.dash}
	if sc.depth > 0 {
		t.bracket = sc.brackets
	}

	w := sc.n.text[t.start:]
	// "misty's" is mistys and misty.
	if a := sc.mark; a > 0 && a == len(w)-1 && w[a] == 's' {
		t.stem = a
	}

	sc.start = -1
	sc.before = 0
	sc.hash = false
	if string(w) == "and" {
		// "&" and "and" come and go between catalogs.
		sc.n.text = sc.n.text[:t.start]
		sc.before = ' '
		sc.spaced = true
		return
	}

	if sc.limit == 0 || len(sc.n.tokens) < sc.limit {
		sc.n.tokens = append(sc.n.tokens, t)
	}
}

// symbolWords are the signs printed in card names that have a spoken form (docs/SEARCH.md,
// Normalise).
var symbolWords = map[rune]string{
	'♀': " female ", '♂': " male ",
	'★': " star ", '☆': " star ", '⭐': " star ", '✩': " star ", '✪': " star ", '✭': " star ", '✰': " star ",
	'◇': " prism star ", '♢': " prism star ", '◊': " prism star ", '⬦': " prism star ", '⋄': " prism star ",
	'α': " alpha ", 'β': " beta ", 'γ': " gamma ", 'δ': " delta ", '∂': " delta ",
}
