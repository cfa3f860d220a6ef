// Package accesstest is what every implementation of access.Store has to pass: a conformance suite
// and a model-based test. It only uses what access exports, so that stores in other packages can
// run it.
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
	// state again. Nil: the store keeps nothing.
	Reopen func(t testing.TB, store access.Store, kill bool, now access.Instant) access.Store

	// OneClock says that the store goes by a clock of its own, as a server that many share does. The
	// two clocks of its callers then stay together, and what only two can show is left out.
	OneClock bool
}
