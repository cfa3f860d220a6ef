package text

import (
	"slices"
	"strconv"
	"strings"

	"ninepocket/cardvocab"
)

// Modifiers are what a query asks for beside the words that cards have (docs/SEARCH.md, Orders, prices,
// eras, sealed words).
type Modifiers struct {
	Rest     string         // the query without the words of modifiers
	Order    string         // as a sort parameter, "" for none
	Min, Max int64          // cents, noAmount for none
	Era      *cardvocab.Era // nil for none
	Sealed   bool           // a product that holds cards is asked for
	Alone    bool           // no word of a card is asked for
	Game     int            // where they are Alone: the game that the query names, -1 for none
	Remarks  []Note         // about each phrase, as if it counts
}

const noAmount = -1

// ReadModifiers reads the modifiers of a query; ok is false where it has none. maybe takes words for an
// era that may also be those of a set.
func (ix *Index) ReadModifiers(text string, maybe bool) (found Modifiers, ok bool) {
	s := ix.take()
	defer ix.scratch.Put(s)
	r := modifierReader{
		ix: ix, query: &s.query, maybe: maybe,
		found: Modifiers{Min: noAmount, Max: noAmount, Alone: true, Game: -1},
	}
	r.query.norm.read(text, maxTokens)
	r.read()
	r.found.Rest = strings.TrimSpace(string(r.rest))
	return r.found, len(r.found.Remarks) > 0
}

// A modifierReader is the state of one ReadModifiers. Its methods that read something at a token return
// the end of what they read, which is the token itself if there is nothing.
type modifierReader struct {
	ix     *Index
	query  *query
	maybe  bool
	single bool // the query says that it means a card
	rest   []byte
	found  Modifiers
}

// read reads the query, phrase by phrase.
func (r *modifierReader) read() {
	q := r.query
	tokens := q.norm.tokens
	q.roles = append(q.roles[:0], make([]role, len(tokens))...)
	for i := range tokens {
		q.roles[i].wordID = r.ix.words.find(q.norm.word(tokens[i]))
		r.single = r.single || r.isSingle(i)
	}

	for i := 0; i < len(tokens); {
		if til := r.phrase(i); til > i {
			i = til
			continue
		}

		n, m := q.roleAt(r.ix, i, false)
		switch {
		case m.kind == roleGame:
			r.found.Game = int(m.game)
		case m.kind != roleStop && m.kind != roleCopy || r.ix.protectedNames.find(q.span(i, i+n)) != none:
			r.found.Alone = false
		}
		r.rest = q.appendTyped(r.rest, i, i+n)
		i += n
	}
}

// isSingle reports whether a token says that a card is meant, not a product: a number as printed, or
// words like "from the".
func (r *modifierReader) isSingle(i int) bool {
	q := r.query
	tokens := q.norm.tokens
	word := q.norm.word(tokens[i])
	if tokens[i].hash || isNumberWord(word) && tokens[i].before == '/' {
		return true
	}

	// In "op 09" the number is the set's.
	if word[0] == '0' {
		return !r.ix.isCode(q.span(max(0, i-1), i+1))
	}
	if isNumberWord(word) && !cardvocab.IsInteger(word) && !r.ix.isCode(word) &&
		r.ix.numbers.find(q.numberKey(i, i+1)) != none {
		return true
	}

	for til := i + 1; til <= min(len(tokens), i+cardvocab.MaxModifierWords); til++ {
		if cardvocab.FindModifier(q.span(i, til)).Kind == cardvocab.ModifierSingle {
			return true
		}
	}
	return false
}

// phrase reads the longest phrase that begins at a token. What is in brackets, or part of a longer name,
// is none.
func (r *modifierReader) phrase(i int) int {
	q := r.query
	tokens := q.norm.tokens
	if tokens[i].bracket != 0 || tokens[i].hash {
		return i
	}
	if til := r.bound(i); til > i {
		return til
	}

	for til := min(len(tokens), i+cardvocab.MaxModifierWords); til > i; til-- {
		meaning := cardvocab.FindModifier(q.span(i, til))
		if meaning.Kind == cardvocab.NoModifier || tokens[til-1].bracket != 0 || q.isNumberPart(i, til) ||
			q.isInName(r.ix, i, til) || meaning.IsInNames() && r.ix.protectedNames.find(q.span(i, til)) != none {
			continue
		}
		if end := r.take(meaning, i, til); end > i {
			return end
		}
	}

	n := i + 1
	if string(q.norm.word(tokens[i])) == "top" && n < len(tokens) && len(q.span(n, n+1)) <= 3 &&
		cardvocab.IsInteger(q.span(n, n+1)) && !q.isNumberPart(n, n+1) && !q.isInName(r.ix, i, n+1) {
		return r.order("price_desc", i, n+1)
	}
	return i
}

// take takes the tokens from i to til for a phrase, if they are one here.
func (r *modifierReader) take(meaning cardvocab.Modifier, i, til int) int {
	switch meaning.Kind {
	case cardvocab.ModifierOrder:
		return r.order(meaning.Order, i, til)
	case cardvocab.ModifierAsking:
		return r.add(Note{Kind: Dropped}, i, til)
	case cardvocab.ModifierEra:
		return r.era(meaning, i, til)
	case cardvocab.ModifierSet:
		r.found.Alone = false
		r.rest = r.query.appendTyped(r.rest, i, til)
		return til

	case cardvocab.ModifierSealed:
		if len(r.query.norm.tokens) == 1 || r.single || r.qualifies(i, til) {
			return i
		}
		r.found.Sealed = true
		return r.add(Note{Kind: NoCard}, i, til)
	default:
		return i
	}
}

// order takes tokens for an order, of which the first counts.
func (r *modifierReader) order(by string, i, til int) int {
	if r.found.Order == "" {
		r.found.Order = by
	}
	return r.add(Note{Kind: Sorted}, i, til)
}

// era takes tokens for an era, of which the first counts.
func (r *modifierReader) era(meaning cardvocab.Modifier, i, til int) int {
	when := cardvocab.EraAlways
	end := til
	if til < len(r.query.norm.tokens) && cardvocab.IsEraWord(r.query.span(til, til+1)) {
		when |= cardvocab.EraBefore
		end++
	}
	if r.maybe && !r.single {
		when |= cardvocab.EraMaybe
	}
	if meaning.When&when == 0 {
		return i
	}

	if r.found.Era == nil {
		r.found.Era = meaning.Era
	}
	return r.add(Note{Kind: InEra}, i, end)
}

// add adds a remark about some tokens, or makes that of the same kind before it longer.
func (r *modifierReader) add(about Note, i, til int) int {
	about.From = r.query.spacedText(i, til)
	if n := len(r.found.Remarks); n > 0 && r.found.Remarks[n-1].Kind == about.Kind {
		r.found.Remarks[n-1].From += " " + about.From
		return til
	}
	r.found.Remarks = append(r.found.Remarks, about)
	return til
}

// qualifies reports whether a name or set has the words of a product beside the same word as the query:
// Ancient Booster, "(Tin Pack Set)".
func (r *modifierReader) qualifies(i, til int) bool {
	found := false
	roles := r.query.roles
	beside := func(a, b int) {
		if a < 0 || b >= len(roles) || roles[a].wordID == none || roles[b].wordID == none {
			return
		}

		for _, ps := range [...]*postings{&r.ix.names, &r.ix.sets} {
			ps.adjacent(roles[a].wordID, roles[b].wordID, func(doc, _ uint32) {
				lacks := func(m role) bool { return m.wordID == none || !slices.Contains(ps.docs(m.wordID), doc) }
				found = found || !slices.ContainsFunc(roles[i:til], lacks)
			})
		}
	}

	beside(i-1, i)
	beside(til-1, til)
	return found
}

// bareBounds are the words behind which a number is a price even without a sign or word of dollars.
var bareBounds = []string{"under", "over", "below", "above", "lessthan", "morethan", "between", "cheaperthan"}

// bound reads a bound of prices: "under $5", "$10-$20".
func (r *modifierReader) bound(i int) int {
	kind, at := r.boundWord(i)
	cents, end, money := r.amount(at)
	bare := slices.Contains(bareBounds, string(r.query.span(i, max(at, i+1))))
	switch {
	case end == at || !money && !bare && !r.isRange(end) || at > i && r.query.isInName(r.ix, i, end):
		return i
	case r.isRange(end) || kind == cardvocab.ModifierBetween:
		hi, til, _ := r.amount(r.behindTo(end))
		if til == r.behindTo(end) {
			return i
		}
		return r.bounded(min(cents, hi), max(cents, hi), i, til)
	case at == i:
		kind, end = r.boundWord(end)
	}

	than := r.query.norm.tokens[i].than
	switch {
	case than == '<' || kind == cardvocab.ModifierUpperBound:
		return r.bounded(noAmount, cents, i, end)
	case than == '>' || kind == cardvocab.ModifierLowerBound:
		return r.bounded(cents, noAmount, i, end)
	}
	return r.add(Note{Kind: Dropped}, i, end)
}

// isRange reports whether "to" or a dash is at a token, and an amount of money behind it.
func (r *modifierReader) isRange(at int) bool {
	tokens := r.query.norm.tokens
	if at >= len(tokens) || at == r.behindTo(at) && tokens[at].before != '-' {
		return false
	}
	_, _, money := r.amount(r.behindTo(at))
	return money
}

// behindTo returns the token behind a "to", if there is one at a token.
func (r *modifierReader) behindTo(at int) int {
	if at < len(r.query.norm.tokens) && string(r.query.span(at, at+1)) == "to" {
		at++
	}
	return at
}

// boundWord reads the longest phrase of a bound.
func (r *modifierReader) boundWord(i int) (cardvocab.ModifierKind, int) {
	for til := min(len(r.query.norm.tokens), i+cardvocab.MaxModifierWords); til > i; til-- {
		switch kind := cardvocab.FindModifier(r.query.span(i, til)).Kind; kind {
		case cardvocab.ModifierUpperBound, cardvocab.ModifierLowerBound, cardvocab.ModifierBetween:
			return kind, til
		default:
		}
	}
	return cardvocab.NoModifier, i
}

// maxDollars is the largest number of digits of a price that is read.
const maxDollars = 8

// amount reads an amount of dollars: "5", "$4.99", "1,000 dollars". money reports whether a sign or word
// says that it is one.
func (r *modifierReader) amount(i int) (cents int64, end int, money bool) {
	tokens := r.query.norm.tokens
	if i >= len(tokens) || tokens[i].hash || !cardvocab.IsInteger(r.query.span(i, i+1)) {
		return 0, i, false
	}

	end = i + 1
	isDigits := func(n int, before byte) bool {
		return end < len(tokens) && tokens[end].before == before && len(r.query.span(end, end+1)) == n &&
			cardvocab.IsInteger(r.query.span(end, end+1))
	}
	for isDigits(3, 't') {
		end++
	}
	digits := string(r.query.span(i, end))
	fraction := "00"
	if isDigits(2, '.') {
		fraction = string(r.query.span(end, end+1))
		end++
	}
	if len(digits) > maxDollars || end < len(tokens) && tokens[end].before == '/' {
		return 0, i, false
	}

	cents, _ = strconv.ParseInt(digits+fraction, 10, 64) // it has digits alone
	money = tokens[i].money || tokens[end-1].money
	if end == len(tokens) {
		return cents, end, money
	}
	switch cardvocab.FindModifier(r.query.span(end, end+1)).Kind {
	case cardvocab.ModifierDollars:
		return cents, end + 1, true
	case cardvocab.ModifierCents:
		return cents / 100, end + 1, true
	default:
		return cents, end, money
	}
}

// bounded takes tokens for bounds of the price, of which the first count.
func (r *modifierReader) bounded(lo, hi int64, i, til int) int {
	if r.found.Min == noAmount {
		r.found.Min = lo
	}
	if r.found.Max == noAmount {
		r.found.Max = hi
	}
	return r.add(Note{Kind: Bounded}, i, til)
}
