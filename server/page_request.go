package server

import (
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/valyala/fasthttp"

	"ninepocket/engine"
	"ninepocket/server/httpconn"
	"ninepocket/site"
	"ninepocket/wire"
)

// pageRequest is a request for a page of the site or a file of one, and the page being made.
type pageRequest struct {
	x         *exchange
	pages     *site.Pages
	view      *engine.View // nil where there is none, or where none is needed
	time      time.Time
	mediaType string
	cache     string // Cache-Control of a page
	csp       string // Content-Security-Policy of a page, "" for that of all
}

// pageHandler turns a function of a visit into one that answers a path.
func pageHandler(answer func(*pageRequest)) func(*exchange) {
	return func(x *exchange) { answer(&pageRequest{x: x, pages: x.s.Pages, time: x.time}) }
}

// renderedPage wraps what makes a page into the way of all pages: the limit of the caller's
// address, the current View, the page itself, a 404 where it is not there, validators and headers.
// render appends the page; its error is errNoPage when there is none, and errMoved when it answered
// itself.
func renderedPage(render func(v *pageRequest, dst []byte) ([]byte, error)) func(*exchange) {
	return pageHandler(func(v *pageRequest) {
		if !v.admitted() {
			return
		}
		v.view = v.x.s.Engine.View()
		v.x.request.View = v.view
		if v.view == nil && !strings.HasPrefix(v.x.path.pattern, "/errors") { // which needs none
			v.writeErrorPage(noCatalog)
			return
		}

		// A page that is none says so before anything of it is sent.
		v.mediaType = htmlType
		v.cache = pageCache
		body, err := render(v, v.x.reply.Body[:0])
		switch {
		case errors.Is(err, errMoved):
		case errors.Is(err, errNoPage):
			v.noPage()
		case err != nil:
			v.x.s.Log.Error("cannot make a page", slog.String("request_id", string(v.x.id)), slog.Any("cause", err))
			v.writeErrorPage(somethingWrong)
		default:
			v.x.reply.Body = body
			v.writePage(fasthttp.StatusOK, v.cache)
		}
	})
}

// admitted takes one page of the allowance of the caller's address; where there is none left, it
// says so to the caller.
func (v *pageRequest) admitted() bool {
	wait := v.x.s.addresses.allow(v.x.s.clientAddr(v.x), v.x.now)
	if wait > 0 {
		f := problem(wire.RateLimitExceeded, "This address asks for too many pages.")
		f.RetryAfter = wait
		v.writeErrorPage(f)
	}
	return wait <= 0
}

// missing answers 404: with a page where there is a site and the client reads pages, else in the
// live envelope.
func (x *exchange) missing(raw []byte, detail string) {
	if !x.wantsPage(raw) {
		x.refuse(problem(wire.NotFound, detail))
		return
	}
	pageHandler((*pageRequest).lost)(x)
}

// stateFailed answers 404 with a page, which counts as one.
func (v *pageRequest) lost() {
	if v.admitted() {
		v.noPage()
	}
}

// noPage answers 404 with a page, or to a program with a problem.
func (v *pageRequest) noPage() {
	v.view = v.x.s.Engine.View()
	v.writeErrorPage(problem(wire.NotFound, "There is no such page."))
}

// writeErrorPage answers an error: a program is told it as a problem, and everybody else by a page.
func (v *pageRequest) writeErrorPage(f *wire.APIError) {
	if !v.wroteProblem(f) {
		v.sendFault(f, v.pages.ErrorResponse(v.x.reply.Body[:0], v.view, v.time, f, string(v.x.id)))
	}
}

// sendFault sends the page of an error.
func (v *pageRequest) sendFault(f *wire.APIError, page []byte) {
	v.x.reply.Body = page
	v.mediaType = htmlType
	if f.RetryAfter > 0 {
		v.x.Ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, wire.Decimal(int64(f.RetryAfter)))
	}
	v.writePage(wire.LiveCodes[f.Code].Status, "no-store")
}

// writePage sends the reply's body as a page. A success has a validator, of its content.
func (v *pageRequest) writePage(status int, cache string) {
	resp := &v.x.Ctx.Response
	head := &v.x.Head
	policy := pagePolicy
	if v.csp != "" && resp.StatusCode() < fasthttp.StatusBadRequest {
		policy = v.csp
	}
	v.fileHead(cache, policy)
	head.Set("Referrer-Policy", "same-origin")
	if status < fasthttp.StatusBadRequest {
		v.x.vary(fasthttp.HeaderAcceptEncoding)
	} else { // see wroteProblem
		v.x.vary("Accept, Accept-Encoding")
	}

	// Only a success may be kept: an error must not be told from a cache when it is over.
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

// fileHead begins the head of a file.
func (v *pageRequest) fileHead(cache, policy string) {
	v.x.writeRequestID()
	v.x.Head.Set("X-Content-Type-Options", "nosniff")
	v.x.Head.Set("Content-Security-Policy", policy)
	v.x.Head.Set(fasthttp.HeaderCacheControl, cache)
}

// wantsPage reports whether an unknown path is answered with a page: outside the API, while there
// is a site, to a client that names text/html, as browsers do and programs do not.
func (x *exchange) wantsPage(raw []byte) bool {
	return x.s.Pages != nil && (x.Ctx.IsGet() || x.Ctx.IsHead()) && !isAPI(string(raw)) &&
		httpconn.Names(x.Field(fasthttp.HeaderAccept), "text/html")
}

// wroteProblem answers an error of a page in the live envelope, to a program: a client that names
// JSON and not HTML. All others, those that name neither included, are left to be told with a page.
func (v *pageRequest) wroteProblem(f *wire.APIError) bool {
	accept := v.x.Field(fasthttp.HeaderAccept)
	program := httpconn.Names(accept, "application/json") || httpconn.Names(accept, liveSurface.errorType)
	if !program || httpconn.Names(accept, "text/html") {
		return false
	}
	v.x.writeError(f, fasthttp.HeaderAccept)
	return true
}

// isAPI reports whether a path is one of the API's, as far as anybody could tell. What is well
// known is asked for by programs: MCP clients look there for how to authorize, and take a page for
// an answer.
func isAPI(path string) bool {
	for _, prefix := range []string{"/v1", mcpPath, "/.well-known"} {
		if rest, ok := strings.CutPrefix(path, prefix); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}
