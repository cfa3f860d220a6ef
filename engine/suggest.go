package engine

import (
	"slices"
	"strings"

	"ninepocket/cardvocab"
	"ninepocket/index"
	"ninepocket/wire"
)

// SuggestQuery is the text typed so far.
type SuggestQuery struct {
	Words string
	Game  string // slug, "" for any
	Limit int
}

const (
	// maxSuggestedCards is the number of cards of a search that are read for names, and the number of
	// cards of a collector number that are read for its forms.
	maxSuggestedCards = 1000
	// maxSuggestedSets is how many suggestions are sets, and how many are numbers.
	maxSuggestedSets = 3
)

// AppendSuggestions appends the body of suggestions, each once. First come sets that the words name,
// or are a prefix of, then collector numbers equal to the words, then names of cards in the order of
// a search. Bodies are cached if the engine has a cache.
func (v *View) AppendSuggestions(dst []byte, typed SuggestQuery) []byte {
	if v.searches == nil {
		return v.appendSuggestions(dst, &typed)
	}

	search := typed.search()
	key := string(append(v.appendSearchKey(make([]byte, 0, 192), &search, nil, typed.Limit, false), "suggest"...))
	found, ok := v.searches.pages.Get(key)
	if !ok {
		found.suggestions = v.appendSuggestions(nil, &typed)
		v.searches.pages.Set(key, found, int64(len(key)+cap(found.suggestions)+entryCost))
	}
	return append(dst, found.suggestions...)
}

// search returns the search for the words.
func (typed *SuggestQuery) search() index.Query {
	search := index.Query{Filter: index.NoFilter, Words: typed.Words, HasWords: true}
	search.Game = typed.Game
	return search
}

func (v *View) appendSuggestions(dst []byte, typed *SuggestQuery) []byte {
	c := v.Catalog
	list := suggestionList{v: v, typed: typed, body: append(dst, `{"data":[`...)}
	sets, _ := v.Index.Sets(nil, index.SetFilter{Game: typed.Game, Query: typed.Words}, 0, maxSuggestedSets)
	for _, set := range append(sets, v.Index.SetNames().Beginning(typed.Words)...) {
		name := c.Sets.Name.At(int(set))
		if len(list.all) < maxSuggestedSets && list.begin("set", name, c.Sets.Game[set]) {
			list.body = wire.AppendInt(list.body, `,"cards":`, int64(len(v.Index.CardsOfSet(int(set)))))
			list.body = append(v.site.AppendSetURL(list.body, c, int(set)), '}')
		}
	}

	if wire.NumberText.Has(int64(len(typed.Words))) && strings.ContainsAny(typed.Words, "0123456789") {
		list.addNumbers()
	}
	for _, card := range v.Index.Cards(nil, typed.search(), nil, maxSuggestedCards).Cards {
		if len(list.all) == typed.Limit {
			break
		}

		// Most cards have the name of an earlier card, some with their number after a dash.
		name := index.BaseName(c.Cards.Name.At(int(card)), c.Cards.Number.At(int(card)))
		game := c.Cards.Game[card]
		one := suggestion{"name", name, game}
		if slices.Contains(list.all, one) {
			continue
		}

		// Base names compare letters and digits alone, and so do not distinguish "EX" from "ex", or
		// ♀ from ♂.
		list.addCards("name", name, game, v.Index.CardsBaseNamed(name), func(k int) bool {
			return index.BaseName(c.Cards.Name.At(k), c.Cards.Number.At(k)) == name
		})
	}
	return append(list.body, ']', '}')
}

// suggestionList has the suggestions of a body that is being made.
type suggestionList struct {
	v     *View
	typed *SuggestQuery
	all   []suggestion
	body  []byte
}

// suggestion has the parts that distinguish a suggestion from others.
type suggestion struct {
	kind, text string
	game       uint8
}

// begin appends the start of a suggestion, unless there is no room, it is there already, or it is of
// another game than the requested one.
func (l *suggestionList) begin(kind, text string, game uint8) bool {
	slug := l.v.Catalog.Games.Slug.At(int(game))
	one := suggestion{kind, text, game}
	if len(l.all) == l.typed.Limit || slices.Contains(l.all, one) ||
		l.typed.Game != "" && cardvocab.Fold(slug) != cardvocab.Fold(l.typed.Game) {
		return false
	}

	l.all = append(l.all, one)
	l.body = wire.AppendText(wire.AppendComma(l.body), `{"kind":`, kind)
	l.body = wire.AppendText(l.body, `,"text":`, text)
	l.body = wire.AppendText(l.body, `,"game":`, slug)
	return true
}

// addCards adds a suggestion for those cards of a game that it is of; false if there is no room.
func (l *suggestionList) addCards(kind, text string, game uint8, cards []uint32, of func(card int) bool) bool {
	if !l.begin(kind, text, game) {
		return false
	}

	c := l.v.Catalog
	cards = slices.DeleteFunc(slices.Clone(cards), func(card uint32) bool {
		return c.Cards.Game[card] != game || !of(int(card))
	})
	l.body = wire.AppendInt(l.body, `,"cards":`, int64(len(cards)))
	if len(cards) == 1 {
		l.body = l.v.site.AppendCardURL(l.body, c, int(cards[0]))
	} else {
		l.body = l.v.site.AppendSearchURL(l.body, text, c.Games.Slug.At(int(game)))
	}
	l.body = append(l.body, '}')
	return true
}

// addNumbers adds the forms of the collector number that the words are, if they are one.
func (l *suggestionList) addNumbers() {
	numbered := index.Query{Filter: index.NoFilter}
	numbered.Number = l.typed.Words
	found := l.v.Index.Cards(nil, numbered, nil, maxSuggestedCards).Cards
	numbers := &l.v.Catalog.Cards.Number
	rest := maxSuggestedSets
	for _, card := range found {
		number := numbers.At(int(card))
		of := func(card int) bool { return numbers.At(card) == number }
		if rest > 0 && l.addCards("number", number, l.v.Catalog.Cards.Game[card], found, of) {
			rest--
		}
	}
}
