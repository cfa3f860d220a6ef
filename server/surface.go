package server

import (
	"bytes"
	"errors"
	"strings"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/wire"
)

// surface is a contract: how it takes a key, reads a request, encodes an error and shows limits.
// There are four: live, preview, the gate of MCP, and MCP's tools.
type surface struct {
	name string
	// keySurface is the surface of its keys. On preview unknown query parameters and body members
	// are errors; live takes Authorization: Bearer, and its responses have validators and name
	// their snapshot.
	keySurface keys.Surface
	cacheable  string // Cache-Control of responses that depend on the snapshot and the request alone
	private    string // Cache-Control of everything else
	challenge  string // WWW-Authenticate of a 401
	errorType  string // content type of errors
	codes      map[wire.Code]wire.Meaning
	// encodeError appends the body of an error.
	encodeError func(dst []byte, baseURL string, f wire.APIError, requestID string) []byte

	noKey        *wire.APIError  // error of a request without a key
	badKey       *wire.APIError  // error of an invalid key
	wrongSurface *wire.APIError  // error of a key of the other surface
	suspended    wire.Code       // of a key whose tenant is suspended
	noCatalog    *wire.APIError  // error before the first catalog, nil for that of pages
	rates        *rateNames      // of the limits in its rate headers
	limits       func(*exchange) // adds the limits to the head of a response
	writeError   func(x *exchange, f *wire.APIError)
}

// invalidKeyError returns the error of a request whose key does not authenticate.
func (s *surface) invalidKeyError(err error) *wire.APIError {
	switch {
	case errors.Is(err, access.ErrUnavailable):
		return keysUnavailable
	case errors.Is(err, keys.ErrSuspended):
		return problem(s.suspended, "this account is suspended: ask the operator of this service")
	case errors.Is(err, keys.ErrSandbox): // on preview, wrongSurface comes first
		return problem(wire.SandboxKey, "this is a sandbox key: a live key is required")
	case errors.Is(err, keys.ErrRevoked):
		return problem(s.badKey.Code, "the API key was revoked: ask for another")
	case errors.Is(err, keys.ErrExpired):
		return problem(s.badKey.Code, "the API key has expired: ask for another")
	}
	return s.badKey
}

// missingKeyError returns the error of a request with no key, or with two different keys.
func (s *surface) missingKeyError(sent *credentials) *wire.APIError {
	switch {
	case sent.malformed && sent.header != nil:
		return problem(s.noKey.Code, "Authorization is not Bearer, though X-API-Key is there: leave Authorization out")
	case sent.malformed:
		return problem(s.noKey.Code, "Authorization is not Bearer: "+strings.TrimPrefix(s.noKey.Detail, "no API key: "))
	case sent.header != nil && sent.bearer != nil:
		return problem(s.noKey.Code, "Authorization and X-API-Key hold two different keys: send one of them alone")
	}
	return s.noKey
}

// credentials are the keys that a request carries.
type credentials struct {
	header    []byte // X-API-Key, nil when absent
	bearer    []byte // Authorization: Bearer, nil when absent
	malformed bool   // an Authorization header that is not Bearer
}

var bearerPrefix = []byte("bearer ")

// readCredentials reads the key headers of a request, each of which comes at most once (package
// framing).
func readCredentials(apiKey, authorization []byte) credentials {
	var sent credentials
	if len(apiKey) > 0 {
		sent.header = apiKey
	}

	n := len(bearerPrefix)
	switch {
	case len(authorization) == 0:
	case len(authorization) > n && bytes.EqualFold(authorization[:n], bearerPrefix):
		sent.bearer = bytes.TrimLeft(authorization[n:], " ")
	default:
		sent.malformed = true
	}
	return sent
}

// key returns the one key of the request; false if there is none, or if two differ.
func (sent *credentials) key() (key []byte, ok bool) {
	switch {
	case sent.malformed:
		return nil, false
	case sent.header != nil && sent.bearer != nil:
		return sent.header, bytes.Equal(sent.header, sent.bearer)
	case sent.header != nil:
		return sent.header, true
	}
	return sent.bearer, sent.bearer != nil
}

// surface returns the surface of the request's key, by its prefix alone (decision 1).
func (sent *credentials) surface() keys.Surface {
	if sent.header != nil {
		return keys.SurfaceOf(sent.header)
	}
	return keys.SurfaceOf(sent.bearer)
}

// selectSurface decides which surface answers: the path's only one, or on a shared path the one
// that the key's prefix names, or the default (decision 1). It sets the operation as well.
func (x *exchange) selectSurface() {
	p := x.route

	// An unknown prefix, and no key at all, get the default.
	preview := p.live == nil && p.preview != nil
	if p.live != nil && p.preview != nil {
		switch x.credentials.surface() {
		case keys.Preview:
			preview = true
		case keys.NoSurface:
			preview = x.s.DefaultPreview && x.credentials.header == nil && x.credentials.bearer == nil
		case keys.Live, keys.Sandbox:
		}
	}

	if preview {
		x.surface = &previewSurface
		x.op = p.preview
	} else {
		x.surface = &liveSurface
		if p.surface != nil {
			x.surface = p.surface
		}
		x.op = p.live
	}
}
