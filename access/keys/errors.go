package keys

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
	// ErrUnavailable: metering or key state cannot answer; the call costs nothing and the response
	// is 503 (fails closed).
	ErrUnavailable = errors.New("metering unavailable")
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
	// ErrNoFile: the state directory has no keys file yet.
	ErrNoFile = errors.New("no keys file")
	// ErrShared: the state directory is of a server of a fleet, whose keys are elsewhere.
	ErrShared = errors.New("the keys are in the database of the fleet")
	// ErrMissing reports that the keys file is missing beside existing metering data.
	ErrMissing = fmt.Errorf("%w: it is gone, and what a server metered is there", wal.ErrCorrupt)
)
