package site

import (
	"time"

	"ninepocket/engine"
	"ninepocket/index"
	"ninepocket/snapshot"
)

// Sizes of lists.
const (
	homeMovers    = 5 // up, and as many down
	homePeriod    = 1 // of Periods
	homeSets      = 6 // of each game
	moversShown   = 50
	moversPerGame = 25 // on a page of all games
	perBinderPage = 9  // pockets on a page of a binder
	perSearch     = 4 * perBinderPage
	perSet        = 12 * perBinderPage
	perSets       = 300
	// MaxPage bounds the pages of a search. Page n needs all results of pages 1 to n, and people
	// rather type another word than read that far.
	MaxPage = 8
)

// Options of a list of cards: further facts next to name and price.
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

// subtitleParts returns the facts that distinguish a card from others of its name: number, set and
// rarity, each "" without a value.
func subtitleParts(c *snapshot.Catalog, card int, withSet bool) [3]string {
	facts := [3]string{c.Cards.Number.At(card), "", c.Cards.Rarity.At(card)}
	if withSet {
		facts[1] = c.OfSet(&c.Sets.Name, card)
	}
	return facts
}

// variantOfPrice returns the variant that a card's price is of, "" for a card with prices of one alone.
func variantOfPrice(c *snapshot.Catalog, card int) string {
	shown := int(c.Cards.Display[card])
	lane, to := c.Lanes.Of.Range(card)
	for ; shown >= 0 && lane < to; lane++ {
		if c.Lanes.Cents[lane] >= 0 && c.Lanes.Variant[lane] != c.Lanes.Variant[shown] {
			return displayName(c.Variants.At(int(c.Lanes.Variant[shown])))
		}
	}
	return ""
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

type homePage struct {
	pageLayout
	games []homeGame
	sets  []uint32
}

// homeGame is the home page's content for a game.
type homeGame struct {
	slug, name string
	topCards   []uint32
	*period
}

// homePages is the home page of a View, with a fresh and with an old catalog. Nothing else
// changes this page.
type homePages struct{ fresh, old []byte }

// Home appends the home page: search, the most valuable cards and the movers of each game, newest sets.
func (p *Pages) Home(dst []byte, v *engine.View, now time.Time) []byte {
	pages := p.home.get(v, p.renderHome)
	if snapshot.Fresh(v.Catalog.SnapshotAt, now.UnixMilli()) {
		return append(dst, pages.fresh...)
	}
	return append(dst, pages.old...)
}

func (p *Pages) renderHome(v *engine.View) (pages homePages) {
	c := v.Catalog
	page := homePage{pageLayout: p.newLayout(v, time.UnixMilli(c.SnapshotAt), "Trading card prices",
		"Market prices, history and movers of trading cards.")}
	for game, moves := range p.moves.get(v, movesOf) {
		if len(moves.topCards) > 0 {
			page.games = append(page.games, homeGame{
				c.Games.Slug.At(game), c.Games.Name.At(game), moves.topCards, &moves.periods[homePeriod],
			})
		}
	}

	page.sets = newestSets(c, homeSets)
	page.canonical = canonical(v, "/")
	page.hero = true
	pages.fresh = appendPage(nil, &page)
	page.old = true
	pages.old = appendPage(nil, &page)
	return pages
}

// topByPrice returns the most expensive cards of a game.
func topByPrice(v *engine.View, game string, limit int) []uint32 {
	query := index.Query{Filter: index.NoFilter, Sort: index.PriceDesc}
	query.Game = game
	return v.Index.Cards(nil, query, nil, limit).Cards
}

// newestSets returns the newest sets of each game that have cards, at most limit of one game.
func newestSets(c *snapshot.Catalog, limit int) (sets []uint32) {
	listed := make([]int, c.Games.Slug.Len())
	for set, game := range c.Sets.Game {
		if c.Sets.Cards[set] > 0 && listed[game] < limit {
			listed[game]++
			sets = append(sets, uint32(set))
		}
	}
	return sets
}
