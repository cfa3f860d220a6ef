package server

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/valyala/fasthttp"

	"ninepocket/engine"
	"ninepocket/server/httpconn"
	"ninepocket/site"
	"ninepocket/wire"
)

// pageRequest is a request for a page or a file of the site, and its response.
type pageRequest struct {
	x         *exchange
	pages     *site.Pages
	view      *engine.View // nil if there is none, or if none is needed
	time      time.Time
	mediaType string
	cache     string // Cache-Control of a page
	csp       string // Content-Security-Policy of a page, "" for pagePolicy
}

// pageHandler makes the handler of a route from a method of pageRequest.
func pageHandler(answer func(*pageRequest)) func(*exchange) {
	return func(x *exchange) { answer(&pageRequest{x: x, pages: x.s.Pages, time: x.time}) }
}

// renderedPage makes a handler with the steps of all pages: the limit of the client's address, the
// current View, the page or 404, validators and headers. render appends the page. Its error is
// errNoPage if there is none, and errAnswered if it has answered already.
func renderedPage(render func(v *pageRequest, dst []byte) ([]byte, error)) func(*exchange) {
	return pageHandler(func(v *pageRequest) {
		if !v.admitted() {
			return
		}
		v.view = v.x.s.Engine.View()
		v.x.request.View = v.view
		if v.view == nil && !strings.HasPrefix(v.x.route.pattern, "/errors") { // which needs no View
			v.writeErrorPage(noCatalog)
			return
		}

		// render returns errNoPage before anything is sent.
		v.mediaType = htmlType
		v.cache = pageCache
		body, err := render(v, v.x.reply.Body[:0])
		switch {
		case errors.Is(err, errAnswered):
		case errors.Is(err, errNoPage):
			v.pageNotFound()
		case err != nil:
			v.x.s.Log.Error("cannot render a page", slog.String("request_id", string(v.x.id)), slog.Any("cause", err))
			v.writeErrorPage(somethingWrong)
		default:
			v.x.reply.Body = body
			v.writePage(fasthttp.StatusOK, v.cache)
		}
	})
}

// admitted counts a page for the client's address, and answers 429 if that has reached its limit.
// A list takes more when its body is read. Suggestions have a limit of their own.
func (v *pageRequest) admitted() bool {
	limiter := v.x.s.addresses
	if v.x.route != nil && v.x.route.pattern == suggestPath {
		limiter = v.x.s.suggests
	}
	wait := limiter.allow(v.x.s.clientAddr(v.x), v.x.now, 1)
	if wait > 0 {
		v.writeErrorPage(rateLimited(wait, "This address asks for too many pages."))
	}
	return wait <= 0
}

// writeNotFound answers 404: with a page if there is a site and the client reads pages, else in the
// live envelope.
func (x *exchange) writeNotFound(raw []byte, detail string) {
	if !x.wantsPage(raw) {
		x.refuse(problem(wire.NotFound, detail))
		return
	}
	pageHandler((*pageRequest).limitedNotFound)(x)
}

// limitedNotFound answers 404 with a page, which counts for the address limit.
func (v *pageRequest) limitedNotFound() {
	if v.admitted() {
		v.pageNotFound()
	}
}

// pageNotFound answers 404 with a page, or with a problem to a program.
func (v *pageRequest) pageNotFound() {
	v.view = v.x.s.Engine.View()
	v.writeErrorPage(problem(wire.NotFound, "There is no such page."))
}

// writeErrorPage answers with an error: a problem to a program, a page to all other clients.
func (v *pageRequest) writeErrorPage(f *wire.APIError) {
	if !v.answeredAsProblem(f) {
		v.sendErrorPage(f, v.pages.ErrorResponse(v.x.reply.Body[:0], v.view, v.time, f, string(v.x.id)))
	}
}

// sendErrorPage sends the page of an error.
func (v *pageRequest) sendErrorPage(f *wire.APIError, page []byte) {
	v.x.reply.Body = page
	v.mediaType = htmlType
	if f.RetryAfter > 0 {
		v.x.Ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, wire.Decimal(int64(f.RetryAfter)))
	}
	v.writePage(wire.LiveCodes[f.Code].Status, "no-store")
}

// writePage sends the reply's body as a page. A success has a validator of its content.
func (v *pageRequest) writePage(status int, cache string) {
	resp := &v.x.Ctx.Response
	head := &v.x.Head
	policy := pagePolicy
	if v.csp != "" && resp.StatusCode() < fasthttp.StatusBadRequest {
		policy = v.csp
	}
	v.beginFileHead(cache, policy)
	head.Set("Referrer-Policy", "same-origin")
	if status < fasthttp.StatusBadRequest {
		v.x.vary(fasthttp.HeaderAcceptEncoding)
	} else { // see answeredAsProblem
		v.x.vary("Accept, Accept-Encoding")
	}

	// Only a success may be cached: an error must not be shown after it is over.
	encoding := v.x.Encoding(len(v.x.reply.Body))
	if status == fasthttp.StatusOK && !v.x.Ctx.IsPost() {
		tag := xxhash.Sum64(v.x.reply.Body)
		v.x.SetETag(tag, encoding)
		if v.x.Matches(tag, encoding) {
			resp.SetStatusCode(fasthttp.StatusNotModified)
			head.Send(&resp.Header)
			return
		}
	}

	head.Send(&resp.Header)
	resp.SetStatusCode(status)
	resp.Header.SetContentType(v.mediaType)
	v.x.reply.Body = v.x.Send(v.x.reply.Body, 0, encoding, status == fasthttp.StatusOK)
}

// beginFileHead begins the head of a file.
func (v *pageRequest) beginFileHead(cache, policy string) {
	v.x.writeRequestID()
	v.x.Head.Set("X-Content-Type-Options", "nosniff")
	v.x.Head.Set("Content-Security-Policy", policy)
	v.x.Head.Set(fasthttp.HeaderCacheControl, cache)
}

// wantsPage reports whether an unknown path is answered with a page: outside the API, if there is a
// site, to a client that accepts text/html by name, as browsers do and programs do not.
func (x *exchange) wantsPage(raw []byte) bool {
	return x.s.Pages != nil && (x.Ctx.IsGet() || x.Ctx.IsHead()) && !isAPI(string(raw)) &&
		httpconn.AcceptsByName(x.Field(fasthttp.HeaderAccept), "text/html")
}

// answeredAsProblem answers an error in the live envelope if the client is a program: it accepts
// JSON by name and not HTML. For all others it returns false, and they get a page.
func (v *pageRequest) answeredAsProblem(f *wire.APIError) bool {
	accept := v.x.Field(fasthttp.HeaderAccept)
	program := httpconn.AcceptsByName(accept, "application/json") ||
		httpconn.AcceptsByName(accept, liveSurface.errorType)
	if !program || httpconn.AcceptsByName(accept, "text/html") {
		return false
	}
	v.x.writeError(f, fasthttp.HeaderAccept)
	return true
}

// isAPI reports whether a path is one of the API's, existing or not. Well-known paths are requested
// by programs: MCP clients look there for how to authorize, and would take a page for an answer.
func isAPI(path string) bool {
	return slices.ContainsFunc([]string{"/v1", compatPath, mcpPath, "/.well-known"}, func(folder string) bool {
		return isBelow(path, folder)
	})
}

// isBelow reports whether a path is a folder's, or below it.
func isBelow(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }
