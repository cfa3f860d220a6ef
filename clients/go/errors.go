package ninepocket

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Error is a refusal of the API. Its text gives the remedy.
type Error struct {
	Status     int
	Code       string // of the API's table of errors; empty if the response was not the API's
	Detail     string // the fault of this request
	RequestID  string // the id that support needs
	RetryAfter time.Duration
}

// Remedies for several codes.
const (
	keyAdvice  = "the key was refused: it may have been rotated or revoked, so give the client the new one"
	planAdvice = "use a key or plan that has it, or ask for less"
)

// advice has the remedy for a code.
var advice = map[string]string{
	"unauthorized":            keyAdvice,
	"invalid_api_key":         keyAdvice,
	"plan_limit":              planAdvice,
	"insufficient_scope":      planAdvice,
	"sandbox_key":             planAdvice,
	"snapshot_gone":           "begin again without the snapshot; a mirror takes the whole again",
	"rate_limit_exceeded":     "ask more slowly, or raise the deadline",
	"quota_exceeded":          "wait until the period ends, or take a larger plan",
	"idempotency_conflict":    "this job id was used with other selections: take a new one",
	"temporarily_unavailable": "the service cannot answer now: try later",
}

func (e *Error) Error() string {
	text := cmp.Or(e.Code, fmt.Sprintf("status %d", e.Status)) + ": " + e.Detail
	if todo := advice[e.Code]; todo != "" {
		text += "; " + todo
	}
	return text + " (request " + cmp.Or(e.RequestID, "without an id") + ")"
}

// passing are the statuses of refusals that may pass: a repeated request may succeed later.
var passing = []int{
	http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
}

// UnreachableError says that a call got no response: no connection, a broken connection, no time
// left, or a response that is not the API's.
type UnreachableError struct {
	Operation string // its name in the document
	Tries     int
	Err       error // of the last try
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("%s: no response after %d tries: %v; look at the address and the network",
		e.Operation, e.Tries, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// refusal reads the error of a response, on either surface.
func refusal(response *http.Response, body []byte) error {
	var said struct {
		Problem
		PreviewError
	}
	_ = json.Unmarshal(body, &said) // or another machine responded in the server's place
	return &Error{
		Status: response.StatusCode, Code: cmp.Or(said.Code, said.Error.Code), RetryAfter: retryAfter(response.Header),
		Detail: cmp.Or(said.Detail, said.Error.Message,
			"the response is not the API's: look at the address, and at proxies on the way"),
		RequestID: cmp.Or(said.RequestID, said.Error.RequestID, response.Header.Get("X-Request-Id")),
	}
}

// retryAfter reads a Retry-After header, which is in seconds or a date.
func retryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at), 0)
	}
	seconds, _ := strconv.Atoi(text) // 0 without the header
	return time.Duration(seconds) * time.Second
}

// hasStatus reports whether an error is a refusal of one of some statuses.
func hasStatus(err error, statuses ...int) bool {
	refused := asError(err)
	return refused != nil && slices.Contains(statuses, refused.Status)
}

// asError returns the refusal that an error is, nil if it is none.
func asError(err error) *Error {
	var refused *Error
	errors.As(err, &refused)
	return refused
}
