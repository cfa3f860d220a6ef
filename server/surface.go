package server

import (
	"bytes"
	"errors"
	"strings"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/wire"
)

// surface is a contract: how it takes a key, reads a request, spells an error and shows limits.
// There are four: live, preview, the gate of MCP, and MCP's tools.
type surface struct {
	name string
	// kind is of the keys that it takes. On preview unknown query parameters and body members are errors;
	// on live Authorization: Bearer is taken, and answers have validators and name their snapshot.
	kind      keys.Surface
	cacheable string // Cache-Control of what follows from the snapshot and the request
	private   string // Cache-Control of everything else
	challenge string // WWW-Authenticate of a 401
	errorType string // content type of errors
	codes     map[wire.Code]wire.Meaning
	// appends the body of an error
	encodeError func(dst []byte, baseURL string, f wire.APIError, requestID string) []byte

	noKey      *wire.APIError  // what a request without a key is told
	badKey     *wire.APIError  // and one whose key is none
	wrongKind  *wire.APIError  // what a key of the other surface gets
	noCatalog  *wire.APIError  // what is told before the first catalog, nil for what pages are told
	limits     func(*exchange) // adds the lines that show limits to the head of an answer
	writeError func(x *exchange, f *wire.APIError)
}

// keyFault is what a request is told whose key was not recognised.
func (s *surface) keyFault(err error) *wire.APIError {
	switch {
	case errors.Is(err, access.ErrUnavailable):
		return keysUnavailable
	case errors.Is(err, keys.ErrSandbox): // on preview it is of the wrong kind before that
		return problem(wire.SandboxKey, "this is a sandbox key: a live key is required")
	case errors.Is(err, keys.ErrRevoked):
		return problem(s.badKey.Code, "the API key was revoked: ask for another")
	case errors.Is(err, keys.ErrExpired):
		return problem(s.badKey.Code, "the API key has expired: ask for another")
	}
	return s.badKey
}

// missingKeyError is what a request is told whose headers hold no key, or two different ones.
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
// strict).
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

// key is the one key of the request; false when two differ or none is there.
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

// kind is the kind of key that the request seems to carry, by its prefix alone (decision 1).
func (sent *credentials) kind() keys.Surface {
	if sent.header != nil {
		return keys.SurfaceOf(sent.header)
	}
	return keys.SurfaceOf(sent.bearer)
}

// selectSurface decides which surface answers: the path's only one, or on a shared path the one
// that the key's prefix names, or the default (decision 1). It returns what the path does there.
func (x *exchange) selectSurface() {
	p := x.path

	// A key that is not of our form, and no key at all, get the default.
	preview := p.live == nil && p.preview != nil
	if p.live != nil && p.preview != nil {
		switch x.keys.kind() {
		case keys.Preview:
			preview = true
		case keys.NoSurface:
			preview = x.s.DefaultPreview && x.keys.header == nil && x.keys.bearer == nil
		case keys.Live, keys.Sandbox:
		}
	}

	if preview {
		x.surface = &previewSurface
		x.op = p.preview
	} else {
		x.surface = &liveSurface
		x.op = p.live
	}
}
