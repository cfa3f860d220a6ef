// Package testsweep decides how much of a long sweep a test does.
//
// A sweep over a whole real catalog takes a minute or more under the race detector, and nothing in
// it runs in parallel. So make test runs a sample, and make whole runs all without the race
// detector.
package testsweep

import (
	"os"
	"testing"
)

// envVar is set to whole to do each sweep in full.
const envVar = "TEST_DEPTH"

// Full reports whether sweeps are done in full.
func Full() bool { return os.Getenv(envVar) == "whole" }

// Stride returns the stride of a sweep: 1 when sweeps are done in full, else n.
func Stride(n int) int {
	if Full() {
		return 1
	}
	return n
}

// OnlyFull skips a test that cannot be sampled, because most of its time goes into what it reads.
func OnlyFull(tb testing.TB) {
	tb.Helper()
	if !Full() {
		tb.Skip("skipped: a sweep that make whole does")
	}
}
