package server

import (
	"encoding/base32"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"ninepocket/access/keys"
	"ninepocket/server/framing"
	"ninepocket/server/httpconn"
	"ninepocket/wire"
)

// refuse answers with an error in the envelope of the surface, and counts who was denied what.
func (x *exchange) refuse(f *wire.APIError) {
	x.s.metrics.denied(x.shard, x.surface, f.Code)
	x.surface.writeError(x, f)
}

// problem is a fault that no retry mends.
func problem(code wire.Code, detail string) *wire.APIError {
	return &wire.APIError{Code: code, Detail: detail}
}

// writeProblem tells an error in the envelope of a REST surface.
func writeProblem(x *exchange, f *wire.APIError) { x.writeError(f, "") }

// writeError answers with an error. on is the value of Vary, "" for none.
func (x *exchange) writeError(f *wire.APIError, on string) {
	resp := &x.Ctx.Response
	meaning := x.surface.codes[f.Code]
	resp.ResetBody()
	resp.SetStatusCode(meaning.Status)
	resp.Header.SetContentType(x.surface.errorType)

	x.beginHead()
	x.Head.Set(fasthttp.HeaderCacheControl, x.surface.private)
	if f.RetryAfter > 0 {
		x.Head.SetInt(fasthttp.HeaderRetryAfter, int64(f.RetryAfter))
	}
	if meaning.Status == fasthttp.StatusUnauthorized {
		x.Head.Set(fasthttp.HeaderWWWAuthenticate, x.surface.challenge)
	}
	x.ignoredHead()
	x.vary(on)
	x.Head.Send(&resp.Header)

	x.reply.Body = x.surface.encodeError(x.reply.Body[:0], x.s.BaseURL, *f, string(x.id))
	resp.SetBody(x.reply.Body)
}

// beginHead begins the head of an answer with what all answers of a surface have.
func (x *exchange) beginHead() {
	x.writeRequestID()
	x.surface.limits(x)
}

// writeRequestID begins the head of an answer with its request id.
func (x *exchange) writeRequestID() {
	x.Head.Reset()
	x.Head.SetBytes("X-Request-Id", x.id)
	x.named = true
}

// nameAnswer sends the request id and the rest of the head, unless they were sent.
func (x *exchange) nameAnswer() {
	if x.named {
		return
	}

	h := &x.Ctx.Response.Header

	// With configured origins even a 404 depends on who asks from where.
	if len(x.s.Origins) > 0 && !x.varies && len(h.Peek(fasthttp.HeaderVary)) == 0 {
		x.vary("")
	}
	x.Head.SetBytes("X-Request-Id", x.id)
	x.Head.Send(h)
}

// answer sends the reply as a success, or 304 when the caller has it.
func (x *exchange) answer() {
	resp := &x.Ctx.Response
	out := &x.reply
	content := out.Content()
	encoding := x.Encoding(len(content))

	// A 304 has the head lines that the 200 would have (RFC 9110, 15.4.5), but for the next page.
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

	switch {
	case out.Shared == nil:
		out.Body = x.Send(content, out.VaryingFrom, encoding, x.op.Cacheable)
	case encoding != "":
		x.Send(content, out.VaryingFrom, encoding, x.op.Cacheable)
	default:
		x.SendShared(content) // the View's own bytes
	}
}

// answerHead makes the head lines that a success and its 304 share.
func (x *exchange) answerHead(encoding string) {
	head := &x.Head
	x.beginHead()

	// Not on preview: a replay is of another snapshot, and its meta tells the instant.
	if x.surface.kind == keys.Live {
		head.Set("X-Snapshot-Id", x.request.View.ID)
	}
	x.ignoredHead()
	if unknown := x.reply.UnknownValues; len(unknown) > 0 {
		head.SetBytes("X-Unknown-Values", unknown)
	}
	if len(x.reply.Interpretation) > 0 {
		head.SetBytes("X-Search-Interpretation", x.reply.Interpretation)
	}

	x.vary(varyByKey)
	if x.op.Cacheable {
		head.Set(fasthttp.HeaderCacheControl, x.surface.cacheable)
	} else {
		head.Set(fasthttp.HeaderCacheControl, x.surface.private)
	}
	if x.reply.HasETag {
		x.SetETag(x.reply.Tag, encoding)
	}
}

// ignoredHead names the parameters that had no effect, on an error too: a misspelt one may be why.
func (x *exchange) ignoredHead() {
	unknown := x.request.Args.Unknown()
	if len(unknown) > 0 && x.surface.kind == keys.Live {
		x.Head.Set("X-Ignored-Params", strings.Join(unknown, ", "))
	}
}

// varyByKey is what an answer of the API depends on.
const varyByKey = "Authorization, X-API-Key, Accept-Encoding"

// protocolError answers what could not be read as a request, without echoing it: in the envelope of
// the path's surface where the head was good, else in the live one (decision 3).
func (s *Server) protocolError(ctx *fasthttp.RequestCtx, err error) {
	// Half-read headers are not to be believed. The guard knows what was good of them.
	ctx.Request.Reset()
	conn, guarded := ctx.Conn().(*httpconn.Conn)
	known := guarded && conn.RestoreHead(&ctx.Request)
	if guarded && conn.Err() != nil {
		err = conn.Err() // whatever fasthttp made of it
	}

	var fault *framing.RequestError
	if known && errors.As(err, &fault) &&
		(fault.Kind == framing.Unwelcome || fault.Kind == framing.BodyTooLarge && s.takesList(ctx)) {
		s.turnAway(ctx, conn)
		return
	}

	x, _ := exchanges.Get().(*exchange)
	x.start(s, ctx, time.Now())
	defer x.end()
	if known {
		if all := s.find(x); all != nil {
			x.path = all.siblings[0]
			x.selectSurface() // the headers tell the surface
		}
	}
	x.refuse(protocolFault(err))

	// fasthttp sees to it only for what a handler answers.
	ctx.Response.SkipBody = guarded && conn.IsHead()
	s.metrics.broken.Add(x.shard, 0, statusColumn(ctx.Response.StatusCode()), 1)
	ctx.SetConnectionClose()
}

// unread is the key of a context's unreadBody.
type unread struct{}

// unreadBody is the body of a request that is still on the connection, to be read as it comes; nil for one
// that has no length.
type unreadBody struct{ io.Reader }

// turnAway answers a request whose body is not read, because no key of it authenticates: as if it
// had none, which is 401 wherever a key is needed. A list to value is for its page to read. The connection
// ends, for the body is on it.
func (s *Server) turnAway(ctx *fasthttp.RequestCtx, conn *httpconn.Conn) {
	ctx.SetUserValue(unread{}, unreadBody{conn.Content()})
	s.handleAt(ctx, time.Now())
	ctx.Response.SkipBody = conn.IsHead()
	ctx.SetConnectionClose()
}

// idText spells five bits a character.
var idText = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567")

// appendRequestID takes the caller's id when it has the form, else mints one (decision 11).
func (x *exchange) appendRequestID(dst []byte) []byte {
	if given := x.Fields.RequestID; given != nil && validRequestID(given) {
		return append(dst, given...)
	}

	// 120 random bits: an id for correlation, not a secret.
	var random [16]byte
	binary.LittleEndian.PutUint64(random[:], rand.Uint64())  //nolint:gosec // see above
	binary.LittleEndian.PutUint64(random[8:], rand.Uint64()) //nolint:gosec // see above
	return idText.AppendEncode(append(dst, "req_"...), random[:15])
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
