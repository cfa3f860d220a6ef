package server

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"ninepocket/access"
	"ninepocket/wire"
)

func decimal(v int64) string { return strconv.FormatInt(v, 10) }

// refuse answers with an error in the envelope of the exchange's surface.
func (x *exchange) refuse(f wire.Fault) {
	x.deny(f.Code)
	x.tell(f, "")
}

// tell is refuse without counting who was denied what; on is what else the answer depends on.
func (x *exchange) tell(f wire.Fault, on string) {
	r := &x.ctx.Response
	meaning := x.surface.meanings[f.Code]
	r.ResetBody()
	r.SetStatusCode(meaning.Status)
	r.Header.SetContentType(x.surface.errorType)
	x.begun()
	x.head.set(fasthttp.HeaderCacheControl, x.noStore())
	if f.RetryAfter > 0 {
		x.head.setInt(fasthttp.HeaderRetryAfter, int64(f.RetryAfter))
	}
	if meaning.Status == fasthttp.StatusUnauthorized {
		x.head.set(fasthttp.HeaderWWWAuthenticate, x.surface.challenge)
	}
	x.vary(on)
	x.head.send(&r.Header)
	x.body = x.surface.append(x.body[:0], x.s.BaseURL, f, string(x.id))
	r.SetBody(x.body)
}

// begun begins the head of an answer with what all answers of a surface have.
func (x *exchange) begun() {
	x.named()
	x.surface.addLimits(x)
}

// named begins the head of an answer with its request id.
func (x *exchange) named() {
	x.head.block = x.head.block[:0]
	x.head.setBytes("X-Request-Id", x.id)
	x.hasID = true
}

// noStore is the Cache-Control of what must not be kept.
func (x *exchange) noStore() string {
	if x.surface.kind == access.Preview {
		return x.surface.cacheable
	}
	return "no-store"
}

// answer sends the exchange's body as a success, or 304 when the caller has it.
func (x *exchange) answer() {
	r := &x.ctx.Response
	h := &x.head
	x.begun()
	if x.surface.kind == access.Live {
		h.set("X-Snapshot-Id", x.view.ID) // a preview replay is of another snapshot; its meta tells the instant
	}
	if len(x.args.unknown) > 0 { // at most ten, percent-encoded (decision 5)
		h.set("X-Ignored-Params", strings.Join(x.args.unknown, ", "))
	}
	content := x.content()
	encoding := x.encoding(len(content))
	x.vary("Authorization, X-API-Key, Accept-Encoding")
	switch {
	case x.op.name == access.UsageGet || x.ctx.IsPost():
		h.set(fasthttp.HeaderCacheControl, x.noStore())
	default:
		h.set(fasthttp.HeaderCacheControl, x.surface.cacheable)
	}
	if x.hasETag {
		h.name(fasthttp.HeaderETag)
		h.block = appendETag(h.block, x.etag, encoding)
	}
	if x.notModified {
		r.SetStatusCode(fasthttp.StatusNotModified)
		h.send(&r.Header)
		return
	}
	if len(x.link) > 0 {
		h.setBytes("Link", x.link)
	}
	h.send(&r.Header)
	r.Header.SetContentType("application/json")
	if encoding != "" {
		x.compress(content, encoding, !x.ctx.IsPost() && x.op.name != access.UsageGet)
		return
	}
	if x.stored != nil {
		r.SetBodyRaw(content) // the View's own bytes, never written to
		return
	}
	x.body = r.SwapBody(content) // the buffers change owners instead of being copied
}

const tagAlphabet = "0123456789abcdefghijklmnopqrstuv"

// appendETag appends a strong validator; each encoding of a body has its own (decision 9).
func appendETag(dst []byte, tag uint64, encoding string) []byte {
	dst = append(dst, '"')
	for range 12 { // five bits each, and the last four
		dst = append(dst, tagAlphabet[tag&31])
		tag >>= 5
	}
	dst = append(dst, tagAlphabet[tag])
	if encoding != "" {
		dst = append(dst, '-')
		dst = append(dst, encoding...)
	}
	return append(dst, '"')
}

// matches reports whether If-None-Match names the answer in the encoding that it would have, by weak comparison.
func (x *exchange) matches(encoding string) bool {
	list := x.asked.noneMatch
	if x.asked.repeated&repeatedNoneMatch != 0 {
		list = x.field(fasthttp.HeaderIfNoneMatch)
	}
	if len(list) == 0 {
		return false
	}
	x.text = appendETag(x.text[:0], x.etag, encoding)
	for len(list) > 0 {
		var one []byte
		one, list, _ = bytes.Cut(list, []byte{','})
		one = bytes.TrimSpace(one)
		if string(one) == "*" || bytes.Equal(bytes.TrimPrefix(one, []byte("W/")), x.text) {
			return true
		}
	}
	return false
}

// field is the value of a request's list header; several lines are one list.
func (x *exchange) field(name string) []byte {
	lines := x.ctx.Request.Header.PeekAll(name)
	if len(lines) == 1 {
		return lines[0]
	}
	return bytes.Join(lines, []byte{','})
}

// protocolError answers what could not be read as a request, without echoing it: in the envelope of the path's surface
// where the head was good, else in the live one (decision 3).
func (s *Server) protocolError(ctx *fasthttp.RequestCtx, err error) {
	x, _ := exchanges.Get().(*exchange)
	ctx.Request.Reset() // half-read headers are not to be believed
	c, guarded := ctx.Conn().(*conn)
	known := guarded && c.recall(&ctx.Request)
	if guarded && c.err != nil {
		err = c.err // whatever fasthttp made of it
	}
	x.begin(s, ctx, time.Now())
	defer x.end()
	if known {
		if x.path = s.row(string(spelt(ctx))); x.path != nil {
			x.choose() // the headers tell the surface
		}
	}
	x.refuse(protocolFault(err))
	ctx.Response.SkipBody = guarded && c.guard.IsHead() // fasthttp sees to it only for what a handler answers
	s.counts.broken.Add(x.shard, 0, statusColumn(ctx.Response.StatusCode()), 1)
	ctx.SetConnectionClose()
}
