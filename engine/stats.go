package engine

import (
	"errors"
	"sync"
	"time"

	"ninepocket/snapshot"
)

// Reason is why a release was not served.
type Reason uint8

// The reasons. Damaged, NewerFormat and Unservable are permanent properties of the snapshot;
// NoMemory and NoSource may pass.
const (
	Damaged     Reason = iota // its bytes differ from the written bytes
	NewerFormat               // a newer program wrote it
	Unservable                // a View cannot be made of it, although it is undamaged
	NoMemory                  // there is no memory for it next to the served one
	NoSource                  // the store could not be polled or read
	Reasons                   // how many there are
)

var reasonNames = [Reasons]string{"damaged", "newer_format", "unfit", "memory", "source"}

// reasonErrors are the errors of the first reasons, in the order of the reasons. Every other error
// is NoSource.
var reasonErrors = [...]error{snapshot.ErrDamaged, snapshot.ErrNewerFormat, errUnservable, errNoMemory}

// String returns the reason as metrics and logs name it.
func (reason Reason) String() string { return reasonNames[reason] }

// permanent reports whether another try would fail in the same way. Unservable is the last such
// reason.
func (reason Reason) permanent() bool { return reason <= Unservable }

// ReasonOf returns the reason of an error that Open, Retry or a poll returned.
func ReasonOf(err error) Reason {
	for reason, known := range reasonErrors {
		if errors.Is(err, known) {
			return Reason(reason)
		}
	}
	return NoSource
}

// Phases are the durations of a load.
type Phases struct {
	Read      time.Duration // reading, checking and decoding the sections
	Index     time.Duration // ids, filters, orders and words
	Fragments time.Duration // encoding the JSON of every record
	Total     time.Duration
}

// Failure is a release that was not served.
type Failure struct {
	At     time.Time
	ID     string // "" if the source could not be polled
	Epoch  uint64
	Reason Reason
	Err    error
}

// Stats are the statistics of an engine at one moment.
type Stats struct {
	Epoch    uint64             // of the served release; 0 after a fallback of Open
	Previous string             // id of the previously served snapshot, "" for none
	Live     time.Time          // since when the current View is served
	Manifest *snapshot.Manifest // of the current View; nil when the View did not come from the source
	Checked  time.Time          // when the source was last polled
	Behind   bool               // the published snapshot is not the served one (decision 96)
	Degraded bool               // see Engine.Degraded

	Prepared   string        // id of the scheduled snapshot, "" for none
	PreparedAt time.Time     // its activation time
	Late       time.Duration // of the last swap after its activation time; 0 if it had none

	Swaps       uint64          // Views that became current, the first included
	Failures    [Reasons]uint64 // failed tries
	LastFailure *Failure        // nil for none
	LastLoad    Phases          // of the current View

	Retired      int // Views retained for cursors
	RetiredBytes int64

	SearchHits, SearchMisses uint64 // of the search cache
}

// statsRecorder records the engine's Stats. It has its own lock, because a scrape must not wait for
// a load.
type statsRecorder struct {
	mu sync.Mutex
	s  Stats
}

func (b *statsRecorder) polled(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.s.Checked = now
}

// origin is the release and the load that a View came from. It is zero if the View did not come
// from the source.
type origin struct {
	cur      snapshot.Current // its epoch is 0 after a fallback of Open
	manifest *snapshot.Manifest
	took     Phases
}

// swapped records a new current View.
func (b *statsRecorder) swapped(old, v *View, now time.Time, from origin) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.s.Swaps++
	if old != nil && old.ID != v.ID {
		b.s.Previous = old.ID
	}

	b.s.Late = 0
	if at := from.cur.ActivateAt; !at.IsZero() && old != nil {
		// A server that starts later is not late.
		b.s.Late = max(0, now.Sub(at))
	}

	b.s.Live = now
	b.s.Epoch = from.cur.Epoch
	b.s.Manifest = from.manifest
	b.s.LastLoad = from.took

	// A fallback has a manifest and no epoch.
	b.s.Behind = from.manifest != nil && from.cur.Epoch == 0
}

// republished records a new release of the served snapshot.
func (b *statsRecorder) republished(cur snapshot.Current) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.s.Epoch = cur.Epoch
	b.s.Behind = false
}

func (b *statsRecorder) failed(cur snapshot.Current, reason Reason, err error, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.s.Failures[reason]++
	b.s.LastFailure = &Failure{At: now, ID: cur.ID, Epoch: cur.Epoch, Reason: reason, Err: err}

	// A failure with an epoch belongs to a release that is not served.
	b.s.Behind = b.s.Behind || cur.Epoch != 0
}

// Stats returns the engine's statistics. It never waits for a load.
func (e *Engine) Stats() Stats {
	e.recorder.mu.Lock()
	stats := e.recorder.s
	e.recorder.mu.Unlock()

	stats.Degraded = e.Degraded.Load()
	if p := e.prepared.Load(); p != nil {
		stats.Prepared = p.view.ID
		stats.PreparedAt = p.at()
	}
	stats.Retired, stats.RetiredBytes = e.retiredStats()
	if e.searches != nil {
		stats.SearchHits = e.searches.hits.Load()
		stats.SearchMisses = e.searches.misses.Load()
	}

	return stats
}
