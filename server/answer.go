package server

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"ninepocket/access"
	"ninepocket/wire"
)

func decimal(v int64) string { return strconv.FormatInt(v, 10) }

// refuse answers with an error in the envelope of the exchange's surface.
func (x *exchange) refuse(f wire.Fault) {
	r := &x.ctx.Response
	meaning := x.surface.meanings[f.Code]
	r.ResetBody()
	r.SetStatusCode(meaning.Status)
	h := &r.Header
	for _, name := range successOnly {
		h.Del(name)
	}
	x.vary("")
	h.SetContentType(x.surface.errorType)
	h.Set(fasthttp.HeaderCacheControl, x.noStore())
	if f.RetryAfter > 0 {
		x.setInt(fasthttp.HeaderRetryAfter, int64(f.RetryAfter))
	}
	if meaning.Status == fasthttp.StatusUnauthorized {
		h.Set(fasthttp.HeaderWWWAuthenticate, x.surface.challenge)
	}
	x.surface.showLimits(x)
	x.deny(f.Code)
	x.body = x.surface.append(x.body[:0], x.s.BaseURL, f, string(x.id))
	r.SetBody(x.body)
}

// successOnly are the headers that an operation may have set before its answer became an error.
var successOnly = []string{fasthttp.HeaderContentEncoding, fasthttp.HeaderETag, "Link", "X-Ignored-Params", "X-Snapshot-Id"}

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
	h := &r.Header
	x.surface.showLimits(x)
	if x.surface.kind == access.Live {
		h.Set("X-Snapshot-Id", x.view.ID) // a preview replay is of another snapshot; its meta tells the instant
	}
	x.nameIgnored()
	content := x.content()
	encoding := x.encoding(len(content))
	x.vary("Authorization, X-API-Key, Accept-Encoding")
	switch {
	case x.op.name == access.UsageGet || x.ctx.IsPost():
		h.Set(fasthttp.HeaderCacheControl, x.noStore())
	default:
		h.Set(fasthttp.HeaderCacheControl, x.surface.cacheable)
	}
	if x.hasETag {
		x.text = appendETag(x.text[:0], x.etag, encoding)
		h.SetBytesV(fasthttp.HeaderETag, x.text)
	}
	if x.notModified {
		r.SetStatusCode(fasthttp.StatusNotModified)
		h.Del("Link")
		return
	}
	h.SetContentType("application/json")
	if encoding != "" {
		x.compress(content, encoding)
		return
	}
	if x.stored != nil {
		r.SetBodyRaw(content) // the View's own bytes, never written to
		return
	}
	x.body = r.SwapBody(content) // the buffers change owners instead of being copied
}

// appendETag appends a strong validator; each encoding of a body has its own (decision 9).
func appendETag(dst []byte, tag uint64, encoding string) []byte {
	dst = append(dst, '"')
	dst = strconv.AppendUint(dst, tag, 36)
	if encoding != "" {
		dst = append(dst, '-')
		dst = append(dst, encoding...)
	}
	return append(dst, '"')
}

// matches reports whether If-None-Match names the answer in the encoding that it would have, by weak comparison.
func (x *exchange) matches(encoding string) bool {
	list := x.field(fasthttp.HeaderIfNoneMatch)
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

// nameIgnored names unknown query parameters, at most ten, percent-encoded (decision 5).
func (x *exchange) nameIgnored() {
	if len(x.args.unknown) > 0 {
		x.ctx.Response.Header.Set("X-Ignored-Params", strings.Join(x.args.unknown, ", "))
	}
}

// protocolError answers what fasthttp could not read as a request, without echoing it: in the envelope of the path's
// surface where the headers were read, else in the live one (decision 3).
func (s *Server) protocolError(ctx *fasthttp.RequestCtx, err error) {
	x, _ := exchanges.Get().(*exchange)
	whole := errors.Is(err, fasthttp.ErrBodyTooLarge)
	if !whole {
		ctx.Request.Header.Reset() // half-read headers are not to be believed
	}
	x.begin(s, ctx)
	defer x.end()
	if whole {
		if x.path = s.literal[string(ctx.URI().PathOriginal())]; x.path != nil {
			x.choose() // the headers tell the surface
		}
	}
	x.refuse(protocolFault(err))
	s.counts.broken.Add(x.shard, 0, statusColumn(ctx.Response.StatusCode()), 1)
	x.closeSlowly()
}
