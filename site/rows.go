package site

import (
	"net/url"
	"strconv"

	"ninepocket/engine"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// cardRow is a card in a list.
type cardRow struct {
	Href, Name, About string
	Photo             string // path of the image, "" without one
	Price             string // "" without one
	Week              change // of the display price; only where the list shows it
}

// What a row of a list tells beside name and price.
const (
	withChange = 1 << iota // the 7-day change
	withoutSet             // the list is of one set
)

// rows are the cards of a list.
func (p *Pages) rows(v *engine.View, cards []uint32, show int) []cardRow {
	c := v.Catalog
	all := make([]cardRow, len(cards))
	for i, n := range cards {
		card := int(n)
		r := &all[i]
		r.Href, r.Name = p.cardLink(c.Cards.Slug.At(card)), c.Cards.Name.At(card)
		r.Photo = p.imagePath(v, card)
		set := ""
		if at := c.Cards.Set[card]; at != snapshot.NoSet && show&withoutSet == 0 {
			set = c.Sets.Name.At(int(at))
		}
		r.About = joined(c.Cards.Number.At(card), set, c.Cards.Rarity.At(card))
		cents, _ := wire.DisplayPrice(c, card)
		r.Price = price(cents)
		if lane := c.Cards.Display[card]; lane >= 0 && show&withChange != 0 {
			r.Week = changeOf(c.Lanes.Base7[lane], cents)
		}
	}
	return all
}

// setRow is a set in a list.
type setRow struct{ Href, Name, About string }

func (p *Pages) setRows(v *engine.View, sets []uint32) []setRow {
	c := v.Catalog
	all := make([]setRow, len(sets))
	for i, n := range sets {
		set := int(n)
		released := ""
		if c.Sets.Release[set] != snapshot.NoDay {
			released = date(c.Sets.Release[set])
		}
		all[i] = setRow{
			Href: p.setLink(c.Sets.Slug.At(set)), Name: c.Sets.Name.At(set),
			About: joined(c.Games.Name.At(int(c.Sets.Game[set])), released, counted(int(c.Sets.Cards[set]), "card", "cards")),
		}
	}
	return all
}

// pager leads to the pages of a list before and after.
type pager struct {
	Previous, Next string // "" at the ends
	Page           int
}

// paged makes the pager of a page; linked gives the address of another one.
func paged(page int, more bool, linked func(page int) string) pager {
	g := pager{Page: page}
	if page > 1 {
		g.Previous = linked(page - 1)
	}
	if more {
		g.Next = linked(page + 1)
	}
	return g
}

// address is a path with the parameters that are not "", given as names and values in turn.
func address(path string, params ...string) string {
	sep := byte('?')
	for i := 0; i < len(params); i += 2 {
		if params[i+1] != "" {
			path += string(sep) + params[i] + "=" + url.QueryEscape(params[i+1])
			sep = '&'
		}
	}
	return path
}

// pageParam is the page parameter of an address: the first page has none.
func pageParam(page int) string {
	if page <= 1 {
		return ""
	}
	return strconv.Itoa(page)
}

// gameName is the name of a game's slug, "" when there is none.
func gameName(c *snapshot.Catalog, slug string) string {
	for g := range c.Games.Slug.Len() {
		if c.Games.Slug.At(g) == slug {
			return c.Games.Name.At(g)
		}
	}
	return ""
}

// gameLinks are links to a list in each game, and in all of them.
func gameLinks(c *snapshot.Catalog, here string, linked func(game string) string) []link {
	all := []link{{Text: "All games", Href: linked(""), Here: here == ""}}
	for g := range c.Games.Slug.Len() {
		slug := c.Games.Slug.At(g)
		all = append(all, link{Text: c.Games.Name.At(g), Href: linked(slug), Here: here == slug})
	}
	return all
}
