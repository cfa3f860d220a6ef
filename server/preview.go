package server

import (
	"errors"

	"ninepocket/access"
	"ninepocket/wire"
)

// previewSurface is the preview contract.
var previewSurface = surface{
	meanings:  wire.Preview,
	errorType: "application/json",
	challenge: `ApiKey realm="ninepocket"`,
	strict:    true,
	cacheable: "private, no-store",
	append: func(dst []byte, _ string, f wire.Fault, requestID string) []byte {
		return wire.AppendEnvelope(dst, f, requestID)
	},
	kind:      access.Preview,
	wrongKind: wire.Fault{Code: wire.InsufficientScope, Detail: "A live key does not open the preview contract: use a preview key."},
	noKey: func(err error) wire.Fault {
		if errors.Is(err, access.ErrUnavailable) {
			return wire.Fault{Code: wire.TemporarilyUnavailable, Detail: "Keys cannot be checked at the moment.", RetryAfter: retryUnavailable}
		}
		f := wire.Fault{Code: wire.InvalidAPIKey, Detail: "The API key is not valid: send a preview key as X-API-Key."}
		switch {
		case errors.Is(err, access.ErrNoKey):
			f.Detail = "Send a preview key as X-API-Key."
		case errors.Is(err, access.ErrRevoked):
			f.Detail = "The API key was revoked."
		case errors.Is(err, access.ErrExpired):
			f.Detail = "The API key has expired."
		}
		return f
	},
	showLimits: (*exchange).showCredits,
}

// showCredits sets the credit headers of the preview contract, on success and error alike.
func (x *exchange) showCredits() {
	left := x.decision.Allowance
	if x.charged {
		left = x.receipt.Allowance
	}
	x.setInt("X-Request-Credits-Remaining", left.Remaining)
	x.setInt("X-Request-Credits-Charged", x.receipt.Charged)
}

// withPreview adds the preview contract's operations to the route table, unless it is switched off.
func (s *Server) withPreview(table []*path) []*path {
	return table
}
