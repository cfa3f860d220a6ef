package main

import (
	"runtime"
	"testing"
)

// TestAside wants one processor more for the work, and after it as many as the operator said.
func TestAside(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)

	// Read by the runtime at the start alone.
	t.Setenv("GOMAXPROCS", "7")
	runtime.GOMAXPROCS(7)
	during := 0
	aside(func() { during = runtime.GOMAXPROCS(0) })
	if after := runtime.GOMAXPROCS(0); during != 8 || after != 7 {
		t.Errorf("%d processors during the work and %d after, want 8 and 7", during, after)
	}
}
