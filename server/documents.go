package server

import (
	"fmt"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/valyala/fasthttp"

	"ninepocket/server/httpconn"
	"ninepocket/wire/openapi"
)

// document is a text that never changes, with its encodings, made once.
type document struct {
	in        map[string][]byte // by encoding, "" for plain
	etag      uint64
	mediaType string
}

func newDocument(mediaType string, text []byte) document {
	return document{mediaType: mediaType, etag: xxhash.Sum64(text), in: map[string][]byte{
		"": text, "gzip": httpconn.Compressed(text, "gzip"), "zstd": httpconn.Compressed(text, "zstd"),
	}}
}

// OpenAPIDocument is the OpenAPI document as a server serves it, with its encodings. It never
// changes, and servers may share one.
type OpenAPIDocument struct{ document }

// NewOpenAPIDocument renders the document of a server at baseURL whose product ids begin with
// productPrefix ("" means prd), with the preview contract or without it.
func NewOpenAPIDocument(baseURL, productPrefix string, preview bool) (*OpenAPIDocument, error) {
	text, err := openapi.Render(strings.TrimSuffix(baseURL, "/"), preview)
	if err != nil {
		return nil, fmt.Errorf("cannot render the OpenAPI document: %w", err)
	}

	if productPrefix != "" {
		text = openapi.WithProductPrefix(text, productPrefix)
	}
	return &OpenAPIDocument{newDocument("application/json", text)}, nil
}

// Text is the document in JSON. It is not to be changed.
func (c *OpenAPIDocument) Text() []byte { return c.in[""] }

// openapi answers GET /openapi.json, without a key and to any origin (decision 4).
func (x *exchange) openapi() {
	document := &x.s.Contract.document
	encoding := x.Encoding(len(document.in[""]))

	// Any origin may read it: that takes the place of a configured one (see allowOrigin).
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
		x.Encode(encoding)
	}
	x.SendShared(document.in[encoding])
}

// healthz answers GET /healthz: whether requests are served and will be, for whoever chooses
// between servers.
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
