package main

import (
	"bytes"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
)

// memory is engine.Options.Memory: what the process cannot do without, and what it may have. The
// limit is GOMEMLIMIT; without one it is half of the memory that this process has or could get: the
// collector lets a heap grow to twice what is live before it runs. 0 means that the limit is
// unknown.
func memory() (used, limit int64) {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
	}

	metrics.Read(samples)
	at := func(k int) int64 { return int64(samples[k].Value.Uint64()) }
	// What was given back to the system does not count.
	held := at(1) - at(2)
	// What is live, and what the runtime takes beside the heap.
	used = at(0) + held - at(3) - at(4) - at(5)
	limit = debug.SetMemoryLimit(-1)
	if limit < math.MaxInt64 {
		return used, limit
	}
	return used, (held + availableMemory()) / 2
}

// availableMemory is the memory that new work could get without swapping, as the kernel says. Where
// the kernel does not say, it is so low that no limit follows.
func availableMemory() int64 {
	info, _ := os.ReadFile("/proc/meminfo")
	for line := range bytes.Lines(info) {
		if rest, ok := bytes.CutPrefix(line, []byte("MemAvailable:")); ok {
			kib, _ := strconv.ParseInt(string(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte(" kB"))), 10, 64)
			return kib << 10
		}
	}

	// So that the sum is no limit.
	return math.MinInt64 / 2
}
