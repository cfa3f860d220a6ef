package server

import (
	"github.com/cespare/xxhash/v2"
	"github.com/valyala/fasthttp"

	"ninepocket/server/front"
)

// document is the OpenAPI document with its encodings, made once.
type document struct {
	plain, gzip, zstd []byte
	etag              uint64
}

func newDocument(text []byte) document {
	return document{plain: text, gzip: front.Compressed(text, "gzip"), zstd: front.Compressed(text, "zstd"), etag: xxhash.Sum64(text)}
}

func (d *document) in(encoding string) []byte {
	switch encoding {
	case "gzip":
		return d.gzip
	case "zstd":
		return d.zstd
	}
	return d.plain
}

// openapi answers GET /openapi.json, without a key and to any origin (decision 4).
func (x *exchange) openapi() {
	r := &x.Ctx.Response
	h := &r.Header
	d := &x.s.document
	encoding := x.Encoding(len(d.plain))
	h.Set(fasthttp.HeaderAccessControlAllowOrigin, "*")
	h.Set(fasthttp.HeaderCacheControl, "public, max-age=300")
	h.Set(fasthttp.HeaderVary, fasthttp.HeaderAcceptEncoding)
	x.text = front.AppendETag(x.text[:0], d.etag, encoding)
	h.SetBytesV(fasthttp.HeaderETag, x.text)
	if x.Matches(d.etag, encoding) {
		r.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	h.SetContentType("application/json")
	if encoding != "" {
		x.Encode(encoding)
	}
	r.SetBodyRaw(d.in(encoding))
}

// healthz answers GET /healthz: whether requests are served at all.
func (x *exchange) healthz() {
	r := &x.Ctx.Response
	r.Header.SetContentType("application/json")
	r.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	if v := x.s.Engine.View(); v != nil {
		x.reply.Body = append(x.reply.Body, `{"status":"ok","snapshot_id":"`...)
		x.reply.Body = append(x.reply.Body, v.ID...)
		x.reply.Body = append(x.reply.Body, `"}`...)
	} else {
		r.SetStatusCode(fasthttp.StatusServiceUnavailable)
		x.reply.Body = append(x.reply.Body, `{"status":"loading","snapshot_id":null}`...)
	}
	r.SetBody(x.reply.Body)
}
