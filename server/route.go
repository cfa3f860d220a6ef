package server

import (
	"bytes"
	"slices"
	"strings"
	"unsafe"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"ninepocket/access/keys"
	"ninepocket/api"
	"ninepocket/server/httpconn"
	"ninepocket/wire"
)

// operation adds to an api.Operation the row that counts it.
type operation struct {
	*api.Operation
	metricRow int
}

// route is a row of the route table: a pattern and a method. GET answers HEAD too (decision 4).
type route struct {
	pattern   string // with {id} for one segment
	method    string
	live      *operation
	preview   *operation
	open      func(*exchange) // answers without a key, instead of an operation
	counts    metricKey       // what requests of an open path count as
	metricRow int             // and where
}

// mcpPath is where MCP is served. It is not in the OpenAPI document: tools/list describes it.
const mcpPath = "/mcp"

// paths is the route table. Order does not matter.
func (s *Server) paths() []*route {
	table := []*route{
		{pattern: "/openapi.json", method: "GET", open: (*exchange).openapi, counts: metricKey{noSurface, "openapi"}},
		{pattern: "/healthz", method: "GET", open: (*exchange).healthz, counts: metricKey{noSurface, "healthz"}},
		{pattern: mcpPath, method: "POST", open: (*exchange).mcp, counts: metricKey{onMCP, "mcp"}},
	}

	// The live and the preview operation of one method and path share a row.
	rows := map[string]*route{}
	for _, op := range api.Operations() {
		if op.Surface == keys.Preview && !s.Preview {
			continue // switched off (decision 1)
		}

		p := rows[op.Method+op.Path]
		if p == nil {
			p = &route{pattern: op.Path, method: op.Method}
			rows[op.Method+op.Path] = p
			table = append(table, p)
		}
		if op.Surface == keys.Preview {
			p.preview = &operation{Operation: op}
		} else {
			p.live = &operation{Operation: op}
		}
	}
	return s.withPages(table)
}

// routesByMethod holds the rows of one pattern, one for each method, and their Allow header.
type routesByMethod struct {
	siblings []*route
	allow    string
}

// foundKey finds what the router found, in a RequestCtx.
type foundKey struct{}

// routes makes the router. It matches paths only: one handler a pattern takes every method, so that
// 405 and its Allow header come from the table.
func (s *Server) routes() *router.Router {
	// The router would redirect before authentication, and to http.
	r := router.New()
	r.RedirectTrailingSlash = false
	r.RedirectFixedPath = false
	r.HandleOPTIONS = false
	r.HandleMethodNotAllowed = false

	byPattern := map[string][]*route{}
	table := s.paths()
	s.metrics = newMetrics(table, s.tools.operations)
	for _, p := range table {
		byPattern[p.pattern] = append(byPattern[p.pattern], p)
	}

	for text, siblings := range byPattern {
		all := routesByMethod{siblings, allowed(siblings)}
		r.ANY(text, handlerOf(&all))
		if text == cardPattern {
			s.card = all
		}
	}
	return r
}

// handlerOf is what the router calls for the rows of a pattern: it only notes them.
func handlerOf(all *routesByMethod) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) { ctx.SetUserValue(foundKey{}, all) }
}

// allowed is the Allow header of a pattern: its methods, sorted (decision 3).
func allowed(siblings []*route) string {
	var names []string
	for _, p := range siblings {
		names = append(names, p.method)
		if p.method == fasthttp.MethodGet {
			names = append(names, fasthttp.MethodHead)
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// cardPattern is the path that most requests have: it is recognized by its prefix, which costs a
// third of the router's way and none of its allocations.
const cardPattern = "/v1/cards/{id}"

const cardPrefix = "/v1/cards/"

// metricKey finds what answers a path, without redirects.
func (s *Server) route(x *exchange) {
	all := s.find(x)
	if all == nil {
		x.missing(httpconn.Path(x.Ctx), "there is nothing at this path: GET /openapi.json lists the paths")
		return
	}
	x.dispatch(all)
}

// find finds the rows of a request's path, nil for none, and notes its {id}.
func (s *Server) find(x *exchange) *routesByMethod {
	raw := httpconn.Path(x.Ctx)
	text := unsafe.String(unsafe.SliceData(raw), len(raw))
	id, ok := strings.CutPrefix(text, cardPrefix)
	if ok && id != "" && id != "batch" && strings.IndexByte(id, '/') < 0 {
		x.request.Ref = id
		return &s.card
	}

	// The router only compares, and keeps the parameter no longer than the request's memory lives.
	handler, _ := s.router.Lookup(router.MethodWild, text, x.Ctx)
	// No path of the document has an empty segment; the router takes one for a parameter.
	empty := bytes.Contains(raw, []byte("//")) || len(raw) > 1 && raw[len(raw)-1] == '/'
	if handler == nil || empty {
		return nil
	}

	handler(x.Ctx)
	x.request.Ref, _ = x.Ctx.UserValue("id").(string)
	all, _ := x.Ctx.UserValue(foundKey{}).(*routesByMethod)
	x.Ctx.RemoveUserValue(foundKey{})
	return all
}

// methodError says which methods a path has instead of one that it has not.
func methodError(method []byte, allow string) *wire.APIError {
	const maxShown = 20
	named := string(method[:min(len(method), maxShown)])
	if named == fasthttp.MethodHead { // its answer is that of GET
		named = fasthttp.MethodGet
	}

	return problem(wire.MethodNotAllowed, named+" is not supported here: use "+strings.ReplaceAll(allow, ", ", " or "))
}

// dispatch picks the row of a pattern for the request's method.
func (x *exchange) dispatch(all *routesByMethod) {
	for _, p := range all.siblings {
		if string(x.Ctx.Method()) == p.method || x.Ctx.IsHead() && p.method == fasthttp.MethodGet {
			x.serve(p)
			return
		}
	}

	if x.preflight(all.siblings[0], all.allow) {
		x.row = rowPreflight
		return
	}

	// 405 is told in the envelope of the path's surface, and counted as its operation.
	x.path = all.siblings[0]
	x.selectSurface()
	x.row = x.path.metricRow
	if x.op != nil {
		x.row = x.op.metricRow
	}
	x.Ctx.Response.Header.Set(fasthttp.HeaderAllow, all.allow)
	x.refuse(methodError(x.Ctx.Method(), all.allow))
}
