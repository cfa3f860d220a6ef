package text

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"ninepocket/cardvocab"
)

// Bounds of a query (docs/dev/SEARCH.md, Cost): the rest is not read.
const (
	maxQueryTerms = 8
	maxTokens     = 24
	maxTieTerms   = maxTokens - maxQueryTerms
	maxFolded     = 400 // of the folded text
	maxCode       = 8   // longest code of a set that a number may follow
)

// A queryTerm is one word of a query as it is counted: a word, or a collector number written as one
// ("4/102", "OP05-119_p1"). Terms are distinct.
type queryTerm struct {
	text       []byte
	start, end int // of text among the normalised query; joined neighbours are contiguous
	stem       int
	first, til int    // its tokens, without the total behind a slash
	total      uint16 // behind the slash
	id         uint32 // the id of its word, or none
	number     bool   // written as a number: never corrected
	inside     bool   // its tokens include the total: "199-165"
	repeated   bool   // typed more than once
	stopClass  stopClass
	year       bool
}

// A numberCandidate takes some terms of a query for a collector number.
type numberCandidate struct {
	bits  uint8
	class matchClass
	exact uint32 // the number's id, or none
	tail  uint32 // the same as a number within a set, or none
	total uint16
}

// A queryPreference is a preference of a query. Its first word may be the code of a set as well: "scr".
type queryPreference struct {
	cardvocab.Preference
	wordID uint32 // or none
}

// A query is a parsed text: its terms, and the numbers among them (docs/dev/SEARCH.md, Numbers).
type query struct {
	norm     normaliser
	terms    []queryTerm
	numbers  []numberCandidate
	repeated uint8 // the terms that were typed more than once
	// tieTerms are known words that are no terms, and break ties between equal matches: first the
	// overflow words beyond the eighth term, then those of preferences.
	tieTerms []uint32
	overflow int
	key      []byte

	// Words that are not search terms: roles.go.
	roles          []role
	preferences    []queryPreference // rarities, finishes and editions that it prefers
	games          uint64            // the games that it names
	cards          []uint32          // cards whose alias, or name with a wrong number, is the whole query
	aliasGames     uint64            // the games of its aliases
	rewrites       []rewrite         // its aliases
	typed          bool              // no alias was replaced, and no name of another language read
	pieces         []token           // scratch of splitNames
	rewritten      bool              // an alias was replaced
	rewrittenWhole bool              // the whole query was an alias
	leftOut        bool              // a word was dropped that describes a copy
	optional       uint8             // the terms that may be missing without cost
	unpriced       bool              // prices do not show which of several cards is meant

	termWeights
}

// termWeights are the weights of the terms of a query if they are missing.
type termWeights struct {
	weight    [maxQueryTerms]uint8
	total     int
	minWeight int          // the least weight of a term, 0 aside
	keyTerms  matchClasses // the terms of which at least one must be found
	heavy     matchClasses // those that weigh as much as words of names
	stopTerms matchClasses // those with the weight of a stop word, all bits of each
	known     uint8        // the terms that are words of the catalog
}

// parse parses a text; typed disables aliases.
func (q *query) parse(ix *Index, text string, typed bool) {
	q.norm.read(text, maxTokens)
	// No number of the query would be one of the card.
	q.cards = append(q.cards[:0], ix.misnumbered[string(q.norm.text)]...)
	q.typed = typed
	if !typed && ix.aliases.maxName > 0 {
		q.splitNames(ix)
	}
	q.readLookalikes(ix)
	q.splitNumbers(ix)
	q.readAliases(ix, typed)
	q.readTerms(ix)
}

// readTerms makes the terms of the tokens.
func (q *query) readTerms(ix *Index) {
	q.classifyTokens(ix)
	q.unpriced = ix.unpriced
	q.terms = q.terms[:0]
	q.numbers = q.numbers[:0]
	q.repeated = 0
	q.optional = 0
	q.tieTerms = q.tieTerms[:0]
	q.overflow = 0

	tokens := q.norm.tokens
	for i := 0; i < len(tokens); {
		if kind := q.roles[i].kind; kind != roleTerm && kind != roleYear {
			i++
			continue
		}

		// A number that is written as one is one term, its total included.
		u := q.termAt(ix, i)
		u.id = q.roles[i].wordID
		if !bytes.Equal(u.text, q.norm.word(tokens[i])) {
			u.id = ix.words.find(u.text)
		}
		u.year = q.roles[i].kind == roleYear
		if u.id == none || ix.isUsed(u.id, ofPhrase) || ix.weights[u.id] == 0 {
			u.stopClass = stopWords[string(u.text)]
		}

		// A total belongs to its number and is no separate word.
		i = u.til
		if u.total > 0 && !u.inside {
			i++
		}

		// A word that is typed twice is searched once, and may cover two words of a name.
		if have := q.index(u.text); have >= 0 {
			// A name in two languages was typed once.
			q.terms[have].repeat(&u, !q.rewritten)
		} else {
			q.terms = append(q.terms, u)
		}
	}

	q.selectTerms(ix)
	q.weigh(ix)
	q.findNumbers(ix)
}

// repeat records that a term was typed again. A number that also occurs as a bare integer is that
// number, typed once: "Darkrai (3) 3/106".
func (u *queryTerm) repeat(other *queryTerm, counts bool) {
	switch {
	case other.number && !u.number:
		*u = *other
	case other.number == u.number:
		u.repeated = counts
	}
}

// selectTerms selects the eight most significant terms, in their order: numbers, words of names,
// words of sets, then the rest.
func (q *query) selectTerms(ix *Index) {
	for len(q.terms) > maxQueryTerms {
		worst := 0
		for i := range q.terms {
			// Of equals the last one is dropped: the first words are more significant.
			if q.rankOf(ix, &q.terms[i]) >= q.rankOf(ix, &q.terms[worst]) {
				worst = i
			}
		}
		if id := q.terms[worst].id; id != none && len(q.tieTerms) < maxTieTerms {
			q.tieTerms = append(q.tieTerms, id)
			q.overflow++
		}
		q.terms = slices.Delete(q.terms, worst, worst+1)
	}

	for i := range q.roles {
		if m := &q.roles[i]; m.kind == rolePreference && m.wordID != none && len(q.tieTerms) < maxTieTerms {
			q.tieTerms = append(q.tieTerms, m.wordID)
		}
	}

	for i := range q.terms {
		if q.terms[i].repeated {
			q.repeated |= 1 << i
		}
		if q.terms[i].year && len(q.terms) > 1 {
			q.optional |= 1 << i
		}
	}
}

// index returns the index of the term with this text, or -1.
func (q *query) index(text []byte) int {
	for i := range q.terms {
		if bytes.Equal(q.terms[i].text, text) {
			return i
		}
	}
	return -1
}

// termAt reads the term that begins at token i.
func (q *query) termAt(ix *Index, i int) queryTerm {
	tokens := q.norm.tokens
	u := queryTerm{first: i, til: q.numberEnd(ix, i), start: tokens[i].start, stem: tokens[i].stem}
	u.number = u.til > i+1 || tokens[i].hash
	if u.til < len(tokens) && tokens[u.til].before == '/' {
		// The word behind a slash is the total, if the number before it is one.
		total := trailingInt(string(q.norm.word(tokens[u.til])))
		if total > 0 && (isNumberWord(q.norm.word(tokens[u.til-1])) || tokens[i].end-tokens[i].start == 1) {
			u.total = total
			u.number = true
		}
	}

	last := u.til - 1
	if u.til == i+2 && tokens[i+1].before == '-' && q.isRange(i, i+1) &&
		ix.numbers.find(q.numberKey(i, u.til)) == none {
		// Some write the total behind a dash: "199-165".
		u.total = trailingInt(string(q.norm.word(tokens[i+1])))
		u.inside = true
		last = i
	}

	u.end = tokens[last].end
	u.text = q.norm.text[u.start:u.end]

	// Keyboards have no ♂ and ♀, so people write "nidoran m".
	if len(u.text) == 1 && len(q.terms) > 0 && string(q.terms[len(q.terms)-1].text) == "nidoran" {
		u.text = genderOf(u.text)
	}

	u.text = clipWord(u.text)
	u.stem = min(u.stem, len(u.text))
	return u
}

// clipWord cuts a word to maxWord bytes, at the boundary of a character.
func clipWord(w []byte) []byte {
	if len(w) <= maxWord {
		return w
	}

	end := maxWord
	for end > 0 && !utf8.RuneStart(w[end]) {
		end--
	}
	return w[:end]
}

// isRange reports whether two tokens are both plain integers.
func (q *query) isRange(i, k int) bool {
	return cardvocab.IsInteger(q.norm.word(q.norm.tokens[i])) && cardvocab.IsInteger(q.norm.word(q.norm.tokens[k]))
}

// numberEnd returns the end of the tokens that are one number. These are tied by dashes and low
// lines, and the first has a digit ("OP05-119_p1") or the whole is a known number ("P-001").
func (q *query) numberEnd(ix *Index, i int) int {
	tokens := q.norm.tokens
	til := i + 1
	for til < len(tokens) && (tokens[til].before == '-' || tokens[til].before == '_') &&
		isNumberWord(q.norm.word(tokens[til])) {
		til++
	}

	if til == i+1 || len(q.norm.word(tokens[i])) > maxCode {
		return i + 1
	}
	known := ix.numbers.find(q.numberKey(i, til)) != none ||
		til > i+2 && ix.numbers.find(q.numberKey(i, til-1)) != none // a parallel that only other catalogs distinguish
	if !known && ix.isCode(q.norm.word(tokens[i])) {
		// A set's code and a number: "base1-4".
		return i + 1
	}
	if isNumberWord(q.norm.word(tokens[i])) || known {
		return til
	}

	return i + 1
}

// numberKey returns the key of the tokens from i to til read as one number. It is valid until the
// next call.
func (q *query) numberKey(i, til int) []byte {
	q.key = q.key[:0]
	for k := i; k < til; k++ {
		word := q.norm.word(q.norm.tokens[k])
		for at, b := range word {
			q.key = append(q.key, b)
			// The key grows as NumberKey would build it from the whole.
			last := len(q.key) - 1
			q.key = cardvocab.NormaliseLastDigit(q.key, last, at == 0 && k > i)
		}
	}

	return q.key
}

// isNumberWord reports whether the word has a digit.
func isNumberWord(w []byte) bool {
	return slices.ContainsFunc(w, cardvocab.IsDigit)
}

// findNumbers lists the numbers that the terms may mean. These are each term with a digit, and up
// to three neighbours that are a known number together ("op05 119", "tg 23").
func (q *query) findNumbers(ix *Index) {
	for i := range q.terms {
		q.readNumber(ix, i)
		for til := i + 2; til <= min(i+3, len(q.terms)); til++ {
			q.joinNumber(ix, i, til)
		}
	}
}

func (q *query) readNumber(ix *Index, i int) {
	u := &q.terms[i]
	number := numberCandidate{bits: 1 << i, exact: none, tail: none, total: u.total}
	switch {
	case cardvocab.IsInteger(u.text):
		if !u.number {
			number.class = bareNumber
		}
	case !isNumberWord(u.text) && u.total == 0:
		// A number of letters alone (Unown's) counts only after the name, and more than one letter
		// only at the end.
		alone := len(u.text) == 1 && len(q.terms) > 1
		if !alone && (i == 0 || i != len(q.terms)-1 || len(u.text) > 5) {
			return
		}
		number.class = bareNumber
	}

	til := u.til
	if u.inside {
		til--
	}

	number.exact = ix.findNumber(q.numberKey(u.first, til))
	if number.exact == none && u.til-u.first > 2 {
		// A parallel that only other catalogs distinguish.
		number.exact = ix.findNumber(q.numberKey(u.first, u.til-1))
	}

	if cardvocab.IsInteger(u.text) && u.total == 0 {
		q.key = slices.Insert(q.key, 0, tailMark[0])
		number.tail = ix.findNumber(q.key)
	}

	if number.exact != none || number.tail != none {
		q.numbers = append(q.numbers, number)
	}
}

// joinNumber takes the terms from i to til for one number, if it is known and not all digits.
func (q *query) joinNumber(ix *Index, i, til int) {
	// A set's code and a number may be separate words: "op05 119".
	integers := true
	for k := i; k < til; k++ {
		u := &q.terms[k]
		if k > i && (!isNumberWord(u.text) || u.first != q.terms[k-1].til || q.terms[k-1].total > 0) {
			return
		}
		integers = integers && cardvocab.IsInteger(u.text)
	}

	if integers {
		return
	}

	key := q.numberKey(q.terms[i].first, q.terms[til-1].til)
	if exact := ix.findNumber(key); exact != none {
		bits := uint8(1<<til - 1<<i)
		q.numbers = append(q.numbers,
			numberCandidate{bits: bits, exact: exact, tail: none, total: q.terms[til-1].total})
	}
}

// findNumber returns the number with this key, or the number with another form of the key, or
// none.
func (ix *Index) findNumber(key []byte) uint32 {
	id := ix.numbers.find(key)
	if id == none {
		return none
	}
	return ix.aliasOf[id]
}
