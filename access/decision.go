package access

import (
	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// AdmitResult is the result of Admit.
type AdmitResult uint8

const (
	// Admitted means that the call may run, and its reservation must be finished.
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

// String returns the error code of the result, "" when admitted.
func (result AdmitResult) String() string { return resultCodes[result] }

// UnavailableRetry is the Retry-After of a call that cannot be metered, in seconds.
const UnavailableRetry = int64(5)

// LimitState is one limit after a call: its size, what remains, and when it resets. All numbers are
// of one reading, so they agree.
type LimitState struct {
	Limit     int64 // q
	Remaining int64 // r
	Wait      int64 // t: whole seconds until a window's next unit frees (0 when none is taken), or a quota resets
	Reset     int64 // the same instant in Unix seconds, rounded up
}

// NewLimitState returns the state of a limit at a wall time. wait is how many milliseconds it takes
// until the next unit of a window frees, or a quota resets.
func NewLimitState(limit, remaining, wait, wall int64) LimitState {
	return LimitState{
		Limit: limit, Remaining: max(0, remaining), Wait: secondsUp(wait), Reset: secondsUp(wall + max(0, wait)),
	}
}

// Decision is the answer of Admit. It is a value and keeps nothing of the request.
type Decision struct {
	Result      AdmitResult
	RetryAfter  int64       // seconds; at least 1 unless admitted; equals the Wait of the limit that was hit
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

// Usage is the caller's quota use for GET /v1/usage: of the UTC day on live, of the credit period on
// preview.
type Usage struct {
	Period calendar.Period
	Limit  int64
	Used   int64
	Minute LimitState // the minute limit of a live key, from which this call takes nothing; zero on preview
}

// Remaining returns how much of the quota is left.
func (usage *Usage) Remaining() int64 { return max(0, usage.Limit-usage.Used) }
