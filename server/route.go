package server

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/valyala/fasthttp"

	"ninepocket/access"
	"ninepocket/api"
	"ninepocket/server/front"
	"ninepocket/wire"
)

// operation adds to an api.Operation the row that counts it.
type operation struct {
	*api.Operation
	row int
}

// path is a row of the route table: a pattern and a method. GET answers HEAD too (decision 4).
type path struct {
	pattern string // with {id} for one segment
	method  string
	live    *operation
	preview *operation
	open    func(*exchange) // answers without a key, instead of an operation
	counts  route           // what requests of an open path count as
	row     int             // and where
}

// mcpPath is where MCP is served. It is not in the OpenAPI document: tools/list describes it.
const mcpPath = "/mcp"

// paths is the route table. Order does not matter.
func (s *Server) paths() []*path {
	table := []*path{
		{pattern: "/openapi.json", method: "GET", open: (*exchange).openapi, counts: route{noSurface, "openapi"}},
		{pattern: "/healthz", method: "GET", open: (*exchange).healthz, counts: route{noSurface, "healthz"}},
		{pattern: mcpPath, method: "POST", open: (*exchange).mcp, counts: route{onMCP, "mcp"}},
	}

	// The live and the preview operation of one method and path share a row.
	rows := map[string]*path{}
	for _, op := range api.Operations() {
		if op.Surface == access.Preview && !s.Preview {
			continue // switched off (decision 1)
		}

		p := rows[op.Method+op.Path]
		if p == nil {
			p = &path{pattern: op.Path, method: op.Method}
			rows[op.Method+op.Path] = p
			table = append(table, p)
		}
		if op.Surface == access.Preview {
			p.preview = &operation{Operation: op}
		} else {
			p.live = &operation{Operation: op}
		}
	}
	return s.withPages(table)
}

// methods holds the rows of one pattern, one for each method, and their Allow header. A path that has an id
// between before and after is of a pattern with {id}.
type methods struct {
	siblings      []*path
	allow         string
	before, after string
}

// routes makes the table of patterns. It matches paths only: a pattern takes every method, so that 405 and its
// Allow header come from the table.
func (s *Server) routes() {
	var patterns []string
	byPattern := map[string][]*path{}
	table := s.paths()
	s.counts = newCounts(table, s.tools.operations)
	for _, p := range table {
		if byPattern[p.pattern] == nil {
			patterns = append(patterns, p.pattern)
		}
		byPattern[p.pattern] = append(byPattern[p.pattern], p)
	}

	for _, pattern := range patterns {
		s.add(pattern, byPattern[pattern])
	}
}

// add adds a pattern.
func (s *Server) add(pattern string, siblings []*path) {
	all := &methods{siblings: siblings, allow: allowed(siblings)}
	var takesID bool
	all.before, all.after, takesID = strings.Cut(pattern, "{id}")
	if takesID {
		s.withID = append(s.withID, all)
	} else {
		s.literal[pattern] = all
	}
}

// allowed is the Allow header of a pattern: its methods, sorted (decision 3).
func allowed(siblings []*path) string {
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

// match finds the pattern of a path, and the id that the path has in it; nil for none. There are some ten
// patterns with an id, and that of a card, which most requests have, is the first.
func (s *Server) match(spelt string) (all *methods, id string) {
	if all := s.literal[spelt]; all != nil {
		return all, ""
	}
	for _, all := range s.withID {
		id, begins := strings.CutPrefix(spelt, all.before)
		id, ends := strings.CutSuffix(id, all.after)
		if begins && ends && id != "" && strings.IndexByte(id, '/') < 0 {
			return all, id
		}
	}
	return nil, ""
}

// route finds what answers a path, without redirects.
func (s *Server) route(x *exchange) {
	// The id lives no longer than the request's memory.
	raw := front.Path(x.Ctx)
	all, id := s.match(unsafe.String(unsafe.SliceData(raw), len(raw)))
	if all == nil {
		x.missing(raw, "there is nothing at this path: GET /openapi.json lists the paths")
		return
	}
	x.request.Ref = id
	x.dispatch(all)
}

// methodFault says which methods a path has instead of one that it has not.
func methodFault(method []byte, allow string) *wire.Fault {
	const longest = 20
	named := string(method[:min(len(method), longest)])
	if named == fasthttp.MethodHead { // its answer is that of GET
		named = fasthttp.MethodGet
	}

	return problem(wire.MethodNotAllowed,
		named+" is not supported here: use "+strings.ReplaceAll(allow, ", ", " or "))
}

// dispatch picks the row of a pattern for the request's method.
func (x *exchange) dispatch(all *methods) {
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
	x.choose()
	x.row = x.path.row
	if x.op != nil {
		x.row = x.op.row
	}
	x.Ctx.Response.Header.Set(fasthttp.HeaderAllow, all.allow)
	x.refuse(methodFault(x.Ctx.Method(), all.allow))
}
