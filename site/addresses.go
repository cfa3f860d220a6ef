package site

import (
	"net/url"
	"strconv"

	"ninepocket/snapshot"
)

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

// param is a query parameter; "" leaves it out.
type param struct{ name, value string }

// address is a path with query parameters.
func address(path string, params ...param) string {
	var query url.Values
	for _, p := range params {
		if p.value != "" {
			if query == nil {
				query = url.Values{}
			}
			query.Set(p.name, p.value)
		}
	}
	if query == nil {
		return path
	}
	return path + "?" + query.Encode()
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
