package text

import (
	"slices"
	"strings"

	"ninepocket/cardvocab"
)

// A role is the function of a word in a query. Terms and years are searched, words of the other kinds
// are not (docs/dev/SEARCH.md, Words that are left out).
type role struct {
	kind       roleKind
	game       uint8                // of roleGame
	preference cardvocab.Preference // of the first word of a phrase of rolePreference; its other words have none
	wordID     uint32               // of the token: its word, or none
	// sealed reports a word of roleStop that names a sealed product.
	sealed bool
	// maxWords is, in a phraseDict, the maximum number of words of the phrases that begin with this
	// word.
	maxWords uint8
}

type roleKind uint8

const (
	roleTerm       roleKind = iota
	roleStop                // not searched: it does not change the card
	roleCopy                // a grade, a condition or another word about one copy: not searched
	roleGame                // restricts the search to a game
	rolePreference          // a rarity, finish or edition that is preferred
	roleYear                // searched as a term is; restoreTerms makes it one if there is no other
)

// maxPreferences bounds the preferences of a query that count.
const maxPreferences = 7

// maxProtectedWords is the largest number of words of a name or set that is protected from roles and
// aliases.
const maxProtectedWords = 12

// classifyTokens finds the role of every word of the query. A word of a whole name or set is a
// term, whatever other role it may have. If no term is left, restoreTerms makes some if it can.
func (q *query) classifyTokens(ix *Index) {
	tokens := q.norm.tokens
	q.roles = append(q.roles[:0], make([]role, len(tokens))...)
	q.preferences = q.preferences[:0]
	q.games = ^uint64(0)
	q.leftOut = false

	hasRoles := false
	graded := false
	for i := range tokens {
		q.roles[i].wordID = ix.words.find(q.norm.word(tokens[i]))
	}

	for i := 0; i < len(tokens); {
		n, m := q.roleAt(ix, i, graded)
		if m.kind == roleTerm {
			i++
			continue
		}

		hasRoles = true
		graded = graded || m.kind == roleCopy
		for k := i; k < i+n; k++ {
			m.wordID = q.roles[k].wordID
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
	q.protectAdjacent(ix)
	q.protectCode(ix)
	q.protectStopNames(ix)
	q.restoreTerms()
	q.collectRoles()
}

// span returns the folded text of the tokens from i to til.
func (q *query) span(i, til int) []byte {
	return q.norm.text[q.norm.tokens[i].start:q.norm.tokens[til-1].end]
}

// roleAt reads the role that begins at token i, and returns its number of tokens. The longest
// phrase wins.
func (q *query) roleAt(ix *Index, i int, graded bool) (int, role) {
	tokens := q.norm.tokens
	if tokens[i].hash {
		return 1, role{}
	}

	// Most words are known, and for these the index knows whether a phrase contains them.
	word := q.norm.word(tokens[i])
	id := q.roles[i].wordID
	more := id == none || ix.isUsed(id, ofPhrase)
	if !more && !cardvocab.IsDigit(word[len(word)-1]) {
		return 1, role{}
	}

	if n := q.gradeAt(i, graded); n > 0 {
		return n, role{kind: roleCopy}
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
		if m := ix.phrases[string(q.span(i, i+n))]; m.kind != roleTerm && q.allowsRole(m, i, n) {
			return n, m
		}
	}

	// A letter at the end is part of a name: "unown a".
	if first.kind == roleTerm || !q.allowsRole(first, i, 1) || len(word) == 1 && i == len(tokens)-1 && i > 0 {
		return 1, role{}
	}
	return 1, first
}

// allowsRole reports whether n tokens from i on may have role m: a part of a number may only be a
// game.
func (q *query) allowsRole(m role, i, n int) bool {
	return m.kind == roleGame || !q.isNumberPart(i, i+n)
}

// isNumberPart reports whether a sign ties the tokens to a number.
func (q *query) isNumberPart(i, til int) bool {
	tokens := q.norm.tokens
	tie := func(k int) bool {
		b := tokens[k].before
		return k > 0 && (b == '-' || b == '/' || b == '_') &&
			(isNumberWord(q.norm.word(tokens[k])) || isNumberWord(q.norm.word(tokens[k-1])))
	}

	return tie(i) || til < len(tokens) && tie(til)
}

// gradeAt returns the number of tokens from i on that are a grader, with its grade if there is one:
// "psa", "psa 10", "bgs 9.5", "psa10". Right after another word of roleCopy, a grade alone counts too.
// graded reports whether there is such a word before i.
func (q *query) gradeAt(i int, graded bool) int {
	tokens := q.norm.tokens
	word := q.norm.word(tokens[i])
	n := 1
	switch {
	case isGrader(word):
	case len(word) > 3 && isGrader(word[:3]) && cardvocab.IsInteger(word[3:]) && len(word) <= 5:
		return n
	case graded && i > 0 && q.roles[i-1].kind == roleCopy && q.isGrade(i):
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

// isGrade reports whether a token is an integer from 0 to 10 that is no part of a card's number.
func (q *query) isGrade(i int) bool {
	word := q.norm.word(q.norm.tokens[i])
	small := len(word) == 1 && cardvocab.IsDigit(word[0]) || string(word) == "10"
	return small && !q.isNumberPart(i, i+1) && !q.norm.tokens[i].hash
}

// protectNames makes terms of the words that are part of a whole name or set: "The Peak", "Pokémon
// Catcher".
func (q *query) protectNames(ix *Index) {
	n := len(q.norm.tokens)
	for i := range n {
		for til := min(n, i+maxProtectedWords); til >= i+2; til-- {
			if q.areTerms(i, til) || ix.protectedNames.find(q.span(i, til)) == none {
				continue
			}
			for k := i; k < til; k++ {
				q.roles[k] = role{wordID: q.roles[k].wordID}
			}
			break
		}
	}
}

// protectAdjacent makes terms of product words, and of stop words and copy words in brackets, if a name or
// a set has them next to an equal term. Examples: "ancient booster", "premium booster", "pikachu
// (portuguese)".
func (q *query) protectAdjacent(ix *Index) {
	adjacent := func(i, k int) bool {
		a := q.roles[i].wordID
		b := q.roles[k].wordID
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
		dropped := q.roles[i].kind == roleStop || q.roles[i].kind == roleCopy
		if !q.roles[i].sealed && (!dropped || q.norm.tokens[i].bracket == 0) {
			continue
		}
		behind := i > 0 && q.roles[i-1].kind == roleTerm && adjacent(i-1, i)
		if behind || i+1 < len(q.roles) && q.roles[i+1].kind == roleTerm && adjacent(i, i+1) {
			q.roles[i] = role{wordID: q.roles[i].wordID}
		}
	}
}

func (q *query) areTerms(i, til int) bool {
	return !slices.ContainsFunc(q.roles[i:til], func(m role) bool { return m.kind != roleTerm })
}

// protectCode makes a term of a set's code of two or three characters that has another role, if all
// terms of the query are numbers: "TR 4".
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
		q.roles[code] = role{wordID: q.roles[code].wordID}
	}
}

// protectStopNames makes terms of stop words and copy words that are whole names, if the query
// has no term: "will card", "how much is will".
func (q *query) protectStopNames(ix *Index) {
	if slices.ContainsFunc(q.roles, func(m role) bool { return m.kind == roleTerm }) {
		return
	}

	for i := range q.roles {
		dropped := q.roles[i].kind == roleStop || q.roles[i].kind == roleCopy
		if dropped && ix.protectedNames.find(q.span(i, i+1)) != none {
			q.roles[i] = role{wordID: q.roles[i].wordID}
		}
	}
}

// restoreTerms makes terms of words with roles if nothing else is left to search: of years, else of
// preferences, else of games. A single word is searched in any role, because it may be a name or a
// prefix of a name. Several stop words or copy words are not: "my lot of cards".
func (q *query) restoreTerms() {
	if len(q.roles) == 1 {
		q.roles[0] = role{wordID: q.roles[0].wordID}
		return
	}

	for _, kind := range []roleKind{roleTerm, roleYear, rolePreference, roleGame} {
		found := false
		for i := range q.roles {
			if q.roles[i].kind == kind {
				q.roles[i] = role{wordID: q.roles[i].wordID}
				found = true
			}
		}
		if found {
			return
		}
	}
}

// collectRoles sets the games and preferences that the roles name, and leftOut if one is roleCopy.
func (q *query) collectRoles() {
	games := uint64(0)
	for i := range q.roles {
		switch m := &q.roles[i]; m.kind {
		case roleGame:
			games |= 1 << min(m.game, 63)
		case roleCopy:
			q.leftOut = true
		case rolePreference:
			if m.preference.Exact != 0 && len(q.preferences) < maxPreferences {
				q.preferences = append(q.preferences, queryPreference{m.preference, m.wordID})
			}
		case roleTerm, roleStop, roleYear:
		}
	}

	if games != 0 {
		q.games = games
	}
	q.limitAliasGames()
}

// limitAliasGames restricts the query to the games of its aliases, unless none is left.
func (q *query) limitAliasGames() {
	if games := q.games & q.aliasGames; games != 0 {
		q.games = games
	}
}

// A phraseDict has the roles of words: by folded phrase, and by the first words of longer phrases.
type phraseDict map[string]role

// newPhraseDict collects the stop words, the copy words, the conditions, the preferences, and the names
// and abbreviations of a catalog's games.
func newPhraseDict(games []string) phraseDict {
	dict := phraseDict{}
	roles := map[stopClass]role{
		stopWord: {kind: roleStop}, sealedTerm: {kind: roleStop, sealed: true}, copyWord: {kind: roleCopy},
	}
	for phrase, kind := range stopWords {
		if m, ok := roles[kind]; ok {
			dict.add(phrase, m)
		}
	}

	for _, phrase := range cardvocab.ConditionPhrases() {
		dict.add(phrase, role{kind: roleCopy})
	}

	for phrase, preference := range cardvocab.Preferences() {
		dict.add(phrase, role{kind: rolePreference, preference: preference})
	}

	var norm normaliser
	for game, display := range games {
		dict.add(strings.Join(norm.words(display), " "), role{kind: roleGame, game: uint8(game)})
		for short, of := range gameAbbreviations {
			if of == string(norm.text) {
				dict.add(short, role{kind: roleGame, game: uint8(game)})
			}
		}
	}

	return dict
}

// add adds a phrase, its words separated by spaces.
func (dict phraseDict) add(phrase string, m role) {
	words := strings.Fields(phrase)
	folded := strings.Join(words, "")
	if folded == "" {
		return
	}

	m.maxWords = dict[folded].maxWords
	dict[folded] = m
	first := dict[words[0]]
	first.maxWords = max(first.maxWords, uint8(len(words)))
	dict[words[0]] = first
}

// isCode reports whether a word is the code of a set, or another form of the code.
func (ix *Index) isCode(w []byte) bool {
	id := ix.words.find(w)
	return id != none && len(ix.codes.docs(id)) > 0
}
