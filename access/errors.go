package access

import (
	"errors"
	"fmt"

	"ninepocket/internal/wal"
)

// Errors of authentication. None of them holds any part of a key.
var (
	// ErrNoKey: the request carries no key.
	ErrNoKey = errors.New("no API key")
	// ErrInvalid: the key is malformed, or well formed and unknown.
	ErrInvalid = errors.New("invalid API key")
	// ErrRevoked: the key was revoked.
	ErrRevoked = errors.New("revoked API key")
	// ErrExpired: the key's time is over.
	ErrExpired = errors.New("expired API key")
	// ErrSandbox: the key is a valid sandbox key, which no data call accepts. Authenticate returns
	// it together with the principal.
	ErrSandbox = errors.New("sandbox API key")
)

// Errors of metering.
var (
	// ErrUnavailable: metering or key state cannot answer; the call costs nothing and the response
	// is 503 (fails closed).
	ErrUnavailable = errors.New("metering unavailable")
	// ErrIdempotencyFull: the tenant's idempotency records are at their bound; see [FullError]. It wraps
	// ErrUnavailable: records are never evicted early.
	ErrIdempotencyFull = fmt.Errorf("idempotency records at their bound: %w", ErrUnavailable)
	// ErrTicket: the ticket does not fit the call, as when a call with an idempotency key is
	// finished as a success without Commit.
	ErrTicket = errors.New("ticket used wrongly")
)

// Errors of state directories.
var (
	// ErrLocked: another process holds the lock.
	ErrLocked = errors.New("locked by another process")
	// ErrMoved is an ErrUnavailable: the state directory is not at its path any more, or another is. What
	// this server charged would be forgotten by the next one.
	ErrMoved = fmt.Errorf("%w: the state directory is gone from its path, or another is there", ErrUnavailable)
	// ErrLogLost: segments of the log were removed while they were needed.
	ErrLogLost = errors.New("segments of the metering log are gone")
	// ErrCorrupt: stored data is damaged where a crash cannot explain it.
	ErrCorrupt = wal.ErrCorrupt
	// ErrCheckpointGone is an ErrCorrupt: there is a log, and the checkpoint that it follows is gone.
	ErrCheckpointGone = fmt.Errorf("%w: it is gone", ErrCorrupt)
)

// Errors of the keys file.
var (
	// ErrNoSuchKey: no key has that id.
	ErrNoSuchKey = errors.New("no such key")
	// ErrNoSuchTenant: no tenant has that name.
	ErrNoSuchTenant = errors.New("no such tenant")
	// ErrCreditsDiffer: the tenant has other credits, and changing them was not asked for.
	ErrCreditsDiffer = errors.New("tenant has other credits")
	// ErrPlanDiffers: the tenant has another plan, and changing it was not asked for.
	ErrPlanDiffers = errors.New("tenant has another plan")
	// ErrNoKeysFile: the state directory has no keys file yet.
	ErrNoKeysFile = errors.New("no keys file")
	// ErrKeysShared: the state directory is of a server of a fleet, whose keys are elsewhere.
	ErrKeysShared = errors.New("the keys are in the database of the fleet")
	// ErrKeysGone is an ErrCorrupt: there is no keys file, but what a server metered is there.
	ErrKeysGone = fmt.Errorf("%w: it is gone, and what a server metered is there", ErrCorrupt)
)

var (
	errNotADate = errors.New("want YYYY-MM-DD")
	errClosed   = fmt.Errorf("store closed: %w", ErrUnavailable)
)
