package site

import (
	"strconv"
	"strings"

	"ninepocket/engine"
	"ninepocket/snapshot"
)

// Reference appends the API reference: a page around /openapi.json, drawn by the embedded Scalar.
func (p *Pages) Reference(dst []byte) ([]byte, error) {
	return p.render(dst, "reference", nil)
}

// AppendGuide appends /llms.txt: what an agent needs to find its way.
func (p *Pages) AppendGuide(dst []byte) []byte {
	return append(dst, `# ninepocket

> Read-only catalog and daily market prices of trading cards (`+snapshot.GamesInWords()+`): search, card details, price
> history, statistics, sets and movers. Prices are integer US cents; null means unknown, never zero.

## For programs

- [OpenAPI document](`+p.base+`/openapi.json): every operation, parameter, header and error. No key needed.
- [API reference](`+p.base+`/docs): the same for people.
- [Error codes](`+p.base+`/errors): what each code means and what to do.
- REST: `+p.base+`/v1, with a key as "Authorization: Bearer KEY" or "X-API-Key: KEY". Start with GET /v1/cards?q=charizard.
- MCP: `+p.base+`/mcp (streamable HTTP, the same key): search, card, history, sets, movers and the value of a list.
- Ids never change. Use ETag and If-None-Match: 304 takes nothing from the quota. Many prices: POST /v1/prices/batch.

## For people

- [Search](`+p.base+`/search?q=charizard): /search?q=WORDS
- [Sets](`+p.base+`/sets) and [movers](`+p.base+`/movers)
- A card's page is the "url" of every answer; its last segment is a slug that the API takes in place of an id.

Whoever shows an answer to an end user must attribute it to the service. Prices are estimates.
`...)
}

// AppendRobots appends /robots.txt.
func (p *Pages) AppendRobots(dst []byte) []byte {
	for _, part := range []string{
		"User-agent: *\nDisallow: ", p.root, "/v1/\nDisallow: ", p.root, "/search\n",
		"\nSitemap: ", p.base, "/sitemap.xml\n",
	} {
		dst = append(dst, part...)
	}
	return dst
}

// perSitemap is how many cards one file of the sitemap lists; the protocol allows 50,000.
const perSitemap = 5000

// AppendSitemapIndex appends the list of the files of the sitemap.
func (p *Pages) AppendSitemapIndex(dst []byte, v *engine.View) []byte {
	dst = append(dst, xmlHead+`<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`...)
	for n := 0; n*perSitemap < v.Catalog.Cards.ID.Len() || n == 0; n++ {
		dst = append(dst, "<sitemap><loc>"+inXML(p.base)+"/sitemaps/"+strconv.Itoa(n+1)+"</loc></sitemap>"...)
	}
	return append(dst, "</sitemapindex>\n"...)
}

// AppendSitemap appends file n of the sitemap, from 1; false when there is none. The first one has the sets, too.
func (p *Pages) AppendSitemap(dst []byte, v *engine.View, n int) ([]byte, bool) {
	c := v.Catalog
	from := (n - 1) * perSitemap
	if n < 1 || n > 1 && from >= c.Cards.ID.Len() {
		return dst, false
	}

	dst = append(dst, xmlHead+`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`...)
	before := "<url><loc>" + inXML(v.Site().URL)
	add := func(kind, slug string) { // slugs are [a-z0-9-]
		for _, part := range []string{before, kind, slug, "</loc></url>"} {
			dst = append(dst, part...)
		}
	}

	if n == 1 {
		for set := range c.Sets.ID.Len() {
			add("/sets/", c.Sets.Slug.At(set))
		}
	}
	for card := from; card < min(from+perSitemap, c.Cards.ID.Len()); card++ {
		add("/cards/", c.Cards.Slug.At(card))
	}
	return append(dst, "</urlset>\n"...), true
}

const xmlHead = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"

// inXML is a URL as XML text; it holds neither quotes nor angle brackets (see the configuration's checks).
func inXML(url string) string { return strings.ReplaceAll(url, "&", "&amp;") }
