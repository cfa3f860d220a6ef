package keys

import (
	"errors"
	"fmt"

	"ninepocket/internal/wal"
)

// Errors of authentication. None of them contains any part of a key.
var (
	// ErrNoKey: the request carries no key.
	ErrNoKey = errors.New("no API key")
	// ErrInvalid: the key is malformed, or well formed and unknown.
	ErrInvalid = errors.New("invalid API key")
	// ErrRevoked: the key was revoked.
	ErrRevoked = errors.New("revoked API key")
	// ErrSuspended: the tenant of the key is suspended. It comes together with the principal.
	ErrSuspended = errors.New("suspended tenant")
	// ErrExpired: the key has expired.
	ErrExpired = errors.New("expired API key")
	// ErrSandbox: the key is a valid sandbox key, which no data call accepts. Authenticate returns
	// it together with the principal.
	ErrSandbox = errors.New("sandbox API key")
	// ErrUnavailable: metering or keys are unavailable; the call costs nothing and the response is 503
	// (fails closed).
	ErrUnavailable = errors.New("metering unavailable")
)

// Errors of the keys file.
var (
	// ErrNoSuchKey: no key has that id.
	ErrNoSuchKey = errors.New("no such key")
	// ErrNoSuchTenant: no tenant has that name.
	ErrNoSuchTenant = errors.New("no such tenant")
	// ErrSuspendedTenant: the key cannot be changed while its tenant is suspended.
	ErrSuspendedTenant = errors.New("it is suspended, with its tenant")
	// ErrCreditsDiffer: the tenant has other credits, and the request does not change them.
	ErrCreditsDiffer = errors.New("tenant has other credits")
	// ErrPlanDiffers: the tenant has another plan, and the request does not change it.
	ErrPlanDiffers = errors.New("tenant has another plan")
	// ErrNoFile: the state directory has no keys file yet.
	ErrNoFile = errors.New("no keys file")
	// ErrShared: the state directory belongs to a server of a fleet, whose keys are elsewhere.
	ErrShared = errors.New("the keys are in the database of the fleet")
	// ErrMissing: the keys file is missing, and there are metering data.
	ErrMissing = fmt.Errorf("%w: it is gone, and what a server metered is there", wal.ErrCorrupt)
)
