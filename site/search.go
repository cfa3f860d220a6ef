package site

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/quicktemplate"

	"ninepocket/cardvocab"
	"ninepocket/engine"
	"ninepocket/index"
	"ninepocket/snapshot"
)

// SearchQuery selects a page of search results.
type SearchQuery struct {
	Words   string // "" for none: everything, most expensive first
	Game    string // slug, "" for any
	Set     string // slug, "" for any
	Rarity  string // "" for any
	Variant string // the card has a price in it; "" for any
	Min     int64  // cents, 0 for no bound
	Max     int64
	Sort    string // as in the API, "" for relevance or the order that the words ask for
	List    bool   // a list, else pockets
	Page    int    // from 1
}

// filtered reports whether a query has any filter but the game.
func (q *SearchQuery) filtered() bool {
	return q.Set != "" || q.Rarity != "" || q.Variant != "" || q.Min > 0 || q.Max > 0
}

// unfiltered returns the query without its filters.
func (q *SearchQuery) unfiltered() SearchQuery {
	return SearchQuery{Words: q.Words, Game: q.Game, Sort: q.Sort, List: q.List}
}

// query returns the query of the index.
func (q *SearchQuery) query() index.Query {
	query := index.Query{Filter: index.NoFilter, Words: q.Words, HasWords: q.Words != ""}
	query.Game = q.Game
	query.Set = q.Set
	query.Rarity = q.Rarity
	query.Variant = q.Variant
	query.Min = cmp.Or(q.Min, snapshot.NoCents)
	query.Max = cmp.Or(q.Max, snapshot.NoCents)
	query.Sort = index.ParseSort(q.Sort)
	query.Ordered = q.Sort != "" && index.MayHaveModifier(q.Words)
	return query
}

func (p *Pages) searchLink(query SearchQuery) string {
	return pageAddress(p.root+"/search", query.Page, param{"q", query.Words}, param{"game", query.Game},
		param{"set", query.Set},
		param{"rarity", query.Rarity}, param{"variant", query.Variant}, param{"min", boundText(query.Min)},
		param{"max", boundText(query.Max)}, param{"sort", query.Sort}, param{"view", viewName(query.List)})
}

// boundText returns a price bound in dollars for a URL, "" for none.
func boundText(cents int64) string {
	if cents == 0 {
		return ""
	}
	return strings.TrimSuffix(decimal(cents), ".00")
}

// sortOrders are the orders of search results: the name in SearchQuery and the name on the page.
var sortOrders = [...]struct{ sort, name string }{
	{"", "Best match"},
	{"price_desc", "Dearest"},
	{"price_asc", "Cheapest"},
	{"newest", "Newest"},
}

type searchPage struct {
	pageLayout
	request    SearchQuery
	cards      []uint32
	more       bool     // there is a next page
	missed     int      // the requested page if there is none
	products   []int    // rows of sealed products
	total      int      // number of cards, at most maxCounted
	sets       []uint32 // named by the words
	filter     filters
	didYouMean string // words that find something, if these find nothing
	remarks    []remark
	order      string // that the cards are in
	bestMatch  string // SearchQuery.Sort for the order of relevance
	noCard     bool   // the words name a product
}

// A remark says how words were read.
type remark struct {
	text    string
	undo    string // the text of the link
	without string // the address of the results without it, "" for none
}

// maxSetsShown is the largest number of sets that a search shows before its cards.
const maxSetsShown = 3

// Search appends a page of search results: the cards of the API's search, in its order. Sets
// that the words name come before the cards.
func (p *Pages) Search(dst []byte, v *engine.View, now time.Time, request SearchQuery) []byte {
	if request.Sort == relevance && request.Words == "" {
		request.Sort = ""
	}

	heading := "All cards"
	if request.Words != "" {
		heading = "Results for “" + request.Words + "”"
	}

	page := searchPage{pageLayout: p.newLayout(v, now, heading, "Search results."), request: request}
	query := request.query()
	if request.Words != "" {
		page.sets, _ = v.Index.Sets(nil, index.SetFilter{Game: request.Game, Query: request.Words}, 0, maxSetsShown)
	}

	// A page is a slice of the first results, so that pages need no cursor. The same search counts
	// the cards.
	found := v.CardsInterpreted(nil, query, nil, maxCounted)
	page.total = len(found.Cards)
	request.Page, page.missed = clampPage(request.Page, min(page.total, MaxPage*perSearch), perSearch)
	page.request.Page = request.Page
	page.cards = pageSlice(found.Cards[:min(len(found.Cards), request.Page*perSearch)], request.Page, perSearch)
	page.more = len(found.Cards) > request.Page*perSearch
	page.filter = p.countFilters(v, &request, query, found.Cards, found.More)
	meant := sealedMeaning(v, &query, found.Interpretation)
	page.products = p.sealedOf(v, &request, &meant)
	page.explain(v, &query, found.Interpretation)
	if page.noCard && len(page.products) > 0 && request.Sort == "" && meant.Sort != index.Relevance {
		page.order = index.SortNames[meant.Sort]
		page.bestMatch = relevance
		page.remarks = append(page.remarks, remark{text: orderText[page.order]})
	}
	if len(page.cards) == 0 && len(page.sets) == 0 && !page.noCard {
		page.didYouMean = p.didYouMean(v, request.Words)
	}

	page.hidden = true
	page.query = request.Words
	if len(page.cards) > 0 {
		page.skip = skipToResults
	}
	return appendPage(dst, &page)
}

// relevance is the order of relevance where words ask for another one.
const relevance = "relevance"

// explain reports how the query was read (docs/dev/SEARCH.md, How a query is explained). Words
// that are the first card's set or number need no report.
func (s *searchPage) explain(v *engine.View, query *index.Query, list []index.Note) {
	s.order = s.request.Sort
	if s.order == relevance {
		s.order = ""
		s.bestMatch = relevance
	}

	for _, found := range list {
		words := "“" + found.From + "”"
		one := remark{}
		switch found.Kind {
		case index.Missing:
			one.text = "No card that fits has " + words + "."
		case index.Corrected:
			one.text = words + " was read as “" + found.To + "”."
		case index.Replaced:
			one.text = words + " is " + found.To + "."
		case index.Dropped:
			one.text = words + " was left out."
		case index.Preferred:
			one.text = "Cards with " + words + " come first."
		case index.Sorted:
			s.order = found.To
			s.bestMatch = relevance
			one.text = orderText[found.To]
			one.undo = "Sort by match instead"
			one.without = s.without(v, query, list, func(q *SearchQuery) { q.Sort = "" })
		case index.Bounded:
			one.text = "Prices" + priceBound(" from ", found.From) + priceBound(" to ", found.To) + "."
			one.undo = "Show all prices"
			one.without = s.without(v, query, list, func(q *SearchQuery) {
				q.Min = 0
				q.Max = 0
			})
		case index.InEra:
			one.text = words + " is the era " + found.To + "."
		case index.NoCard:
			s.noCard = true
			switch {
			case len(s.products) > 0:
				one.text = words + " is no card; sealed products are listed below the cards."
			case s.request.Page == 1 && !s.request.filtered():
				one.text = words + " is no card, and no sealed product here fits all of the words."
			default:
				one.text = words + " is no card; sealed products are on the first page without filters."
			}
		case index.MatchedSet, index.MatchedNumber, index.InGame:
			continue
		}
		s.remarks = append(s.remarks, one)
	}
}

// sealedMeaning returns a query's meaning for sealed products: its words without the words of an
// order or of bounds, which are given.
func sealedMeaning(v *engine.View, query *index.Query, list []index.Note) index.Query {
	meant := query.WithoutModifiers(v.Index)
	// The words of a package are of no card, so they are not among its words.
	for _, found := range list {
		if found.Kind == index.NoCard {
			meant.Words += " " + found.From
		}
	}
	return meant
}

// without returns the address of the results without one of the modifiers in the words. The others
// become filters and an order of the address, so that each can be removed separately.
func (s *searchPage) without(
	v *engine.View, query *index.Query, list []index.Note, drop func(*SearchQuery),
) string {
	meant := query.WithoutModifiers(v.Index)
	q := s.request
	q.Page = 1
	q.Words = meant.Words
	q.Game = meant.Game
	q.Min = max(meant.Min, 0)
	q.Max = max(meant.Max, 0)
	q.Sort = ""
	if meant.Sort != index.Relevance {
		q.Sort = index.SortNames[meant.Sort]
	}
	drop(&q)

	// A word for an order narrows the results too: to fewer names than an order that is chosen.
	if q.Sort != "" && s.request.Sort == "" {
		for _, found := range list {
			if found.Kind == index.Sorted {
				q.Words = found.From + " " + q.Words
				q.Sort = ""
			}
		}
	}
	return s.searchLink(q)
}

// orderText names the order of cards that the words ask for.
var orderText = map[string]string{
	"price_asc":  "Sorted by price, cheapest first.",
	"price_desc": "Sorted by price, most expensive first.",
	"newest":     "Sorted by age, newest first.",
}

// priceBound is a bound of prices behind a word, "" for none.
func priceBound(word, cents string) string {
	n, err := strconv.ParseInt(cents, 10, 64)
	if err != nil {
		return ""
	}
	return word + dollars(n)
}

// didYouMean returns the name of a card or a set that is similar to words that find nothing, "" for
// none. It is needed rarely, because a search corrects a misspelling or two.
func (p *Pages) didYouMean(v *engine.View, words string) string {
	if len(words) < minSuggestLen || len(words) > maxSuggestLen {
		return ""
	}
	return p.names.get(v, suggesterOf).Nearest(words)
}

// suggesterOf has the names of a View for didYouMean. To read all names for each letter that a visitor
// types would cost more than any search.
func suggesterOf(v *engine.View) *cardvocab.Suggester {
	return cardvocab.NewSuggester(func(yield func(string) bool) {
		for _, all := range []*snapshot.Strings{&v.Catalog.Sets.Name, &v.Catalog.Cards.Name} {
			for name := range all.All() {
				// The names are cloned, so that they do not hold the catalog in memory.
				if !yield(strings.Clone(index.PlainName(name))) {
					return
				}
			}
		}
	})
}

// Bounds of the words for didYouMean, in bytes. In shorter words, a misspelling cannot be
// recognized.
const (
	minSuggestLen = 3
	maxSuggestLen = 40
)

// suggestions is the largest number of cards that the search box suggests.
const suggestions = 8

// suggestionList has the suggestions of the search box.
type suggestionList struct {
	*Pages
	view       *engine.View
	words      string
	sets       []uint32
	cards      []uint32
	total      int  // number of cards, at most maxCounted
	more       bool // there are more than total
	didYouMean string
}

// Suggest appends the options of the search box for words, as a fragment of HTML.
func (p *Pages) Suggest(dst []byte, v *engine.View, words string) []byte {
	words = strings.TrimSpace(words)
	if words == "" {
		return dst
	}

	query := index.Query{Filter: index.NoFilter, Words: words, HasWords: true}
	found := v.CardsInterpreted(nil, query, nil, maxCounted)
	suggested := suggestionList{
		Pages: p, view: v, words: words, total: len(found.Cards), more: found.More, cards: diversify(v, found.Cards),
	}
	suggested.sets, _ = v.Index.Sets(nil, index.SetFilter{Query: words}, 0, maxSetsShown)
	if len(suggested.cards) == 0 && len(suggested.sets) == 0 && !index.HasKind(found.Interpretation, index.NoCard) {
		suggested.didYouMean = p.didYouMean(v, words)
	}
	return render(dst, func(w *quicktemplate.Writer) { suggested.streamoptions(w) })
}

// maxPerName is how many cards of one name the search box suggests if there are others: "char"
// means Charizard as well as Charmander.
const maxPerName = 2

// diversify returns the cards to suggest among those found, in their order.
func diversify(v *engine.View, found []uint32) []uint32 {
	chosen := make([]uint32, 0, suggestions)
	var rest []uint32
	named := map[string]int{}

	for _, card := range found {
		name := index.PlainName(v.Catalog.Cards.Name.At(int(card)))
		switch {
		case len(chosen) == suggestions:
			return chosen
		case named[name] < maxPerName:
			named[name]++
			chosen = append(chosen, card)
		case len(rest) < suggestions:
			rest = append(rest, card)
		}
	}

	return append(chosen, rest[:min(len(rest), suggestions-len(chosen))]...)
}

// maxCounted is the largest number of cards of a search that are counted, so that a search for
// everything costs no more than others.
const maxCounted = 1000

// filters has the values of each filter of a search, with the number of cards that have them.
type filters struct {
	sets, rarities, variants []facet
	truncated                bool // there are more cards than maxCounted
}

// facet is a value of a filter.
type facet struct {
	value, name string
	cards       int
}

// facetsShown is the largest number of values that a filter offers.
const facetsShown = 60

// countFilters counts the values of each filter among the cards that pass all other filters, so
// that a visitor can choose another value. found has the cards that pass all filters.
func (p *Pages) countFilters(
	v *engine.View, searchQuery *SearchQuery, query index.Query, found []uint32, truncated bool,
) filters {
	c := v.Catalog
	f := filters{truncated: truncated}

	// Only for a filter that is set, another search is needed.
	without := func(set bool, leave func(*index.Query)) []uint32 {
		if !set {
			return found
		}
		wider := query
		leave(&wider)
		page := v.Cards(nil, wider, nil, maxCounted)
		f.truncated = f.truncated || page.More
		return page.Cards
	}

	f.sets = countValues(without(searchQuery.Set != "", func(query *index.Query) { query.Set = "" }),
		func(card int, add func(string, string)) {
			if set := c.Cards.Set[card]; set != snapshot.NoSet {
				add(c.Sets.Slug.At(int(set)), c.Sets.Name.At(int(set)))
			}
		})
	f.rarities = countValues(without(searchQuery.Rarity != "", func(query *index.Query) { query.Rarity = "" }),
		func(card int, add func(string, string)) {
			if rarity := c.Cards.Rarity.At(card); rarity != "" {
				add(rarity, rarity)
			}
		})
	f.variants = countValues(without(searchQuery.Variant != "", func(query *index.Query) { query.Variant = "" }),
		func(card int, add func(string, string)) {
			last := uint16(0)
			for lane, to := c.Lanes.Of.Range(card); lane < to; lane++ {
				if variant := c.Lanes.Variant[lane]; variant != last && c.Lanes.Cents[lane] >= 0 {
					last = variant
					add(c.Variants.At(int(variant)), displayName(c.Variants.At(int(variant))))
				}
			}
		})
	return f
}

// countValues returns the values that cards have, the most frequent first.
func countValues(cards []uint32, valuesOf func(card int, add func(value, name string))) (all []facet) {
	at := map[string]int{}
	add := func(value, name string) {
		k, known := at[value]
		if !known {
			k = len(all)
			at[value] = k
			all = append(all, facet{value: value, name: name})
		}
		all[k].cards++
	}
	for _, card := range cards {
		valuesOf(int(card), add)
	}

	slices.SortStableFunc(all, func(a, b facet) int {
		return cmp.Or(cmp.Compare(b.cards, a.cards), cmp.Compare(a.name, b.name))
	})
	return all[:min(len(all), facetsShown)]
}
