package node

import (
	"bytes"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"syscall"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// memory is engine.Options.Memory: how many bytes the process needs, and how many it may have. The
// limit is GOMEMLIMIT, or 90 % of the limit of the control group. Without either it is half of the
// memory that this process has or could get, because the collector lets a heap grow to twice what
// is live before it runs. A negative limit means that nobody knows.
func memory() (used, limit int64) {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
	}

	// One reading for all: they are subtracted from each other.
	metrics.Read(samples)
	sample := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
	// What was given back to the system does not count.
	resident := sample(1) - sample(2)
	// What is live, and what the runtime takes beside the heap.
	used = sample(0) + resident - sample(3) - sample(4) - sample(5)
	limit = memoryLimit()
	if limit != 0 {
		return used, limit
	}
	return used, (resident + availableMemory()) / 2
}

// availableMemory is what the kernel says new work could get without swapping. Where nobody knows,
// it is so far below zero that the limit in memory becomes negative, which means none.
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

// heapPercent is how much of the control group's memory the Go runtime may plan with, in per cent;
// stacks of C, page tables and file pages that cannot be dropped need the rest.
const heapPercent = 90

// LimitMemory lets the garbage collector work harder near the limit, so that the kernel does not
// kill the process. Unless GOMEMLIMIT is set, the runtime's soft limit becomes a share of what the
// control group allows.
func LimitMemory(group memlimit.Provider) {
	if _, set := os.LookupEnv("GOMEMLIMIT"); set {
		// The runtime has read it.
		return
	}

	// A group without a limit is an error of the provider, as is a system without groups.
	limit, err := group()
	if err != nil || limit == 0 || limit > math.MaxInt64 {
		return
	}
	debug.SetMemoryLimit(int64(limit) / 100 * heapPercent)
}

// memoryLimit is the memory in bytes that the process is to stay below, 0 when nobody said: 90 % of
// the control group's limit, or GOMEMLIMIT.
func memoryLimit() int64 {
	// A negative limit only asks.
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit
	}
	return 0
}

// How much memory larger request bodies may take that are being read: a quarter of the limit, beside
// what is served, connections and answers, and with much memory what 256 of the largest take, or
// 5,000 batches of a hundred selections.
const (
	minBodyBudget = 2 << 20
	maxBodyBudget = 64 << 20
)

// bodyBudget is server.Options.BodyBudget.
func bodyBudget(limit int64) int64 { return max(memoryShare(limit, 4, maxBodyBudget), minBodyBudget) }

// memoryShare is a part of a limit of memory, most of which is where there is no limit.
func memoryShare(limit, part, unlimited int64) int64 {
	if limit == 0 {
		return unlimited
	}
	return min(limit/part, unlimited)
}

// maxCacheBudget bounds the memory of each cache: some 100,000 remembered searches; bodies that are
// kept compressed, each with the plain body, are some 3,000 pages of 20 kB or 1,500 price histories
// of a year. That is what most clients ask for most of the time.
const maxCacheBudget = 64 << 20

// cacheBudget is the memory for each of the two caches: with little memory an eighth of the limit,
// so that they and bodies leave half of it to what is served and to connections.
func cacheBudget(limit int64) int64 { return memoryShare(limit, 8, maxCacheBudget) }

// LogMemory says what the process plans with; 0 is no limit.
func LogMemory(log *slog.Logger) {
	_, chosen := os.LookupEnv("GOMEMLIMIT")
	log.Info("memory", slog.Int64("limit_bytes", memoryLimit()), slog.Bool("from_gomemlimit", chosen))
}

// withExtraProc is engine.Options.RunLoad: it gives the scheduler one more processor for the work.
// A goroutine that rests in the kernel, as paced work does, keeps a processor from the others for a
// while.
func withExtraProc(work func()) {
	before := runtime.GOMAXPROCS(0)
	// It stops the world for a moment, and again at the end: once a load is seldom enough.
	runtime.GOMAXPROCS(before + 1)
	defer func() {
		if os.Getenv("GOMAXPROCS") != "" {
			runtime.GOMAXPROCS(before)
			return
		}

		// This follows the limits of the control group, but ignores GOMAXPROCS.
		runtime.SetDefaultGOMAXPROCS()
	}()
	work()
}

// PrepareProcess prepares the process for serving. It ends by a signal when the runtime fails, and
// lives on when who reads its log has gone.
func PrepareProcess() {
	// By itself the runtime would end with the code of a wrong configuration, after which no service
	// manager starts a server again.
	debug.SetTraceback("crash")
	// Keys are in memory, which must not become a core file.
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	// The system's journal may be restarted. A service manager takes that signal for a wanted end.
	signal.Ignore(syscall.SIGPIPE)
}
