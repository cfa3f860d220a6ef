package server

import (
	"fmt"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/valyala/fasthttp"

	"ninepocket/server/httpconn"
	"ninepocket/wire/openapi"
)

// document is a text that never changes, with its encodings, compressed once.
type document struct {
	encodings map[string][]byte // by encoding, "" for plain
	etag      uint64
	mediaType string
}

func newDocument(mediaType string, text []byte) document {
	return document{mediaType: mediaType, etag: xxhash.Sum64(text), encodings: map[string][]byte{
		"": text, "gzip": httpconn.Compressed(text, "gzip"), "zstd": httpconn.Compressed(text, "zstd"),
	}}
}

// OpenAPIDocument is a server's OpenAPI document, whole and a surface at a time, with the encodings
// of each. It never changes, and servers may share one.
type OpenAPIDocument struct{ whole, live, preview document }

// NewOpenAPIDocument renders the document of a server at baseURL, a program of a version, with the
// preview contract or without it. Product ids begin with productPrefix; "" means prd.
func NewOpenAPIDocument(baseURL, productPrefix, version string, preview bool) (*OpenAPIDocument, error) {
	render := func(scope openapi.Scope) (document, error) {
		text, err := openapi.Render(strings.TrimSuffix(baseURL, "/"), version, scope)
		if err != nil {
			return document{}, fmt.Errorf("cannot render the OpenAPI document: %w", err)
		}

		if productPrefix != "" {
			text = openapi.WithProductPrefix(text, productPrefix)
		}
		return newDocument("application/json", text), nil
	}

	live, err := render(openapi.Live)
	if err != nil || !preview {
		return &OpenAPIDocument{whole: live, live: live}, err
	}
	whole, err := render(openapi.Both)
	if err != nil {
		return nil, err
	}
	alone, err := render(openapi.Preview)
	return &OpenAPIDocument{whole, live, alone}, err
}

// Text returns the whole document in JSON. It must not be changed.
func (c *OpenAPIDocument) Text() []byte { return c.whole.encodings[""] }

// The documents of a server, by path.
func (x *exchange) openapi()        { x.sendDocument(&x.s.OpenAPI.whole) }
func (x *exchange) openapiLive()    { x.sendDocument(&x.s.OpenAPI.live) }
func (x *exchange) openapiPreview() { x.sendDocument(&x.s.OpenAPI.preview) }

// sendDocument answers GET with a document, without a key and to any origin (decision 4).
func (x *exchange) sendDocument(document *document) {
	encoding := x.Encoding(len(document.encodings[""]))

	// Any origin may read it: this replaces a configured one (see allowOrigin).
	x.Ctx.Response.Header.Set(fasthttp.HeaderAccessControlAllowOrigin, "*")
	x.writeRequestID()
	x.Head.Set(fasthttp.HeaderCacheControl, "public, max-age=300")
	x.Head.Set(fasthttp.HeaderVary, fasthttp.HeaderAcceptEncoding)

	resp := &x.Ctx.Response
	x.SetETag(document.etag, encoding)
	x.Head.Send(&resp.Header)
	if x.Matches(document.etag, encoding) {
		resp.SetStatusCode(fasthttp.StatusNotModified)
		return
	}

	resp.Header.SetContentType(document.mediaType)
	if encoding != "" {
		x.SetEncoding(encoding)
	}
	x.SendShared(document.encodings[encoding])
}

// healthz answers GET /healthz: whether requests are served and will be, for load balancers.
func (x *exchange) healthz() {
	resp := &x.Ctx.Response
	resp.Header.SetContentType("application/json")
	resp.Header.Set(fasthttp.HeaderCacheControl, "no-store")

	status := "ok"
	view := x.s.Engine.View()
	switch {
	case x.s.draining.Load():
		status = "draining"
	case view == nil:
		status = "loading"
	case x.s.Metering != nil && x.s.Metering() != nil:
		status = "unmetered"
	}

	if status != "ok" {
		resp.SetStatusCode(fasthttp.StatusServiceUnavailable)
	}
	snapshot := "null"
	if view != nil {
		snapshot = `"` + view.ID + `"`
	}
	resp.SetBodyString(`{"status":"` + status + `","snapshot_id":` + snapshot + `}`)
}
