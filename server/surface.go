package server

import (
	"bytes"
	"errors"
	"strings"

	"github.com/valyala/fasthttp"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/server/httpconn"
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

// liveSurface is the live surface.
var liveSurface = surface{
	name:        surfaceLive,
	keySurface:  keys.Live,
	cacheable:   "private, max-age=60",
	private:     "no-store",
	challenge:   `Bearer realm="ninepocket"`,
	errorType:   "application/problem+json",
	codes:       wire.LiveCodes,
	encodeError: wire.AppendProblem,
	noKey: problem(wire.Unauthorized,
		"no API key: send Authorization: Bearer <API_KEY> or X-API-Key: <API_KEY>"),
	badKey: problem(wire.Unauthorized, "the API key is not valid: send a live key unchanged"),
	wrongSurface: problem(wire.Unauthorized,
		"this is a preview key, which does not open the live surface: send a live key"),
	suspended:  wire.PlanLimit,
	rates:      &liveRates,
	limits:     addRateLimits,
	writeError: writeProblem,
}

// retryUnavailable is the Retry-After of a 503 in seconds.
const retryUnavailable = 5

// Errors of pages and all surfaces.
var (
	somethingWrong = problem(wire.InternalError,
		"something failed on our side: try again, and send the request id if it persists")
	noCatalog       = unavailable("the catalog is not loaded yet: try again in 5 seconds")
	keysUnavailable = unavailable("keys cannot be checked at the moment: try again in 5 seconds; nothing was charged")
	notMetered      = unavailable("metering is not available: try again in 5 seconds; nothing was charged")
)

func unavailable(detail string) *wire.APIError {
	return &wire.APIError{Code: wire.TemporarilyUnavailable, Detail: detail, RetryAfter: retryUnavailable}
}

// read parses a REST request: the media type of a body, then the parameters.
func (x *exchange) read() *wire.APIError {
	if x.Ctx.IsPost() {
		if f := x.checkMediaType(); f != nil {
			return f
		}
		x.request.Body = x.Ctx.PostBody()
	}

	if x.op.GivesCSV {
		x.request.WantsCSV = httpconn.Prefers(x.Field(fasthttp.HeaderAccept), "text/csv", "application/json")
	}
	x.request.ReadQuery(x.Ctx.URI().QueryString())
	return nil
}

// rateNames are the names of the two limits of a response in its rate headers, and the window of the second
// one in their policy. Credits have none: their periods differ in length.
type rateNames struct{ window, quota, quotaWindow string }

var (
	liveRates    = rateNames{`"minute"`, `"day"`, ";w=86400"}
	suggestRates = rateNames{`"suggest"`, `"day"`, ";w=86400"}
	previewRates = rateNames{`"minute"`, `"credits"`, ""}
)

// rateHeaderCache caches the lines of the rate headers that depend on the plan alone: requests of
// one plan mostly reuse the same exchange.
type rateHeaderCache struct {
	names         *rateNames
	minute, quota int64
	lines         []byte
}

// get returns the lines for two limits.
func (p *rateHeaderCache) get(names *rateNames, minute, quota access.LimitState) []byte {
	if p.names != names || p.minute != minute.Limit || p.quota != quota.Limit {
		p.names = names
		p.minute = minute.Limit
		p.quota = quota.Limit
		p.lines = names.appendPolicy(p.lines[:0], minute, quota)
		p.lines = wire.AppendInt(p.lines, "\r\nX-RateLimit-Limit: ", minute.Limit)
	}
	return p.lines
}

// addRateLimits adds the rate headers of decision 10. Live /v1/usage has no minute window and so no
// rate headers.
func addRateLimits(x *exchange) {
	minute := x.metering.decision.Minute
	if minute.Limit == 0 {
		return
	}

	names := x.surface.rates
	if x.op != nil && x.op.Name == access.SuggestList {
		names = &suggestRates
	}

	// All figures come from one decision and its charge, so they agree with each other.
	quota := x.metering.quotaState()
	x.Head.SetBytes("RateLimit-Policy", x.rateHeaders.get(names, minute, quota))
	x.Head.Name("RateLimit")
	x.Head.Append(func(dst []byte) []byte { return names.appendState(dst, minute, quota) })
	x.setInt("X-RateLimit-Remaining", minute.Remaining)
	x.setInt("X-RateLimit-Reset", minute.Reset)
}

// setInt adds a line with a decimal to the head.
func (x *exchange) setInt(name string, n int64) {
	x.Head.Name(name)
	x.Head.Append(func(dst []byte) []byte { return wire.AppendInt(dst, "", n) })
}

// appendPolicy appends the value of the RateLimit-Policy header (decision 10):
// "minute";q=30;w=60, "day";q=2000;w=86400.
func (n *rateNames) appendPolicy(dst []byte, minute, quota access.LimitState) []byte {
	dst = wire.AppendInt(append(dst, n.window...), `;q=`, minute.Limit)
	dst = append(append(dst, `;w=60, `...), n.quota...)
	return append(wire.AppendInt(dst, `;q=`, quota.Limit), n.quotaWindow...)
}

// appendState appends the value of the RateLimit header (decision 10): "minute";r=29;t=41,
// "day";r=1998;t=3600.
func (n *rateNames) appendState(dst []byte, minute, quota access.LimitState) []byte {
	dst = wire.AppendInt(append(dst, n.window...), `;r=`, minute.Remaining)
	dst = append(append(wire.AppendInt(dst, `;t=`, minute.Wait), `, `...), n.quota...)
	dst = wire.AppendInt(dst, `;r=`, quota.Remaining)
	return wire.AppendInt(dst, `;t=`, quota.Wait)
}

// previewSurface is the preview contract.
var previewSurface = surface{
	name:       surfacePreview,
	keySurface: keys.Preview,
	cacheable:  "private, no-store",
	private:    "private, no-store",
	challenge:  `ApiKey realm="ninepocket"`,
	errorType:  "application/json",
	codes:      wire.PreviewCodes,
	encodeError: func(dst []byte, _ string, f wire.APIError, requestID string) []byte {
		return wire.AppendEnvelope(dst, f, requestID)
	},
	noKey:  problem(wire.InvalidAPIKey, "no API key: send a preview key as X-API-Key: <API_KEY>"),
	badKey: problem(wire.InvalidAPIKey, "the API key is not valid: send a preview key as X-API-Key"),
	wrongSurface: problem(wire.InsufficientScope,
		"this is not a preview key, and this path takes preview keys only: send a preview key as X-API-Key"),
	suspended:  wire.InsufficientScope,
	rates:      &previewRates,
	limits:     addCredits,
	writeError: writeProblem,
}

// addCredits adds the credit and rate headers of the preview contract, on success and error alike. Only an
// authenticated caller gets the remaining credits.
func addCredits(x *exchange) {
	x.setInt("X-Request-Credits-Charged", x.metering.charge.Charged)
	if x.metering.principal == nil {
		return
	}
	if x.reply.Replay {
		// Only what was charged is stored.
		x.Head.Set("X-Original-Credits-Charged", "1")
	}
	addRateLimits(x)

	left := x.metering.quotaState()
	if left.Limit == 0 {
		// Refused before admission: the balance is read here. If it is unknown, there is no header.
		usage, err := x.s.Gate.Usage(x.metering.principal, x.now)
		if err != nil {
			return
		}
		left.Remaining = usage.Remaining()
	}
	x.setInt("X-Request-Credits-Remaining", left.Remaining)
}
