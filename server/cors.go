package server

import (
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
)

// The headers and the time of CORS.
const (
	// exposedHeaders are the headers that a script in a browser may read, allowedHeaders those that
	// it may send.
	exposedHeaders = "ETag, Link, RateLimit, RateLimit-Policy, Retry-After, X-Ignored-Params, " +
		"X-Original-Credits-Charged, X-RateLimit-Limit, " +
		"X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Credits-Charged, X-Request-Credits-Remaining, " +
		"X-Request-Id, X-Search-Interpretation, X-Snapshot-Id, X-Unknown-Values"
	allowedHeaders = "Authorization, Content-Type, Idempotency-Key, If-None-Match, MCP-Protocol-Version, Mcp-Method, " +
		"Mcp-Name, X-API-Key, X-Request-Id, X-Snapshot-Id"
	// preflightMaxAge is for how many seconds a browser may cache the response to a preflight.
	preflightMaxAge = "600"
)

// allowOrigin lets browsers of configured origins read the response (decision 4).
func (x *exchange) allowOrigin() {
	if len(x.s.Origins) == 0 {
		return
	}

	if origin := string(x.Fields.Origin); slices.Contains(x.s.Origins, origin) {
		h := &x.Ctx.Response.Header
		h.Set(fasthttp.HeaderAccessControlAllowOrigin, origin)
		h.Set(fasthttp.HeaderAccessControlExposeHeaders, exposedHeaders)
	}
}

// vary adds Vary with what the response depends on. With configured origins that includes the
// caller's origin.
func (x *exchange) vary(on string) {
	x.hasVary = true
	if len(x.s.Origins) > 0 {
		on = strings.TrimPrefix(on+", Origin", ", ")
	}
	if on != "" {
		x.Head.Set(fasthttp.HeaderVary, on)
	}
}

// preflight answers a browser of a configured origin that asks whether it may call a path, and
// reports whether the request was one. MCP has its own list of origins: preflight allows only what
// its gate accepts.
func (x *exchange) preflight(p *route, allow string) bool {
	h := &x.Ctx.Response.Header
	if !x.Ctx.IsOptions() || len(h.Peek(fasthttp.HeaderAccessControlAllowOrigin)) == 0 ||
		len(x.Ctx.Request.Header.Peek(fasthttp.HeaderAccessControlRequestMethod)) == 0 ||
		p.pattern == mcpPath && !x.s.tools.allowsOrigin(string(x.Fields.Origin)) {
		return false
	}

	h.Set(fasthttp.HeaderAccessControlAllowMethods, allow)
	h.Set(fasthttp.HeaderAccessControlAllowHeaders, allowedHeaders)
	h.Set(fasthttp.HeaderAccessControlMaxAge, preflightMaxAge)
	x.Ctx.Response.SetStatusCode(fasthttp.StatusNoContent)
	return true
}
