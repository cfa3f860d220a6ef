package text

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"ninepocket/cardvocab"
)

// Modifiers are the parts of a query that do not name cards (docs/dev/SEARCH.md, Orders, prices, eras,
// sealed words).
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
	reader := modifierReader{
		ix: ix, query: &s.query, maybe: maybe,
		found: Modifiers{Min: noAmount, Max: noAmount, Alone: true, Game: -1},
	}
	reader.query.norm.read(text, maxTokens)
	reader.read()
	reader.found.Rest = strings.TrimSpace(string(reader.rest))
	return reader.found, len(reader.found.Remarks) > 0
}

// A modifierReader is the state of one ReadModifiers. Its reading methods take a token and return the
// end of the part that they read. If they read nothing, they return the token itself.
type modifierReader struct {
	ix     *Index
	query  *query
	maybe  bool
	single bool // the query says that it means a card
	rest   []byte
	found  Modifiers
}

// read reads the query, phrase by phrase.
func (reader *modifierReader) read() {
	q := reader.query
	tokens := q.norm.tokens
	q.roles = append(q.roles[:0], make([]role, len(tokens))...)
	for i := range tokens {
		q.roles[i].wordID = reader.ix.words.find(q.norm.word(tokens[i]))
		reader.single = reader.single || reader.isSingle(i)
	}

	for i := 0; i < len(tokens); {
		if til := reader.phrase(i); til > i {
			i = til
			continue
		}

		n, m := q.roleAt(reader.ix, i, false)
		switch {
		case m.kind == roleGame:
			reader.found.Game = int(m.game)
		case m.kind != roleStop && m.kind != roleCopy || reader.ix.protectedNames.find(q.span(i, i+n)) != none:
			reader.found.Alone = false
		}
		reader.rest = q.appendTyped(reader.rest, i, i+n)
		i += n
	}
}

// isSingle reports whether a token says that a card is meant, not a product: a number as printed, or
// words like "from the".
func (reader *modifierReader) isSingle(i int) bool {
	q := reader.query
	tokens := q.norm.tokens
	word := q.norm.word(tokens[i])
	if tokens[i].hash || isNumberWord(word) && tokens[i].before == '/' {
		return true
	}

	// In "op 09" the number is the set's.
	if word[0] == '0' {
		return !reader.ix.isCode(q.span(max(0, i-1), i+1))
	}
	if isNumberWord(word) && !cardvocab.IsInteger(word) && !reader.ix.isCode(word) &&
		reader.ix.numbers.find(q.numberKey(i, i+1)) != none {
		return true
	}

	for til := i + 1; til <= min(len(tokens), i+cardvocab.MaxModifierWords); til++ {
		if cardvocab.FindModifier(q.span(i, til)).Kind == cardvocab.ModifierSingle {
			return true
		}
	}
	return false
}

// phrase reads the longest phrase that begins at a token. Text in brackets, or within a longer name, is
// no phrase.
func (reader *modifierReader) phrase(i int) int {
	q := reader.query
	tokens := q.norm.tokens
	if tokens[i].bracket != 0 || tokens[i].hash {
		return i
	}
	if til := reader.bound(i); til > i {
		return til
	}

	for til := min(len(tokens), i+cardvocab.MaxModifierWords); til > i; til-- {
		meaning := cardvocab.FindModifier(q.span(i, til))
		if meaning.Kind == cardvocab.NoModifier || tokens[til-1].bracket != 0 || q.isNumberPart(i, til) ||
			q.isInName(reader.ix, i, til) ||
			meaning.IsInNames() && reader.ix.protectedNames.find(q.span(i, til)) != none {
			continue
		}
		if end := reader.take(meaning, i, til); end > i {
			return end
		}
	}

	n := i + 1
	if string(q.norm.word(tokens[i])) == "top" && n < len(tokens) && len(q.span(n, n+1)) <= 3 &&
		cardvocab.IsInteger(q.span(n, n+1)) && !q.isNumberPart(n, n+1) && !q.isInName(reader.ix, i, n+1) {
		return reader.order("price_desc", i, n+1)
	}
	return i
}

// take takes the tokens from i to til for a phrase, if they are one here.
func (reader *modifierReader) take(meaning cardvocab.Modifier, i, til int) int {
	switch meaning.Kind {
	case cardvocab.ModifierOrder:
		return reader.order(meaning.Order, i, til)
	case cardvocab.ModifierAsking:
		return reader.add(Note{Kind: Dropped}, i, til)
	case cardvocab.ModifierEra:
		return reader.era(meaning, i, til)
	case cardvocab.ModifierSet:
		reader.found.Alone = false
		reader.rest = reader.query.appendTyped(reader.rest, i, til)
		return til

	case cardvocab.ModifierSealed:
		if len(reader.query.norm.tokens) == 1 || reader.single || reader.qualifies(i, til) {
			return i
		}
		reader.found.Sealed = true
		return reader.add(Note{Kind: NoCard}, i, til)
	default:
		return i
	}
}

// order takes tokens for an order; the first order counts.
func (reader *modifierReader) order(by string, i, til int) int {
	reader.found.Order = cmp.Or(reader.found.Order, by)
	return reader.add(Note{Kind: Sorted}, i, til)
}

// era takes tokens for an era; the first era counts.
func (reader *modifierReader) era(meaning cardvocab.Modifier, i, til int) int {
	when := cardvocab.EraAlways
	end := til
	if til < len(reader.query.norm.tokens) && cardvocab.IsEraWord(reader.query.span(til, til+1)) {
		when |= cardvocab.EraBefore
		end++
	}
	if reader.maybe && !reader.single {
		when |= cardvocab.EraMaybe
	}
	if meaning.When&when == 0 {
		return i
	}

	reader.found.Era = cmp.Or(reader.found.Era, meaning.Era)
	return reader.add(Note{Kind: InEra}, i, end)
}

// add adds a remark about some tokens, or makes that of the same kind before it longer.
func (reader *modifierReader) add(about Note, i, til int) int {
	about.From = reader.query.spacedText(i, til)
	if n := len(reader.found.Remarks); n > 0 && reader.found.Remarks[n-1].Kind == about.Kind {
		reader.found.Remarks[n-1].From += " " + about.From
		return til
	}
	reader.found.Remarks = append(reader.found.Remarks, about)
	return til
}

// qualifies reports whether a name or set has the words of a product next to an equal word of the
// query: Ancient Booster, "(Tin Pack Set)".
func (reader *modifierReader) qualifies(i, til int) bool {
	found := false
	roles := reader.query.roles
	beside := func(a, b int) {
		if a < 0 || b >= len(roles) || roles[a].wordID == none || roles[b].wordID == none {
			return
		}

		for _, ps := range [...]*postings{&reader.ix.names, &reader.ix.sets} {
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
func (reader *modifierReader) bound(i int) int {
	kind, at := reader.boundWord(i)
	cents, end, money := reader.amount(at)
	bare := slices.Contains(bareBounds, string(reader.query.span(i, max(at, i+1))))
	switch {
	case end == at || !money && !bare && !reader.isRange(end) || at > i && reader.query.isInName(reader.ix, i, end):
		return i
	case reader.isRange(end) || kind == cardvocab.ModifierBetween:
		hi, til, _ := reader.amount(reader.behindTo(end))
		if til == reader.behindTo(end) {
			return i
		}
		return reader.bounded(min(cents, hi), max(cents, hi), i, til)
	case at == i:
		kind, end = reader.boundWord(end)
	}

	than := reader.query.norm.tokens[i].than
	switch {
	case than == '<' || kind == cardvocab.ModifierUpperBound:
		return reader.bounded(noAmount, cents, i, end)
	case than == '>' || kind == cardvocab.ModifierLowerBound:
		return reader.bounded(cents, noAmount, i, end)
	}
	return reader.add(Note{Kind: Dropped}, i, end)
}

// isRange reports whether "to" or a dash is at a token, and an amount of money behind it.
func (reader *modifierReader) isRange(at int) bool {
	tokens := reader.query.norm.tokens
	if at >= len(tokens) || at == reader.behindTo(at) && tokens[at].before != '-' {
		return false
	}
	_, _, money := reader.amount(reader.behindTo(at))
	return money
}

// behindTo returns the token behind a "to", if there is one at a token.
func (reader *modifierReader) behindTo(at int) int {
	if at < len(reader.query.norm.tokens) && string(reader.query.span(at, at+1)) == "to" {
		at++
	}
	return at
}

// boundWord reads the longest phrase of a bound.
func (reader *modifierReader) boundWord(i int) (cardvocab.ModifierKind, int) {
	for til := min(len(reader.query.norm.tokens), i+cardvocab.MaxModifierWords); til > i; til-- {
		switch kind := cardvocab.FindModifier(reader.query.span(i, til)).Kind; kind {
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
func (reader *modifierReader) amount(i int) (cents int64, end int, money bool) {
	tokens := reader.query.norm.tokens
	if i >= len(tokens) || tokens[i].hash || !cardvocab.IsInteger(reader.query.span(i, i+1)) {
		return 0, i, false
	}

	end = i + 1
	isDigits := func(n int, before byte) bool {
		return end < len(tokens) && tokens[end].before == before && len(reader.query.span(end, end+1)) == n &&
			cardvocab.IsInteger(reader.query.span(end, end+1))
	}
	for isDigits(3, 't') {
		end++
	}
	digits := string(reader.query.span(i, end))
	fraction := "00"
	if isDigits(2, '.') {
		fraction = string(reader.query.span(end, end+1))
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
	switch cardvocab.FindModifier(reader.query.span(end, end+1)).Kind {
	case cardvocab.ModifierDollars:
		return cents, end + 1, true
	case cardvocab.ModifierCents:
		return cents / 100, end + 1, true
	default:
		return cents, end, money
	}
}

// bounded takes tokens for bounds of the price; the first bounds count.
func (reader *modifierReader) bounded(lo, hi int64, i, til int) int {
	if reader.found.Min == noAmount {
		reader.found.Min = lo
	}
	if reader.found.Max == noAmount {
		reader.found.Max = hi
	}
	return reader.add(Note{Kind: Bounded}, i, til)
}
