package server

import (
	"github.com/valyala/fasthttp"

	"ninepocket/site"
)

const referencePath = "/docs"

// referencePolicy is pagePolicy for the API reference, as strict as Scalar runs under: it puts style elements and
// attributes into the page, which neither a nonce nor hashes cover; it needs no font, no image and no other host.
const referencePolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self'; connect-src 'self'; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

// asset is a file of the site with its encodings, made once.
type asset struct {
	document
	name      string
	mediaType string
	gzipOnly  bool // kept compressed alone: it is large, and every browser takes gzip
}

func newAsset(a *site.Asset) *asset {
	if a.Gzip {
		return &asset{document: document{gzip: a.Content}, name: a.Name, mediaType: a.Type, gzipOnly: true}
	}
	return &asset{document: newDocument(a.Content), name: a.Name, mediaType: a.Type}
}

// asset answers GET /assets/{name}.
func (x *exchange) asset() {
	name, _ := x.pathID()
	a := x.s.assets[name]
	if a == nil {
		x.lost()
		return
	}
	r := &x.ctx.Response
	h := &r.Header
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set(fasthttp.HeaderCacheControl, assetCache)
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox") // of an SVG that is opened by itself
	x.vary(fasthttp.HeaderAcceptEncoding)
	encoding := "gzip"
	if !a.gzipOnly {
		encoding = x.encoding(len(a.plain))
	}
	x.text = append(append(append(x.text[:0], '"'), a.name...), '"')
	h.SetBytesV(fasthttp.HeaderETag, x.text)
	r.Header.SetContentType(a.mediaType)
	if encoding != "" {
		h.Set(fasthttp.HeaderContentEncoding, encoding)
	}
	r.SetBodyRaw(a.in(encoding))
}

// reference answers GET /docs.
func (x *exchange) reference() {
	var err error
	if x.body, err = x.s.Pages.Reference(x.body); err != nil {
		x.failPage(err)
		return
	}
	x.mediaType = htmlType
	x.sendPage(fasthttp.StatusOK, plainCache)
}

// guide answers GET /llms.txt.
func (x *exchange) guide() {
	x.mediaType = "text/plain; charset=utf-8"
	x.body = x.s.Pages.AppendGuide(x.body)
	x.sendPage(fasthttp.StatusOK, plainCache)
}

// robots answers GET /robots.txt.
func (x *exchange) robots() {
	x.mediaType = "text/plain; charset=utf-8"
	x.body = x.s.Pages.AppendRobots(x.body)
	x.sendPage(fasthttp.StatusOK, plainCache)
}
