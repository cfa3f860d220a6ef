package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"

	"ninepocket/snapshot"
)

// The memory that loading a snapshot takes at its peak. A View holds the decoded columns, and JSON
// and index entries. Those grow with cards and lanes rather than with the length of history, so the
// decoded size alone would be wrong by a factor of two. Below: the highest live heap that was
// measured while loading, now and before fragments lay in chunks, then what need says
// (docs/PERFORMANCE.md, TestSwapCost):
//
//	 35,026 real cards, 48,599 lanes, one day:             86 MiB          need   115 MiB
//	 40,004 synthetic cards, 149,122 lanes, one year:     164 MiB (193)    need   241 MiB
//	300,030 synthetic cards, 1,116,572 lanes, one year: 1,229 MiB (1,485)  need 1,715 MiB
const (
	rawNumerator, rawDenominator = 3, 2 // of the decoded sections: the columns, and half of them again while decoding
	bytesPerCard                 = 1700
	bytesPerLane                 = 350
	// loadBase is what any load takes besides: decoders, scratch, small change.
	loadBase = 16 << 20
)

// errNoRoom says that a snapshot was not loaded because memory would not have sufficed.
var errNoRoom = errors.New("does not fit into memory")

// need is how many bytes loading a snapshot takes beside what is used already, at the peak.
func need(m *snapshot.Manifest) int64 {
	var raw int64
	for _, s := range m.Sections {
		// Those are not decoded.
		if !s.Optional {
			raw += s.Raw
		}
	}

	return loadBase + raw/rawDenominator*rawNumerator + bytesPerCard*int64(m.Counts.Cards) +
		bytesPerLane*int64(m.Counts.Lanes)
}

// fits makes sure that there is room to load a snapshot beside the one that is served. Retired
// Views go first, the oldest before the others: a page walk that goes on in another snapshot, or
// has to begin again, does less harm than a killed process. The first snapshot of a process is
// always tried, because there is none to keep serving instead.
func (e *Engine) fits(m *snapshot.Manifest) error {
	if e.o.Memory == nil || e.View() == nil {
		return nil
	}

	needed := need(m)
	used, limit := e.o.Memory()
	if limit <= 0 || used+needed <= limit {
		return nil
	}

	// The reading may hold garbage; from here on it is taken after a collection.
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

	// What is used at the moment changes from try to try and is left out, so that the same trouble
	// is reported once.
	return fmt.Errorf("snapshot %q %w: loading it takes about %d MiB more than is in use, and the limit is "+
		"%d MiB: raise it (GOMEMLIMIT) or give the machine more memory",
		m.ID, errNoRoom, needed>>20, limit>>20)
}

// dropOldest lets go of the View that was retired first; false when there is none.
func (e *Engine) dropOldest() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := *e.retired.Load()
	if len(all) == 0 {
		return false
	}

	// A part of the old list would still hold the View.
	kept := slices.Clone(all[:len(all)-1])
	e.retired.Store(&kept)
	return true
}
