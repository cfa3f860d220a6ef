package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"

	"ninepocket/snapshot"
)

// How much memory a load takes at its peak (decision 95). A View holds the decoded columns, JSON,
// and an index. JSON and index grow with cards and lanes, not with the length of history, so the
// decoded size alone would be wrong by a factor of two.
//
// The table has the highest live heap of a load as TestSwapCost measured it (docs/PERFORMANCE.md),
// and what need says. In brackets is the heap from before fragments lay in chunks.
//
//	 35,026 real cards, 48,599 lanes, one day:             86 MiB          need   115 MiB
//	 40,004 synthetic cards, 149,122 lanes, one year:     164 MiB (193)    need   241 MiB
//	300,030 synthetic cards, 1,116,572 lanes, one year: 1,229 MiB (1,485)  need 1,715 MiB
const (
	// rawNumerator/rawDenominator is the factor of the decoded size: decoding holds all columns and
	// half of them a second time.
	rawNumerator, rawDenominator = 3, 2
	bytesPerCard                 = 1700
	bytesPerLane                 = 350
	// loadBase is what any load takes besides: decoders, scratch, small change.
	loadBase = 16 << 20
)

// errNoMemory says that a snapshot was not loaded because there is too little memory for it.
var errNoMemory = errors.New("does not fit into memory")

// estimateMemory is how many bytes a load takes at its peak, besides those that are in use already.
func estimateMemory(m *snapshot.Manifest) int64 {
	var raw int64
	for _, section := range m.Sections {
		// Optional sections that this program knows are small, and it does not decode others.
		if !section.Optional {
			raw += section.Raw
		}
	}

	return loadBase + raw/rawDenominator*rawNumerator + bytesPerCard*int64(m.Counts.Cards) +
		bytesPerLane*int64(m.Counts.Lanes)
}

// checkMemory makes sure that there is room to load a snapshot beside the one that is served
// (decision 95). To make room it drops retired Views, the oldest first. A page walk then goes on in
// another snapshot or has to begin again, which does less harm than a killed process. The first
// snapshot of a process is always tried, because nothing else could be served instead.
func (e *Engine) checkMemory(m *snapshot.Manifest) error {
	if e.o.Memory == nil || e.View() == nil {
		return nil
	}

	needed := estimateMemory(m)
	used, limit := e.o.Memory()
	if limit <= 0 || used+needed <= limit {
		return nil
	}

	// What is in use may be garbage in part: collect it, and measure again.
	dropped := 0
	for {
		runtime.GC()
		used, limit = e.o.Memory()
		if used+needed <= limit || !e.dropOldest() {
			break
		}
		dropped++
	}

	if dropped > 0 {
		e.o.Log.Warn("dropped retired snapshots to make room: their cursors go on in another one or must start again",
			slog.Int("dropped", dropped), slog.String("snapshot_id", m.ID))
	}

	if used+needed <= limit {
		return nil
	}

	// The text does not say how much is in use, because that changes from try to try: Follow logs
	// each text once.
	return fmt.Errorf("snapshot %q %w: loading it takes about %d MiB more than is in use, and the limit is "+
		"%d MiB: raise it (GOMEMLIMIT) or give the machine more memory",
		m.ID, errNoMemory, needed>>20, limit>>20)
}

// dropOldest lets go of the View that was retired first. It returns false when there is none.
func (e *Engine) dropOldest() bool {
	e.mu.Lock()
	defer e.mu.Unlock()

	all := *e.retired.Load()
	if len(all) == 0 {
		return false
	}

	// A slice of the old list would still hold the View in memory.
	remaining := slices.Clone(all[:len(all)-1])
	e.retired.Store(&remaining)
	return true
}
