package server

import (
	"slices"
	"strings"
	"time"

	"ninepocket/access"
	"ninepocket/wire"
)

// The names of surfaces in metrics, logs and denials.
const (
	surfaceLive    = "live"
	surfacePreview = "preview"
	surfaceMCP     = "mcp"
	surfaceSite    = "site"
)

// denials are the error texts of a refused call on each surface, by the result of admission.
var denials = map[access.AdmitResult]map[string]string{
	access.RateLimited: {
		surfaceLive:    "{limit} requests per minute are used up: wait {wait}",
		surfacePreview: "{limit} requests per minute are used up: wait {wait}",
		surfaceMCP: "Rate limit reached ({limit} requests per minute). Wait {wait}, " +
			"then call again with the same arguments.",
	},
	access.QuotaExceeded: {
		surfaceLive:    "{limit} requests per day are used up: the quota resets at 00:00 UTC",
		surfacePreview: "{limit} credits of this period are used up: wait until {reset} or upgrade",
		surfaceMCP: "Daily quota used up ({limit} requests per day). It resets at {reset}, in {seconds} seconds. " +
			"Do not call again before then.",
	},
	access.Unavailable: {
		surfaceLive:    notMetered.Detail,
		surfacePreview: notMetered.Detail,
		surfaceMCP:     "Requests cannot be metered at the moment. Nothing was charged. Call again in {wait}.",
	},
}

// denied returns the error of a call that admission refuses. Headers, body and policy agree because
// all come from the decision.
func (s *surface) denied(d *access.Decision) *wire.APIError {
	limit := d.Quota.Limit
	if d.Result == access.RateLimited {
		limit = d.Minute.Limit
	}

	sentence := strings.NewReplacer(
		"{limit}", wire.Decimal(limit), "{wait}", seconds(d.RetryAfter), "{seconds}", wire.Decimal(d.RetryAfter),
		"{reset}", time.Unix(d.Quota.Reset, 0).UTC().Format(time.RFC3339),
	)
	return &wire.APIError{
		Code: wire.Code(d.Result.String()), Detail: sentence.Replace(denials[d.Result][s.name]),
		RetryAfter: int(d.RetryAfter),
	}
}

func seconds(n int64) string {
	if n == 1 {
		return "1 second"
	}
	return wire.Decimal(n) + " seconds"
}

// The columns of metrics: the statuses that this server answers and 0 for any other, and the error
// codes of refused calls that are worth watching. Both follow from the tables of codes.
var statuses, denialReasons = func() (statuses []int, reasons []wire.Code) {
	statuses = []int{200, 202, 204, 301, 304}
	for _, table := range []map[wire.Code]wire.Meaning{wire.LiveCodes, wire.PreviewCodes} {
		for code, meaning := range table {
			statuses = append(statuses, meaning.Status)
			switch meaning.Status {
			case 401, 403, 429, 503: // not permitted, or must wait
				reasons = append(reasons, code)
			}
		}
	}

	// Nearly every response has the first status.
	slices.Sort(statuses)
	slices.Sort(reasons)
	return append(slices.Compact(statuses), 0), slices.Compact(reasons)
}()

// denialSurfaces are the surfaces whose denials are counted.
var denialSurfaces = []string{surfaceLive, surfacePreview, surfaceMCP}
