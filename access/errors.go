package access

import (
	"errors"
	"fmt"

	"ninepocket/access/keys"
	"ninepocket/internal/wal"
)

// Errors of metering.
var (
	// ErrUnavailable: metering or keys are unavailable; the call costs nothing and the response is 503
	// (fails closed).
	ErrUnavailable = keys.ErrUnavailable
	// ErrIdempotencyFull: the tenant's idempotency records are at their bound; see
	// [IdempotencyFullError]. It wraps ErrUnavailable: records are never evicted early.
	ErrIdempotencyFull = fmt.Errorf("idempotency records at their bound: %w", ErrUnavailable)
	// ErrReservation: the reservation does not allow the call, as when a call with an idempotency key
	// is finished as a success without Commit.
	ErrReservation = errors.New("ticket used wrongly")
)

// ErrCorrupt is the error of stored data that is damaged in a way that a crash cannot explain.
var ErrCorrupt = wal.ErrCorrupt

// ErrClosed is an ErrUnavailable: the store was closed.
var ErrClosed = fmt.Errorf("store closed: %w", ErrUnavailable)
