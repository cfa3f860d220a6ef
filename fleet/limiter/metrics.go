package limiter

import (
	"sync/atomic"
	"time"

	"ninepocket/internal/counters"
)

// ResultNames name the rows of Stats.Results: the outcomes of admissions from outcomeAdmitted on, and
// admissions without an outcome.
var ResultNames = [...]string{"granted", "window_full", "quota_full", "closed", "unavailable"}

// resultUnavailable is the last result.
const resultUnavailable = len(ResultNames) - 1

// metrics counts what a store does.
type metrics struct {
	times           *counters.Durations
	results         [len(ResultNames)]atomic.Uint64 // admissions
	leases          atomic.Uint64                   // lease calls that Redis answered
	refusedLocally  atomic.Uint64                   // admissions refused without a script call
	timeouts        atomic.Uint64                   // admissions whose answer was late or missing
	tenantsWithLoss atomic.Uint64                   // limiters that found acknowledged writes lost
	waiting         atomic.Int64
	batches         atomic.Uint64
	sent            atomic.Uint64
	clockSkew       atomic.Int64 // clock of Redis - ours, in milliseconds
	memoryUsed      atomic.Int64 // bytes that Redis uses
	memoryBound     atomic.Int64 // its maxmemory, 0 = none
}

func newMetrics() *metrics {
	return &metrics{times: counters.NewDurations(1, counters.Decades(10*time.Microsecond, time.Second)...)}
}

// now reads the clock for the duration of a batch, which no Instant measures.
func (m *metrics) now() time.Time { return time.Now() }

// countBatch counts a batch, answered or not.
func (m *metrics) countBatch(n int, began time.Time) {
	m.batches.Add(1)
	m.sent.Add(uint64(n))
	m.times.Since(0, began)
}

// countOutcome counts the outcome of an admission.
func (m *metrics) countOutcome(result outcome) {
	if result >= outcomeAdmitted && result <= outcomeCooldown {
		m.results[result-outcomeAdmitted].Add(1)
	}
}

// Stats are a store's figures since it was opened.
type Stats struct {
	Results         [len(ResultNames)]uint64 // admissions by result
	Leases          uint64                   // lease calls that Redis answered, of large plans
	RefusedLocally  uint64                   // admissions refused without a script call
	Timeouts        uint64                   // admissions whose answer was late or missing
	TenantsWithLoss uint64                   // tenants with lost acknowledged writes
	Waiting         int64                    // admissions that wait for an answer
	Leased          int64                    // calls of large plans that are leased and not used
	Batches         uint64                   // of commands that were sent
	Commands        uint64                   // in these batches
	ClockSkew       time.Duration            // clock of Redis - ours
	MemoryUsed      int64                    // bytes that Redis uses
	MemoryBound     int64                    // its maxmemory, 0 = none
	Up              bool
	Exchange        counters.Histogram // of a batch
}

// LimiterStats returns the figures of the limiters, next to those of the usage log in Stats.
func (store *Store) LimiterStats() Stats {
	m := store.metrics
	stats := Stats{
		Leases: m.leases.Load(), RefusedLocally: m.refusedLocally.Load(), Timeouts: m.timeouts.Load(),
		TenantsWithLoss: m.tenantsWithLoss.Load(), Waiting: m.waiting.Load(), Leased: store.leasedUnits(),
		Batches: m.batches.Load(), Commands: m.sent.Load(),
		ClockSkew: time.Duration(m.clockSkew.Load()) * time.Millisecond, Up: store.client.up(),
		MemoryUsed: m.memoryUsed.Load(), MemoryBound: m.memoryBound.Load(), Exchange: m.times.Row(0),
	}
	for i := range stats.Results {
		stats.Results[i] = m.results[i].Load()
	}
	return stats
}
