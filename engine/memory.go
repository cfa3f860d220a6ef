package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"

	"ninepocket/snapshot"
)

// The memory that a load takes at its peak (decision 95). A View has the decoded columns, JSON, and
// an index. JSON and index grow with cards and lanes, not with the length of history, so the
// decoded size alone would be wrong by a factor of two.
//
// The table has the highest live heap of a load, measured by TestSwapCost (docs/dev/BENCHMARKS.md),
// and the result of estimateMemory. The heap in brackets is that before the JSON was in chunks.
//
//	 35,026 real cards, 48,599 lanes, one day:             86 MiB          need   115 MiB
//	 40,004 synthetic cards, 149,122 lanes, one year:     164 MiB (193)    need   241 MiB
//	300,030 synthetic cards, 1,116,572 lanes, one year: 1,229 MiB (1,485)  need 1,715 MiB
const (
	// rawNumerator/rawDenominator is the factor of the decoded size: decoding needs all columns and
	// half of them a second time.
	rawNumerator, rawDenominator = 3, 2
	bytesPerCard                 = 1700
	bytesPerLane                 = 350
	// loadBase is the additional memory of any load: decoders, buffers and the like.
	loadBase = 16 << 20
)

// errNoMemory reports that a snapshot was not loaded because there is too little memory for it.
var errNoMemory = errors.New("does not fit into memory")

// estimateMemory returns how many bytes a load takes at its peak, in addition to those in use.
func estimateMemory(m *snapshot.Manifest) int64 {
	var raw int64
	for _, section := range m.Sections {
		switch {
		case section.InMemory(): // its file alone is read, to be checked
			raw += section.Bytes
		case !section.Optional: // the optional sections that this program decodes are small
			raw += section.Raw
		}
	}

	return loadBase + raw/rawDenominator*rawNumerator + bytesPerCard*int64(m.Counts.Cards) +
		bytesPerLane*int64(m.Counts.Lanes)
}

// checkMemory checks that there is memory to load a snapshot while another one is served (decision
// 95). To free memory it drops retired Views, the oldest first. Pagination then continues in
// another snapshot or must start again, which does less harm than a killed process. The first
// snapshot of a process is always tried, because no other could be served instead.
func (e *Engine) checkMemory(m *snapshot.Manifest) error {
	if e.o.Memory == nil || e.View() == nil {
		return nil
	}

	needed := estimateMemory(m)
	used, limit := e.o.Memory()
	if limit <= 0 || used+needed <= limit {
		return nil
	}

	// Part of the used memory may be garbage: collect it, and measure again.
	dropped := 0
	for {
		runtime.GC()
		// A dropped View may have been the last one with the closed days of the snapshot.
		needed = estimateMemory(m)
		used, limit = e.o.Memory()
		if used+needed <= limit || !e.dropOldest() {
			break
		}
		dropped++
	}

	if dropped > 0 {
		e.o.Log.Warn("retired snapshots dropped for memory: their cursors continue in another snapshot or start again",
			slog.Int("dropped", dropped), slog.String("snapshot_id", m.ID))
	}

	if used+needed <= limit {
		return nil
	}

	// The text does not contain the memory in use, because that differs from try to try: Follow
	// logs each text once.
	return fmt.Errorf("snapshot %q %w: loading it takes about %d MiB more than is in use, and the limit is "+
		"%d MiB: raise it (GOMEMLIMIT) or give the machine more memory",
		m.ID, errNoMemory, needed>>20, limit>>20)
}

// dropOldest releases the View that was retired first. It returns false if there is none.
func (e *Engine) dropOldest() bool {
	e.mu.Lock()
	defer e.mu.Unlock()

	all := *e.retired.Load()
	if len(all) == 0 {
		return false
	}

	// A slice of the old list would keep the View in memory.
	remaining := slices.Clone(all[:len(all)-1])
	e.retired.Store(&remaining)
	return true
}
