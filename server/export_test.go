package server

import "github.com/valyala/fasthttp"

// handlerOf is the handler of a path that only tests have.
func (s *Server) handlerOf(p *route) fasthttp.RequestHandler {
	siblings := []*route{p}
	return recordRoutes(&routesByMethod{siblings, allowed(siblings)})
}
