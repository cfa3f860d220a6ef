package site

import (
	"html/template"
	"strings"
	"time"

	"ninepocket/engine"
	"ninepocket/index"
	"ninepocket/snapshot"
)

// Sizes of lists.
const (
	homeMovers, homeSets = 6, 9
	moversShown          = 50
	moversMinCents       = 500 // as the API's default
	perSearch            = 30
	perSet               = 120
	perSets              = 150
	suggestions          = 8
	// MaxPage bounds the pages of a search: a page is cut from the beginning of the results, and nobody reads on for
	// longer than it takes to type another word.
	MaxPage = 8
)

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
	h := homePage{frame: p.frame(v, now, "Trading card prices", "Market prices, history and movers of trading cards.")}
	h.Canonical, h.Hero = canonical(v, "/"), true
	h.Counts = counted(c.Cards.ID.Len(), "card", "cards") + " in " + counted(c.Sets.ID.Len(), "set", "sets")
	f := index.NoFilter
	f.Min = moversMinCents
	if up := v.Index.Movers(nil, false, f, homeMovers); len(up) > 0 {
		h.Up = p.cards(v, up, withChange)
	}
	if down := v.Index.Movers(nil, true, f, homeMovers); len(down) > 0 {
		h.Down = p.cards(v, down, withChange)
	}
	sets, _ := v.Index.Sets(nil, index.SetFilter{}, 0, homeSets)
	h.Sets = p.sets(v, sets)
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
	return address(p.root+"/search", param{"q", q.Words}, param{"game", q.Game}, param{"sort", q.Sort}, param{"page", pageParam(q.Page)})
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
	heading := "All cards"
	if q.Words != "" {
		heading = "Results for “" + q.Words + "”"
	}
	s := searchPage{frame: p.frame(v, now, heading, "Search results."), Asked: q.Words != "", Heading: heading}
	s.Hidden, s.Query = true, q.Words
	query := index.Query{Filter: index.NoFilter, Words: q.Words, HasWords: q.Words != ""}
	query.Game = q.Game
	query.Sort, _ = index.ParseSort(q.Sort)
	found := v.Cards(nil, query, nil, q.Page*perSearch)
	if cards := found.Cards[min(len(found.Cards), (q.Page-1)*perSearch):]; len(cards) > 0 {
		s.Cards = p.cards(v, cards, 0)
	}
	s.Pager = paged(q.Page, found.More && q.Page < MaxPage, func(page int) string {
		return p.searchLink(SearchQuery{q.Words, q.Game, q.Sort, page})
	})
	s.Last = found.More && q.Page == MaxPage
	var orders []link
	for _, order := range [][2]string{{"relevance", "Best match"}, {"price_desc", "Price, high to low"}, {"price_asc", "Price, low to high"}, {"newest", "Newest set"}} {
		orders = append(orders, link{
			Text: order[1], Href: p.searchLink(SearchQuery{q.Words, q.Game, order[0], 1}),
			Here: order[0] == q.Sort || q.Sort == "" && order[0] == "relevance",
		})
	}
	s.Choices = tabs("Game", gameLinks(v.Catalog, q.Game, func(game string) string { return p.searchLink(SearchQuery{q.Words, game, q.Sort, 1}) })) +
		tabs("Order", orders)
	return p.render(dst, "search", &s)
}

// Suggest appends the options of the search box for words: a fragment of HTML.
func (p *Pages) Suggest(dst []byte, v *engine.View, words string) []byte {
	var cards []uint32
	if strings.TrimSpace(words) != "" {
		q := index.Query{Filter: index.NoFilter, Words: words, HasWords: true}
		cards = v.Cards(nil, q, nil, suggestions).Cards
	}
	m := markup(dst)
	for i, n := range cards {
		card := int(n)
		m.raw(`<li id="o`)
		m.int(i)
		m.raw(`" role="option" data-href="`)
		m.text(p.cardLink(v.Catalog.Cards.Slug.At(card)))
		m.raw(`"><span>`)
		m.text(v.Catalog.Cards.Name.At(card))
		m.raw("</span><small>")
		m.about(v.Catalog.Cards.Number.At(card), setName(v.Catalog, card), v.Catalog.Cards.Rarity.At(card))
		m.raw("</small><b>")
		if cents := v.Catalog.DisplayCents(card); cents >= 0 {
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

// Set appends the page of a set; false when it has no such page.
func (p *Pages) Set(dst []byte, v *engine.View, now time.Time, q SetQuery) ([]byte, error) {
	c := v.Catalog
	game := int(c.Sets.Game[q.Set])
	slug := c.Sets.Slug.At(q.Set)
	s := setPage{
		Name: c.Sets.Name.At(q.Set), Game: c.Games.Name.At(game), GameLink: p.root + "/sets?game=" + c.Games.Slug.At(game),
		JSON: p.root + "/v1/sets/" + slug,
	}
	released := ""
	if c.Sets.Release[q.Set] != snapshot.NoDay {
		released = "released " + date(c.Sets.Release[q.Set])
	}
	s.About = joined(c.Sets.Series.At(q.Set), released, counted(int(c.Sets.Cards[q.Set]), "card", "cards"))
	s.frame = p.frame(v, now, s.Name, "Cards and market prices of "+s.Name+", "+s.Game+": "+s.About+".")
	s.Canonical = canonical(v, "/sets/"+slug)
	order, sort := index.Newest, "" // within one set, the catalog's order is by number
	if q.ByPrice {
		order, sort = index.PriceDesc, "price"
	}
	q.Page = max(q.Page, 1)
	linked := func(sort string, page int) string {
		return address(p.setLink(slug), param{"sort", sort}, param{"page", pageParam(page)})
	}
	query := index.Query{Filter: index.NoFilter, Sort: order}
	query.Set = c.Sets.ID.At(q.Set)
	last := (int(c.Sets.Cards[q.Set]) + perSet - 1) / perSet
	q.Page = min(q.Page, max(last, 1))
	found := v.Index.Cards(nil, query, nil, q.Page*perSet)
	if cards := found.Cards[min(len(found.Cards), (q.Page-1)*perSet):]; len(cards) > 0 {
		s.Cards = p.cards(v, cards, withChange|withoutSet)
	}
	s.Pager = paged(q.Page, found.More, func(page int) string { return linked(sort, page) })
	s.Orders = tabs("Order", []link{
		{Text: "By number", Href: linked("", 1), Here: !q.ByPrice}, {Text: "By price", Href: linked("price", 1), Here: q.ByPrice},
	})
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
	s := setsPage{Heading: strings.TrimSpace(gameName(v.Catalog, q.Game) + " sets")}
	if q.Game == "" {
		s.Heading = "Sets"
	}
	s.frame = p.frame(v, now, s.Heading, "Sets of trading cards, newest first.")
	q.Page = min(max(q.Page, 1), v.Catalog.Sets.ID.Len()/perSets+1)
	linked := func(game string, page int) string {
		return address(p.root+"/sets", param{"game", game}, param{"page", pageParam(page)})
	}
	s.Canonical = canonical(v, address("/sets", param{"game", q.Game}))
	sets, next := v.Index.Sets(nil, index.SetFilter{Game: q.Game}, 0, q.Page*perSets)
	if sets = sets[min(len(sets), (q.Page-1)*perSets):]; len(sets) > 0 {
		s.Sets = p.sets(v, sets)
	}
	s.Pager = paged(q.Page, next >= 0, func(page int) string { return linked(q.Game, page) })
	s.Games = tabs("Game", gameLinks(v.Catalog, q.Game, func(game string) string { return linked(game, 1) }))
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

// Movers appends the cards that moved most within seven days, by the API's rules and smallest price.
func (p *Pages) Movers(dst []byte, v *engine.View, now time.Time, q MoversQuery) ([]byte, error) {
	m := moversPage{Heading: "Biggest gains"}
	way := ""
	if q.Down {
		m.Heading, way = "Biggest losses", "down"
	}
	m.frame = p.frame(v, now, m.Heading+" in 7 days", "Trading cards from "+dollars(moversMinCents)+" whose market price moved most within seven days.")
	linked := func(way, game string) string {
		return address(p.root+"/movers", param{"direction", way}, param{"game", game})
	}
	m.Canonical = canonical(v, address("/movers", param{"direction", way}, param{"game", q.Game}))
	f := index.NoFilter
	f.Min, f.Game = moversMinCents, q.Game
	if cards := v.Index.Movers(nil, q.Down, f, moversShown); len(cards) > 0 {
		m.Cards = p.cards(v, cards, withChange)
	}
	m.Choices = tabs("Direction", []link{{Text: "Up", Href: linked("", q.Game), Here: !q.Down}, {Text: "Down", Href: linked("down", q.Game), Here: q.Down}}) +
		tabs("Game", gameLinks(v.Catalog, q.Game, func(game string) string { return linked(way, game) }))
	return p.render(dst, "movers", &m)
}
