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
func (v *visit) asset() {
	name, _ := v.request.PathID()
	a := v.s.assets[name]
	if a == nil {
		v.lost()
		return
	}
	r := &v.Ctx.Response
	h := &r.Header
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set(fasthttp.HeaderCacheControl, assetCache)
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox") // of an SVG that is opened by itself
	v.vary(fasthttp.HeaderAcceptEncoding)
	encoding := "gzip"
	if !a.gzipOnly {
		encoding = v.Encoding(len(a.plain))
	}
	v.text = append(append(append(v.text[:0], '"'), a.name...), '"')
	h.SetBytesV(fasthttp.HeaderETag, v.text)
	r.Header.SetContentType(a.mediaType)
	if encoding != "" {
		h.Set(fasthttp.HeaderContentEncoding, encoding)
	}
	r.SetBodyRaw(a.in(encoding))
}

// reference answers GET /docs.
func (v *visit) reference() {
	var err error
	if v.reply.Body, err = v.s.Pages.Reference(v.reply.Body); err != nil {
		v.failPage(err)
		return
	}
	v.mediaType = htmlType
	v.send(fasthttp.StatusOK, plainCache)
}

// guide answers GET /llms.txt.
func (v *visit) guide() {
	v.mediaType = "text/plain; charset=utf-8"
	v.reply.Body = v.s.Pages.AppendGuide(v.reply.Body)
	v.send(fasthttp.StatusOK, plainCache)
}

// robots answers GET /robots.txt.
func (v *visit) robots() {
	v.mediaType = "text/plain; charset=utf-8"
	v.reply.Body = v.s.Pages.AppendRobots(v.reply.Body)
	v.send(fasthttp.StatusOK, plainCache)
}
