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
	x.Head.SetInt("X-RateLimit-Remaining", minute.Remaining)
	x.Head.SetInt("X-RateLimit-Reset", minute.Reset)
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
