package site

import (
	"html/template"
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
	query := url.Values{}
	for _, p := range params {
		if p.value != "" {
			query.Set(p.name, p.value)
		}
	}
	if len(query) == 0 {
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

// gameTabs are links to a list in each game, and in all of them.
func gameTabs(c *snapshot.Catalog, here string, linked func(game string) string) template.HTML {
	all := []link{{Text: "All games", Href: linked(""), Here: here == ""}}
	for g := range c.Games.Slug.Len() {
		slug := c.Games.Slug.At(g)
		all = append(all, link{Text: c.Games.Name.At(g), Href: linked(slug), Here: here == slug})
	}
	return tabs("Game", all)
}
