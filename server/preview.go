package server

import (
	"ninepocket/access/keys"
	"ninepocket/wire"
)

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
	x.Head.SetInt("X-Request-Credits-Charged", x.metering.charge.Charged)
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
	x.Head.SetInt("X-Request-Credits-Remaining", left.Remaining)
}
