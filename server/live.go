package server

import (
	"errors"
	"strconv"

	"ninepocket/access"
	"ninepocket/wire"
)

// liveSurface is the live surface.
var liveSurface = surface{
	meanings:  wire.Live,
	errorType: "application/problem+json",
	challenge: `Bearer realm="ninepocket"`,
	bearer:    true,
	cacheable: "private, max-age=60",
	append:    wire.AppendProblem,
	kind:      access.Live,
	wrongKind: wire.Fault{Code: wire.Unauthorized, Detail: "A preview key does not open the live surface: use a live key."},
	noKey: func(err error) wire.Fault {
		f := wire.Fault{Code: wire.Unauthorized}
		switch {
		case errors.Is(err, access.ErrNoKey):
			f.Detail = "Send an API key as Authorization: Bearer <key> or X-API-Key: <key>, and only one."
		case errors.Is(err, access.ErrRevoked):
			f.Detail = "The API key was revoked."
		case errors.Is(err, access.ErrExpired):
			f.Detail = "The API key has expired."
		case errors.Is(err, access.ErrSandbox):
			f = wire.Fault{Code: wire.SandboxKey, Detail: "This is a sandbox key; a live key is required."}
		case errors.Is(err, access.ErrUnavailable):
			f = wire.Fault{Code: wire.TemporarilyUnavailable, Detail: "Keys cannot be checked at the moment.", RetryAfter: retryUnavailable}
		default:
			f.Detail = "The API key is not valid."
		}
		return f
	},
	showLimits: (*exchange).showRateLimits,
}

// retryUnavailable is the Retry-After of a 503 in seconds.
const retryUnavailable = 5

// showRateLimits sets the rate headers of decision 10; /v1/usage passes no limit and has none.
func (x *exchange) showRateLimits() {
	minute := x.decision.Minute
	if minute.Limit == 0 {
		return
	}
	day := x.decision.Allowance
	if x.charged {
		day = x.receipt.Allowance
	}
	h := &x.ctx.Response.Header
	x.text = access.AppendRateLimitPolicy(x.text[:0], minute, day)
	h.SetBytesV("RateLimit-Policy", x.text)
	x.text = access.AppendRateLimit(x.text[:0], minute, day)
	h.SetBytesV("RateLimit", x.text)
	x.setInt("X-RateLimit-Limit", minute.Limit)
	x.setInt("X-RateLimit-Remaining", minute.Remaining)
	x.setInt("X-RateLimit-Reset", minute.Reset)
}

func (x *exchange) setInt(name string, v int64) {
	x.text = strconv.AppendInt(x.text[:0], v, 10)
	x.ctx.Response.Header.SetBytesV(name, x.text)
}
