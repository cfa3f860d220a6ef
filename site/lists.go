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
	perBinderPage = 9 // pockets on a page of a binder
	perSearch     = 4 * perBinderPage
	perSet        = 12 * perBinderPage
	perSets       = 300
	// MaxPage bounds the pages of a search. Page n needs all results of pages 1 to n, and people
	// rather type another word than read that far.
	MaxPage = 8
)

// Options of a list of cards: what it shows in addition to name and price.
const (
	withChange = 1 << iota // the 7-day change of the display price
	withoutSet             // the list is of one set, which the page names above it
)

// cardSubtitle returns the text below a card's name in a list.
func cardSubtitle(c *snapshot.Catalog, card int, withSet bool) string {
	facts := subtitleParts(c, card, withSet)
	return joined(facts[:]...)
}

// pocketSubtitle returns the text below a card in a pocket, where there is little space.
func pocketSubtitle(c *snapshot.Catalog, card int, withSet bool) string {
	facts := subtitleParts(c, card, withSet)
	return joined(facts[:2]...)
}

// subtitleParts returns what distinguishes a card from others of its name: number, set and rarity,
// each "" without one.
func subtitleParts(c *snapshot.Catalog, card int, withSet bool) [3]string {
	facts := [3]string{c.Cards.Number.At(card), "", c.Cards.Rarity.At(card)}
	if set := c.Cards.Set[card]; withSet && set != snapshot.NoSet {
		facts[1] = c.Sets.Name.At(int(set))
	}
	return facts
}

// released returns the release day of a set after a prefix, "" for a set without one.
func released(c *snapshot.Catalog, set int, before string) string {
	if c.Sets.Release[set] == snapshot.NoDay {
		return ""
	}
	return before + date(c.Sets.Release[set])
}

func countedCards(c *snapshot.Catalog, set int) string {
	return plural(int(c.Sets.Cards[set]), "card", "cards")
}

// upcoming reports whether a set has no cards yet; most such sets are not released.
func upcoming(c *snapshot.Catalog, set int) bool { return c.Sets.Cards[set] == 0 }

// pageSlice returns the part of a list that is on a page, counted from 1. all ends with that page.
func pageSlice(all []uint32, page, size int) []uint32 { return all[min(len(all), (page-1)*size):] }

// movers returns the cards with the largest price changes, by the API's rules and its lowest price.
func movers(v *engine.View, down bool, game string, limit int) []uint32 {
	filter := index.NoFilter
	filter.Min = wire.MoversMinCents
	filter.Game = game
	return v.Index.Movers(nil, down, filter, limit)
}

// noMoversText is shown in place of movers if there are none.
const noMoversText = "No such price changes are known. Changes appear once prices are a week old."

type homePage struct {
	pageLayout
	up, down, sets []uint32
	topCards       []uint32 // shown if there are no movers
}

// Home appends the home page: search, movers, newest sets.
func (p *Pages) Home(dst []byte, v *engine.View, now time.Time) []byte {
	page := homePage{
		pageLayout: p.newLayout(v, now, "Trading card prices", "Market prices, history and movers of trading cards."),
		up:         movers(v, false, "", homeMovers),
		down:       movers(v, true, "", homeMovers),
	}

	if len(page.up) == 0 && len(page.down) == 0 {
		page.topCards = topByPrice(v, "", perBinderPage)
	}
	page.sets = newestSets(v.Catalog, homeSets)
	page.canonical = canonical(v, "/")
	page.hero = true
	return appendPage(dst, &page)
}

// topByPrice returns the most expensive cards of a game, or of all games.
func topByPrice(v *engine.View, game string, limit int) []uint32 {
	query := index.Query{Filter: index.NoFilter, Sort: index.PriceDesc}
	query.Game = game
	return v.Cards(nil, query, nil, limit).Cards
}

// newestSets returns the newest sets that have cards.
func newestSets(c *snapshot.Catalog, limit int) (sets []uint32) {
	for set := range c.Sets.ID.Len() {
		if c.Sets.Cards[set] > 0 && len(sets) < limit {
			sets = append(sets, uint32(set))
		}
	}
	return sets
}

// MoversQuery selects movers.
type MoversQuery struct {
	Down bool
	Game string // slug, "" for any
}

type moversPage struct {
	pageLayout
	request  MoversQuery
	cards    []uint32
	topCards []uint32 // shown if there are no movers
}

// Movers appends the page of the cards with the largest price changes within seven days.
func (p *Pages) Movers(dst []byte, v *engine.View, now time.Time, query MoversQuery) []byte {
	about := "Trading cards from " + dollars(wire.MoversMinCents) + " whose market price moved most within seven days."
	page := moversPage{
		pageLayout: p.newLayout(v, now, query.heading()+" in 7 days", about), request: query,
		cards: movers(v, query.Down, query.Game, moversShown),
	}
	if len(page.cards) == 0 {
		page.topCards = topByPrice(v, query.Game, perSearch)
	}
	page.canonical = canonical(v, query.path()) // without the root, which is part of the public URL
	return appendPage(dst, &page)
}

func (q MoversQuery) heading() string {
	if q.Down {
		return "Biggest losses"
	}
	return "Biggest gains"
}

// path returns the URL path of the movers below the root.
func (q MoversQuery) path() string {
	return pageAddress("/movers", 1, param{"direction", valueIf(q.Down, "down")}, param{"game", q.Game})
}
