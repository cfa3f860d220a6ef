package server

import "github.com/valyala/fasthttp"

const referencePath = "/docs"

// The policies of files that are opened by themselves; an SVG has styles.
const (
	filePolicy  = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
	imagePolicy = "default-src 'none'; sandbox"
)

// asset answers GET /assets/{name}. A name holds a hash of the content, so that it is its own
// validator.
func (v *pageRequest) asset() {
	name, _ := v.x.request.PathID()
	a, known := v.x.s.assets[name]
	if !known {
		v.lost()
		return
	}

	encoding := v.x.Encoding(len(a.in[""]))

	resp := &v.x.Ctx.Response
	v.fileHead(assetCache, filePolicy)
	if encoding != "" {
		name += "-" + encoding // each encoding of a body has its own validator (decision 9)
	}
	v.x.Head.Set(fasthttp.HeaderETag, `"`+name+`"`)
	v.x.vary(fasthttp.HeaderAcceptEncoding)
	v.x.Head.Send(&resp.Header)

	resp.Header.SetContentType(a.mediaType)
	if encoding != "" {
		resp.Header.Set(fasthttp.HeaderContentEncoding, encoding) // what is compressed already is not counted
	}
	v.x.SendShared(a.in[encoding])
}

// reference answers GET /docs, also while no catalog is loaded.
func (v *pageRequest) reference() {
	if !v.admitted() {
		return
	}
	v.x.reply.Body = v.pages.Reference(v.x.reply.Body[:0], v.x.s.Engine.View(), v.time)
	v.mediaType = htmlType
	v.writePage(fasthttp.StatusOK, pageCache)
}

// guide answers GET /llms.txt.
func (v *pageRequest) guide() { v.sendPlain(textType, v.pages.AppendGuide(v.x.reply.Body[:0])) }

// robots answers GET /robots.txt.
func (v *pageRequest) robots() { v.sendPlain(textType, v.pages.AppendRobots(v.x.reply.Body[:0])) }

// sendPlain sends a page that does not depend on the catalog.
func (v *pageRequest) sendPlain(mediaType string, body []byte) {
	v.x.reply.Body = body
	v.mediaType = mediaType
	v.writePage(fasthttp.StatusOK, plainCache)
}
