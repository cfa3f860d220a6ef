package server

import (
	"github.com/valyala/fasthttp"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/server/httpconn"
	"ninepocket/wire"
)

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
	badKey: problem(wire.Unauthorized, "the API key is not valid: send a live key as it was issued"),
	wrongSurface: problem(wire.Unauthorized,
		"this is a preview key, which does not open the live surface: send a live key"),
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

// rateHeaderCache caches the lines of the rate headers that depend on the plan alone: requests of
// one plan mostly reuse the same exchange.
type rateHeaderCache struct {
	window      string
	minute, day int64
	lines       []byte
}

// get returns the lines for two limits, the first of a window.
func (p *rateHeaderCache) get(window string, minute, day access.LimitState) []byte {
	if p.window != window || p.minute != minute.Limit || p.day != day.Limit {
		p.window = window
		p.minute = minute.Limit
		p.day = day.Limit
		p.lines = appendRateLimitPolicy(p.lines[:0], window, minute, day)
		p.lines = wire.AppendInt(p.lines, "\r\nX-RateLimit-Limit: ", minute.Limit)
	}
	return p.lines
}

// addRateLimits adds the rate headers of decision 10. /v1/usage has no minute window and so no rate
// headers.
func addRateLimits(x *exchange) {
	minute := x.metering.decision.Minute
	if minute.Limit == 0 {
		return
	}

	window := "minute"
	if x.op != nil && x.op.Name == access.SuggestList {
		window = "suggest"
	}

	// All figures come from one decision and its charge, so they agree with each other.
	day := x.metering.quotaState()
	x.Head.SetBytes("RateLimit-Policy", x.rateHeaders.get(window, minute, day))
	x.Head.Name("RateLimit")
	x.Head.Append(func(dst []byte) []byte { return appendRateLimit(dst, window, minute, day) })
	x.Head.SetInt("X-RateLimit-Remaining", minute.Remaining)
	x.Head.SetInt("X-RateLimit-Reset", minute.Reset)
}

// appendRateLimitPolicy appends the value of the RateLimit-Policy header (decision 10):
// "minute";q=30;w=60, "day";q=2000;w=86400.
func appendRateLimitPolicy(dst []byte, window string, minute, day access.LimitState) []byte {
	dst = wire.AppendInt(appendPolicyName(dst, window), `q=`, minute.Limit)
	return append(wire.AppendInt(dst, `;w=60, "day";q=`, day.Limit), `;w=86400`...)
}

// appendRateLimit appends the value of the RateLimit header (decision 10): "minute";r=29;t=41,
// "day";r=1998;t=3600.
func appendRateLimit(dst []byte, window string, minute, day access.LimitState) []byte {
	dst = wire.AppendInt(appendPolicyName(dst, window), `r=`, minute.Remaining)
	dst = wire.AppendInt(dst, `;t=`, minute.Wait)
	dst = wire.AppendInt(dst, `, "day";r=`, day.Remaining)
	return wire.AppendInt(dst, `;t=`, day.Wait)
}

// appendPolicyName appends the name of a policy, which parameters follow.
func appendPolicyName(dst []byte, name string) []byte {
	return append(append(append(dst, '"'), name...), `";`...)
}
