package node

import (
	"errors"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// TestWithExtraProc wants one processor more for the work, and after it as many as the operator
// said.
func TestWithExtraProc(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)

	// Read by the runtime at the start alone.
	t.Setenv("GOMAXPROCS", "7")
	runtime.GOMAXPROCS(7)
	during := 0
	withExtraProc(func() { during = runtime.GOMAXPROCS(0) })
	if after := runtime.GOMAXPROCS(0); during != 8 || after != 7 {
		t.Errorf("%d processors during the work and %d after, want 8 and 7", during, after)
	}
}

func TestLimitMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	t.Setenv("GOMEMLIMIT", "off")
	debug.SetMemoryLimit(math.MaxInt64)
	LimitMemory(memlimit.Limit(2 << 30))
	if got := memoryLimit(); got != 0 {
		t.Errorf("GOMEMLIMIT=off: limit %d", got)
	}

	// Put back by Setenv.
	if err := os.Unsetenv("GOMEMLIMIT"); err != nil {
		t.Fatal(err)
	}

	LimitMemory(memlimit.Limit(0))
	if got := memoryLimit(); got != 0 {
		t.Errorf("no limit of the group: limit %d", got)
	}
	LimitMemory(memlimit.Limit(2_000_000_000))
	if got := memoryLimit(); got != 1_800_000_000 {
		t.Errorf("2 GB for the group: limit %d", got)
	}
}

// TestSharesOfMemory wants bodies and caches to leave half of the memory to what is served and to
// connections, however little there is.
func TestSharesOfMemory(t *testing.T) {
	t.Parallel()
	for limit := int64(8 << 20); limit < 1<<40; limit += limit / 3 {
		if sum := bodyBudget(limit) + 2*cacheBudget(limit); sum > limit/2 || sum < min(limit/3, 192<<20) {
			t.Errorf("of %d bytes, bodies and caches may take %d", limit, sum)
		}
	}
	if bodyBudget(0) != maxShare || cacheBudget(0) != maxShare {
		t.Error("without a limit they do not take what they may")
	}
}

func TestMemoryIsKnown(t *testing.T) {
	used, limit := memory()
	if used <= 0 || used > 1<<40 {
		t.Errorf("%d bytes are used", used)
	}
	if _, err := os.Stat("/proc/meminfo"); err == nil && limit < used/2 {
		t.Errorf("%d bytes are used of %d", used, limit)
	}
}

// TestIsTmpfs asks for a directory in memory, and for one that is not.
func TestIsTmpfs(t *testing.T) {
	if _, err := os.Stat("/dev/shm"); errors.Is(err, os.ErrNotExist) {
		t.Skip("skipped: the warning of a state directory in memory, because there is no /dev/shm")
	}
	if !isTmpfs("/dev/shm") || isTmpfs("/proc") {
		t.Error("/dev/shm is taken for a disk, or /proc for memory")
	}
}
