package text

import (
	"slices"
	"strings"

	"ninepocket/cardvocab"
)

// An Alias is another phrase for words to search in its place, or for a card.
type Alias struct {
	Phrase      string
	Replacement string // words; "" when it stands for a card
	Card        int    // the card that it stands for, -1 for none
	Game        int    // the only game of the alias, -1 for all
	// Translated reports a name of another language; without a replacement it means nothing
	// (docs/dev/SEARCH.md, Other languages).
	Translated bool
}

// alias is the meaning of a folded phrase.
type alias struct {
	words string
	given uint32 // the alias of the corpus that stands for a card, or none
	games uint64 // the games of this meaning
	// lo, with second behind it unless that is none, are words of the names that a translated phrase
	// means; lo is none for other phrases.
	lo, second uint32
}

// aliasTable has the meanings of folded phrases.
type aliasTable struct {
	phrases  vocabulary
	meanings []alias // by phrase
	maxName  int     // bytes of a translated phrase, 0 without one
	// heads has a bit for the first four bytes of each phrase: few words begin as one does.
	heads [1 << 11]uint32
}

// headBit is the place of the first four bytes of a word in heads.
func headBit(w []byte) (word, bit uint32) {
	hash := (uint32(w[0])<<24 | uint32(w[1])<<16 | uint32(w[2])<<8 | uint32(w[3])) * 0x9e3779b1 >> 16
	return hash >> 5, 1 << (hash & 31)
}

// find returns the meaning of a folded phrase, nil without one.
func (table *aliasTable) find(phrase []byte) *alias {
	if id := table.phrases.find(phrase); id != none {
		return &table.meanings[id]
	}
	return nil
}

// maxAliasWords is the maximum number of words of an alias, unless it is the whole query.
const maxAliasWords = 5

// readPhrases records the phrases of all aliases, so that whole names that contain one are
// protected.
func (b *builder) readPhrases() {
	b.phrases = map[string]bool{}
	for _, given := range b.corpus.Aliases {
		// A translated phrase has no word of a name of the catalog.
		if !given.Translated {
			b.parser.norm.read(given.Phrase, 0)
			b.phrases[string(b.parser.norm.text)] = true
		}
	}
}

// addAliases adds the aliases that the catalog itself does not contradict. A phrase that is the
// name of a card, or the code of a set, keeps that meaning.
func (b *builder) addAliases() {
	b.meanings = map[string]alias{}
	for i, given := range b.corpus.Aliases {
		b.parser.norm.read(given.Phrase, 0)
		tokens := b.parser.norm.tokens
		if len(tokens) == 0 || len(tokens) > maxAliasWords || given.Translated {
			continue
		}

		folded := string(b.parser.norm.text)
		if b.isName(tokens) || b.isCode[folded] {
			continue
		}

		of := alias{words: given.Replacement, given: none, games: gamesOf(given.Game), lo: none, second: none}
		if given.Card >= 0 {
			of.given = uint32(i)
			of.words = strings.Clone(b.corpus.Name(given.Card)) // a lexicon outlives its catalog
		}
		b.meanings[folded] = of
	}
}

// gamesOf is the set of one game, of all games for -1.
func gamesOf(game int) uint64 {
	if game < 0 {
		return ^uint64(0)
	}
	return 1 << min(game, 63)
}

// isName reports whether the words just read are the whole name of a card of some game.
func (b *builder) isName(tokens []token) bool {
	var key []byte
	for game := range len(b.corpus.Games) + 1 {
		key = append(key[:0], byte(game))
		for _, tok := range tokens {
			key = append(append(key, b.parser.norm.word(tok)...), ' ')
		}
		if _, ok := b.family[string(key)]; ok {
			return true
		}
	}

	return false
}

// readAliases replaces the aliases in the query by their meanings, unless typed asks for the
// words as typed.
func (q *query) readAliases(ix *Index, typed bool) {
	q.rewritten = false
	q.rewrittenWhole = false
	q.rewrites = q.rewrites[:0]
	q.aliasGames = ^uint64(0)
	if typed || ix.aliases.phrases.len() == 0 {
		return
	}

	tokens := q.norm.tokens
	var text []byte
	last := 0 // the end of the last phrase
	for i := 0; i < len(tokens); i++ {
		til := len(tokens)
		if i > 0 {
			til = min(til, i+maxAliasWords)
		}
		for ; til > i; til = min(til-1, i+maxAliasWords) {
			alias := ix.aliases.find(q.span(i, til))
			number := tokens[i].hash || q.isNumberPart(i, i+1) && tokens[i].before != ' '
			trade := til == i+1 && stopWords[string(q.norm.word(tokens[i]))].isTradeTerm()
			if alias == nil || number || trade || q.isInName(ix, i, til) {
				continue
			}

			if til-i == len(tokens) {
				if alias.given != none {
					q.cards = append(q.cards[:0], ix.aliasCards[alias.given])
				}
				q.rewrittenWhole = true
			}
			q.aliasGames &= alias.games
			q.rewrites = append(q.rewrites, q.rewriteOf(i, til, alias.words))
			text = append(append(q.appendTyped(text, last, i), ' '), alias.words...)
			last = til
			i = til - 1
			break
		}
	}

	if last == 0 {
		return
	}

	q.rewritten = true
	text = q.appendTyped(text, last, len(tokens))
	q.norm.read(string(text), maxTokens)
}

// A rewrite is a phrase of the query, as typed, that was replaced by words.
type rewrite struct {
	from, til int    // of the phrase in the query
	folded    string // of the phrase, if it is only a part of a word
	words     string
}

func (q *query) rewriteOf(i, til int, words string) rewrite {
	from := q.norm.tokens[i]
	last := q.norm.tokens[til-1]
	if from.til == 0 || last.til == 0 {
		return rewrite{folded: string(q.span(i, til)), words: words}
	}
	return rewrite{from: from.from, til: last.til, words: words}
}

// Alias returns the words that a folded phrase stands for, "" for none, and whether it is their name in another
// language.
func (ix *Index) Alias(folded string) (words string, isTranslated bool) {
	of := ix.aliases.find([]byte(folded))
	if of == nil {
		return "", false
	}
	return of.words, of.lo != none
}

// isInName reports whether the tokens from i to til are part of a whole name, or one word with the
// next token. Examples: "eustass captain kid", "pre release".
func (q *query) isInName(ix *Index, i, til int) bool {
	n := len(q.norm.tokens)
	if til < n {
		if id := ix.words.find(q.span(i, til+1)); id != none && !q.norm.tokens[til].hash {
			return true
		}
	}

	for first := max(0, til-maxProtectedWords); first <= i; first++ {
		for end := til; end <= min(n, first+maxProtectedWords); end++ {
			if end-first > til-i && ix.protectedNames.find(q.span(first, end)) != none {
				return true
			}
		}
	}

	return false
}

// isTradeTerm reports whether a word is a term of the trade. It is no alias and no misspelled word:
// "lot" is no set, and "mint" no Mina.
func (kind stopClass) isTradeTerm() bool { return kind >= stopWord }

// appendTyped appends the tokens from i to til as a user would type them.
func (q *query) appendTyped(text []byte, i, til int) []byte {
	for _, tok := range q.norm.tokens[i:til] {
		switch {
		case tok.hash:
			text = append(text, ' ', '#')
		case tok.before == '-' || tok.before == '/' || tok.before == '_' || tok.before == '.':
			text = append(text, tok.before)
		default:
			text = append(text, ' ')
		}

		word := q.norm.word(tok)
		text = append(text, word[:max(tok.stem, 0)]...)
		if tok.stem > 0 {
			text = append(text, '\'')
		}
		text = append(text, word[tok.stem:]...)
	}

	return text
}

// readTotals reads "4 of 102" as "4/102".
func (q *query) readTotals() {
	for i := 0; i+2 < len(q.norm.tokens); i++ {
		if string(q.norm.word(q.norm.tokens[i+1])) == "of" && q.isRange(i, i+2) {
			q.norm.tokens[i+2].before = '/'
			q.norm.tokens = slices.Delete(q.norm.tokens, i+1, i+2)
		}
	}
}

// isKnownWord reports whether letters before a number are a known word or an alias.
func (ix *Index) isKnownWord(w []byte) bool {
	return ix.aliases.find(w) != nil || ix.words.find(w) != none
}

// splitNumbers divides a token that is a word, or a set's code, and a number: "ex199", "svp085".
func (q *query) splitNumbers(ix *Index) {
	q.readTotals()
	for i := 0; i < len(q.norm.tokens) && len(q.norm.tokens) < maxTokens; i++ {
		tok := q.norm.tokens[i]
		word := q.norm.word(tok)
		if !cardvocab.IsDigit(word[len(word)-1]) {
			continue
		}

		head := slices.IndexFunc(word, cardvocab.IsDigit)
		if head < 2 || !cardvocab.IsInteger(word[head:]) || tok.hash ||
			ix.words.find(word) != none || ix.numbers.find(q.numberKey(i, i+1)) != none ||
			!ix.isKnownWord(word[:head]) || ix.isCode(q.numberKey(i, i+1)) {
			continue
		}

		part := tok
		part.start += head
		part.before = ' '
		part.stem = 0
		q.norm.tokens[i].end = part.start
		q.norm.tokens[i].stem = 0
		q.norm.tokens = slices.Insert(q.norm.tokens, i+1, part)
		if ix.numbers.find(q.numberKey(i+1, i+2)) == none {
			// No card has the number, so the token stays whole.
			q.norm.tokens = slices.Delete(q.norm.tokens, i+1, i+2)
			q.norm.tokens[i] = tok
		}
	}
}
