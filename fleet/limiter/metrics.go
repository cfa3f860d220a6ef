package limiter

import (
	"sync/atomic"
	"time"

	"ninepocket/internal/counters"
)

// ResultNames name the results of Stats.Results: what became of calls, as the fates from admitted
// on, and calls whose fate nobody knew.
var ResultNames = [...]string{"granted", "window_full", "quota_full", "closed", "unavailable"}

// resultUnavailable is the last result.
const resultUnavailable = len(ResultNames) - 1

// metrics is what a store counts of itself.
type metrics struct {
	times           *counters.Durations
	results         [len(ResultNames)]atomic.Uint64 // calls
	leases          atomic.Uint64                   // asks of leases that were answered
	refusedLocally  atomic.Uint64                   // calls refused without asking
	timeouts        atomic.Uint64                   // calls whose answer came too late or never
	tenantsWithLoss atomic.Uint64                   // shares that found acknowledged writes gone
	waiting         atomic.Int64
	batches         atomic.Uint64
	sent            atomic.Uint64
	clockSkew       atomic.Int64 // clock of Redis - ours, in milliseconds
}

func newMetrics() *metrics {
	return &metrics{times: counters.NewDurations(1, counters.Decades(10*time.Microsecond, time.Second)...)}
}

func (m *metrics) now() time.Time { return time.Now() }

// countBatch notes a batch that was answered, or not.
func (m *metrics) countBatch(n int, began time.Time) {
	m.batches.Add(1)
	m.sent.Add(uint64(n))
	m.times.Since(0, began)
}

// countLocal notes a call that was decided without asking.
func (m *metrics) countLocal(c *pendingAdmit) {
	if c.outcome != outcomeAdmitted {
		m.refusedLocally.Add(1)
	}
	m.countOutcome(c)
}

// countOutcome notes what became of a call.
func (m *metrics) countOutcome(c *pendingAdmit) {
	if c.outcome >= outcomeAdmitted && c.outcome <= outcomeCooldown {
		m.results[c.outcome-outcomeAdmitted].Add(1)
	}
}

// Stats are a store's figures since it was opened.
type Stats struct {
	Results         [len(ResultNames)]uint64 // calls, by what became of them
	Leases          uint64                   // questions that Redis answered, for plans above a thousand calls a minute
	RefusedLocally  uint64                   // calls refused without asking
	Timeouts        uint64                   // calls whose answer came too late, or never
	TenantsWithLoss uint64                   // tenants that acknowledged writes were lost of
	Waiting         int64                    // calls that wait for an answer
	Leased          int64                    // units of large plans that are taken ahead and not used
	Batches         uint64                   // that were sent
	Commands        uint64                   // in these
	ClockSkew       time.Duration            // the clock of Redis, less ours
	Up              bool
	Exchange        counters.Histogram // of a batch
}

// LimiterStats returns the figures of what is shared.
func (store *Store) LimiterStats() Stats {
	m := store.metrics
	stats := Stats{
		Leases: m.leases.Load(), RefusedLocally: m.refusedLocally.Load(), Timeouts: m.timeouts.Load(),
		TenantsWithLoss: m.tenantsWithLoss.Load(), Waiting: m.waiting.Load(), Leased: store.leasedUnits(),
		Batches: m.batches.Load(), Commands: m.sent.Load(),
		ClockSkew: time.Duration(m.clockSkew.Load()) * time.Millisecond, Up: store.client.up(),
		Exchange: m.times.Row(0),
	}
	for i := range stats.Results {
		stats.Results[i] = m.results[i].Load()
	}
	return stats
}
