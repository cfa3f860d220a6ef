package server

import (
	"github.com/valyala/fasthttp"

	"ninepocket/site"
)

const referencePath = "/docs"

// filePolicy is for an SVG that is opened by itself.
const filePolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

// asset is a file of the site with its encodings, made once.
type asset struct {
	document
	mediaType string
}

func newAsset(a *site.Asset) *asset {
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

	encoding := v.Encoding(len(a.in[""]))

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

// reference answers GET /docs, also while no catalog is loaded.
func (v *visit) reference() {
	if !v.admitted() {
		return
	}
	body, err := v.s.Pages.Reference(v.reply.Body[:0], v.s.Engine.View(), v.time)
	if err != nil {
		v.failPage(err)
		return
	}
	v.reply.Body = body
	v.mediaType = htmlType
	v.send(fasthttp.StatusOK, pageCache)
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
