// Package accesstest has the tests that every implementation of access.Store must pass: a conformance
// suite and a model-based test. It uses only exported parts of access, so that stores in other packages
// can run it.
package accesstest

import (
	"testing"

	"ninepocket/access"
)

// MaxIdempotencyRecords is how many idempotency records a tenant of the store under test may have.
const MaxIdempotencyRecords = 40

// Harness makes the store under test, with that bound.
type Harness struct {
	// Open returns an empty store that is closed when the test ends. Its process starts at now.
	Open func(t testing.TB, now access.Instant) access.Store

	// Reopen ends a store, with Close or as if its process had been killed, and opens the same
	// state again. Nil: the store is not persistent.
	Reopen func(t testing.TB, store access.Store, kill bool, now access.Instant) access.Store

	// OneClock means that the store has its own clock, as a server that many share has. The two clocks
	// of its callers then stay together, and tests that need two are left out.
	OneClock bool
}
