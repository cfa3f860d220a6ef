package site

import (
	"html/template"
	"strings"
	"time"

	"ninepocket/engine"
	"ninepocket/index"
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

// pageOf is what of a list from its beginning is on a page, counted from 1.
func pageOf(all []uint32, page, size int) []uint32 { return all[min(len(all), (page-1)*size):] }

// movers makes a list of the cards that moved most, by the API's rules and its smallest price.
func (p *Pages) movers(v *engine.View, down bool, game string, most int) template.HTML {
	f := index.NoFilter
	f.Min = wire.MoversMinCents
	f.Game = game
	return p.cards(v, v.Index.Movers(nil, down, f, most), withChange)
}

// homePage is what the home template shows.
type homePage struct {
	frame
	Counts   string
	Up, Down template.HTML
	Sets     template.HTML
}

// Home appends the home page: search, movers, newest sets.
func (p *Pages) Home(dst []byte, v *engine.View, now time.Time) ([]byte, error) {
	c := v.Catalog
	newest, _ := v.Index.Sets(nil, index.SetFilter{}, 0, homeSets)
	h := homePage{
		frame:  p.frame(v, now, "Trading card prices", "Market prices, history and movers of trading cards."),
		Counts: counted(c.Cards.ID.Len(), "card", "cards") + " in " + counted(c.Sets.ID.Len(), "set", "sets"),
		Up:     p.movers(v, false, "", homeMovers), Down: p.movers(v, true, "", homeMovers),
		Sets: p.sets(v, newest),
	}
	h.Canonical = canonical(v, "/")
	h.Hero = true
	return p.render(dst, "home", &h)
}

// SearchQuery says which search results are wanted.
type SearchQuery struct {
	Words string // "" for none: everything, dearest first
	Game  string // slug, "" for any
	Sort  string // as the API's, "" for relevance
	Page  int    // from 1
}

func (p *Pages) searchLink(q SearchQuery) string {
	if q.Sort == "relevance" {
		q.Sort = ""
	}
	return address(p.root+"/search",
		param{"q", q.Words}, param{"game", q.Game}, param{"sort", q.Sort}, param{"page", pageParam(q.Page)})
}

// orders are the orders of search results, and what they are called.
var orders = [...]struct{ sort, name string }{
	{"relevance", "Best match"},
	{"price_desc", "Price, high to low"},
	{"price_asc", "Price, low to high"},
	{"newest", "Newest set"},
}

// searchPage is what the search template shows.
type searchPage struct {
	frame
	Asked   bool
	Heading string
	Choices template.HTML
	Cards   template.HTML // "" when there are none
	Pager   pager
	Last    bool // there is more than the pages show
}

// Search appends a page of search results: the cards that the API's search has, in its order.
func (p *Pages) Search(dst []byte, v *engine.View, now time.Time, q SearchQuery) ([]byte, error) {
	q.Page = min(max(q.Page, 1), MaxPage)
	asked := q.Words != ""
	heading := "All cards"
	if asked {
		heading = "Results for “" + q.Words + "”"
	}

	// Pages are cut from the beginning of the results, so that they need no cursor.
	query := index.Query{Filter: index.NoFilter, Words: q.Words, HasWords: asked}
	query.Game = q.Game
	query.Sort, _ = index.ParseSort(q.Sort)
	found := v.Cards(nil, query, nil, q.Page*perSearch)

	// A link to another order or game begins at its first page.
	var sorts []link
	for _, order := range orders {
		sorts = append(sorts, link{
			Text: order.name, Href: p.searchLink(SearchQuery{q.Words, q.Game, order.sort, 1}),
			Here: order.sort == q.Sort || q.Sort == "" && order.sort == "relevance",
		})
	}
	games := gameTabs(v.Catalog, q.Game, func(game string) string {
		return p.searchLink(SearchQuery{q.Words, game, q.Sort, 1})
	})

	s := searchPage{
		frame: p.frame(v, now, heading, "Search results."), Asked: asked, Heading: heading,
		Choices: games + tabs("Order", sorts),
		Cards:   p.cards(v, pageOf(found.Cards, q.Page, perSearch), 0),
		Pager: paged(q.Page, found.More && q.Page < MaxPage, func(page int) string {
			return p.searchLink(SearchQuery{q.Words, q.Game, q.Sort, page})
		}),
		Last: found.More && q.Page == MaxPage,
	}
	s.Hidden = true
	s.Query = q.Words
	return p.render(dst, "search", &s)
}

// Suggest appends the options of the search box for words: a fragment of HTML.
func (p *Pages) Suggest(dst []byte, v *engine.View, words string) []byte {
	var cards []uint32
	if strings.TrimSpace(words) != "" {
		q := index.Query{Filter: index.NoFilter, Words: words, HasWords: true}
		cards = v.Cards(nil, q, nil, suggestions).Cards
	}

	c := v.Catalog
	m := markup(dst)
	for i, n := range cards {
		card := int(n)
		m.raw(`<li id="o`, wire.Decimal(int64(i)), `" role="option" data-href="`)
		m.text(p.cardLink(c.Cards.Slug.At(card)))
		m.raw(`"><span>`)
		m.text(c.Cards.Name.At(card))
		m.raw("</span><small>")
		m.text(joined(c.Cards.Number.At(card), setName(c, card), c.Cards.Rarity.At(card)))
		m.raw("</small><b>")
		if cents := c.DisplayCents(card); cents >= 0 {
			m.dollars(cents)
		}
		m.raw("</b>")
	}
	return m
}

// SetQuery says which page of a set is wanted.
type SetQuery struct {
	Set     int
	ByPrice bool // else by number
	Page    int  // from 1
}

// setPage is what the set template shows.
type setPage struct {
	frame
	Name, About, Game, GameLink string
	Orders                      template.HTML
	Cards                       template.HTML // "" when there are none
	Pager                       pager
	JSON                        string
}

// Set appends the page of a set; a page beyond its last one is the last one.
func (p *Pages) Set(dst []byte, v *engine.View, now time.Time, q SetQuery) ([]byte, error) {
	c := v.Catalog
	slug := c.Sets.Slug.At(q.Set)
	last := (int(c.Sets.Cards[q.Set]) + perSet - 1) / perSet
	q.Page = min(max(q.Page, 1), max(last, 1))

	query := index.Query{Filter: index.NoFilter, Sort: index.Newest} // within one set, the catalog's order is by number
	query.Set = c.Sets.ID.At(q.Set)
	sort := ""
	if q.ByPrice {
		query.Sort = index.PriceDesc
		sort = "price"
	}
	found := v.Index.Cards(nil, query, nil, q.Page*perSet)
	linked := func(sort string, page int) string {
		return address(p.setLink(slug), param{"sort", sort}, param{"page", pageParam(page)})
	}

	game, gameLink := p.game(c, int(c.Sets.Game[q.Set]))
	s := setPage{
		Name: c.Sets.Name.At(q.Set), Game: game, GameLink: gameLink,
		About: joined(c.Sets.Series.At(q.Set), released(c, q.Set, "released "), countedCards(c, q.Set)),
		Orders: tabs("Order", []link{
			{Text: "By number", Href: linked("", 1), Here: !q.ByPrice},
			{Text: "By price", Href: linked("price", 1), Here: q.ByPrice},
		}),
		Cards: p.cards(v, pageOf(found.Cards, q.Page, perSet), withChange|withoutSet),
		Pager: paged(q.Page, found.More, func(page int) string { return linked(sort, page) }),
		JSON:  p.root + "/v1/sets/" + slug,
	}
	s.frame = p.frame(v, now, s.Name, "Cards and market prices of "+s.Name+", "+s.Game+": "+s.About+".")
	s.Canonical = canonical(v, "/sets/"+slug)
	return p.render(dst, "set", &s)
}

// SetsQuery says which list of sets is wanted.
type SetsQuery struct {
	Game string // slug, "" for any
	Page int    // from 1
}

// setsPage is what the sets template shows.
type setsPage struct {
	frame
	Heading string
	Games   template.HTML
	Sets    template.HTML // "" when there are none
	Pager   pager
}

// Sets appends a list of sets, newest first.
func (p *Pages) Sets(dst []byte, v *engine.View, now time.Time, q SetsQuery) ([]byte, error) {
	c := v.Catalog
	heading := "Sets"
	if q.Game != "" {
		heading = "sets"
		for g := range c.Games.Slug.Len() {
			if c.Games.Slug.At(g) == q.Game {
				heading = c.Games.Name.At(g) + " sets"
			}
		}
	}

	q.Page = min(max(q.Page, 1), c.Sets.ID.Len()/perSets+1)
	sets, next := v.Index.Sets(nil, index.SetFilter{Game: q.Game}, 0, q.Page*perSets)
	linked := func(game string, page int) string {
		return address(p.root+"/sets", param{"game", game}, param{"page", pageParam(page)})
	}
	s := setsPage{
		frame: p.frame(v, now, heading, "Sets of trading cards, newest first."), Heading: heading,
		Games: gameTabs(c, q.Game, func(game string) string { return linked(game, 1) }),
		Pager: paged(q.Page, next >= 0, func(page int) string { return linked(q.Game, page) }),
	}
	if shown := pageOf(sets, q.Page, perSets); len(shown) > 0 {
		s.Sets = p.sets(v, shown)
	}
	s.Canonical = canonical(v, address("/sets", param{"game", q.Game}))
	return p.render(dst, "sets", &s)
}

// MoversQuery says which movers are wanted.
type MoversQuery struct {
	Down bool
	Game string // slug, "" for any
}

// moversPage is what the movers template shows.
type moversPage struct {
	frame
	Heading string
	Choices template.HTML
	Cards   template.HTML // "" when there are none
}

// Movers appends the cards that moved most within seven days.
func (p *Pages) Movers(dst []byte, v *engine.View, now time.Time, q MoversQuery) ([]byte, error) {
	heading := "Biggest gains"
	way := ""
	if q.Down {
		heading = "Biggest losses"
		way = "down"
	}

	linked := func(root, way, game string) string {
		return address(root+"/movers", param{"direction", way}, param{"game", game})
	}
	ways := tabs("Direction", []link{
		{Text: "Up", Href: linked(p.root, "", q.Game), Here: !q.Down},
		{Text: "Down", Href: linked(p.root, "down", q.Game), Here: q.Down},
	})
	games := gameTabs(v.Catalog, q.Game, func(game string) string { return linked(p.root, way, game) })

	about := "Trading cards from " + dollars(wire.MoversMinCents) + " whose market price moved most within seven days."
	m := moversPage{
		frame: p.frame(v, now, heading+" in 7 days", about), Heading: heading,
		Choices: ways + games, Cards: p.movers(v, q.Down, q.Game, moversShown),
	}
	m.Canonical = canonical(v, linked("", way, q.Game)) // without the root, which is part of the public address
	return p.render(dst, "movers", &m)
}
