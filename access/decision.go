package access

import (
	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// AdmitResult is the answer of an admission.
type AdmitResult uint8

const (
	// Admitted means: go on; the ticket must be finished.
	Admitted AdmitResult = iota
	// RateLimited means: 429 rate_limit_exceeded; nothing was taken.
	RateLimited
	// QuotaExceeded means: 429 quota_exceeded; nothing was taken.
	QuotaExceeded
	// Unavailable means: 503 temporarily_unavailable; nothing was taken.
	Unavailable
)

var resultCodes = [...]string{
	RateLimited: "rate_limit_exceeded", QuotaExceeded: "quota_exceeded", Unavailable: "temporarily_unavailable",
}

// String returns the error code of the verdict, "" when admitted.
func (verdict AdmitResult) String() string { return resultCodes[verdict] }

// UnavailableRetry is the Retry-After of a call that cannot be metered, in seconds.
const UnavailableRetry = int64(5)

// LimitState is one limit after a call: its size, what remains, and when it resets. All figures
// come from one reading, so they agree.
type LimitState struct {
	Limit     int64 // q
	Remaining int64 // r
	Wait      int64 // t: whole seconds until the next unit frees, 0 when none is taken
	Reset     int64 // the same instant in Unix seconds, rounded up
}

// NewLimitState returns the policy of a limit at a wall time: what remains of it, and in how many
// milliseconds its next unit frees.
func NewLimitState(limit, remaining, wait, wall int64) LimitState {
	return LimitState{
		Limit: limit, Remaining: max(0, remaining), Wait: secondsUp(wait), Reset: secondsUp(wall + max(0, wait)),
	}
}

// Decision is the answer of Admit. It is a value and holds nothing of the request.
type Decision struct {
	Result      AdmitResult
	RetryAfter  int64       // seconds; at least 1 unless admitted; equals the InProgress of the tripped policy
	Reservation Reservation // valid when admitted
	Minute      LimitState  // the window passed; zero Limit when the call passes none
	Quota       LimitState  // day quota or credits; this call's reservation is not yet taken from Remaining
}

// Reservation is an admitted call that is to be finished exactly once, by Finish, Commit or Abort.
// It stays valid when the ring reloads.
type Reservation struct {
	Principal *keys.Principal
	Spec      LimitSpec
	Now       Instant         // of the admission
	Day       calendar.Day    // that the call is counted on
	Period    calendar.Period // that a credit is charged to
	At        int64           // the store's own time of the admission, in milliseconds
}

// Charge is what a finished call cost.
type Charge struct {
	Charged int64      // 0 or 1
	Quota   LimitState // after the charge
}

// Usage is the caller's allowance for GET /v1/usage: the UTC day on live, the credit period on
// preview.
type Usage struct {
	Tenant    string
	Period    calendar.Period
	Limit     int64
	Used      int64
	Remaining int64
	PerMinute int
	Minute    LimitState // the minute of a live key, of which the question takes nothing; zero on preview
}
