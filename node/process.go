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

// memory implements engine.Options.Memory: the number of bytes that the process needs, and its
// limit. The limit is GOMEMLIMIT, or 90 % of the limit of the control group. Without either it is
// half of the memory that this process has or could get, because the collector lets a heap grow to
// twice its live size before it runs. A negative limit means that the limit is unknown.
func memory() (used, limit int64) {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
	}

	// All are read together, because they are subtracted from each other.
	metrics.Read(samples)
	sample := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
	// Memory that was returned to the system does not count.
	resident := sample(1) - sample(2)
	// The live heap, and what the runtime takes in addition to the heap.
	used = sample(0) + resident - sample(3) - sample(4) - sample(5)
	limit = memoryLimit()
	if limit != 0 {
		return used, limit
	}
	return used, (resident + availableMemory()) / 2
}

// availableMemory returns the memory that new work could get without swapping, as the kernel says.
// If that is unknown, it is so far below zero that the limit in memory becomes negative, which
// means none.
func availableMemory() int64 {
	info, _ := os.ReadFile("/proc/meminfo")
	for line := range bytes.Lines(info) {
		if rest, ok := bytes.CutPrefix(line, []byte("MemAvailable:")); ok {
			kib, _ := strconv.ParseInt(string(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte(" kB"))), 10, 64)
			return kib << 10
		}
	}

	// The sum in memory stays negative.
	return math.MinInt64 / 2
}

// heapPercent is how much of the control group's memory the Go runtime may use, in per cent; C
// stacks, page tables and file pages that cannot be dropped need the rest.
const heapPercent = 90

// LimitMemory makes the garbage collector work harder near the memory limit, so that the kernel
// does not kill the process. Unless GOMEMLIMIT is set, the runtime's soft limit becomes heapPercent
// of the control group's limit.
func LimitMemory(group memlimit.Provider) {
	if _, set := os.LookupEnv("GOMEMLIMIT"); set {
		// The runtime has read it.
		return
	}

	// The provider returns an error for a group without a limit, and on a system without groups.
	limit, err := group()
	if err != nil || limit == 0 || limit > math.MaxInt64 {
		return
	}
	debug.SetMemoryLimit(int64(limit) / 100 * heapPercent)
}

// buildMemory is what a build may take, in bytes, before it must do with a quarter more than it needs.
const buildMemory = 1200 << 20

// LimitBuild limits the memory of a process that builds a snapshot. The collector would let its heap grow
// to twice its live size, which saves such a process next to no time. Unless GOMEMLIMIT is set, the
// runtime's soft limit follows what is live, up to the limit of memory.
func LimitBuild() {
	if _, set := os.LookupEnv("GOMEMLIMIT"); !set {
		_, bound := memory()
		followLive(bound)
	}
}

// followLive sets the limit by what is live, now and after each collection. A negative bound is none.
func followLive(bound int64) {
	used, _ := memory()
	limit := max(buildMemory, used+used/4)
	if bound > 0 {
		limit = min(limit, bound)
	}
	debug.SetMemoryLimit(limit)
	// The next collection finds that nobody has it.
	runtime.AddCleanup(new([64]byte), followLive, bound)
}

// memoryLimit returns the memory limit of the process in bytes: GOMEMLIMIT, or 90 % of the control
// group's limit; 0 if there is neither.
func memoryLimit() int64 {
	// A negative argument only reads the limit.
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit
	}
	return 0
}

// The memory for larger request bodies that are being read: a quarter of the limit, in addition to
// the snapshot, connections and responses. With much memory it is that of 256 of the largest
// bodies, or 5,000 batches of a hundred selections.
const minBodyBudget = 2 << 20

// bodyBudget returns server.Options.BodyBudget.
func bodyBudget(limit int64) int64 { return max(memoryShare(limit, 4), minBodyBudget) }

// memoryShare returns limit/part, at most maxShare, which is also the share if there is no limit.
func memoryShare(limit, part int64) int64 {
	if limit == 0 {
		return maxShare
	}
	return min(limit/part, maxShare)
}

// maxShare limits the memory of bodies, and of each cache: some 100,000 cached searches. Compressed bodies,
// each with the plain body, are some 3,000 pages of 20 kB or 1,500 price histories of a year. That
// is most of what clients request.
const maxShare = 64 << 20

// cacheBudget returns the memory for each of the two caches. With little memory it is an eighth of
// the limit, so that the caches and bodies leave half of it to the snapshot and connections.
func cacheBudget(limit int64) int64 { return memoryShare(limit, 8) }

// LogMemory logs the memory limit of the process; 0 is no limit.
func LogMemory(log *slog.Logger) {
	_, chosen := os.LookupEnv("GOMEMLIMIT")
	log.Info("memory", slog.Int64("limit_bytes", memoryLimit()), slog.Bool("from_gomemlimit", chosen))
}

// withExtraProc implements engine.Options.RunLoad: it gives the scheduler one more processor during
// work. A goroutine that sleeps in the kernel, as throttled work does, occupies a processor for a
// while.
func withExtraProc(work func()) {
	before := runtime.GOMAXPROCS(0)
	// This stops the world for a moment, and again at the end: once a load is rare enough.
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

// PrepareProcess prepares the process for serving. The process ends by a signal if the runtime
// fails, and continues if the reader of its log is gone.
func PrepareProcess() {
	// The runtime's default exit code is that of a wrong configuration, after which a service
	// manager does not restart a server.
	debug.SetTraceback("crash")
	// Keys are in memory, which must not be written to a core file.
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	// The system's journal may be restarted. A service manager takes an end by SIGPIPE for a normal
	// one.
	signal.Ignore(syscall.SIGPIPE)
}
