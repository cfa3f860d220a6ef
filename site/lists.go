package site

import (
	"time"

	"ninepocket/engine"
	"ninepocket/index"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// Sizes of lists.
const (
	homeMovers    = 6
	homeSets      = 9
	moversShown   = 50
	perBinderPage = 9 // pockets of a page of a binder
	perSearch     = 4 * perBinderPage
	perSet        = 12 * perBinderPage
	perSets       = 300
	// MaxPage bounds the pages of a search. A page is cut from the beginning of the results, and
	// nobody reads on for longer than it takes to type another word.
	MaxPage = 8
)

// What a row of a list of cards tells beside name and price.
const (
	withChange = 1 << iota // the 7-day change of the display price
	withoutSet             // the list is of one set, and says which once, above it
)

// aboutCard is what stands below a card's name in a list.
func aboutCard(c *snapshot.Catalog, card int, withSet bool) string {
	facts := factsOf(c, card, withSet)
	return joined(facts[:]...)
}

// aboutPocket is what stands below a card in its pocket, where there is little room.
func aboutPocket(c *snapshot.Catalog, card int, withSet bool) string {
	facts := factsOf(c, card, withSet)
	return joined(facts[:2]...)
}

// factsOf are what tells a card from others of its name: number, set and rarity, each "" without one.
func factsOf(c *snapshot.Catalog, card int, withSet bool) [3]string {
	facts := [3]string{c.Cards.Number.At(card), "", c.Cards.Rarity.At(card)}
	if set := c.Cards.Set[card]; withSet && set != snapshot.NoSet {
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
	return plural(int(c.Sets.Cards[set]), "card", "cards")
}

// upcoming reports whether a set has no cards yet: most are of the future.
func upcoming(c *snapshot.Catalog, set int) bool { return c.Sets.Cards[set] == 0 }

// pageOf is what of a list from its beginning is on a page, counted from 1.
func pageOf(all []uint32, page, size int) []uint32 { return all[min(len(all), (page-1)*size):] }

// movers are the cards that moved most, by the API's rules and its smallest price.
func movers(v *engine.View, down bool, game string, limit int) []uint32 {
	filter := index.NoFilter
	filter.Min = wire.MoversMinCents
	filter.Game = game
	return v.Index.Movers(nil, down, filter, limit)
}

// noMoversText says why a page of moves has none.
const noMoversText = "No such price changes are known. Changes appear once prices are a week old."

type homePage struct {
	pageLayout
	up, down, sets []uint32
	dearest        []uint32 // where no moves are known
}

// Home appends the home page: search, movers, newest sets.
func (p *Pages) Home(dst []byte, v *engine.View, now time.Time) []byte {
	page := homePage{
		pageLayout: p.newLayout(v, now, "Trading card prices", "Market prices, history and movers of trading cards."),
		up:         movers(v, false, "", homeMovers),
		down:       movers(v, true, "", homeMovers),
	}

	if len(page.up) == 0 && len(page.down) == 0 {
		page.dearest = dearest(v, "", perBinderPage)
	}
	page.sets = newestSets(v.Catalog, homeSets)
	page.canonical = canonical(v, "/")
	page.hero = true
	return appendPage(dst, &page)
}

// dearest are the cards of a game, or of all, that cost most.
func dearest(v *engine.View, game string, limit int) []uint32 {
	query := index.Query{Filter: index.NoFilter, Sort: index.PriceDesc}
	query.Game = game
	return v.Cards(nil, query, nil, limit).Cards
}

// newestSets are the newest sets that have cards.
func newestSets(c *snapshot.Catalog, limit int) (sets []uint32) {
	for set := range c.Sets.ID.Len() {
		if c.Sets.Cards[set] > 0 && len(sets) < limit {
			sets = append(sets, uint32(set))
		}
	}
	return sets
}

// MoversQuery says which movers are wanted.
type MoversQuery struct {
	Down bool
	Game string // slug, "" for any
}

type moversPage struct {
	pageLayout
	asked   MoversQuery
	cards   []uint32
	dearest []uint32 // where no moves are known
}

// Movers appends the cards that moved most within seven days.
func (p *Pages) Movers(dst []byte, v *engine.View, now time.Time, query MoversQuery) []byte {
	about := "Trading cards from " + dollars(wire.MoversMinCents) + " whose market price moved most within seven days."
	page := moversPage{
		pageLayout: p.newLayout(v, now, query.heading()+" in 7 days", about), asked: query,
		cards: movers(v, query.Down, query.Game, moversShown),
	}
	if len(page.cards) == 0 {
		page.dearest = dearest(v, query.Game, perSearch)
	}
	page.canonical = canonical(v, query.path()) // without the root, which is part of the public address
	return appendPage(dst, &page)
}

func (q MoversQuery) heading() string {
	if q.Down {
		return "Biggest losses"
	}
	return "Biggest gains"
}

// path is where the movers are, below the root.
func (q MoversQuery) path() string {
	return pageAddress("/movers", 1, param{"direction", valueIf(q.Down, "down")}, param{"game", q.Game})
}
