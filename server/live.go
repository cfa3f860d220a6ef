package server

import (
	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/wire"
)

// liveSurface is the live surface.
var liveSurface = surface{
	name:        onLive,
	kind:        keys.Live,
	cacheable:   "private, max-age=60",
	private:     "no-store",
	challenge:   `Bearer realm="ninepocket"`,
	errorType:   "application/problem+json",
	codes:       wire.LiveCodes,
	encodeError: wire.AppendProblem,
	noKey: problem(wire.Unauthorized,
		"no API key: send Authorization: Bearer <API_KEY> or X-API-Key: <API_KEY>"),
	badKey: problem(wire.Unauthorized, "the API key is not valid: send a live key as it was issued"),
	wrongKind: problem(wire.Unauthorized,
		"this is a preview key, which does not open the live surface: send a live key"),
	limits:     addRateLimits,
	writeError: writeProblem,
}

// retryUnavailable is the Retry-After of a 503 in seconds.
const retryUnavailable = 5

// What pages and the surfaces are told alike.
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

// read takes a request of REST apart: the media type of a body, then the parameters.
func (x *exchange) read() *wire.APIError {
	if x.Ctx.IsPost() {
		if f := x.checkMediaType(); f != nil {
			return f
		}
		x.request.Body = x.Ctx.PostBody()
	}

	x.request.ReadQuery(x.Ctx.URI().QueryString())
	return nil
}

// csp is the lines of the rate headers that follow from a plan alone, remembered between
// requests: clients of one plan mostly share an exchange's processor.
type rateHeaderCache struct {
	minute, day int64
	lines       []byte
}

// of returns the lines for two limits.
func (p *rateHeaderCache) of(minute, day access.LimitState) []byte {
	if p.minute != minute.Limit || p.day != day.Limit {
		p.minute = minute.Limit
		p.day = day.Limit
		p.lines = appendRateLimitPolicy(p.lines[:0], minute, day)
		p.lines = wire.AppendInt(p.lines, "\r\nX-RateLimit-Limit: ", minute.Limit)
	}
	return p.lines
}

// addRateLimits adds the rate headers of decision 10. /v1/usage passes no minute window and so has
// no rate headers.
func addRateLimits(x *exchange) {
	minute := x.charge.decision.Minute
	if minute.Limit == 0 {
		return
	}

	// All figures come from one decision and its receipt, so that they agree with each other.
	day := x.charge.allowance()
	x.Head.SetBytes("RateLimit-Policy", x.rateHeaders.of(minute, day))
	x.Head.Name("RateLimit")
	x.Head.Append(func(dst []byte) []byte { return appendRateLimit(dst, minute, day) })
	x.Head.SetInt("X-RateLimit-Remaining", minute.Remaining)
	x.Head.SetInt("X-RateLimit-Reset", minute.Reset)
}
