package server

import (
	"strconv"

	"ninepocket/access"
	"ninepocket/wire"
)

// liveSurface is the live surface.
var liveSurface = surface{
	kind:      access.Live,
	bearer:    true,
	validates: true,
	cacheable: "private, max-age=60",
	private:   "no-store",
	challenge: `Bearer realm="ninepocket"`,
	errorType: "application/problem+json",
	meanings:  wire.Live,
	spell:     wire.AppendProblem,
	noKey: problem(wire.Unauthorized,
		"Send an API key as Authorization: Bearer <key> or X-API-Key: <key>, and only one."),
	badKey:    problem(wire.Unauthorized, "The API key is not valid."),
	wrongKind: problem(wire.Unauthorized, "A preview key does not open the live surface: use a live key."),
	noCatalog: noCatalog,
	denied:    deniedCall,
	limits:    addRateLimits,
	tell:      tellProblem,
}

// retryUnavailable is the Retry-After of a 503 in seconds.
const retryUnavailable = 5

// What pages and the surfaces are told alike.
var (
	somethingWrong  = problem(wire.InternalError, "Something went wrong on our side; quote the request id to support.")
	noCatalog       = unavailable("No catalog is loaded yet.")
	keysUnavailable = unavailable("Keys cannot be checked at the moment.")
	notMetered      = unavailable("The request could not be metered and was not charged.")
)

func unavailable(detail string) *wire.Fault {
	return &wire.Fault{Code: wire.TemporarilyUnavailable, Detail: detail, RetryAfter: retryUnavailable}
}

// deniedCall is what a refused admission is told; header, body and policy agree because all come
// from the decision.
func deniedCall(d *access.Decision) *wire.Fault {
	f := &wire.Fault{Code: wire.Code(d.Verdict.String()), RetryAfter: int(d.RetryAfter)}
	switch d.Verdict {
	case access.RateLimited:
		f.Detail = "The limit of " + wire.Decimal(d.Minute.Limit) + " requests per minute is reached."
	case access.QuotaExceeded:
		f.Detail = "The quota of " + wire.Decimal(d.Allowance.Limit) + " requests is used up."
	case access.Unavailable, access.Admitted:
		f.Detail = "Requests cannot be metered at the moment."
	}
	return f
}

// read takes a request of REST apart: the media type of a body, then the parameters.
func (x *exchange) read() *wire.Fault {
	if x.Ctx.IsPost() {
		if f := x.checkMediaType(); f != nil {
			return f
		}
		x.request.Body = x.Ctx.PostBody()
	}

	x.request.ReadQuery(x.Ctx.URI().QueryString())
	return nil
}

// policy is the lines of the rate headers that follow from a plan alone, remembered between
// requests: clients of one plan mostly share an exchange's processor.
type policy struct {
	minute, day int64
	lines       []byte
}

// of returns the lines for two limits.
func (p *policy) of(minute, day access.Policy) []byte {
	if p.minute != minute.Limit || p.day != day.Limit {
		p.minute = minute.Limit
		p.day = day.Limit
		p.lines = appendRateLimitPolicy(p.lines[:0], minute, day)
		p.lines = append(p.lines, "\r\nX-RateLimit-Limit: "...)
		p.lines = strconv.AppendInt(p.lines, minute.Limit, 10)
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
	x.Head.SetBytes("RateLimit-Policy", x.policy.of(minute, day))
	x.Head.Name("RateLimit")
	x.Head.Append(func(dst []byte) []byte { return appendRateLimit(dst, minute, day) })
	x.Head.SetInt("X-RateLimit-Remaining", minute.Remaining)
	x.Head.SetInt("X-RateLimit-Reset", minute.Reset)
}
