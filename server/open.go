package server

import (
	"github.com/cespare/xxhash/v2"
	"github.com/valyala/fasthttp"
)

// document is the OpenAPI document with its encodings, made once.
type document struct {
	plain, gzip, zstd []byte
	etag              uint64
}

func newDocument(text []byte) document {
	return document{plain: text, gzip: compressed(text, "gzip"), zstd: compressed(text, "zstd"), etag: xxhash.Sum64(text)}
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
	r := &x.ctx.Response
	h := &r.Header
	d := &x.s.document
	encoding := x.encoding(len(d.plain))
	h.Set(fasthttp.HeaderAccessControlAllowOrigin, "*")
	h.Set(fasthttp.HeaderCacheControl, "public, max-age=300")
	h.Set(fasthttp.HeaderVary, fasthttp.HeaderAcceptEncoding)
	x.etag = d.etag
	x.text = appendETag(x.text[:0], d.etag, encoding)
	h.SetBytesV(fasthttp.HeaderETag, x.text)
	if x.matches(encoding) {
		r.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	h.SetContentType("application/json")
	if encoding != "" {
		x.encoded(encoding)
	}
	r.SetBodyRaw(d.in(encoding))
}

// healthz answers GET /healthz: whether requests are served at all.
func (x *exchange) healthz() {
	r := &x.ctx.Response
	r.Header.SetContentType("application/json")
	r.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	if v := x.s.Engine.View(); v != nil {
		x.body = append(x.body, `{"status":"ok","snapshot_id":"`...)
		x.body = append(x.body, v.ID...)
		x.body = append(x.body, `"}`...)
	} else {
		r.SetStatusCode(fasthttp.StatusServiceUnavailable)
		x.body = append(x.body, `{"status":"loading","snapshot_id":null}`...)
	}
	r.SetBody(x.body)
}
