package server

import (
	"bytes"
	"log/slog"
	"strings"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
	"github.com/valyala/fasthttp"

	"ninepocket/site"
	"ninepocket/wire"
)

// pagePolicy lets a page load what this server serves and nothing else: no script or style inside a page, no frames.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// How long pages and files may be kept. A page changes with the snapshot, at most once every few minutes; an asset's
// path holds a hash of its content.
const (
	pageCache  = "public, max-age=60"
	assetCache = "public, max-age=31536000, immutable"
	plainCache = "public, max-age=3600"
)

const htmlType = "text/html; charset=utf-8"

// Paths of the site.
const (
	suggestPath = "/search/suggest"
	assetsPath  = "/assets/{id}"
)

// withPages adds the public pages to the route table. They take no key and no meter, and are no part of the API.
func (s *Server) withPages(table []*path) []*path {
	if s.Images != nil {
		table = append(table, &path{pattern: imagesPath, method: fasthttp.MethodGet, open: (*exchange).image, row: rowImage, site: true})
	}
	if s.Pages == nil {
		return table
	}
	for _, asset := range s.Pages.Assets() {
		s.assets[asset.Name] = newAsset(asset)
	}
	for _, p := range []*path{
		{pattern: "/", open: paged((*exchange).homePage), row: rowHome},
		{pattern: "/cards/{id}", open: paged((*exchange).cardPage), row: rowCard},
		{pattern: "/sets", open: paged((*exchange).setsPage), row: rowSets},
		{pattern: "/sets/{id}", open: paged((*exchange).setPage), row: rowSet},
		{pattern: "/search", open: paged((*exchange).searchPage), row: rowSearch},
		{pattern: suggestPath, open: paged((*exchange).suggestions), row: rowSuggest},
		{pattern: "/movers", open: paged((*exchange).moversPage), row: rowMovers},
		{pattern: "/errors", open: paged((*exchange).errorsPage), row: rowError},
		{pattern: "/errors/{id}", open: paged((*exchange).errorPage), row: rowError},
		{pattern: referencePath, open: (*exchange).reference, row: rowDocs},
		{pattern: "/llms.txt", open: (*exchange).guide, row: rowText},
		{pattern: "/robots.txt", open: (*exchange).robots, row: rowText},
		{pattern: "/sitemap.xml", open: paged((*exchange).sitemapIndex), row: rowText},
		{pattern: "/sitemaps/{id}", open: paged((*exchange).sitemap), row: rowText},
		{pattern: assetsPath, open: (*exchange).asset, row: rowAsset},
	} {
		p.method, p.site = fasthttp.MethodGet, true
		table = append(table, p)
	}
	return table
}

// paged wraps what makes a page into the way of all pages: the limit of the caller's address, the current View, the
// page itself, a 404 where it is not there, validators and headers. render appends to the exchange's body and returns
// false when there is no such page.
func paged(render func(*exchange) (bool, error)) func(*exchange) {
	return func(x *exchange) {
		if wait := x.s.visitors.admit(x.visitor(), x.time); wait > 0 {
			x.tooMany(wait)
			return
		}
		if x.view = x.s.Engine.View(); x.view == nil && !x.needsNoView() {
			x.notYet()
			return
		}
		x.mediaType = htmlType
		found, err := render(x)
		switch {
		case err != nil:
			x.failPage(err)
		case x.ctx.Response.StatusCode() == fasthttp.StatusMovedPermanently:
		case !found:
			x.noPage()
		default:
			x.sendPage(fasthttp.StatusOK, pageCache)
		}
	}
}

// needsNoView reports whether the page is there without a catalog.
func (x *exchange) needsNoView() bool { return strings.HasPrefix(x.path.pattern, "/errors") }

// notYet answers 503 while there is no catalog.
func (x *exchange) notYet() {
	if x.toldAsProblem(noCatalog) {
		return
	}
	x.ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, decimal(retryUnavailable))
	x.mediaType = htmlType
	x.body, _ = x.s.Pages.Unavailable(x.body, x.time)
	x.sendPage(fasthttp.StatusServiceUnavailable, "no-store")
}

func (x *exchange) tooMany(wait int) {
	if x.toldAsProblem(wire.Fault{Code: wire.RateLimitExceeded, Detail: "This address asks for too many pages.", RetryAfter: wait}) {
		return
	}
	x.ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, decimal(int64(wait)))
	x.mediaType = htmlType
	x.body, _ = x.s.Pages.TooMany(x.body[:0], nil, x.time, wait)
	x.sendPage(fasthttp.StatusTooManyRequests, "no-store")
}

func (x *exchange) failPage(err error) {
	x.s.Log.Error("cannot make a page", slog.String("request_id", string(x.id)), slog.Any("cause", err))
	if x.toldAsProblem(wire.Fault{Code: wire.InternalError, Detail: somethingWrong}) {
		return
	}
	x.mediaType = htmlType
	x.body, _ = x.s.Pages.Failed(x.body[:0], x.time, string(x.id))
	x.sendPage(fasthttp.StatusInternalServerError, "no-store")
}

// lost answers 404 with a page, which counts as one.
func (x *exchange) lost() {
	if wait := x.s.visitors.admit(x.visitor(), x.time); wait > 0 {
		x.tooMany(wait)
		return
	}
	x.noPage()
}

// noPage answers 404 with a page, or to a program with a problem.
func (x *exchange) noPage() {
	if x.toldAsProblem(wire.Fault{Code: wire.NotFound, Detail: "There is no such page."}) {
		return
	}
	body, err := x.s.Pages.NotFound(x.body[:0], x.s.Engine.View(), x.time)
	if err != nil {
		x.failPage(err)
		return
	}
	x.body, x.mediaType = body, htmlType
	x.sendPage(fasthttp.StatusNotFound, "no-store")
}

// sendPage sends the exchange's body as a page. A success has a validator, of its content.
func (x *exchange) sendPage(status int, cache string) {
	r := &x.ctx.Response
	h := &x.head
	x.named()
	h.set("Content-Security-Policy", x.contentPolicy())
	h.set("X-Content-Type-Options", "nosniff")
	h.set("Referrer-Policy", "same-origin")
	h.set(fasthttp.HeaderCacheControl, cache)
	if status < fasthttp.StatusBadRequest {
		x.vary(fasthttp.HeaderAcceptEncoding)
	} else { // see toldAsProblem
		x.vary("Accept, Accept-Encoding")
	}
	encoding := x.encoding(len(x.body))
	if status == fasthttp.StatusOK {
		x.etag = xxhash.Sum64(x.body)
		h.name(fasthttp.HeaderETag)
		h.block = appendETag(h.block, x.etag, encoding)
		if x.matches(encoding) {
			r.SetStatusCode(fasthttp.StatusNotModified)
			h.send(&r.Header)
			return
		}
	}
	h.send(&r.Header)
	r.SetStatusCode(status)
	r.Header.SetContentType(x.mediaType)
	if encoding != "" {
		x.compress(x.body, encoding, status == fasthttp.StatusOK)
		return
	}
	r.SetBody(x.body)
}

// contentPolicy is the Content-Security-Policy of the page.
func (x *exchange) contentPolicy() string {
	if x.path != nil && x.path.pattern == referencePath {
		return referencePolicy
	}
	return pagePolicy
}

// wantsPage reports whether an unknown path is answered with a page: outside the API, while there is a site, to a
// client that names text/html, as browsers do and programs do not.
func (x *exchange) wantsPage(raw []byte) bool {
	return x.s.Pages != nil && (x.ctx.IsGet() || x.ctx.IsHead()) && !isAPI(string(raw)) &&
		accepts(x.field(fasthttp.HeaderAccept), "text/html")
}

// toldAsProblem answers an error of a page in the live envelope, to a program: a client that names JSON and not HTML.
// All others, those that name neither included, are left to be told with a page.
func (x *exchange) toldAsProblem(f wire.Fault) bool {
	accept := x.field(fasthttp.HeaderAccept)
	if accepts(accept, "text/html") || !accepts(accept, "application/json") && !accepts(accept, liveSurface.errorType) {
		return false
	}
	x.tell(f, fasthttp.HeaderAccept)
	return true
}

// accepts reports whether an Accept header names a media type, and not to refuse it.
func accepts(header []byte, media string) bool {
	for item := range bytes.SplitSeq(header, []byte{','}) {
		name, params, _ := bytes.Cut(item, []byte{';'})
		if bytes.EqualFold(bytes.TrimSpace(name), []byte(media)) && weightOf(params) > 0 {
			return true
		}
	}
	return false
}

// isAPI reports whether a path is one of the API's, as far as anybody could tell. What is well known is asked for by
// programs: MCP clients look there for how to authorize, and take a page for an answer.
func isAPI(path string) bool {
	for _, prefix := range []string{"/v1", mcpPath, "/.well-known"} {
		if rest, ok := strings.CutPrefix(path, prefix); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// pageArgs reads the query parameters that a page knows; others are ignored, and what is wrong with one makes it
// absent: a page shows what it can.
func (x *exchange) pageArgs(known ...string) {
	x.args.parse(x.ctx.URI().QueryString(), known)
}

func (x *exchange) pageText(name string, most int) string {
	v, _ := x.given(name)
	if utf8.RuneCountInString(v) > most {
		return ""
	}
	return v
}

func (x *exchange) pageNumber(name string) int {
	v, _ := x.given(name)
	n, ok := parseDecimal(v)
	if !ok || n > 1_000_000 {
		return 0
	}
	return int(n)
}

func (x *exchange) homePage() (found bool, err error) {
	x.body, err = x.s.Pages.Home(x.body, x.view, x.time)
	return true, err
}

func (x *exchange) cardPage() (found bool, err error) {
	card, ok := x.cardID()
	if !ok {
		return false, nil
	}
	if slug := x.view.Catalog.Cards.Slug.At(card); x.moved("/cards/", slug) {
		return true, nil
	}
	x.pageArgs("days", "variant")
	x.body, err = x.s.Pages.Card(x.body, x.view, x.time, site.CardQuery{
		Card: card, Days: x.pageNumber("days"), Variant: x.pageText("variant", maxShort),
	})
	return true, err
}

func (x *exchange) setPage() (found bool, err error) {
	ref, ok := x.pathID()
	if !ok {
		return false, nil
	}
	set, ok := x.view.Index.Set(ref)
	if !ok {
		return false, nil
	}
	if x.moved("/sets/", x.view.Catalog.Sets.Slug.At(set)) {
		return true, nil
	}
	x.pageArgs("sort", "page")
	x.body, err = x.s.Pages.Set(x.body, x.view, x.time, site.SetQuery{
		Set: set, ByPrice: x.pageText("sort", maxShort) == "price", Page: x.pageNumber("page"),
	})
	return true, err
}

// moved redirects from an id or a former slug to the slug that stands for it now, with the query as it was. The
// reference that the path names is in the exchange's scratch (see pathID).
func (x *exchange) moved(kind, slug string) bool {
	if string(x.text) == slug {
		return false
	}
	h := &x.ctx.Response.Header
	x.text = append(x.text[:0], x.s.Pages.Root()...)
	x.text = append(append(x.text, kind...), slug...)
	if query := x.ctx.URI().QueryString(); len(query) > 0 {
		x.text = append(x.text, '?')
		for _, b := range query { // bytes that a header cannot carry, or that end a query, are left out
			if b > ' ' && b < 0x7f && b != '#' {
				x.text = append(x.text, b)
			}
		}
	}
	h.SetBytesV(fasthttp.HeaderLocation, x.text)
	h.Set(fasthttp.HeaderCacheControl, pageCache)
	h.SetContentLength(0) // which fasthttp leaves out for HEAD when there is no body
	x.ctx.Response.SetStatusCode(fasthttp.StatusMovedPermanently)
	return true
}

func (x *exchange) searchPage() (found bool, err error) {
	x.pageArgs("q", "game", "sort", "page")
	x.body, err = x.s.Pages.Search(x.body, x.view, x.time, site.SearchQuery{
		Words: strings.TrimSpace(x.pageText("q", maxText)), Game: x.pageText("game", maxShort), Sort: x.pageText("sort", maxShort), Page: x.pageNumber("page"),
	})
	return true, err
}

func (x *exchange) suggestions() (found bool, err error) {
	x.pageArgs("q")
	x.body = x.s.Pages.Suggest(x.body, x.view, x.pageText("q", maxText))
	return true, nil
}

func (x *exchange) setsPage() (found bool, err error) {
	x.pageArgs("game", "page")
	x.body, err = x.s.Pages.Sets(x.body, x.view, x.time, site.SetsQuery{Game: x.pageText("game", maxShort), Page: x.pageNumber("page")})
	return true, err
}

func (x *exchange) moversPage() (found bool, err error) {
	x.pageArgs("direction", "game")
	x.body, err = x.s.Pages.Movers(x.body, x.view, x.time, site.MoversQuery{
		Down: x.pageText("direction", maxShort) == "down", Game: x.pageText("game", maxShort),
	})
	return true, err
}

func (x *exchange) errorsPage() (found bool, err error) {
	x.body, err = x.s.Pages.Errors(x.body, x.view, x.time)
	return true, err
}

func (x *exchange) errorPage() (found bool, err error) {
	code, ok := x.pathID()
	if !ok {
		return false, nil
	}
	x.body, found, err = x.s.Pages.Error(x.body, x.view, x.time, code)
	return found, err
}

func (x *exchange) sitemapIndex() (found bool, err error) {
	x.mediaType = "application/xml"
	x.body = x.s.Pages.AppendSitemapIndex(x.body, x.view)
	return true, nil
}

func (x *exchange) sitemap() (found bool, err error) {
	ref, _ := x.pathID()
	n, ok := parseDecimal(ref)
	if !ok || n > 1_000_000 || decimal(n) != ref {
		return false, nil
	}
	x.mediaType = "application/xml"
	x.body, found = x.s.Pages.AppendSitemap(x.body, x.view, int(n))
	return found, nil
}
