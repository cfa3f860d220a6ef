package text

import (
	"slices"
	"strings"

	"ninepocket/cardvocab"
)

// A mark says what a word of a query is beside a word to look for (docs/SEARCH.md, Noise).
type role struct {
	kind       roleKind
	game       uint8                // of roleGame
	preference cardvocab.Preference // of the first word of a wish
	id         uint32               // of the token: the word that it is, or none
	// sealed is a word of roleStop that names a product of cards.
	sealed bool
	// maxWords is, in a phrasebook, how many words a phrase has at most that begins with this one.
	maxWords uint8
}

type roleKind uint8

const (
	roleTerm roleKind = iota
	roleStop
	roleGrade
	roleGame
	rolePreference
	roleYear
)

// maxPreferences is how many preferences of a query count.
const maxPreferences = 7

// Longest whole name that noise words are looked for in, in words.
const maxProtectedWords = 12

// classifyTokens finds out what the words of the query are. What is part of a whole name or set is
// a word to look for whatever else it may be; where nothing else is left, so is everything.
func (q *query) classifyTokens(ix *Index) {
	tokens := q.norm.tokens
	q.roles = append(q.roles[:0], make([]role, len(tokens))...)
	q.preferences = q.preferences[:0]
	q.games = ^uint64(0)
	q.leftOut = q.rewritten

	hasRoles := false
	graded := false
	for i := range tokens {
		q.roles[i].id = ix.words.find(q.norm.word(tokens[i]))
	}

	for i := 0; i < len(tokens); {
		n, m := q.roleAt(ix, i, graded)
		if m.kind == roleTerm {
			i++
			continue
		}

		hasRoles = true
		graded = graded || m.kind == roleGrade
		for k := i; k < i+n; k++ {
			m.id = q.roles[k].id
			q.roles[k] = m
			m.preference = cardvocab.Preference{}
		}
		i += n
	}

	if !hasRoles {
		q.limitAliasGames()
		return
	}

	q.protectNames(ix)
	q.protectSealed(ix)
	q.protectCode(ix)
	q.protectTradeNames(ix)
	q.restoreTerms()
	q.collectRoles()
}

// span is the folded text of the tokens from i to til.
func (q *query) span(i, til int) []byte {
	return q.norm.text[q.norm.tokens[i].start:q.norm.tokens[til-1].end]
}

// roleAt reads what begins at token i: how many tokens, and what they are. The longest reading
// counts.
func (q *query) roleAt(ix *Index, i int, graded bool) (int, role) {
	tokens := q.norm.tokens
	if tokens[i].hash {
		return 1, role{}
	}

	// Most words are known, and of known ones is known whether they are more than words.
	word := q.norm.word(tokens[i])
	id := q.roles[i].id
	more := id == none || ix.isUsed(id, ofPhrase)
	if !more && !cardvocab.IsDigit(word[len(word)-1]) {
		return 1, role{}
	}

	if n := q.gradeAt(i, graded); n > 0 {
		return n, role{kind: roleGrade}
	}
	if cardvocab.IsInteger(word) {
		if cardvocab.IsYear(word) && !q.isNumberPart(i, i+1) {
			return 1, role{kind: roleYear}
		}
		return 1, role{}
	}

	if !more {
		return 1, role{}
	}
	first, known := ix.phrases[string(word)]
	if !known {
		return 1, role{}
	}

	for n := min(int(first.maxWords), len(tokens)-i); n > 1; n-- {
		if m := ix.phrases[string(q.span(i, i+n))]; m.kind != roleTerm && q.mayBe(m, i, n) {
			return n, m
		}
	}

	// A letter at the end is part of a name: "unown a".
	if first.kind == roleTerm || !q.mayBe(first, i, 1) || len(word) == 1 && i == len(tokens)-1 && i > 0 {
		return 1, role{}
	}
	return 1, first
}

// mayBe says whether n tokens from i on may be the phrase of a mark, and are no part of a number.
func (q *query) mayBe(m role, i, n int) bool { return m.kind == roleGame || !q.isNumberPart(i, i+n) }

// isNumberPart says whether a sign ties the tokens to a number.
func (q *query) isNumberPart(i, til int) bool {
	tokens := q.norm.tokens
	tie := func(k int) bool {
		b := tokens[k].before
		return k > 0 && (b == '-' || b == '/' || b == '_') &&
			(isNumberWord(q.norm.word(tokens[k])) || isNumberWord(q.norm.word(tokens[k-1])))
	}

	return tie(i) || til < len(tokens) && tie(til)
}

// gradeAt returns how many tokens from i on are a grade: "psa 10", "bgs 9.5", "psa10", and a figure
// behind another grading word.
func (q *query) gradeAt(i int, graded bool) int {
	tokens := q.norm.tokens
	word := q.norm.word(tokens[i])
	n := 1
	switch {
	case isGrader(word):
	case len(word) > 3 && isGrader(word[:3]) && cardvocab.IsInteger(word[3:]) && len(word) <= 5:
		return n
	case graded && i > 0 && q.roles[i-1].kind == roleGrade && q.isGrade(i):
		n = 0
	default:
		return 0
	}

	if i+n < len(tokens) && q.isGrade(i+n) {
		n++
		if i+n < len(tokens) && tokens[i+n].before == '.' && string(q.norm.word(tokens[i+n])) == "5" {
			n++
		}
	}

	return n
}

// isGrade says whether a token is a figure from 1 to 10 that is no number of a card.
func (q *query) isGrade(i int) bool {
	word := q.norm.word(q.norm.tokens[i])
	small := len(word) == 1 && cardvocab.IsDigit(word[0]) || string(word) == "10"
	return small && !q.isNumberPart(i, i+1) && !q.norm.tokens[i].hash
}

// protectNames keeps the words that are part of a whole name or set: "The Peak", "Pokémon Catcher".
func (q *query) protectNames(ix *Index) {
	n := len(q.norm.tokens)
	for i := range n {
		for til := min(n, i+maxProtectedWords); til >= i+2; til-- {
			if q.areTerms(i, til) || ix.protectedNames.find(q.span(i, til)) == none {
				continue
			}
			for k := i; k < til; k++ {
				q.roles[k] = role{id: q.roles[k].id}
			}
			break
		}
	}
}

// protectSealed keeps words for products, and noise in brackets, where a name or a set has them
// beside the word beside them: "ancient booster", "premium booster", "pikachu (portuguese)".
func (q *query) protectSealed(ix *Index) {
	adjacent := func(i, k int) bool {
		a := q.roles[i].id
		b := q.roles[k].id
		if a == none || b == none {
			return false
		}
		found := false
		onFound := func(uint32, uint32) { found = true }
		ix.names.adjacent(a, b, onFound)
		ix.sets.adjacent(a, b, onFound)
		return found
	}

	for i := range q.roles {
		isStop := q.roles[i].kind == roleStop || q.roles[i].kind == roleGrade
		if !q.roles[i].sealed && (!isStop || q.norm.tokens[i].bracket == 0) {
			continue
		}
		behind := i > 0 && q.roles[i-1].kind == roleTerm && adjacent(i-1, i)
		if behind || i+1 < len(q.roles) && q.roles[i+1].kind == roleTerm && adjacent(i, i+1) {
			q.roles[i] = role{id: q.roles[i].id}
		}
	}
}

func (q *query) areTerms(i, til int) bool {
	return !slices.ContainsFunc(q.roles[i:til], func(m role) bool { return m.kind != roleTerm })
}

// protectCode keeps the code of a set where nothing but a number stands beside it: "TR 4".
func (q *query) protectCode(ix *Index) {
	code := -1
	for i := range q.roles {
		word := q.span(i, i+1)
		switch {
		case q.roles[i].kind == roleTerm && !isNumberWord(word):
			return
		case q.roles[i].kind != roleTerm && len(word) > 1 && len(word) <= 3 && ix.isCode(word):
			code = i
		}
	}

	if code >= 0 && len(q.roles) > 1 {
		q.roles[code] = role{id: q.roles[code].id}
	}
}

// protectTradeNames keeps words of the trade that are whole names where nothing but rarities, years
// and games stands beside them: "will card", "how much is will".
func (q *query) protectTradeNames(ix *Index) {
	if slices.ContainsFunc(q.roles, func(m role) bool { return m.kind == roleTerm }) {
		return
	}

	for i := range q.roles {
		trade := q.roles[i].kind == roleStop || q.roles[i].kind == roleGrade
		if trade && ix.protectedNames.find(q.span(i, i+1)) != none {
			q.roles[i] = role{id: q.roles[i].id}
		}
	}
}

// restoreTerms makes words of what was marked where nothing else is left to look for: rarities
// before games. Of noise a word by itself is looked for, which may be a name's or the beginning of
// one; several are nothing: "my lot of cards".
func (q *query) restoreTerms() {
	if len(q.roles) == 1 {
		q.roles[0] = role{id: q.roles[0].id}
		return
	}

	for _, kind := range []roleKind{roleTerm, roleYear, rolePreference, roleGame} {
		found := false
		for i := range q.roles {
			if q.roles[i].kind == kind {
				q.roles[i] = role{id: q.roles[i].id}
				found = true
			}
		}
		if found {
			return
		}
	}
}

// collectRoles sums up what the marks say.
func (q *query) collectRoles() {
	games := uint64(0)
	for i := range q.roles {
		switch m := &q.roles[i]; m.kind {
		case roleGame:
			games |= 1 << min(m.game, 63)
		case roleGrade:
			q.leftOut = true
		case rolePreference:
			if m.preference.Exact != 0 && len(q.preferences) < maxPreferences {
				q.preferences = append(q.preferences, m.preference)
			}
		case roleTerm, roleStop, roleYear:
		}
	}

	if games != 0 {
		q.games = games
	}
	q.limitAliasGames()
}

// limitAliasGames leaves the games in which another name means what it was read as.
func (q *query) limitAliasGames() {
	if games := q.games & q.aliasGames; games != 0 {
		q.games = games
	}
}

// A phrasebook says what words are beside words to look for: by folded phrase, and by the first
// words of longer ones.
type phraseDict map[string]role

// newPhraseDict gathers the noise, the wishes, and the games of a catalog by their names.
func newPhraseDict(games []string) phraseDict {
	book := phraseDict{}
	roles := map[stopClass]role{
		stopWord: {kind: roleStop}, sealedTerm: {kind: roleStop, sealed: true}, copyWord: {kind: roleGrade},
	}
	for phrase, kind := range stopWords {
		if m, ok := roles[kind]; ok {
			book.add(phrase, m)
		}
	}

	for _, phrase := range cardvocab.ConditionPhrases() {
		book.add(phrase, role{kind: roleGrade})
	}

	for phrase, preference := range cardvocab.Preferences() {
		book.add(phrase, role{kind: rolePreference, preference: preference})
	}

	var norm normaliser
	for game, display := range games {
		book.add(strings.Join(norm.words(display), " "), role{kind: roleGame, game: uint8(game)})
		for short, of := range gameAbbreviations {
			if of == string(norm.text) {
				book.add(short, role{kind: roleGame, game: uint8(game)})
			}
		}
	}

	return book
}

// add adds a phrase, its words divided by spaces.
func (book phraseDict) add(phrase string, m role) {
	words := strings.Fields(phrase)
	folded := strings.Join(words, "")
	if folded == "" {
		return
	}

	m.maxWords = book[folded].maxWords
	book[folded] = m
	first := book[words[0]]
	first.maxWords = max(first.maxWords, uint8(len(words)))
	book[words[0]] = first
}

// isCode says whether a word is the code of a set, or another spelling of one.
func (ix *Index) isCode(w []byte) bool {
	id := ix.words.find(w)
	return id != none && len(ix.codes.docs(id)) > 0
}
