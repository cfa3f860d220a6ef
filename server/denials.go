package server

import (
	"slices"
	"strings"
	"time"

	"ninepocket/access"
	"ninepocket/wire"
)

// The surfaces as counts, logs and denials name them.
const (
	onLive    = "live"
	onPreview = "preview"
	onMCP     = "mcp"
	onSite    = "site"
)

// denials are what a refused call is told on each surface, by why it was refused.
var denials = map[access.AdmitResult]map[string]string{
	access.RateLimited: {
		onLive:    "{limit} requests per minute are used up: wait {wait}",
		onPreview: "{limit} requests per minute are used up: wait {wait}",
		onMCP: "Rate limit reached ({limit} requests per minute). Wait {wait}, " +
			"then call again with the same arguments.",
	},
	access.QuotaExceeded: {
		onLive:    "{limit} requests per day are used up: the quota resets at 00:00 UTC",
		onPreview: "{limit} credits of this period are used up: wait until {reset} or upgrade",
		onMCP: "Daily quota used up ({limit} requests per day). It resets at {reset}, in {seconds} seconds. " +
			"Do not call again before then.",
	},
	access.Unavailable: {
		onLive:    notMetered.Detail,
		onPreview: notMetered.Detail,
		onMCP:     "Requests cannot be metered at the moment. Nothing was charged. Call again in {wait}.",
	},
}

// denied is what a call is told that the meter refuses; header, body and policy agree because all come from
// the decision.
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

// What the counts have a column for: the statuses that this server answers, and the codes of refused calls
// that are worth watching. Both follow from the tables of codes.
var statuses, denialReasons = func() (statuses []int, reasons []wire.Code) {
	statuses = []int{200, 202, 204, 301, 304}
	for _, table := range []map[wire.Code]wire.Meaning{wire.LiveCodes, wire.PreviewCodes} {
		for code, meaning := range table {
			statuses = append(statuses, meaning.Status)
			switch meaning.Status {
			case 401, 403, 429, 503: // who may not, and who must wait
				reasons = append(reasons, code)
			}
		}
	}

	// Nearly every answer has the first status.
	slices.Sort(statuses)
	slices.Sort(reasons)
	return slices.Compact(statuses), slices.Compact(reasons)
}()

// denialSurfaces are the rows of the denials that are counted.
var denialSurfaces = []string{onLive, onPreview, onMCP}
