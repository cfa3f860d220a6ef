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

// OpenAPIDocuments are a server's OpenAPI document, whole and a surface at a time, by path, with the
// encodings of each. They never change, and servers may share them.
type OpenAPIDocuments map[string]document

// openAPIPath is the path of the whole document.
const openAPIPath = "/openapi.json"

// NewOpenAPIDocuments renders the documents of a server at baseURL, a program of a version, with the
// preview contract or without it. Product ids begin with productPrefix; "" means prd.
func NewOpenAPIDocuments(baseURL, productPrefix, version string, preview bool) (OpenAPIDocuments, error) {
	scopes := map[string]openapi.Scope{"/openapi.live.json": openapi.Live}
	if preview {
		scopes[openAPIPath] = openapi.Both
		scopes["/openapi.preview.json"] = openapi.Preview
	}

	documents := OpenAPIDocuments{}
	for path, scope := range scopes {
		text, err := openapi.Render(strings.TrimSuffix(baseURL, "/"), version, scope)
		if err != nil {
			return nil, fmt.Errorf("cannot render the OpenAPI document: %w", err)
		}
		if productPrefix != "" {
			text = openapi.WithProductPrefix(text, productPrefix)
		}
		documents[path] = newDocument("application/json", text)
	}
	if !preview {
		documents[openAPIPath] = documents["/openapi.live.json"]
	}
	return documents, nil
}

// Text returns the whole document in JSON. It must not be changed.
func (all OpenAPIDocuments) Text() []byte { return all[openAPIPath].encodings[""] }

// sendDocument answers GET with a document, without a key and to any origin (decision 4).
func (x *exchange) sendDocument(document document) {
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
