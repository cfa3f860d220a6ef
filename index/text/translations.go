package text

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"ninepocket/cardvocab"
)

// minTranslatedPrefix is the least number of Latin letters of a prefix that finds a name in another language.
const minTranslatedPrefix = 4

// addTranslations adds the names of other languages that mean nothing in the catalog's own (docs/dev/SEARCH.md, Other
// languages), and makes the table of all aliases.
func (b *builder) addTranslations() {
	table := &b.index.aliases
	parts := map[string]map[string]int{}
	for i, given := range b.corpus.Aliases {
		Every(b.step, i)
		if given.Translated {
			b.addTranslation(&given)
			b.countParts(parts, &given)
		}
	}

	// A part of names stands for the word that most of them have in its place: ゾロ, 索隆.
	for part, words := range parts {
		all := 0
		best := ""
		for word, n := range words {
			all += n
			if n > words[best] || n == words[best] && word < best {
				best = word
			}
		}
		if 2*words[best] > all {
			b.addTranslation(&Alias{Phrase: part, Replacement: best, Game: b.partGame[part], Translated: true})
		}
	}

	table.phrases = newVocabulary(slices.Collect(maps.Keys(b.meanings)), b.step)
	table.meanings = make([]alias, table.phrases.len())
	for phrase, of := range b.meanings {
		table.meanings[table.phrases.findString(phrase)] = of
		if len(phrase) >= minTranslatedPrefix {
			word, bit := headBit([]byte(phrase))
			table.heads[word] |= bit
		}
		if of.lo != none || of.words == "" {
			table.maxName = max(table.maxName, len(phrase))
		}
	}
}

// addTranslation adds a name that means nothing else.
func (b *builder) addTranslation(given *Alias) {
	ix := b.index
	of := alias{words: given.Replacement, given: none, games: gamesOf(given.Game), lo: none, second: none}
	if given.Replacement != "" {
		of.lo, of.second = b.wordsOf(given.Replacement)
		if of.lo == none {
			return
		}
	}

	b.parser.norm.read(given.Phrase, 0)
	tokens := b.parser.norm.tokens
	if len(tokens) == 0 || len(tokens) > maxTokens || b.isName(tokens) {
		return
	}

	name := string(b.parser.norm.text)
	english := ix.words.findString(name) != none || b.isCode[name] || stopWords[name] != significant ||
		ix.phrases[name].kind != roleTerm
	// A meaning from a list of other names stays.
	if listed, known := b.meanings[name]; !english && (!known || strings.EqualFold(listed.words, of.words)) {
		b.meanings[name] = of
	}
}

// wordsOf returns words that find names with some English words: the last two, or all of them joined. lo is none if
// the catalog has them nowhere.
func (b *builder) wordsOf(english string) (lo, second uint32) {
	words := b.parser.norm.words(english)
	find := b.index.words.findString
	n := len(words)
	switch joined := find(strings.Join(words, "")); {
	case n == 0:
		return none, none
	case joined != none:
		return joined, none
	case n == 1:
		return find(words[0]), none
	}

	lo = find(words[n-2])
	second = find(words[n-1])
	if second == none {
		lo = none
	}
	return lo, second
}

// countParts counts which English words stand for each wide part of a name. If the numbers of parts differ, only the
// last parts are compared.
func (b *builder) countParts(parts map[string]map[string]int, given *Alias) {
	names := b.parser.norm.words(given.Phrase)
	english := b.parser.norm.words(given.Replacement)
	if len(names) < 2 || len(english) < 2 {
		return
	}

	for i := range names {
		at := i
		if len(names) != len(english) {
			if i < len(names)-1 {
				continue
			}
			at = len(english) - 1
		}
		part := names[i]
		if !isWide([]byte(part)) || utf8.RuneCountInString(part) < 2 {
			continue
		}
		if parts[part] == nil {
			parts[part] = map[string]int{}
		}
		parts[part][english[at]]++
		b.partGame[part] = given.Game
	}
}

// splitNames divides words that hold a name of another language into the name and the glued rest:
// アローラロコン, GlurakVMAX.
func (q *query) splitNames(ix *Index) {
	for i := 0; i < len(q.norm.tokens); i++ {
		tok := q.norm.tokens[i]
		word := q.norm.word(tok)
		suffix := suffixOf(word)
		if tok.hash || suffix == 0 && !isWide(word) || ix.words.find(word) != none || ix.aliases.find(word) != nil {
			continue
		}

		q.pieces = q.pieces[:0]
		if suffix == 0 {
			q.splitWide(ix, tok)
		} else if head := len(word) - suffix; ix.isTranslated(word[:head]) ||
			i > 0 && isWide(q.norm.word(q.norm.tokens[i-1])) && slices.Contains(suffixes, string(word[:head])) {
			q.addPiece(tok, 0, head)
			q.addPiece(tok, head, len(word))
		}
		if len(q.pieces) > 0 {
			q.norm.tokens = slices.Replace(q.norm.tokens, i, i+1, q.pieces...)
			i += len(q.pieces) - 1
		}
	}

	q.norm.tokens = q.norm.tokens[:min(len(q.norm.tokens), maxTokens)]
}

// gluedSuffixes are the suffixes that people glue to a name, the longest first. An x alone is rather a slip of the
// finger.
var gluedSuffixes = []string{"vstar", "break", "vmax", "star", "ex", "gx", "v"}

// suffixOf returns the length of the suffix that a longer word ends with, 0 without one. It may be glued to a name, or
// to another suffix behind a wide name: メガリザードンXex.
func suffixOf(word []byte) int {
	// Few words end with their letters.
	switch word[len(word)-1] {
	case 'v', 'x', 'r', 'k':
	default:
		return 0
	}

	for _, suffix := range gluedSuffixes {
		if len(suffix) < len(word) && string(word[len(word)-len(suffix):]) == suffix {
			return len(suffix)
		}
	}
	return 0
}

// isTranslated reports whether a word is a name in another language.
func (ix *Index) isTranslated(word []byte) bool {
	of := ix.aliases.find(word)
	return of != nil && of.lo != none
}

// splitWide divides a word without spaces between words: the longest names first, from the left. Particles next to
// a name are dropped. Text between names is a separate word; a name that is still being typed is one, too.
func (q *query) splitWide(ix *Index, tok token) {
	word := q.norm.word(tok)
	rest := 0 // where the word that is no name begins
	for at := 0; at < len(word) && len(q.pieces) < maxTokens; {
		n, characters := ix.nameAt(word, at)
		if n < len(word)-at && ix.beginsName(word[at:]) {
			break
		}
		particle := 0
		next, _ := ix.nameAt(word, at+n)
		if next == 0 {
			particle = ix.particleAt(word, at+n)
			next, _ = ix.nameAt(word, at+n+particle)
		}

		// A particle is one behind a name or before one.
		isName := n > 0 || particle > 0 && (next > 0 || at == rest && at > 0)
		// Two characters are part of other words as well.
		if !isName || characters == 2 && at+n < len(word) && particle+next == 0 {
			at = nextCharacter(word, at)
			continue
		}

		if at > rest {
			q.addPiece(tok, rest, at)
		}
		if n > 0 {
			q.addPiece(tok, at, at+n)
		}
		at += n + particle
		rest = at
	}

	if rest > 0 && rest < len(word) {
		q.addPiece(tok, rest, len(word))
	}
}

// nextCharacter is the end of the character at a place of a wide word, with its voicing mark.
func nextCharacter(word []byte, at int) int {
	for first := true; at < len(word); first = false {
		char, size := utf8.DecodeRune(word[at:])
		if !first && !cardvocab.IsVoicing(char) {
			break
		}
		at += size
	}
	return at
}

// nameAt returns the length of the longest name at a place of a wide word, in bytes and in characters. It has two
// characters at least, unless one is all that is left.
func (ix *Index) nameAt(word []byte, at int) (n, characters int) {
	count := 0
	for end := at; end < len(word) && end-at < ix.aliases.maxName; {
		end = nextCharacter(word, end)
		count++
		if of := ix.aliases.find(word[at:end]); of != nil && of.words != "" && (count > 1 || end == len(word)) {
			n = end - at
			characters = count
		}
	}
	return n, characters
}

// beginsName reports whether a name in another language begins with a word.
func (ix *Index) beginsName(word []byte) bool {
	lo, hi := ix.aliases.phrases.prefix(word)
	return lo < hi
}

// particleAt returns the length of a particle at a place of a word, 0 without one.
func (ix *Index) particleAt(word []byte, at int) int {
	end := nextCharacter(word, at)
	if of := ix.aliases.find(word[at:end]); of != nil && of.words == "" {
		return end - at
	}
	return 0
}

// addPiece adds a part of a token as a token.
func (q *query) addPiece(tok token, from, til int) {
	part := tok
	part.start += from
	part.end = tok.start + til
	part.stem = 0
	if from > 0 {
		part.before = 't'
	}

	// If characters of the query have other lengths, the place of a part is unknown.
	if tok.til-tok.from == tok.end-tok.start {
		part.from = tok.from + from
		part.til = tok.from + til
	} else {
		part.til = 0
	}
	q.pieces = append(q.pieces, part)
}

// expandTranslatedPrefix takes a word for the prefix of names in other languages.
func (rd *termExpander) expandTranslatedPrefix(bit uint8, w []byte) {
	if rd.query.typed || !isWide(w) && len(w) < minTranslatedPrefix {
		return
	}
	if len(w) >= minTranslatedPrefix {
		if word, bit := headBit(w); rd.ix.aliases.heads[word]&bit == 0 {
			return
		}
	}

	for lo, hi := rd.ix.aliases.phrases.prefix(w); lo < hi; lo++ {
		rd.addTranslated(bit, prefixName, lo)
	}
}

// addTranslatedTypos takes a word for misspelled names in other languages.
func (rd *termExpander) addTranslatedTypos(bit uint8, names []nearWord) {
	for _, near := range names {
		switch {
		case rd.query.typed:
		case near.distance == 1:
			rd.addTranslated(bit, typoName, near.id)
		default:
			rd.addTranslated(bit, twoTyposName, near.id)
		}
	}
}

// addTranslated adds the meaning of a phrase, if it is a name of another language.
func (rd *termExpander) addTranslated(bit uint8, c matchClass, phrase uint32) {
	if of := &rd.ix.aliases.meanings[phrase]; of.lo != none {
		rd.list = append(rd.list, termExpansion{bits: bit, class: c, lo: of.lo, hi: of.lo + 1, second: of.second})
	}
}
