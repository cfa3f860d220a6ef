package site

import (
	"cmp"
	"strings"
	"sync"
	"time"

	"github.com/valyala/quicktemplate"

	"ninepocket/cardvocab"
	"ninepocket/engine"
	"ninepocket/index"
	"ninepocket/index/text"
	"ninepocket/snapshot"
)

// SearchQuery says which search results are wanted.
type SearchQuery struct {
	Words   string // "" for none: everything, dearest first
	Game    string // slug, "" for any
	Set     string // slug, "" for any
	Rarity  string // "" for any
	Variant string // that the card has a price in, "" for any
	Min     int64  // cents, 0 for no bound
	Max     int64
	Sort    string // as the API's, "" for relevance
	List    bool   // as a list, else in pockets
	Page    int    // from 1
}

// filtered reports whether a query has any filter but the game.
func (q *SearchQuery) filtered() bool {
	return q.Set != "" || q.Rarity != "" || q.Variant != "" || q.Min > 0 || q.Max > 0
}

// unfiltered is the query without its filters.
func (q *SearchQuery) unfiltered() SearchQuery {
	return SearchQuery{Words: q.Words, Game: q.Game, Sort: q.Sort, List: q.List}
}

// query is what to ask the index.
func (q *SearchQuery) query() index.Query {
	query := index.Query{Filter: index.NoFilter, Words: q.Words, HasWords: q.Words != ""}
	query.Game = q.Game
	query.Set = q.Set
	query.Rarity = q.Rarity
	query.Variant = q.Variant
	query.Min = cmp.Or(q.Min, snapshot.NoCents)
	query.Max = cmp.Or(q.Max, snapshot.NoCents)
	query.Sort, _ = index.ParseSort(q.Sort)
	return query
}

func (p *Pages) searchLink(query SearchQuery) string {
	return pageAddress(p.root+"/search", query.Page, param{"q", query.Words}, param{"game", query.Game},
		param{"set", query.Set},
		param{"rarity", query.Rarity}, param{"variant", query.Variant}, param{"min", boundText(query.Min)},
		param{"max", boundText(query.Max)}, param{"sort", query.Sort}, param{"view", viewName(query.List)})
}

// boundText is a bound of prices in dollars as an address has it, "" for none.
func boundText(cents int64) string {
	if cents == 0 {
		return ""
	}
	return strings.TrimSuffix(decimal(cents), ".00")
}

// orders are the orders of search results, by the names in SearchQuery, and what they are called.
var orders = [...]struct{ sort, name string }{
	{"", "Best match"},
	{"price_desc", "Dearest"},
	{"price_asc", "Cheapest"},
	{"newest", "Newest"},
}

type searchPage struct {
	pageLayout
	asked      SearchQuery
	cards      []uint32
	more       bool     // after this page
	total      int      // how many cards there are, at most maxListBytes
	sets       []uint32 // that the words name
	filter     filters
	didYouMean string // other words that find something, where these find nothing
	remarks    []string
}

// maxSetsShown is how many sets a search shows before its cards.
const maxSetsShown = 3

// Search appends a page of search results: the cards that the API's search has, in its order. Sets that the
// words name come before them.
func (p *Pages) Search(dst []byte, v *engine.View, now time.Time, asked SearchQuery) []byte {
	asked.Page = min(max(asked.Page, 1), MaxPage)
	if asked.Sort == "relevance" {
		asked.Sort = ""
	}

	heading := "All cards"
	if asked.Words != "" {
		heading = "Results for “" + asked.Words + "”"
	}

	page := searchPage{pageLayout: p.newLayout(v, now, heading, "Search results."), asked: asked}
	query := asked.query()
	if asked.Words != "" {
		page.sets, _ = v.Index.Sets(nil, index.SetFilter{Game: asked.Game, Query: asked.Words}, 0, maxSetsShown)
	}

	// Pages are cut from the beginning of the results, so that they need no cursor; what is counted is found in the
	// same way.
	found := v.CardsInterpreted(nil, query, nil, maxCounted)
	page.total = len(found.Cards)
	page.cards = pageOf(found.Cards[:min(len(found.Cards), asked.Page*perSearch)], asked.Page, perSearch)
	page.more = len(found.Cards) > asked.Page*perSearch
	page.filter = p.countFilters(v, &asked, query, found.Cards, found.More)
	if len(page.cards) == 0 && len(page.sets) == 0 {
		page.didYouMean = p.didYouMean(v, asked.Words)
	}

	page.remarks = queryRemarks(found.Interpretation)
	page.hidden = true
	page.query = asked.Words
	return appendPage(dst, &page)
}

// queryRemarks says in words what was done to a query: what no card has, and what was read
// otherwise. What was understood as it was meant needs no words.
func queryRemarks(list []text.Note) (all []string) {
	for _, remark := range list {
		switch remark.Kind {
		case text.Missing:
			all = append(all, "No card that fits has “"+remark.From+"”.")
		case text.Corrected:
			all = append(all, "“"+remark.From+"” was read as “"+remark.To+"”.")
		case text.Dropped, text.Replaced, text.MatchedSet, text.MatchedNumber, text.Preferred, text.InGame:
		}
	}
	return all
}

// didYouMean is the name of a card or a set that words come near which find nothing, "" for none. A
// search forgives a slip or two by itself, so that this is asked for rarely.
func (p *Pages) didYouMean(v *engine.View, words string) string {
	if len(words) < minSuggestLen || len(words) > maxSuggestLen {
		return ""
	}
	return p.suggestIndex.of(v).Nearest(words)
}

// suggestIndex are the names of what is served, for slips. They are made when the first slip asks
// for them: to read all names for each would cost a visitor's every letter more than any search.
type suggestIndex struct {
	mu        sync.Mutex
	snapshot  string
	suggester *cardvocab.Suggester
}

func (n *suggestIndex) of(v *engine.View) *cardvocab.Suggester {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.suggester == nil || n.snapshot != v.ID {
		c := v.Catalog
		n.snapshot = v.ID

		n.suggester = cardvocab.NewSuggester(func(yield func(string) bool) {
			for _, all := range []*snapshot.Strings{&c.Sets.Name, &c.Cards.Name} {
				for name := range all.All() {
					// The catalog goes when the next one comes, and the names with it.
					if !yield(strings.Clone(index.PlainName(name))) {
						return
					}
				}
			}
		})
	}
	return n.suggester
}

// The bounds of the words that a name is looked for to: of fewer letters, no slip is one.
const (
	minSuggestLen = 3
	maxSuggestLen = 40
)

// suggestions are how many cards the search box suggests.
const suggestions = 8

// suggested is what the search box suggests.
type suggested struct {
	*Pages
	view       *engine.View
	words      string
	sets       []uint32
	cards      []uint32
	total      int  // how many cards there are, at most maxListBytes
	more       bool // than that
	didYouMean string
}

// Suggest appends the options of the search box for words: a fragment of HTML.
func (p *Pages) Suggest(dst []byte, v *engine.View, words string) []byte {
	words = strings.TrimSpace(words)
	if words == "" {
		return dst
	}

	query := index.Query{Filter: index.NoFilter, Words: words, HasWords: true}
	found := v.Cards(nil, query, nil, maxCounted)
	suggested := suggested{
		Pages: p, view: v, words: words, total: len(found.Cards), more: found.More, cards: diversify(v, found.Cards),
	}
	suggested.sets, _ = v.Index.Sets(nil, index.SetFilter{Query: words}, 0, maxSetsShown)
	if len(suggested.cards) == 0 && len(suggested.sets) == 0 {
		suggested.didYouMean = p.didYouMean(v, words)
	}
	return render(dst, func(w *quicktemplate.Writer) { suggested.streamoptions(w) })
}

// maxPerName is how many cards of one name the search box suggests, while there are others: "char"
// means Charizard as well as Charmander.
const maxPerName = 2

// diversify chooses the cards to suggest among those found, in their order.
func diversify(v *engine.View, found []uint32) []uint32 {
	chosen := make([]uint32, 0, suggestions)
	var left []uint32
	named := map[string]int{}

	for _, card := range found {
		name := index.PlainName(v.Catalog.Cards.Name.At(int(card)))
		switch {
		case len(chosen) == suggestions:
			return chosen
		case named[name] < maxPerName:
			named[name]++
			chosen = append(chosen, card)
		case len(left) < suggestions:
			left = append(left, card)
		}
	}

	return append(chosen, left[:min(len(left), suggestions-len(chosen))]...)
}
