package server

import (
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/wire"
)

// previewSurface is the preview contract.
var previewSurface = surface{
	kind:      keys.Preview,
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
	noKey:  problem(wire.InvalidAPIKey, "no API key: send a preview key as X-API-Key: <API_KEY>"),
	badKey: problem(wire.InvalidAPIKey, "the API key is not valid: send a preview key as X-API-Key"),
	wrongKind: problem(wire.InsufficientScope,
		"this is not a preview key, and this path takes preview keys only: send a preview key as X-API-Key"),
	noCatalog: noCatalog,
	denied:    deniedCredit,
	limits:    addCredits,
	tell:      tellProblem,
}

// deniedCredit is what a refused admission is told.
func deniedCredit(d *access.Decision) *wire.Fault {
	if d.Verdict != access.QuotaExceeded {
		return deniedCall(d)
	}
	return exhausted(d.Allowance, d.RetryAfter)
}

// exhausted is what a request is told when the credits of the period are used up, wherever that is
// found.
func exhausted(credits access.Policy, retryAfter int64) *wire.Fault {
	f := problem(wire.QuotaExceeded, wire.Decimal(credits.Limit)+" credits of this period are used up: wait until "+
		time.Unix(credits.Reset, 0).UTC().Format(time.RFC3339)+" or upgrade")
	f.RetryAfter = int(retryAfter)
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
		// Refused before admission: nothing was asked of the meter yet. A balance that nobody knows is
		// not told.
		usage, err := x.s.Gate.Usage(x.charge.principal, x.now)
		if err != nil {
			return
		}
		left.Remaining = usage.Remaining
	}
	x.Head.SetInt("X-Request-Credits-Remaining", left.Remaining)
}
