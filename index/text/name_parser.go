package text

import (
	"bytes"
	"slices"

	"ninepocket/cardvocab"
)

// maxNameWords bounds the words of a name: further words have no bit in a mask.
const maxNameWords = 31

// A name is a card's parsed name: first the words of the name itself, then its qualifiers.
// Qualifiers are words such as "(Alternate Art)" and "- 2016 (Shintaro Ito)", which a query may
// contain but need not.
type name struct {
	words []nameWord
	core  int // how many of the words are the name itself
	// numbered reports that the name contained the card's number, which was removed: the same text
	// with another number may be another name.
	numbered bool
	// misnumbered reports that the name contains a number or a total that is not the card's.
	misnumbered bool
}

type nameWord struct {
	text string
	stem int  // as in token
	tied bool // no space separates it from the previous word: "Ho-Oh"
}

// A nameParser parses names. TCGCSV's names contain parts that other sources have in other
// fields; docs/dev/SEARCH.md, Normalise:
//   - " - OP01-016", "(001)", "(#12)" and "(74 Delta)" repeat the card's own number, which is
//     dropped;
//   - "(Delta Species)", "(Prism Star)", "(Star)" and "Nidoran (F)" are symbols, and part of
//     the name;
//   - the other words in brackets or behind a dash only qualify the name.
type nameParser struct {
	norm normaliser
	key  []byte
	own  string // the number's key, its base and its tail
	base string
	tail string
}

func (reader *nameParser) read(display, number string) name {
	reader.own = cardvocab.NumberKey(number)
	reader.base = cardvocab.NumberBase(number)
	reader.tail = cardvocab.NumberTail(reader.base)
	reader.norm.read(display, 0)

	var core, extra []nameWord
	tokens := reader.norm.tokens
	numbered := false
	for i := 0; i < len(tokens); {
		if tokens[i].bracket == 0 && !tokens[i].dash {
			core = append(core, reader.word(core, tokens[i]))
			i++
			continue
		}

		end := i + 1
		for end < len(tokens) && tokens[end].bracket == tokens[i].bracket && tokens[end].dash == tokens[i].dash {
			end++
		}

		rest, cut := reader.cutNumber(tokens[i:end])
		numbered = numbered || cut
		// A symbol in brackets belongs to the name, the rest only qualifies it.
		symbol := reader.symbolWords(rest, core)
		for k, tok := range rest {
			if k < symbol {
				core = append(core, reader.word(core, tok))
			} else {
				extra = append(extra, reader.word(extra, tok))
			}
		}

		i = end
	}

	if n := reader.numberAtEnd(tokens, len(core)); n > 0 {
		core = core[:len(core)-n]
		numbered = true
	}

	if len(core) == 0 {
		core = extra
		extra = nil
	}

	total := cardvocab.NumberTotal(number)
	misnumbered := slices.ContainsFunc(tokens, func(tok token) bool {
		word := reader.norm.word(tok)
		isTotal := tok.before == '/' && isNumberWord(word)
		if !numbered {
			return tok.hash || isTotal
		}
		return isTotal && total != "" && cardvocab.NumberKey(string(word)) != total
	})
	core = core[:min(len(core), maxNameWords)]
	extra = extra[:min(len(extra), maxNameWords-len(core))]
	return name{words: append(core, extra...), core: len(core), numbered: numbered, misnumbered: misnumbered}
}

// word makes a token the next word of core.
func (reader *nameParser) word(core []nameWord, tok token) nameWord {
	w := reader.norm.word(tok)
	if len(core) > 0 && len(w) == 1 && core[len(core)-1].text == "nidoran" {
		w = genderOf(w)
	}
	return nameWord{text: string(w), stem: tok.stem, tied: tok.before != ' ' && len(core) > 0}
}

// words returns the words of a text without qualifiers.
func (reader *nameParser) words(text string) []nameWord {
	reader.norm.read(text, 0)
	words := make([]nameWord, len(reader.norm.tokens))
	for i, tok := range reader.norm.tokens {
		words[i] = nameWord{text: string(reader.norm.word(tok)), stem: tok.stem, tied: i > 0 && tok.before != ' '}
	}
	return words
}

// qualify adds the words of a printing that the name does not have yet.
func (parsed *name) qualify(printing []nameWord) {
	for _, w := range printing {
		// The name may contain the printing already.
		extra := parsed.words[parsed.core:]
		known := slices.ContainsFunc(extra, func(have nameWord) bool { return have.text == w.text })
		if !known && len(parsed.words) < maxNameWords {
			w.tied = w.tied && len(parsed.words) > parsed.core
			parsed.words = append(parsed.words, w)
		}
	}
}

// cutNumber removes the card's number from the front of a bracket or of the text after a dash:
// "OP01-016", "001", "4/102", "#12", "74 Delta".
func (reader *nameParser) cutNumber(tokens []token) (rest []token, cut bool) {
	if reader.own == "" {
		return tokens, false
	}

	// The number is tied together by dashes, slashes or low lines.
	end := 1
	for end < len(tokens) && (tokens[end].before == '-' || tokens[end].before == '/' || tokens[end].before == '_') {
		end++
	}

	reader.key = reader.key[:0]
	for i, tok := range tokens[:end] {
		if i > 0 {
			reader.key = append(reader.key, tok.before)
		}
		reader.key = append(reader.key, reader.norm.word(tok)...)
	}

	if key := cardvocab.NumberKey(string(reader.key)); key != reader.own && key != reader.base && key != reader.tail {
		return tokens, false
	}

	return tokens[end:], true
}

// numberAtEnd returns how many words at the end of the name, neither bracketed nor behind a dash,
// are the card's number: "Rayquaza V 100/159". A bare integer is no number: "Baby 5".
func (reader *nameParser) numberAtEnd(tokens []token, core int) int {
	first := core - 1
	for first > 0 && (tokens[first].before == '/' || tokens[first].before == '-' &&
		isNumberWord(reader.norm.word(tokens[first]))) {
		first--
	}

	if first <= 0 || first == core-1 || core > len(tokens) || tokens[core-1].bracket != 0 || tokens[core-1].dash {
		return 0
	}
	if rest, cut := reader.cutNumber(tokens[first:core]); !cut || len(rest) > 0 {
		return 0
	}

	return core - first
}

// symbolWords returns the number of words in a bracket that name a symbol of the name before it.
func (reader *nameParser) symbolWords(tokens []token, core []nameWord) int {
	if len(tokens) == 0 || len(tokens) > 2 || tokens[0].bracket == 0 || len(core) == 0 {
		return 0
	}

	first := string(reader.norm.word(tokens[0]))
	second := ""
	if len(tokens) == 2 {
		second = string(reader.norm.word(tokens[1]))
	}

	switch {
	case first == "delta" && (second == "" || second == "species"):
		return 1
	case first == "star" && second == "", first == "prism" && second == "star":
		return len(tokens)
	case (first == "f" || first == "m") && second == "" && core[len(core)-1].text == "nidoran":
		return 1
	}

	return 0
}

// genderOf returns the word for the letter that TCGCSV writes for the sign of Nidoran ♀ and Nidoran ♂.
func genderOf(w []byte) []byte {
	switch w[0] {
	case 'f':
		return []byte("female")
	case 'm':
		return []byte("male")
	}
	return w
}

// A setName is a parsed name of a set. Some feeds put a code in front of the name: "SWSH07:
// Evolving Skies", "SM - Cosmic Eclipse".
type setName struct {
	words []nameWord
	codes []string
}

func (reader *nameParser) readSet(display, code string) setName {
	// The code in front identifies the set by itself, and is no word of its name.
	parsed := setName{codes: reader.norm.words(display[:codeEnd(display)])}
	words := reader.words(display)[len(parsed.codes):]
	parsed.words = words[:min(len(words), maxNameWords)]
	if len(words) > 0 {
		words[0].tied = false
	}

	if code != "" {
		parsed.codes = append(parsed.codes, string(appendNumberWord(nil, code)))
		if own := reader.norm.words(code); len(own) == 1 {
			parsed.codes = append(parsed.codes, own[0])
		}
	}
	return parsed
}

// codeEnd returns the end of the code in front of a set's name, 0 without one. The code is at most
// six letters and digits before ": " or " - ".
func codeEnd(display string) int {
	n := 0
	for n < len(display) && cardvocab.IsWordByte(cardvocab.Lower(display[n])) {
		n++
	}

	rest := []byte(display[n:])
	if n == 0 || n > 6 || !bytes.HasPrefix(rest, []byte(": ")) && !bytes.HasPrefix(rest, []byte(" - ")) {
		return 0
	}

	return n
}

// appendNumberWord appends the letters and digits of a code, as they would be typed in a query:
// "OP-01" is op01.
func appendNumberWord(dst []byte, code string) []byte {
	for i := range len(code) {
		if b := cardvocab.Lower(code[i]); cardvocab.IsWordByte(b) {
			dst = append(dst, b)
		}
	}
	return dst
}
