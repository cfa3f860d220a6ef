package server

import (
	"bytes"

	"ninepocket/access"
	"ninepocket/wire"
)

// surface is one of the two contracts: how it takes a key, spells an error and shows limits.
type surface struct {
	meanings  map[wire.Code]wire.Meaning
	errorType string // content type of errors
	challenge string // WWW-Authenticate of a 401
	strict    bool   // unknown query parameters and body members are errors
	bearer    bool   // Authorization: Bearer is taken
	cacheable string // Cache-Control of a success
	append    func(dst []byte, baseURL string, f wire.Fault, requestID string) []byte
	noKey     func(error) wire.Fault // what a failed authentication is
	wrongKind wire.Fault             // what a key of the other surface gets
	kind      access.Kind
	addLimits func(*exchange) // to the head of the answer
}

// credentials are the keys that a request carries.
type credentials struct {
	header, bearer []byte // X-API-Key and Authorization: Bearer, nil when absent
	malformed      bool   // an Authorization header that is not Bearer
}

// key is the one key of the request; false when two differ or none is there.
func (c *credentials) key() (key []byte, ok bool) {
	switch {
	case c.malformed:
		return nil, false
	case c.header != nil && c.bearer != nil:
		return c.header, bytes.Equal(c.header, c.bearer)
	case c.header != nil:
		return c.header, true
	}
	return c.bearer, c.bearer != nil
}

// kind is the kind of key that the request seems to carry, by its prefix alone (decision 1).
func (c *credentials) kind() access.Kind {
	if c.header != nil {
		return access.KindOf(c.header)
	}
	return access.KindOf(c.bearer)
}

var bearerPrefix = []byte("bearer ")

// readCredentials reads the key headers of a request, each of which comes at most once (package strict).
func (x *exchange) readCredentials() {
	x.creds = credentials{}
	if len(x.asked.apiKey) > 0 {
		x.creds.header = x.asked.apiKey
	}
	auth := x.asked.authorization
	if len(auth) == 0 {
		return
	}
	if len(auth) > len(bearerPrefix) && bytes.EqualFold(auth[:len(bearerPrefix)], bearerPrefix) {
		x.creds.bearer = bytes.TrimLeft(auth[len(bearerPrefix):], " ")
		return
	}
	x.creds.malformed = true
}

// choose decides which surface answers: the path's only one, or on a shared path the one that the key's prefix
// names, or the default (decision 1).
func (x *exchange) choose() {
	p := x.path
	preview := p.live == nil && p.preview != nil
	if p.live != nil && p.preview != nil {
		switch x.creds.kind() {
		case access.Preview:
			preview = true
		case access.NoKind:
			preview = x.s.DefaultPreview && x.creds.header == nil && x.creds.bearer == nil
		case access.Live, access.Sandbox:
		}
	}
	x.surface, x.op = &liveSurface, p.live
	if preview {
		x.surface, x.op = &previewSurface, p.preview
	}
}
