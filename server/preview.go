package server

import (
	"errors"

	"ninepocket/access"
	"ninepocket/wire"
)

// previewSurface is the preview contract.
var previewSurface = surface{
	kind:      access.Preview,
	denials:   1,
	strict:    true,
	cacheable: "private, no-store",
	private:   "private, no-store",
	challenge: `ApiKey realm="ninepocket"`,
	errorType: "application/json",
	meanings:  wire.Preview,
	spell: func(dst []byte, _ string, f wire.Fault, requestID string) []byte {
		return wire.AppendEnvelope(dst, f, requestID)
	},
	noKey: noPreviewKey,
	wrongKind: wire.Fault{
		Code: wire.InsufficientScope, Detail: "A live key does not open the preview contract: use a preview key.",
	},
	noCatalog: noCatalog,
	denied:    deniedCall,
	read:      readCall,
	limits:    addCredits,
	tell:      tellProblem,
}

// noPreviewKey is what a request without a good key is told.
func noPreviewKey(err error) wire.Fault {
	f := wire.Fault{Code: wire.InvalidAPIKey, Detail: "The API key is not valid: send a preview key as X-API-Key."}
	switch {
	case errors.Is(err, access.ErrUnavailable):
		f = keysUnavailable
	case errors.Is(err, access.ErrNoKey):
		f.Detail = "Send a preview key as X-API-Key."
	case errors.Is(err, access.ErrRevoked):
		f.Detail = "The API key was revoked."
	case errors.Is(err, access.ErrExpired):
		f.Detail = "The API key has expired."
	}
	return f
}

// addCredits adds the credit headers of the preview contract, on success and error alike; what
// remains is told only to who authenticated.
func addCredits(x *exchange) {
	x.Head.SetInt("X-Request-Credits-Charged", x.charge.receipt.Charged)
	if x.charge.principal == nil {
		return
	}

	left := x.charge.allowance()
	if left.Limit == 0 {
		// Refused before admission: nothing was asked of the meter yet.
		if u, err := x.s.Gate.Usage(x.charge.principal, x.now); err == nil {
			left.Remaining = u.Remaining
		}
	}
	x.Head.SetInt("X-Request-Credits-Remaining", left.Remaining)
}
