package server

import (
	"bytes"
	"slices"
	"strings"
	"unsafe"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"ninepocket/access"
	"ninepocket/wire"
)

// operation is what a path does for one method on one surface.
type operation struct {
	name   access.Operation
	params []string // the query parameters it knows
	scope  access.Scope
	run    func(*exchange) *wire.Fault
	row    int // what its requests count as
}

// path is a row of the route table. GET operations answer HEAD too (decision 4).
type path struct {
	pattern string // with {id} for one segment
	method  string
	live    *operation
	preview *operation
	open    func(*exchange) // answers without a key, instead of an operation
	row     int             // what requests of an open path count as
	site    bool            // a public page or a file of one, no part of the API
}

// paths is the route table. Order does not matter.
func (s *Server) paths() []*path {
	table := []*path{
		{pattern: "/v1/games", method: fasthttp.MethodGet, live: &operation{name: access.GamesList, run: (*exchange).games}},
		{pattern: "/v1/cards", method: fasthttp.MethodGet, live: &operation{
			name: access.CardsSearch, run: (*exchange).cardsSearch,
			params: []string{"q", "set", "game", "number", "rarity", "min_price_cents", "max_price_cents", "sort", "limit", "cursor"},
		}},
		{pattern: cardPattern, method: fasthttp.MethodGet, live: &operation{name: access.CardsGet, run: (*exchange).cardsGet}},
		{pattern: "/v1/cards/batch", method: fasthttp.MethodPost, live: &operation{name: access.CardsBatch, run: (*exchange).cardsBatch}},
		{pattern: "/v1/cards/{id}/prices", method: fasthttp.MethodGet, live: &operation{
			name: access.CardPrices, run: (*exchange).cardPrices, params: []string{"days", "variant"},
		}},
		{pattern: "/v1/cards/{id}/price-stats", method: fasthttp.MethodGet, live: &operation{
			name: access.CardPriceStats, run: (*exchange).cardPriceStats, params: []string{"window", "variant"},
		}},
		{pattern: "/v1/sets", method: fasthttp.MethodGet, live: &operation{
			name: access.SetsList, run: (*exchange).setsList, params: []string{"series", "game", "limit", "cursor"},
		}},
		{pattern: "/v1/sets/{id}", method: fasthttp.MethodGet, live: &operation{name: access.SetsGet, run: (*exchange).setsGet}},
		{pattern: "/v1/market/movers", method: fasthttp.MethodGet, live: &operation{
			name: access.MarketMovers, run: (*exchange).movers,
			params: []string{"direction", "period", "min_price_cents", "set", "game", "limit"},
		}},
		{pattern: "/v1/prices/batch", method: fasthttp.MethodPost, live: &operation{name: access.PricesBatch, run: (*exchange).pricesBatch}},
		{pattern: "/v1/usage", method: fasthttp.MethodGet, live: &operation{name: access.UsageGet, run: (*exchange).usage}},
		{pattern: "/openapi.json", method: fasthttp.MethodGet, open: (*exchange).openapi, row: rowOpenAPI},
		{pattern: "/healthz", method: fasthttp.MethodGet, open: (*exchange).healthz, row: rowHealthz},
		{pattern: mcpPath, method: fasthttp.MethodPost, open: (*exchange).mcp, row: rowMCP},
	}
	return s.withPages(s.withPreview(table))
}

// Operations lists the route table for those who hold it against the OpenAPI document: "GET /v1/games" and so on. MCP
// is left out, because tools/list describes it, and so are the public pages.
func (s *Server) Operations() []string {
	var all []string
	for _, p := range s.paths() {
		if p.pattern != mcpPath && !p.site {
			all = append(all, p.method+" "+p.pattern)
		}
	}
	slices.Sort(all)
	return all
}

// methods are the rows of one pattern, of which each has a method, and the Allow header that they make.
type methods struct {
	siblings []*path
	allow    string
}

// exchangeKey finds the exchange of a RequestCtx that the router hands on.
type exchangeKey struct{}

// routes makes the router. It matches paths only: one handler a pattern takes every method, so that 405 and its
// Allow header come from the table.
func (s *Server) routes() *router.Router {
	r := router.New()
	r.RedirectTrailingSlash, r.RedirectFixedPath, r.HandleOPTIONS, r.HandleMethodNotAllowed = false, false, false, false
	s.literal = map[string]*path{}
	byPattern := map[string][]*path{}
	table := s.paths()
	s.counts = newCounts(table, s.tools.Tools())
	for _, p := range table {
		byPattern[p.pattern] = append(byPattern[p.pattern], p)
	}
	for text, siblings := range byPattern {
		all := methods{siblings, allowed(siblings)}
		r.ANY(text, handlerOf(&all))
		if text == cardPattern {
			s.card = all
		}
		s.literal[text] = siblings[0]
	}
	return r
}

// handlerOf is what the router calls for the rows of a pattern.
func handlerOf(all *methods) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if x, ok := ctx.UserValue(exchangeKey{}).(*exchange); ok {
			x.dispatch(all)
		}
	}
}

// allowed is the Allow header of a pattern: its methods, sorted (decision 3).
func allowed(siblings []*path) string {
	var methods []string
	for _, p := range siblings {
		methods = append(methods, p.method)
		if p.method == fasthttp.MethodGet {
			methods = append(methods, fasthttp.MethodHead)
		}
	}
	slices.Sort(methods)
	return strings.Join(slices.Compact(methods), ", ")
}

// cardPattern is the path that most requests have: it is recognized by its prefix, which costs a third of the router's
// way and none of its allocations.
const cardPattern = "/v1/cards/{id}"

var cardPrefix = []byte("/v1/cards/")

// spelt is the path as the client spelt it, without the one trailing slash that is tolerated (decision 4).
func spelt(ctx *fasthttp.RequestCtx) []byte {
	raw := ctx.URI().PathOriginal()
	if uri := ctx.RequestURI(); len(uri) > 1 && uri[0] == '/' && uri[1] == '/' {
		raw = uri // a path that begins with an empty segment, where fasthttp may take the next one for a host
	}
	if n := len(raw) - 1; n > 0 && raw[n] == '/' {
		raw = raw[:n]
	}
	return raw
}

// row is a row of a path whose request no handler will see; nil when there is none.
func (s *Server) row(spelt string) *path {
	if p := s.literal[spelt]; p != nil {
		return p
	}
	for pattern, p := range s.literal {
		before, after, _ := strings.Cut(pattern, "{id}")
		id, found := strings.CutPrefix(spelt, before)
		if id, ends := strings.CutSuffix(id, after); found && ends && id != "" && strings.IndexByte(id, '/') < 0 {
			return p
		}
	}
	return nil
}

// route finds what answers a path, without redirects.
func (s *Server) route(x *exchange) {
	raw := spelt(x.ctx)
	if id, ok := bytes.CutPrefix(raw, cardPrefix); ok && len(id) > 0 && bytes.IndexByte(id, '/') < 0 {
		x.param = id
		if string(id) != "batch" {
			x.dispatch(&s.card)
			return
		}
	}
	// The router only compares, and keeps the parameter no longer than the request's memory lives.
	if handler, _ := s.router.Lookup(router.MethodWild, unsafe.String(unsafe.SliceData(raw), len(raw)), x.ctx); handler != nil && !emptySegment(raw) {
		x.ctx.SetUserValue(exchangeKey{}, x)
		handler(x.ctx)
		x.ctx.RemoveUserValue(exchangeKey{})
		return
	}
	if x.wantsPage(raw) {
		x.lost()
		return
	}
	x.refuse(wire.Fault{Code: wire.NotFound, Detail: "There is nothing at this path."})
}

// emptySegment reports whether a segment of a path after the first is empty, which no path of the document has; the router
// takes one for a parameter.
func emptySegment(raw []byte) bool {
	return bytes.Contains(raw, []byte("//")) || len(raw) > 1 && raw[len(raw)-1] == '/'
}

// dispatch picks the row of a pattern for the request's method.
func (x *exchange) dispatch(all *methods) {
	for _, p := range all.siblings {
		if string(x.ctx.Method()) == p.method || x.ctx.IsHead() && p.method == fasthttp.MethodGet {
			x.serve(p)
			return
		}
	}
	if x.preflight(all.siblings[0], all.allow) {
		x.row = rowPreflight
		return
	}
	x.path = all.siblings[0]
	x.choose()
	if x.row = x.path.row; x.op != nil {
		x.row = x.op.row
	}
	x.ctx.Response.Header.Set(fasthttp.HeaderAllow, all.allow)
	x.refuse(wire.Fault{Code: wire.MethodNotAllowed, Detail: "This path takes " + all.allow + "."})
}
