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

// operation is an api.Operation with its row in the metrics.
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
	surface   *surface        // of a contract of its own; nil for live or preview
	handler   func(*exchange) // serves the route, and authenticates if it must; nil for operations
	metric    metricKey       // of a route with a handler
	metricRow int             // of metric
}

// mcpPath is the path of MCP. It is not in the OpenAPI document: tools/list describes it.
const mcpPath = "/mcp"

// routeTable returns the route table. Order does not matter, as long as the methods of one pattern share
// a surface and a metric row.
func (s *Server) routeTable() []*route {
	var table []*route
	for path, document := range s.OpenAPI {
		table = append(table, &route{
			pattern: path, method: "GET", metric: metricKey{surfaceNone, "openapi"},
			handler: func(x *exchange) { x.sendDocument(document) },
		})
	}
	table = append(table, &route{
		pattern: "/healthz", method: "GET", handler: (*exchange).healthz, metric: metricKey{surfaceNone, "healthz"},
	}, &route{
		pattern: mcpPath, method: "POST", handler: (*exchange).mcp, metric: metricKey{surfaceMCP, "mcp"},
	})

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
	return s.withPages(s.withCompat(table))
}

// routesByMethod are the routes of one pattern, one for each method, and their Allow header.
type routesByMethod struct {
	routes []*route
	allow  string
}

// routesKey is the key of the found routes in a RequestCtx.
type routesKey struct{}

// newRouter makes the router. It matches paths only: one handler a pattern takes every method, so
// that 405 and its Allow header come from the table.
func (s *Server) newRouter() *router.Router {
	// By default the router redirects before authentication, and to http.
	r := router.New()
	r.RedirectTrailingSlash = false
	r.RedirectFixedPath = false
	r.HandleOPTIONS = false
	r.HandleMethodNotAllowed = false

	s.cardRoutes = map[string]*routesByMethod{}
	byPattern := map[string][]*route{}
	table := s.routeTable()
	s.metrics = newMetrics(table, s.tools.operations)
	for _, p := range table {
		byPattern[p.pattern] = append(byPattern[p.pattern], p)
	}

	for text, siblings := range byPattern {
		all := routesByMethod{siblings, allowed(siblings)}
		r.ANY(text, recordRoutes(&all))
		if after, ok := strings.CutPrefix(text, cardPrefix+"{id}"); ok {
			s.cardRoutes[after] = &all
		}
	}
	return r
}

// recordRoutes returns the handler of a pattern, which only stores the pattern's routes in the
// context.
func recordRoutes(all *routesByMethod) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) { ctx.SetUserValue(routesKey{}, all) }
}

// allowed returns the Allow header of a pattern: its methods, sorted (decision 3).
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

// cardPrefix begins the paths that most requests have: those of one card. They are recognized without the router,
// for a third of its time and none of its allocations.
const cardPrefix = "/v1/cards/"

// route finds the routes of a path and dispatches to them, without redirects.
func (s *Server) route(x *exchange) {
	all := s.findRoutes(x)
	switch path := httpconn.Path(x.Ctx); {
	case all != nil:
		x.dispatch(all)
	case s.isCompat(string(path)):
		x.surface = &s.compat.surface
		x.refuse(problem(wire.NotFound, "there is nothing at this path"))
	default:
		x.writeNotFound(path, "there is nothing at this path: GET /openapi.json lists the paths")
	}
}

// findRoutes finds the routes of a request's path, nil for none, and stores its {id} in the
// request.
func (s *Server) findRoutes(x *exchange) *routesByMethod {
	raw := httpconn.Path(x.Ctx)
	text := unsafe.String(unsafe.SliceData(raw), len(raw))
	if id, ok := strings.CutPrefix(text, cardPrefix); ok {
		after := ""
		if slash := strings.IndexByte(id, '/'); slash >= 0 {
			id, after = id[:slash], id[slash:] // air: a split
		}

		if all := s.cardRoutes[after]; all != nil && id != "" && id != "batch" {
			x.request.Ref = id
			return all
		}
	}

	text = s.withoutSlash(text)
	raw = raw[:len(text)]
	// The router only compares text, and the parameter is used only while the request's memory is
	// valid.
	handler, _ := s.router.Lookup(router.MethodWild, text, x.Ctx)
	// No path has an empty segment, but the router matches one as a parameter. A list with a slash is a record
	// whose id is empty, by a client's mistake (decision 4).
	empty := bytes.Contains(raw, []byte("//")) || len(raw) > 1 && raw[len(raw)-1] == '/' ||
		len(raw) < len(x.Ctx.URI().PathOriginal()) && (text == "/v1/cards" || text == "/v1/sets")
	if handler == nil || empty {
		return nil
	}

	handler(x.Ctx)
	x.request.Ref, _ = x.Ctx.UserValue("id").(string)
	x.request.FileName, _ = x.Ctx.UserValue("name").(string)
	all, _ := x.Ctx.UserValue(routesKey{}).(*routesByMethod)
	x.Ctx.RemoveUserValue(routesKey{})
	return all
}

// methodError says which methods a path has instead of the requested one.
func methodError(method []byte, allow string) *wire.APIError {
	const maxShown = 20
	named := string(method[:min(len(method), maxShown)])
	if named == fasthttp.MethodHead { // HEAD is answered like GET
		named = fasthttp.MethodGet
	}

	return problem(wire.MethodNotAllowed, named+" is not supported here: use "+strings.ReplaceAll(allow, ", ", " or "))
}

// dispatch serves the route of a pattern for the request's method.
func (x *exchange) dispatch(all *routesByMethod) {
	for _, p := range all.routes {
		if string(x.Ctx.Method()) == p.method || x.Ctx.IsHead() && p.method == fasthttp.MethodGet {
			x.serve(p)
			return
		}
	}

	if x.preflight(all.routes[0], all.allow) {
		x.row = rowPreflight
		return
	}

	// 405 is in the envelope of the path's surface, and counted as its operation.
	x.route = all.routes[0]
	x.selectSurface()
	x.row = x.route.metricRow
	if x.op != nil {
		x.row = x.op.metricRow
	}
	x.Ctx.Response.Header.Set(fasthttp.HeaderAllow, all.allow)
	x.refuse(methodError(x.Ctx.Method(), all.allow))
}
