package main

import (
	"log/slog"
	"math"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// heapShare is how much of the control group's memory the Go runtime may plan with, in per cent;
// stacks of C, page tables and file pages that cannot be dropped need the rest.
const heapShare = 90

// limitMemory makes the garbage collector work harder before the kernel kills the process: unless
// GOMEMLIMIT says otherwise, its soft limit becomes a share of what the control group allows.
func limitMemory(group memlimit.Provider) {
	if _, set := os.LookupEnv("GOMEMLIMIT"); set {
		// The runtime has read it.
		return
	}

	// A group without a limit is an error of the provider, as is a system without groups.
	limit, err := group()
	if err != nil || limit == 0 || limit > math.MaxInt64 {
		return
	}
	debug.SetMemoryLimit(int64(limit) / 100 * heapShare)
}

// memoryLimit is the memory in bytes that the process is to stay below, 0 when nobody said: 90 % of
// the control group's limit, or GOMEMLIMIT.
func memoryLimit() int64 {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit
	}
	return 0
}

// logMemory says what the process plans with; 0 is no limit.
func logMemory(log *slog.Logger) {
	_, chosen := os.LookupEnv("GOMEMLIMIT")
	log.Info("memory", slog.Int64("limit_bytes", memoryLimit()), slog.Bool("from_gomemlimit", chosen))
}
