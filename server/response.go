package server

import (
	"encoding/base32"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"ninepocket/access/keys"
	"ninepocket/server/framing"
	"ninepocket/server/httpconn"
	"ninepocket/wire"
)

// refuse answers with an error in the envelope of the surface, and counts it as a denial.
func (x *exchange) refuse(f *wire.APIError) {
	x.s.metrics.denied(x.shard, x.surface, f.Code)
	x.surface.writeError(x, f)
}

// problem is an error without a Retry-After.
func problem(code wire.Code, detail string) *wire.APIError {
	return &wire.APIError{Code: code, Detail: detail}
}

// rateLimited is the error of a client that is to wait for some seconds.
func rateLimited(wait int, detail string) *wire.APIError {
	return &wire.APIError{Code: wire.RateLimitExceeded, Detail: detail, RetryAfter: max(1, wait)}
}

// writeProblem answers with an error in the envelope of a REST surface.
func writeProblem(x *exchange, f *wire.APIError) { x.writeError(f, "") }

// writeError answers with an error. on is the value of Vary, "" for none.
func (x *exchange) writeError(f *wire.APIError, on string) {
	resp := &x.Ctx.Response
	status := f.Status(x.surface.codes)
	resp.ResetBody()
	resp.SetStatusCode(status)
	resp.Header.SetContentType(x.surface.errorType)

	x.beginHead()
	x.Head.Set(fasthttp.HeaderCacheControl, x.surface.private)
	if f.RetryAfter > 0 {
		x.setInt(fasthttp.HeaderRetryAfter, int64(f.RetryAfter))
	}
	if status == fasthttp.StatusUnauthorized {
		x.Head.Set(fasthttp.HeaderWWWAuthenticate, x.surface.challenge)
	}
	x.ignoredHead()
	if f.Code == wire.SnapshotGone {
		x.Head.Set("X-Snapshot-Id", x.request.View.ID)
	}
	if f.Code == wire.RangeNotSatisfiable {
		x.Head.Set(fasthttp.HeaderContentRange, "bytes */"+wire.Decimal(x.reply.File.About.Bytes))
	}
	x.vary(on)
	x.Head.Send(&resp.Header)

	x.reply.Body = x.surface.encodeError(x.reply.Body[:0], x.s.BaseURL, *f, string(x.id))
	resp.SetBody(x.reply.Body)
}

// beginHead begins the head of a response with the lines that all responses of a surface have.
func (x *exchange) beginHead() {
	x.writeRequestID()
	x.surface.limits(x)
}

// writeRequestID begins the head of a response with its request id.
func (x *exchange) writeRequestID() {
	x.Head.Reset()
	x.Head.SetBytes("X-Request-Id", x.id)
	x.hasRequestID = true
}

// completeHead sends the request id and the rest of the head, unless they were sent.
func (x *exchange) completeHead() {
	if x.hasRequestID {
		return
	}

	h := &x.Ctx.Response.Header

	// With configured origins even a 404 depends on the origin.
	if len(x.s.Origins) > 0 && !x.hasVary && len(h.Peek(fasthttp.HeaderVary)) == 0 {
		x.vary("")
	}
	x.Head.SetBytes("X-Request-Id", x.id)
	x.Head.Send(h)
}

// answer sends the reply as a success, or 304 if the caller has it.
func (x *exchange) answer() {
	resp := &x.Ctx.Response
	out := &x.reply
	content := out.Content()
	encoding := x.Encoding(len(content))

	if out.File != nil && !x.notModified {
		sendFile(x)
		return
	}

	// A 304 has the head lines that the 200 would have (RFC 9110, 15.4.5), except the link to the
	// next page.
	x.answerHead(encoding)
	if x.notModified {
		resp.SetStatusCode(fasthttp.StatusNotModified)
		x.Head.Send(&resp.Header)
		return
	}
	if len(out.Link) > 0 {
		x.Head.SetBytes("Link", out.Link)
	}
	x.Head.Send(&resp.Header)
	resp.Header.SetContentType("application/json")
	if out.CSV {
		resp.Header.SetContentType("text/csv; charset=utf-8")
	}

	switch {
	case out.Shared == nil:
		out.Body = x.Send(content, out.VaryingFrom, encoding, x.op.Cacheable)
	case encoding != "":
		x.Send(content, out.VaryingFrom, encoding, x.op.Cacheable)
	default:
		x.SendShared(content) // the View's own bytes
	}
}

// maxAge is max-age of live responses.
const maxAge = time.Minute

// answerHead writes the head lines that a success and its 304 share.
func (x *exchange) answerHead(encoding string) {
	head := &x.Head
	x.beginHead()

	// Not on preview: a replay is of another snapshot, and its meta has the instant.
	if x.surface.keySurface == keys.Live {
		id := x.request.View.ID
		if x.reply.Bulk != nil {
			id = x.reply.Bulk.ID
		}
		head.Set("X-Snapshot-Id", id)
	}
	x.ignoredHead()
	if unknown := x.reply.UnknownValues; len(unknown) > 0 {
		head.SetBytes("X-Unknown-Values", unknown)
	}
	if len(x.reply.Interpretation) > 0 {
		head.SetBytes("X-Search-Interpretation", x.reply.Interpretation)
	}

	if x.reply.Bulk != nil {
		bulkHead(x)
	}

	switch {
	case x.op.GivesCSV:
		x.vary("Accept, " + varyBySnapshot)
	case x.surface == &liveSurface:
		x.vary(varyBySnapshot)
	default:
		x.vary(varyByKey)
	}

	next := x.s.nextPublication(x.time)
	left := next.Sub(x.time)
	switch {
	case x.reply.File != nil: // bulkHead has its own
	case x.reply.RetryAfter > 0:
		head.Set(fasthttp.HeaderCacheControl, x.surface.private)
		x.setInt(fasthttp.HeaderRetryAfter, int64(x.reply.RetryAfter))
	case x.op.Cacheable && x.surface == &liveSurface && !next.IsZero() && left < maxAge:
		// A copy must not outlive the snapshot. The clock may be a moment ahead of the release's.
		head.Name(fasthttp.HeaderCacheControl)
		head.Append(func(dst []byte) []byte {
			return wire.AppendInt(dst, "private, max-age=", max(1, int64(left/time.Second)))
		})
	case x.op.Cacheable:
		head.Set(fasthttp.HeaderCacheControl, x.surface.cacheable)
	default:
		head.Set(fasthttp.HeaderCacheControl, x.surface.private)
	}
	if x.reply.HasETag {
		x.SetETag(x.reply.Tag, encoding)
	}
}

// ignoredHead names the parameters that had no effect, on an error too: a misspelt one may be its
// cause.
func (x *exchange) ignoredHead() {
	unknown := x.request.Args.Unknown()
	if len(unknown) > 0 && x.surface.keySurface == keys.Live {
		x.Head.Set("X-Ignored-Params", strings.Join(unknown, ", "))
	}
}

// varyByKey is the Vary of a response of the API.
const varyByKey = "Authorization, X-API-Key, Accept-Encoding"

// varyBySnapshot is that of the live surface.
const varyBySnapshot = varyByKey + ", X-Snapshot-Id"

// protocolError answers what could not be read as a request, without echoing it. The envelope is
// that of the path's surface if the head was valid, else the live one (decision 3).
func (s *Server) protocolError(ctx *fasthttp.RequestCtx, err error) {
	// Headers that were read in part are not trusted. The guard knows the valid ones.
	ctx.Request.Reset()
	conn, guarded := ctx.Conn().(*httpconn.Conn)
	known := guarded && conn.RestoreHead(&ctx.Request)
	if guarded && conn.Err() != nil {
		err = conn.Err() // fasthttp may return another error
	}

	var fault *framing.RequestError
	if known && errors.As(err, &fault) &&
		(fault.Kind == framing.Unauthenticated || fault.Kind == framing.BodyTooLarge && s.isListUpload(ctx)) {
		s.answerWithoutBody(ctx, conn)
		return
	}

	x, _ := exchanges.Get().(*exchange)
	x.start(s, ctx, time.Now())
	defer x.end()
	if known {
		if all := s.findRoutes(x); all != nil {
			x.route = all.routes[0]
			x.selectSurface() // the headers decide the surface
		}
	}
	x.refuse(protocolProblem(err))

	// fasthttp does this only for responses of a handler.
	ctx.Response.SkipBody = guarded && conn.IsHead()
	s.metrics.broken.Add(x.shard, 0, statusColumn(ctx.Response.StatusCode()), 1)
	ctx.SetConnectionClose()
}

// unreadBodyKey is the key of a context's unreadBody.
type unreadBodyKey struct{}

// unreadBody is the body of a request that is still on the connection; nil if it has no length.
type unreadBody struct{ io.Reader }

// answerWithoutBody answers a request whose body is not read, because its key does not
// authenticate. It gets the response of an empty body: 401 wherever a key is needed. The page of a
// list to value reads the body itself. The connection closes, because the body is on it.
func (s *Server) answerWithoutBody(ctx *fasthttp.RequestCtx, conn *httpconn.Conn) {
	ctx.SetUserValue(unreadBodyKey{}, unreadBody{conn.Content()})
	s.handleAt(ctx, time.Now())
	ctx.Response.SkipBody = conn.IsHead()
	ctx.SetConnectionClose()
}

// requestIDEncoding has five bits in a character.
var requestIDEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567")

// appendRequestID appends the caller's request id if it is valid, else a new one (decision 11).
func (x *exchange) appendRequestID(dst []byte) []byte {
	if given := x.Fields.RequestID; given != nil && validRequestID(given) {
		return append(dst, given...)
	}

	// 120 random bits: an id for correlation, not a secret.
	var random [16]byte
	binary.LittleEndian.PutUint64(random[:], rand.Uint64())  //nolint:gosec // see above
	binary.LittleEndian.PutUint64(random[8:], rand.Uint64()) //nolint:gosec // see above
	return requestIDEncoding.AppendEncode(append(dst, "req_"...), random[:15])
}

func validRequestID(id []byte) bool {
	if len(id) < 5 || len(id) > 68 || string(id[:4]) != "req_" {
		return false
	}
	for _, b := range id[4:] {
		word := 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_' || b == '-'
		if !word {
			return false
		}
	}
	return true
}

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
