package server

import "github.com/valyala/fasthttp"

// handlerOf is the handler of a path that only tests have.
func (s *Server) handlerOf(p *path) fasthttp.RequestHandler {
	siblings := []*path{p}
	return handlerOf(&methods{siblings, allowed(siblings)})
}
