package server

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"ninepocket/api"
	"ninepocket/site"
	"ninepocket/wire"
)

// pagePolicy lets a page load only what this server serves: no script or style inside a page, no
// frames.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// embedPolicy is pagePolicy for the small cards that other sites show in a frame.
const embedPolicy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors *"

// The policies of files that a browser may open directly; an SVG has styles.
const (
	filePolicy  = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
	imagePolicy = "default-src 'none'; sandbox"
)

// How long pages and files may be cached. A page changes with the snapshot, at most once every few
// minutes; an asset's path has a hash of its content.
const (
	pageCache  = "public, max-age=60"
	assetCache = "public, max-age=31536000, immutable"
	plainCache = "public, max-age=3600" // also of pictures with a price in them
)

const (
	htmlType = "text/html; charset=utf-8"
	textType = "text/plain; charset=utf-8"
)

// Paths of the site.
const (
	suggestPath   = "/search/suggest"
	assetsPath    = "/assets/{id}"
	referencePath = "/docs"
)

// withPages adds the public pages to the route table. They need no key, are not metered, and are
// not part of the API.
func (s *Server) withPages(table []*route) []*route {
	answer := func(method, pattern, name string, open func(*exchange)) {
		table = append(table, &route{
			pattern: pattern, method: method, handler: open, metric: metricKey{surfaceSite, name},
		})
	}
	add := func(pattern, name string, open func(*exchange)) { answer(fasthttp.MethodGet, pattern, name, open) }
	if s.Images != nil {
		add(imagesPath, "image", pageHandler((*pageRequest).image))
		add(thumbnailPath, "image", pageHandler((*pageRequest).thumbnail))
	}
	if s.Pages == nil {
		return table
	}

	add("/", "home", renderedPage((*pageRequest).homePage))
	add("/cards/{id}", "card", renderedPage((*pageRequest).cardPage))
	add("/cards/{id}/printings", "printings", renderedPage((*pageRequest).printingsPage))
	add("/sets", "sets", renderedPage((*pageRequest).setsPage))
	add("/sets/{id}", "set", renderedPage((*pageRequest).setPage))
	add("/sealed/{id}", "sealed", renderedPage((*pageRequest).sealedPage))
	add("/search", "search", renderedPage((*pageRequest).searchPage))
	add(suggestPath, "suggest", renderedPage((*pageRequest).suggestions))
	add("/movers", "movers", renderedPage((*pageRequest).moversPage))
	add(valuePath, "value", renderedPage((*pageRequest).valuePage))
	answer(fasthttp.MethodPost, valuePath, "value", renderedPage((*pageRequest).valueList))
	answer(fasthttp.MethodPost, rowsPath, "value", renderedPage((*pageRequest).valueRows))
	add("/errors", "error", renderedPage((*pageRequest).errorsPage))
	add("/errors/{id}", "error", renderedPage((*pageRequest).errorPage))
	add(referencePath, "docs", pageHandler((*pageRequest).reference))
	add("/embed/{id}", "embed", renderedPage((*pageRequest).embedPage))
	add("/previews/{id}", "preview", renderedPage((*pageRequest).previewPicture))
	add("/favicon.ico", "asset", pageHandler((*pageRequest).favicon))
	add("/llms.txt", "text", pageHandler((*pageRequest).guide))
	add("/robots.txt", "text", pageHandler((*pageRequest).robots))
	add("/sitemap.xml", "text", renderedPage((*pageRequest).sitemapIndex))
	add("/sitemaps/{id}", "text", renderedPage((*pageRequest).sitemap))
	add(assetsPath, "asset", pageHandler((*pageRequest).asset))
	for _, asset := range s.Pages.Assets() {
		s.assets[asset.Name] = newDocument(asset.Type, asset.Content)
	}
	return table
}

// pageArgs reads the query parameters of a page and ignores others. A parameter with a bad value
// counts as absent: a page shows what it can.
func (v *pageRequest) pageArgs(known ...string) {
	v.x.request.Args.Parse(v.x.Ctx.URI().QueryString(), known)
}

func (v *pageRequest) pageText(name string, bounds wire.Range) string {
	text, _ := v.x.request.Args.Given(name)
	if int64(utf8.RuneCountInString(text)) > bounds.Max {
		return ""
	}
	return text
}

// maxPageNumber is the largest number that a page accepts; larger ones count as absent.
const maxPageNumber = 1_000_000

func (v *pageRequest) pageNumber(name string) int {
	text, _ := v.x.request.Args.Given(name)
	n, ok := api.ParseDecimal(text)
	if !ok || n > maxPageNumber {
		return 0
	}
	return int(n)
}

var (
	errNoPage   = errors.New("there is no such page")
	errAnswered = errors.New("the page is at another path, and the answer says so")
)

func (v *pageRequest) homePage(dst []byte) ([]byte, error) {
	return v.pages.Home(dst, v.view, v.time), nil
}

// resolvePage finds the card or set whose page is requested below a path. A page has one address,
// for links and search engines: that of its slug, with rest behind it. Others are redirected.
func (v *pageRequest) resolvePage(kind, rest string, find func() (int, bool), slug func(int) string) (int, error) {
	one, ok := find()
	switch {
	case !ok:
		return 0, errNoPage
	case v.redirectToSlug(kind, slug(one), rest):
		return 0, errAnswered
	}
	return one, nil
}

func (v *pageRequest) cardPage(dst []byte) ([]byte, error) {
	card, err := v.resolvePage("/cards/", "", v.x.request.Card, v.view.Catalog.Cards.Slug.At)
	if err != nil {
		return dst, err
	}
	v.pageArgs("days", "variant")
	return v.pages.Card(dst, v.view, v.time, site.CardQuery{
		Card: card, Days: v.pageNumber("days"), Variant: v.pageText("variant", wire.VariantText),
	}), nil
}

// printingsPage answers GET /cards/{slug}/printings.
func (v *pageRequest) printingsPage(dst []byte) ([]byte, error) {
	card, err := v.resolvePage("/cards/", "/printings", v.x.request.Card, v.view.Catalog.Cards.Slug.At)
	if err != nil {
		return dst, err
	}
	v.pageArgs("days")
	return v.pages.Printings(dst, v.view, v.time, site.CardQuery{Card: card, Days: v.pageNumber("days")}), nil
}

// embedPage answers GET /embed/{slug}: a small card with its price, for pages of other sites.
func (v *pageRequest) embedPage(dst []byte) ([]byte, error) {
	card, err := v.resolvePage("/embed/", "", v.x.request.Card, v.view.Catalog.Cards.Slug.At)
	if err != nil {
		return dst, err
	}
	v.csp = embedPolicy
	return v.pages.Embed(dst, v.view, card), nil
}

// previewPicture answers GET /previews/{slug}.png: the picture for a link to a card.
func (v *pageRequest) previewPicture(dst []byte) ([]byte, error) {
	ref, _ := v.x.request.PathID()
	slug, isPicture := strings.CutSuffix(ref, ".png")
	card, ok := v.view.Index.Card(slug)
	if !ok || !isPicture {
		return dst, errNoPage
	}

	picture, err := v.pages.Preview(v.view, card)
	v.mediaType = "image/png"
	v.cache = plainCache
	return append(dst, picture...), err
}

// favicon answers GET /favicon.ico, which browsers and others request regardless of what a page
// says.
func (v *pageRequest) favicon() {
	v.sendPlain("image/png", append(v.x.reply.Body[:0], v.pages.Icon()...))
}

func (v *pageRequest) setPage(dst []byte) ([]byte, error) {
	set, err := v.resolvePage("/sets/", "", v.x.request.Set, v.view.Catalog.Sets.Slug.At)
	if err != nil {
		return dst, err
	}

	v.pageArgs("sort", "view", "page")
	return v.pages.Set(dst, v.view, v.time, site.SetQuery{
		Set: set, ByPrice: v.pageText("sort", sortText) == "price", List: v.asList(),
		Checklist: v.pageText("view", sortText) == "checklist", Page: v.pageNumber("page"),
	}), nil
}

// sealedPage answers GET /sealed/{id}: a sealed product by its public id.
func (v *pageRequest) sealedPage(dst []byte) ([]byte, error) {
	id, _ := v.x.request.PathID()
	v.pageArgs("days")
	return orNoPage(v.pages.Sealed(dst, v.view, v.time, site.SealedQuery{ID: id, Days: v.pageNumber("days")}))
}

// orNoPage returns a page, or errNoPage if there is none.
func orNoPage(page []byte, found bool) ([]byte, error) {
	if !found {
		return page, errNoPage
	}
	return page, nil
}

// sortText limits the names of sort orders and directions.
var sortText = wire.Range{Min: 1, Max: 20}

// redirectToSlug redirects from an id or a former slug to the current slug, with the same query. It
// returns false if the path has that slug.
func (v *pageRequest) redirectToSlug(kind, slug, rest string) bool {
	if ref, _ := v.x.request.PathID(); ref == slug {
		return false
	}

	// The root is absolute, so that a proxy in front cannot redirect elsewhere.
	address := v.pages.Root() + kind + slug + rest
	if query := v.x.Ctx.URI().QueryString(); len(query) > 0 {
		// Bytes that a header cannot carry, or that end a query, are left out.
		address += "?" + strings.Map(func(r rune) rune {
			if r > ' ' && r < 0x7f && r != '#' {
				return r
			}
			return -1
		}, string(query))
	}
	v.redirect(fasthttp.StatusMovedPermanently, address)
	return true
}

// redirect redirects to another address.
func (v *pageRequest) redirect(status int, address string) {
	resp := &v.x.Ctx.Response
	resp.Header.Set(fasthttp.HeaderLocation, address)
	resp.Header.Set(fasthttp.HeaderCacheControl, pageCache)
	resp.Header.SetContentLength(0) // fasthttp omits it for HEAD without a body
	resp.SetStatusCode(status)
}

func (v *pageRequest) searchPage(dst []byte) ([]byte, error) {
	v.pageArgs("q", "game", "set", "rarity", "variant", "min", "max", "sort", "view", "page")
	return v.pages.Search(dst, v.view, v.time, site.SearchQuery{
		Words: strings.TrimSpace(v.pageText("q", wire.QueryText)), Game: v.pageText("game", wire.GameText),
		Set: v.pageText("set", wire.SetText), Rarity: v.pageText("rarity", wire.RarityText),
		Variant: v.pageText("variant", wire.VariantText), Min: v.pageCents("min"), Max: v.pageCents("max"),
		Sort: v.pageText("sort", sortText), List: v.asList(), Page: v.pageNumber("page"),
	}), nil
}

// asList reports whether cards are shown in a list and not in pockets.
func (v *pageRequest) asList() bool { return v.pageText("view", sortText) == "list" }

// pageCents reads an amount in dollars, 0 if it is invalid.
func (v *pageRequest) pageCents(name string) int64 {
	text, _ := v.x.request.Args.Given(name)
	whole, part, _ := strings.Cut(text, ".")
	dollars, ok := api.ParseDecimal(whole)
	if !ok || dollars > maxPageNumber || len(part) > 2 {
		return 0
	}

	cents := int64(0)
	if part != "" {
		cents, ok = api.ParseDecimal((part + "0")[:2])
		if !ok {
			return 0
		}
	}
	return dollars*100 + cents
}

func (v *pageRequest) suggestions(dst []byte) ([]byte, error) {
	v.pageArgs("q")
	return v.pages.Suggest(dst, v.view, v.pageText("q", wire.QueryText)), nil
}

func (v *pageRequest) setsPage(dst []byte) ([]byte, error) {
	v.pageArgs("game", "q", "page")
	return v.pages.Sets(dst, v.view, v.time, site.SetsQuery{
		Game: v.pageText("game", wire.GameText), Words: strings.TrimSpace(v.pageText("q", wire.QueryText)),
		Page: v.pageNumber("page"),
	}), nil
}

func (v *pageRequest) moversPage(dst []byte) ([]byte, error) {
	v.pageArgs("direction", "game", "days")
	return v.pages.Movers(dst, v.view, v.time, site.MoversQuery{
		Down: v.pageText("direction", sortText) == "down", Game: v.pageText("game", wire.GameText),
		Days: v.pageNumber("days"),
	}), nil
}

func (v *pageRequest) errorsPage(dst []byte) ([]byte, error) {
	return v.pages.Errors(dst, v.view, v.time), nil
}

func (v *pageRequest) errorPage(dst []byte) ([]byte, error) {
	code, _ := v.x.request.PathID() // no code is empty
	return orNoPage(v.pages.Error(dst, v.view, v.time, code))
}

func (v *pageRequest) sitemapIndex(dst []byte) ([]byte, error) {
	v.mediaType = "application/xml"
	return v.pages.AppendSitemapIndex(dst, v.view), nil
}

func (v *pageRequest) sitemap(dst []byte) ([]byte, error) {
	ref, _ := v.x.request.PathID()
	n, ok := api.ParseDecimal(ref)
	if !ok || n > maxPageNumber || wire.Decimal(n) != ref {
		return dst, errNoPage
	}

	v.mediaType = "application/xml"
	return orNoPage(v.pages.AppendSitemap(dst, v.view, int(n)))
}

// asset answers GET /assets/{name}. A name has a hash of the content, so it is its own validator.
func (v *pageRequest) asset() {
	name, _ := v.x.request.PathID()
	a, known := v.x.s.assets[name]
	if !known {
		v.limitedNotFound()
		return
	}

	encoding := v.x.Encoding(len(a.encodings[""]))

	resp := &v.x.Ctx.Response
	v.beginFileHead(assetCache, filePolicy)
	if encoding != "" {
		name += "-" + encoding // each encoding of a body has its own validator (decision 9)
	}
	v.x.Head.Set(fasthttp.HeaderETag, `"`+name+`"`)
	v.x.vary(fasthttp.HeaderAcceptEncoding)
	v.x.Head.Send(&resp.Header)

	resp.Header.SetContentType(a.mediaType)
	if encoding != "" {
		resp.Header.Set(fasthttp.HeaderContentEncoding, encoding) // x.Encoded counts what is compressed now
	}
	v.x.SendShared(a.encodings[encoding])
}

// reference answers GET /docs, also while no catalog is loaded.
func (v *pageRequest) reference() {
	if !v.admitted() {
		return
	}
	v.x.reply.Body = v.pages.Reference(v.x.reply.Body[:0], v.x.s.Engine.View(), v.time)
	v.mediaType = htmlType
	v.writePage(fasthttp.StatusOK, pageCache)
}

// guide answers GET /llms.txt.
func (v *pageRequest) guide() { v.sendPlain(textType, v.pages.AppendGuide(v.x.reply.Body[:0])) }

// robots answers GET /robots.txt.
func (v *pageRequest) robots() { v.sendPlain(textType, v.pages.AppendRobots(v.x.reply.Body[:0])) }

// sendPlain sends a page that does not depend on the catalog.
func (v *pageRequest) sendPlain(mediaType string, body []byte) {
	v.x.reply.Body = body
	v.mediaType = mediaType
	v.writePage(fasthttp.StatusOK, plainCache)
}
