package server

import (
	"github.com/valyala/fasthttp"

	"ninepocket/site"
)

const referencePath = "/docs"

// referencePolicy is pagePolicy for the API reference, as strict as Scalar runs under: it puts
// style elements and attributes into the page, which neither a nonce nor hashes cover; it needs no
// font, no image and no other host.
const referencePolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self'; " +
	"connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

// filePolicy is for an SVG that is opened by itself.
const filePolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

// asset is a file of the site with its encodings, made once.
type asset struct {
	document
	mediaType string
	gzipOnly  bool // kept compressed alone: it is large, and every browser takes gzip
}

func newAsset(a *site.Asset) *asset {
	if a.Gzip {
		only := document{in: map[string][]byte{"gzip": a.Content}}
		return &asset{document: only, mediaType: a.Type, gzipOnly: true}
	}
	return &asset{document: newDocument(a.Content), mediaType: a.Type}
}

// asset answers GET /assets/{name}. A name holds a hash of the content, so that it is its own
// validator.
func (v *visit) asset() {
	name, _ := v.request.PathID()
	a := v.s.assets[name]
	if a == nil {
		v.lost()
		return
	}

	encoding := "gzip"
	if !a.gzipOnly {
		encoding = v.Encoding(len(a.in[""]))
	}

	resp := &v.Ctx.Response
	v.nameHead()
	v.Head.Set("X-Content-Type-Options", "nosniff")
	v.Head.Set(fasthttp.HeaderCacheControl, assetCache)
	v.Head.Set("Content-Security-Policy", filePolicy)
	v.Head.Set(fasthttp.HeaderETag, assetTag(name, encoding))
	v.vary(fasthttp.HeaderAcceptEncoding)
	v.Head.Send(&resp.Header)

	resp.Header.SetContentType(a.mediaType)
	if encoding != "" {
		resp.Header.Set(fasthttp.HeaderContentEncoding, encoding) // what is compressed already is not counted
	}
	v.SendShared(a.in[encoding])
}

// assetTag is an asset's validator: each encoding of a body has its own (decision 9).
func assetTag(name, encoding string) string {
	if encoding == "" {
		return `"` + name + `"`
	}
	return `"` + name + "-" + encoding + `"`
}

// reference answers GET /docs.
func (v *visit) reference() {
	body, err := v.s.Pages.Reference(v.reply.Body[:0])
	if err != nil {
		v.failPage(err)
		return
	}
	v.sendPlain(htmlType, body)
}

// guide answers GET /llms.txt.
func (v *visit) guide() { v.sendPlain(textType, v.s.Pages.AppendGuide(v.reply.Body[:0])) }

// robots answers GET /robots.txt.
func (v *visit) robots() { v.sendPlain(textType, v.s.Pages.AppendRobots(v.reply.Body[:0])) }

// sendPlain sends a page that does not depend on the catalog.
func (v *visit) sendPlain(mediaType string, body []byte) {
	v.reply.Body = body
	v.mediaType = mediaType
	v.send(fasthttp.StatusOK, plainCache)
}
