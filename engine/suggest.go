package engine

import (
	"slices"
	"strings"

	"ninepocket/cardvocab"
	"ninepocket/index"
	"ninepocket/wire"
)

// SuggestQuery is what somebody has typed so far.
type SuggestQuery struct {
	Words string
	Game  string // slug, "" for any
	Limit int
}

const (
	// maxSuggestedCards is how many cards of a search are looked through for names, and of a number for
	// spellings.
	maxSuggestedCards = 1000
	// maxSuggestedSets is how many suggestions are sets, and how many are numbers.
	maxSuggestedSets = 3
)

// AppendSuggestions appends the body of suggestions, each once. Sets that the words name or begin to
// name come first, then collector numbers that they are, then names of cards in the order in which a
// search finds them. Bodies are cached if the engine has a cache.
func (v *View) AppendSuggestions(dst []byte, q SuggestQuery) []byte {
	if v.searches == nil {
		return v.appendSuggestions(dst, &q)
	}

	search := q.search()
	key := string(v.appendSearchKey(make([]byte, 0, 128), &search, nil, q.Limit, false))
	if body, ok := v.searches.suggestions.Get(key); ok {
		return append(dst, body...)
	}

	body := v.appendSuggestions(nil, &q)
	v.searches.suggestions.Set(key, body, int64(len(key)+cap(body)+entryCost))
	return append(dst, body...)
}

// search returns the search for the words.
func (q *SuggestQuery) search() index.Query {
	search := index.Query{Filter: index.NoFilter, Words: q.Words, HasWords: true}
	search.Game = q.Game
	return search
}

func (v *View) appendSuggestions(dst []byte, q *SuggestQuery) []byte {
	list := suggestionList{v: v, limit: q.Limit, body: append(dst, `{"data":[`...)}
	sets, _ := v.Index.Sets(nil, index.SetFilter{Game: q.Game, Query: q.Words}, 0, maxSuggestedSets)
	sets = append(sets, v.Index.SetNames().Beginning(q.Words)...)
	game := cardvocab.Fold(q.Game)
	for _, set := range sets {
		slug := v.Catalog.Games.Slug.At(int(v.Catalog.Sets.Game[set]))
		if len(list.all) < maxSuggestedSets && (q.Game == "" || cardvocab.Fold(slug) == game) {
			list.addSet(int(set))
		}
	}

	list.addNumbers(q)
	for _, card := range v.Index.Cards(nil, q.search(), nil, maxSuggestedCards).Cards {
		if len(list.all) == list.limit {
			break
		}
		list.addName(int(card))
	}
	return append(list.body, ']', '}')
}

// suggestionList has the suggestions of a body that is being made.
type suggestionList struct {
	v         *View
	limit     int
	all       []suggestion // with the letters and digits of names
	spellings []suggestion // names as they are written
	body      []byte
}

// suggestion is what makes a suggestion another than the rest.
type suggestion struct {
	kind, text string
	game       uint8
}

// begin begins a suggestion; false if there is no room, or if it is there already.
func (l *suggestionList) begin(one suggestion) bool {
	if len(l.all) == l.limit || slices.Contains(l.all, one) {
		return false
	}
	l.all = append(l.all, one)
	return true
}

func (l *suggestionList) addSet(set int) {
	c := l.v.Catalog
	one := suggestion{"set", c.Sets.Name.At(set), c.Sets.Game[set]}
	if l.begin(one) {
		cards := len(l.v.Index.CardsOfSet(set))
		game := c.Games.Slug.At(int(one.game))
		l.body = wire.AppendSuggestion(wire.AppendComma(l.body), one.kind, one.text, game, cards)
		l.body = append(l.v.site.AppendSetURL(l.body, c, set), '}')
	}
}

// addCards adds a suggestion that means cards.
func (l *suggestionList) addCards(one suggestion, cards []uint32) {
	c := l.v.Catalog
	cards = slices.DeleteFunc(slices.Clone(cards), func(card uint32) bool { return c.Cards.Game[card] != one.game })
	game := c.Games.Slug.At(int(one.game))
	l.body = wire.AppendSuggestion(wire.AppendComma(l.body), one.kind, one.text, game, len(cards))
	if len(cards) == 1 {
		l.body = l.v.site.AppendCardURL(l.body, c, int(cards[0]))
	} else {
		l.body = l.v.site.AppendSearchURL(l.body, one.text, game)
	}
	l.body = append(l.body, '}')
}

// addName adds the plain name of a card, unless a card with that name was added, perhaps in another
// spelling.
func (l *suggestionList) addName(card int) {
	c := l.v.Catalog
	one := suggestion{"name", index.PlainName(c.Cards.Name.At(card)), c.Cards.Game[card]}
	if slices.Contains(l.spellings, one) {
		return
	}

	l.spellings = append(l.spellings, one)
	if l.begin(suggestion{one.kind, cardvocab.Fold(one.text), one.game}) {
		l.addCards(one, l.v.Index.CardsNamed(one.text))
	}
}

// addNumbers adds the spellings of the collector number that the words are, if they are one.
func (l *suggestionList) addNumbers(q *SuggestQuery) {
	if !wire.NumberText.Has(int64(len(q.Words))) || !strings.ContainsAny(q.Words, "0123456789") {
		return
	}

	numbered := index.Query{Filter: index.NoFilter}
	numbered.Number = q.Words
	numbered.Game = q.Game
	found := l.v.Index.Cards(nil, numbered, nil, maxSuggestedCards).Cards
	c := l.v.Catalog
	rest := maxSuggestedSets
	for _, card := range found {
		one := suggestion{"number", c.Cards.Number.At(int(card)), c.Cards.Game[card]}
		if rest == 0 || !l.begin(one) {
			continue
		}

		same := slices.DeleteFunc(slices.Clone(found), func(other uint32) bool {
			return c.Cards.Number.At(int(other)) != one.text
		})
		l.addCards(one, same)
		rest--
	}
}
