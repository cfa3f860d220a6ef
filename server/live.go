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
	addLimits: (*exchange).addRateLimits,
}

// retryUnavailable is the Retry-After of a 503 in seconds.
const retryUnavailable = 5

// What pages and the API are told alike.
const somethingWrong = "Something went wrong on our side; quote the request id to support."

var noCatalog = wire.Fault{Code: wire.TemporarilyUnavailable, Detail: "No catalog is loaded yet.", RetryAfter: retryUnavailable}

// policy is the lines of the rate headers that follow from a plan alone, remembered between requests: clients of one
// plan mostly share an exchange's processor.
type policy struct {
	minute, day int64
	lines       []byte
}

// addRateLimits adds the rate headers of decision 10; /v1/usage passes no limit and has none.
func (x *exchange) addRateLimits() {
	minute := x.decision.Minute
	if minute.Limit == 0 {
		return
	}
	day := x.decision.Allowance
	if x.charged {
		day = x.receipt.Allowance
	}
	p := &x.policy
	if p.minute != minute.Limit || p.day != day.Limit {
		p.minute, p.day = minute.Limit, day.Limit
		p.lines = appendRateLimitPolicy(p.lines[:0], minute, day)
		p.lines = append(p.lines, "\r\nX-RateLimit-Limit: "...)
		p.lines = strconv.AppendInt(p.lines, minute.Limit, 10)
	}
	x.head.setBytes("RateLimit-Policy", p.lines)
	x.head.name("RateLimit")
	x.head.block = appendRateLimit(x.head.block, minute, day)
	x.head.setInt("X-RateLimit-Remaining", minute.Remaining)
	x.head.setInt("X-RateLimit-Reset", minute.Reset)
}
