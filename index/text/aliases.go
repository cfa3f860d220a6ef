package text

import (
	"slices"

	"ninepocket/cardvocab"
)

// An Alias is another phrase for what is meant: words to search in its place, or a card.
type Alias struct {
	Phrase      string
	Replacement string // words; "" when it stands for a card
	Card        int    // the card that it stands for, -1 for none
	Game        int    // the only game in which it counts, -1 for all
}

// alias is the meaning of a folded phrase.
type alias struct {
	words string
	card  uint32 // or none
	games uint64 // in which it has this meaning
}

// maxAliasWords is the maximum number of words of an alias.
const maxAliasWords = 5

// readPhrases records the phrases of all aliases, so that whole names that contain one are
// protected.
func (b *builder) readPhrases() {
	b.phrases = map[string]bool{}
	for _, given := range b.corpus.Aliases {
		b.parser.norm.read(given.Phrase, 0)
		b.phrases[string(b.parser.norm.text)] = true
	}
}

// addAliases adds the aliases that the catalog itself does not contradict. A phrase that is the
// name of a card, or the code of a set, keeps that meaning.
func (b *builder) addAliases() {
	b.index.aliases = map[string]alias{}
	for _, given := range b.corpus.Aliases {
		b.parser.norm.read(given.Phrase, 0)
		tokens := b.parser.norm.tokens
		if len(tokens) == 0 || len(tokens) > maxAliasWords {
			continue
		}

		folded := string(b.parser.norm.text)
		if b.isName(tokens) || b.isCode[folded] {
			continue
		}

		of := alias{words: given.Replacement, card: none, games: ^uint64(0)}
		if given.Game >= 0 {
			of.games = 1 << min(given.Game, 63)
		}
		if given.Card >= 0 {
			of.card = uint32(given.Card)
			of.words = b.corpus.Name(given.Card)
		}
		b.index.aliases[folded] = of
	}
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

// readAliases replaces the aliases in the query by what they stand for, unless typed asks for the
// words as typed.
func (q *query) readAliases(ix *Index, typed bool) {
	q.rewritten = false
	q.rewrittenWhole = false
	q.rewrites = q.rewrites[:0]
	q.aliasGames = ^uint64(0)
	if typed || len(ix.aliases) == 0 {
		return
	}

	tokens := q.norm.tokens
	var text []byte
	last := 0 // the end of the last phrase
	for i := 0; i < len(tokens); i++ {
		for til := min(len(tokens), i+maxAliasWords); til > i; til-- {
			alias, ok := ix.aliases[string(q.span(i, til))]
			number := tokens[i].hash || q.isNumberPart(i, i+1) && tokens[i].before != ' '
			trade := til == i+1 && stopWords[string(q.norm.word(tokens[i]))].isTradeTerm()
			if !ok || number || trade || q.isInName(ix, i, til) {
				continue
			}

			if til-i == len(tokens) {
				if alias.card != none {
					q.cards = append(q.cards[:0], alias.card)
				}
				q.rewrittenWhole = true
			}
			q.aliasGames &= alias.games
			q.rewrites = append(q.rewrites, alias.words)
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

// Alias returns the words that a folded phrase stands for, "" for none.
func (ix *Index) Alias(folded string) string { return ix.aliases[folded].words }

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
	_, ok := ix.aliases[string(w)]
	return ok || ix.words.find(w) != none
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
