package site

import (
	"strings"
	"time"

	"github.com/valyala/quicktemplate"

	"ninepocket/engine"
	"ninepocket/index"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// Sizes of lists.
const (
	homeMovers  = 6
	homeSets    = 9
	moversShown = 50
	perSearch   = 30
	perSet      = 120
	perSets     = 150
	suggestions = 8
	// MaxPage bounds the pages of a search: a page is cut from the beginning of the results, and nobody reads on for
	// longer than it takes to type another word.
	MaxPage = 8
)

// What a row of a list of cards tells beside name and price.
const (
	withChange = 1 << iota // the 7-day change of the display price
	withoutSet             // the list is of one set, and says which once, above it
)

// aboutCard is what stands below a card's name in a list.
func aboutCard(c *snapshot.Catalog, card int, withSet bool) string {
	facts := factsOf(c, card)
	if !withSet {
		facts[1] = ""
	}
	return joined(facts[:]...)
}

// factsOf are what tells a card from others of its name: number, set and rarity, each "" without one.
func factsOf(c *snapshot.Catalog, card int) [3]string {
	facts := [3]string{c.Cards.Number.At(card), "", c.Cards.Rarity.At(card)}
	if set := c.Cards.Set[card]; set != snapshot.NoSet {
		facts[1] = c.Sets.Name.At(int(set))
	}
	return facts
}

// released is the day a set was released, with a word before it; "" for a set without one.
func released(c *snapshot.Catalog, set int, before string) string {
	if c.Sets.Release[set] == snapshot.NoDay {
		return ""
	}
	return before + date(c.Sets.Release[set])
}

func countedCards(c *snapshot.Catalog, set int) string {
	return counted(int(c.Sets.Cards[set]), "card", "cards")
}

// pageOf is what of a list from its beginning is on a page, counted from 1.
func pageOf(all []uint32, page, size int) []uint32 { return all[min(len(all), (page-1)*size):] }

// movers are the cards that moved most, by the API's rules and its smallest price.
func movers(v *engine.View, down bool, game string, most int) []uint32 {
	filter := index.NoFilter
	filter.Min = wire.MoversMinCents
	filter.Game = game
	return v.Index.Movers(nil, down, filter, most)
}

type homePage struct {
	frame
	up, down, sets []uint32
}

// Home appends the home page: search, movers, newest sets.
func (p *Pages) Home(dst []byte, v *engine.View, now time.Time) ([]byte, error) {
	page := homePage{
		frame: p.frame(v, now, "Trading card prices", "Market prices, history and movers of trading cards."),
		up:    movers(v, false, "", homeMovers),
		down:  movers(v, true, "", homeMovers),
	}

	page.sets, _ = v.Index.Sets(nil, index.SetFilter{}, 0, homeSets)
	page.canonical = canonical(v, "/")
	page.hero = true
	return show(dst, &page), nil
}

// SearchQuery says which search results are wanted.
type SearchQuery struct {
	Words string // "" for none: everything, dearest first
	Game  string // slug, "" for any
	Sort  string // as the API's, "" for relevance
	Page  int    // from 1
}

func (p *Pages) searchLink(query SearchQuery) string {
	return address(p.root+"/search", query.Page, param{"q", query.Words}, param{"game", query.Game},
		param{"sort", query.Sort})
}

// orders are the orders of search results, by the names in SearchQuery, and what they are called.
var orders = [...]struct{ sort, name string }{
	{"", "Best match"},
	{"price_desc", "Price, high to low"},
	{"price_asc", "Price, low to high"},
	{"newest", "Newest set"},
}

type searchPage struct {
	frame
	asked SearchQuery
	cards []uint32
	more  bool // after this page
}

// Search appends a page of search results: the cards that the API's search has, in its order.
func (p *Pages) Search(dst []byte, v *engine.View, now time.Time, searchQuery SearchQuery) ([]byte, error) {
	searchQuery.Page = min(max(searchQuery.Page, 1), MaxPage)
	if searchQuery.Sort == "relevance" {
		searchQuery.Sort = ""
	}

	heading := "All cards"
	if searchQuery.Words != "" {
		heading = "Results for “" + searchQuery.Words + "”"
	}

	// Pages are cut from the beginning of the results, so that they need no cursor.
	query := index.Query{Filter: index.NoFilter, Words: searchQuery.Words, HasWords: searchQuery.Words != ""}
	query.Game = searchQuery.Game
	query.Sort, _ = index.ParseSort(searchQuery.Sort)
	found := v.Cards(nil, query, nil, searchQuery.Page*perSearch)

	s := searchPage{
		frame: p.frame(v, now, heading, "Search results."), asked: searchQuery,
		cards: pageOf(found.Cards, searchQuery.Page, perSearch), more: found.More,
	}
	s.hidden = true
	s.query = searchQuery.Words
	return show(dst, &s), nil
}

// Suggest appends the options of the search box for words: a fragment of HTML.
func (p *Pages) Suggest(dst []byte, v *engine.View, words string) []byte {
	if strings.TrimSpace(words) == "" {
		return dst
	}

	query := index.Query{Filter: index.NoFilter, Words: words, HasWords: true}
	found := v.Cards(nil, query, nil, suggestions)
	return render(dst, func(w *quicktemplate.Writer) { p.streamoptions(w, v.Catalog, found.Cards) })
}

// SetQuery says which page of a set is wanted.
type SetQuery struct {
	Set     int
	ByPrice bool // else by number
	Page    int  // from 1
}

type setPage struct {
	frame
	asked SetQuery
	slug  string
	about string
	cards []uint32
	more  bool // after this page
}

// Set appends the page of a set; a page beyond its last one is the last one.
func (p *Pages) Set(dst []byte, v *engine.View, now time.Time, setQuery SetQuery) ([]byte, error) {
	c := v.Catalog
	last := (int(c.Sets.Cards[setQuery.Set]) + perSet - 1) / perSet
	setQuery.Page = min(max(setQuery.Page, 1), max(last, 1))

	query := index.Query{Filter: index.NoFilter, Sort: index.Newest} // within one set, the catalog's order is by number
	query.Set = c.Sets.ID.At(setQuery.Set)
	if setQuery.ByPrice {
		query.Sort = index.PriceDesc
	}

	found := v.Index.Cards(nil, query, nil, setQuery.Page*perSet)

	page := setPage{
		asked: setQuery, slug: c.Sets.Slug.At(setQuery.Set),
		about: joined(c.Sets.Series.At(setQuery.Set), released(c, setQuery.Set, "released "),
			countedCards(c, setQuery.Set)),
		cards: pageOf(found.Cards, setQuery.Page, perSet), more: found.More,
	}

	name := c.Sets.Name.At(setQuery.Set)
	game := c.Games.Name.At(int(c.Sets.Game[setQuery.Set]))
	page.frame = p.frame(v, now, name, "Cards and market prices of "+name+", "+game+": "+page.about+".")
	page.canonical = canonical(v, "/sets/"+page.slug)
	return show(dst, &page), nil
}

// link is where the page of the set is in an order, byPrice or by number.
func (s *setPage) link(byPrice bool, page int) string {
	sort := ""
	if byPrice {
		sort = "price"
	}
	return address(s.setLink(s.slug), page, param{"sort", sort})
}

// SetsQuery says which list of sets is wanted.
type SetsQuery struct {
	Game string // slug, "" for any
	Page int    // from 1
}

type setsPage struct {
	frame
	asked SetsQuery
	sets  []uint32
	more  bool // after this page
}

// Sets appends a list of sets, newest first.
func (p *Pages) Sets(dst []byte, v *engine.View, now time.Time, query SetsQuery) ([]byte, error) {
	c := v.Catalog
	// A game that the catalog does not have is not named.
	heading := "Sets"
	if query.Game != "" {
		heading = "sets"
		for g := range c.Games.Slug.Len() {
			if c.Games.Slug.At(g) == query.Game {
				heading = c.Games.Name.At(g) + " sets"
			}
		}
	}

	query.Page = min(max(query.Page, 1), c.Sets.ID.Len()/perSets+1)
	sets, next := v.Index.Sets(nil, index.SetFilter{Game: query.Game}, 0, query.Page*perSets)

	page := setsPage{
		frame: p.frame(v, now, heading, "Sets of trading cards, newest first."), asked: query,
		sets: pageOf(sets, query.Page, perSets), more: next >= 0,
	}
	page.canonical = canonical(v, address("/sets", 1, param{"game", query.Game}))
	return show(dst, &page), nil
}

// MoversQuery says which movers are wanted.
type MoversQuery struct {
	Down bool
	Game string // slug, "" for any
}

type moversPage struct {
	frame
	asked MoversQuery
	cards []uint32
}

// Movers appends the cards that moved most within seven days.
func (p *Pages) Movers(dst []byte, v *engine.View, now time.Time, query MoversQuery) ([]byte, error) {
	about := "Trading cards from " + dollars(wire.MoversMinCents) + " whose market price moved most within seven days."
	page := moversPage{
		frame: p.frame(v, now, query.heading()+" in 7 days", about), asked: query,
		cards: movers(v, query.Down, query.Game, moversShown),
	}
	page.canonical = canonical(v, query.path()) // without the root, which is part of the public address
	return show(dst, &page), nil
}

func (q MoversQuery) heading() string {
	if q.Down {
		return "Biggest losses"
	}
	return "Biggest gains"
}

// path is where the movers are, below the root.
func (q MoversQuery) path() string {
	way := ""
	if q.Down {
		way = "down"
	}
	return address("/movers", 1, param{"direction", way}, param{"game", q.Game})
}
