package text

import (
	"slices"
	"strings"

	"ninepocket/collector"
)

// A mark says what a word of a query is beside a word to look for (docs/SEARCH.md, Noise).
type mark struct {
	kind markKind
	game uint8          // of markGame
	wish collector.Wish // of the first word of a wish
	id   uint32         // of the token: the word that it is, or none
	// sealed is a word of markQuiet that names a product of cards.
	sealed bool
	// longest is, in a phrasebook, how many words a phrase has at most that begins with this one.
	longest uint8
}

type markKind uint8

const (
	markPlain markKind = iota
	markQuiet
	markGrade
	markGame
	markWish
	markYear
)

// maxWishes is how many preferences of a query count.
const maxWishes = 7

// Longest whole name that noise words are looked for in, in words.
const longestWhole = 12

// readMarks finds out what the words of the query are. What is part of a whole name or set is a word
// to look for whatever else it may be; where nothing else is left, so is everything.
func (q *query) readMarks(ix *Index) {
	tokens := q.norm.tokens
	q.marks = append(q.marks[:0], make([]mark, len(tokens))...)
	q.wishes = q.wishes[:0]
	q.games = ^uint64(0)
	q.leftOut = q.rewrote

	marked := false
	graded := false
	for i := range tokens {
		q.marks[i].id = ix.words.find(q.norm.word(tokens[i]))
	}

	for i := 0; i < len(tokens); {
		n, m := q.markAt(ix, i, graded)
		if m.kind == markPlain {
			i++
			continue
		}

		marked = true
		graded = graded || m.kind == markGrade
		for k := i; k < i+n; k++ {
			m.id = q.marks[k].id
			q.marks[k] = m
			m.wish = collector.Wish{}
		}
		i += n
	}

	if !marked {
		q.limitAliased()
		return
	}

	q.keepWholes(ix)
	q.keepSealed(ix)
	q.keepCode(ix)
	q.keepNames(ix)
	q.keepSome()
	q.noteMarks()
}

// span is the folded text of the tokens from i to til.
func (q *query) span(i, til int) []byte {
	return q.norm.text[q.norm.tokens[i].start:q.norm.tokens[til-1].end]
}

// markAt reads what begins at token i: how many tokens, and what they are. The longest reading
// counts.
func (q *query) markAt(ix *Index, i int, graded bool) (int, mark) {
	tokens := q.norm.tokens
	if tokens[i].hash {
		return 1, mark{}
	}

	// Most words are known, and of known ones is known whether they are more than words.
	word := q.norm.word(tokens[i])
	id := q.marks[i].id
	more := id == none || ix.isUsed(id, ofPhrase)
	if !more && !collector.IsDigit(word[len(word)-1]) {
		return 1, mark{}
	}

	if n := q.gradeAt(i, graded); n > 0 {
		return n, mark{kind: markGrade}
	}
	if collector.IsInteger(word) {
		if collector.IsYear(word) && !q.isNumberPart(i, i+1) {
			return 1, mark{kind: markYear}
		}
		return 1, mark{}
	}

	if !more {
		return 1, mark{}
	}
	first, known := ix.phrases[string(word)]
	if !known {
		return 1, mark{}
	}

	for n := min(int(first.longest), len(tokens)-i); n > 1; n-- {
		if m := ix.phrases[string(q.span(i, i+n))]; m.kind != markPlain && q.mayBe(m, i, n) {
			return n, m
		}
	}

	// A letter at the end is part of a name: "unown a".
	if first.kind == markPlain || !q.mayBe(first, i, 1) || len(word) == 1 && i == len(tokens)-1 && i > 0 {
		return 1, mark{}
	}
	return 1, first
}

// mayBe says whether n tokens from i on may be the phrase of a mark, and are no part of a number.
func (q *query) mayBe(m mark, i, n int) bool { return m.kind == markGame || !q.isNumberPart(i, i+n) }

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
	case len(word) > 3 && isGrader(word[:3]) && collector.IsInteger(word[3:]) && len(word) <= 5:
		return n
	case graded && i > 0 && q.marks[i-1].kind == markGrade && q.isGrade(i):
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
	small := len(word) == 1 && collector.IsDigit(word[0]) || string(word) == "10"
	return small && !q.isNumberPart(i, i+1) && !q.norm.tokens[i].hash
}

// keepWholes keeps the words that are part of a whole name or set: "The Peak", "Pokémon Catcher".
func (q *query) keepWholes(ix *Index) {
	n := len(q.norm.tokens)
	for i := range n {
		for til := min(n, i+longestWhole); til >= i+2; til-- {
			if q.allPlain(i, til) || ix.wholes.find(q.span(i, til)) == none {
				continue
			}
			for k := i; k < til; k++ {
				q.marks[k] = mark{id: q.marks[k].id}
			}
			break
		}
	}
}

// keepSealed keeps words for products, and noise in brackets, where a name or a set has them beside the
// word beside them: "ancient booster", "premium booster", "pikachu (portuguese)".
func (q *query) keepSealed(ix *Index) {
	beside := func(i, k int) bool {
		a := q.marks[i].id
		b := q.marks[k].id
		if a == none || b == none {
			return false
		}
		found := false
		note := func(uint32, uint32) { found = true }
		ix.names.adjacent(a, b, note)
		ix.sets.adjacent(a, b, note)
		return found
	}

	for i := range q.marks {
		noise := q.marks[i].kind == markQuiet || q.marks[i].kind == markGrade
		if !q.marks[i].sealed && (!noise || q.norm.tokens[i].bracket == 0) {
			continue
		}
		behind := i > 0 && q.marks[i-1].kind == markPlain && beside(i-1, i)
		if behind || i+1 < len(q.marks) && q.marks[i+1].kind == markPlain && beside(i, i+1) {
			q.marks[i] = mark{id: q.marks[i].id}
		}
	}
}

func (q *query) allPlain(i, til int) bool {
	return !slices.ContainsFunc(q.marks[i:til], func(m mark) bool { return m.kind != markPlain })
}

// keepCode keeps the code of a set where nothing but a number stands beside it: "TR 4".
func (q *query) keepCode(ix *Index) {
	code := -1
	for i := range q.marks {
		word := q.span(i, i+1)
		switch {
		case q.marks[i].kind == markPlain && !isNumberWord(word):
			return
		case q.marks[i].kind != markPlain && len(word) > 1 && len(word) <= 3 && ix.isCode(word):
			code = i
		}
	}

	if code >= 0 && len(q.marks) > 1 {
		q.marks[code] = mark{id: q.marks[code].id}
	}
}

// keepNames keeps words of the trade that are whole names where nothing but rarities, years and games
// stands beside them: "will card", "how much is will".
func (q *query) keepNames(ix *Index) {
	if slices.ContainsFunc(q.marks, func(m mark) bool { return m.kind == markPlain }) {
		return
	}

	for i := range q.marks {
		trade := q.marks[i].kind == markQuiet || q.marks[i].kind == markGrade
		if trade && ix.wholes.find(q.span(i, i+1)) != none {
			q.marks[i] = mark{id: q.marks[i].id}
		}
	}
}

// keepSome makes words of what was marked where nothing else is left to look for: rarities before
// games. Of noise a word by itself is looked for, which may be a name's or the beginning of one;
// several are nothing: "my lot of cards".
func (q *query) keepSome() {
	if len(q.marks) == 1 {
		q.marks[0] = mark{id: q.marks[0].id}
		return
	}

	for _, kind := range []markKind{markPlain, markYear, markWish, markGame} {
		found := false
		for i := range q.marks {
			if q.marks[i].kind == kind {
				q.marks[i] = mark{id: q.marks[i].id}
				found = true
			}
		}
		if found {
			return
		}
	}
}

// noteMarks sums up what the marks say.
func (q *query) noteMarks() {
	games := uint64(0)
	for i := range q.marks {
		switch m := &q.marks[i]; m.kind {
		case markGame:
			games |= 1 << min(m.game, 63)
		case markGrade:
			q.leftOut = true
		case markWish:
			if m.wish.Have != 0 && len(q.wishes) < maxWishes {
				q.wishes = append(q.wishes, m.wish)
			}
		case markPlain, markQuiet, markYear:
		}
	}

	if games != 0 {
		q.games = games
	}
	q.limitAliased()
}

// limitAliased leaves the games in which another name means what it was read as.
func (q *query) limitAliased() {
	if games := q.games & q.aliased; games != 0 {
		q.games = games
	}
}

// A phrasebook says what words are beside words to look for: by folded phrase, and by the first words of
// longer ones.
type phrasebook map[string]mark

// newPhrasebook gathers the noise, the wishes, and the games of a catalog by their names.
func newPhrasebook(games []string) phrasebook {
	book := phrasebook{}
	marks := map[noise]mark{
		quiet: {kind: markQuiet}, sealed: {kind: markQuiet, sealed: true}, grading: {kind: markGrade},
	}
	for phrase, kind := range noises {
		if m, ok := marks[kind]; ok {
			book.add(phrase, m)
		}
	}

	for _, phrase := range collector.ConditionPhrases() {
		book.add(phrase, mark{kind: markGrade})
	}

	for phrase, wish := range collector.Wishes() {
		book.add(phrase, mark{kind: markWish, wish: wish})
	}

	var norm normaliser
	for game, display := range games {
		book.add(strings.Join(norm.words(display), " "), mark{kind: markGame, game: uint8(game)})
		for short, of := range shortGames {
			if of == string(norm.text) {
				book.add(short, mark{kind: markGame, game: uint8(game)})
			}
		}
	}

	return book
}

// add adds a phrase, its words divided by spaces.
func (book phrasebook) add(phrase string, m mark) {
	words := strings.Fields(phrase)
	folded := strings.Join(words, "")
	if folded == "" {
		return
	}

	m.longest = book[folded].longest
	book[folded] = m
	first := book[words[0]]
	first.longest = max(first.longest, uint8(len(words)))
	book[words[0]] = first
}

// isCode says whether a word is the code of a set, or another spelling of one.
func (ix *Index) isCode(w []byte) bool {
	id := ix.words.find(w)
	return id != none && len(ix.codes.holders(id)) > 0
}
