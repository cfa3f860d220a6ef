package access

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"ninepocket/access/keys"
	"ninepocket/calendar"
	"ninepocket/internal/wal"
)

// This file serves fleet/limiter: limits that many servers share are decided elsewhere, and the
// store only records the charges.

// QuotaState returns the day or period that a call is charged to now, and what is charged to it.
func (store *LocalStore) QuotaState(p *keys.Principal, spec *LimitSpec, now Instant) QuotaState {
	a := store.tenantOf(p.KeyID, p.Tenant)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.quotaState(p, spec, store.times(now))
}

// Record records a finished call and its charge, 0 or 1. When it returns nil the call is recorded as
// durably as its spec asks; on an error it is in no log.
func (store *LocalStore) Record(res Reservation, charged int64) error {
	if sampled() {
		defer store.metrics.times.Since(timeFinish, time.Now())
	}
	if err := store.Err(); err != nil {
		return err
	}

	a := store.tenantOf(res.Principal.KeyID, res.Principal.Tenant)
	e := store.newFleetEntry(&res, charged)
	a.mu.Lock()
	seq := store.record(a, &e)
	a.mu.Unlock()

	return store.awaitUndo(a, &e, seq, res.Spec.Durable && charged > 0)
}

// newFleetEntry is newEntry with the store's own time: that of the reservation is of the clock that
// all servers share.
func (store *LocalStore) newFleetEntry(res *Reservation, charged int64) entry {
	e := newEntry(res, charged)
	e.at = store.storeTime(res.Now)
	return e
}

// PreparedBatch is a batch that is logged and not charged yet; Redis decides the charge. Its owner
// settles it when it knows the decision; after a crash, the next process does.
type PreparedBatch struct {
	Tenant    string
	Claim     string // identifies the batch for ever
	RecordKey string // in Redis: where the decision is
	Period    calendar.Period

	entry entry
}

// Prepare puts a batch on disk. It costs one unit if its claim is decided so; nothing is charged yet.
func (store *LocalStore) Prepare(res Reservation, claim, recordKey string) (*PreparedBatch, error) {
	if err := store.Err(); err != nil {
		return nil, err
	}
	if claim == "" {
		return nil, errors.New("cannot prepare a batch without a claim")
	}

	e := store.newFleetEntry(&res, res.Spec.Cost)
	e.claim = claim
	e.recordKey = recordKey
	e.isPrepared = true
	if err := store.await(store.prepared.append(&e, store.dir.Log), true); err != nil {
		store.prepared.remove(claim)
		return nil, err
	}
	return e.batch(), nil
}

// Settle charges a prepared batch, or cancels it. On an error it stays prepared.
func (store *LocalStore) Settle(batch *PreparedBatch, charged bool) error {
	if err := store.Err(); err != nil {
		return err
	}

	e := batch.entry
	e.isPrepared = false
	if !charged {
		e.charged = 0
	}

	// One step for a checkpoint: it carries the prepared batch over, or finds the charge in the
	// tenant's state. Of two callers at once, the second finds nothing to settle.
	a := store.tenantOf(e.key, e.tenant)
	a.mu.Lock()
	store.prepared.mu.Lock()
	_, open := store.prepared.byClaim[batch.Claim]
	var seq uint64
	if open {
		delete(store.prepared.byClaim, batch.Claim)
		seq = store.record(a, &e)
	}
	store.prepared.mu.Unlock()
	a.mu.Unlock()
	if !open {
		return nil
	}

	err := store.awaitUndo(a, &e, seq, false)
	if err != nil {
		store.prepared.add(&batch.entry)
	}
	return err
}

// Unsettled returns the prepared batches, in order of their claims.
func (store *LocalStore) Unsettled() (all []*PreparedBatch) {
	store.prepared.mu.Lock()
	defer store.prepared.mu.Unlock()
	for _, claim := range slices.Sorted(maps.Keys(store.prepared.byClaim)) {
		e := store.prepared.byClaim[claim]
		all = append(all, e.batch())
	}
	return all
}

func (e *entry) batch() *PreparedBatch {
	return &PreparedBatch{Tenant: e.tenant, Claim: e.claim, RecordKey: e.recordKey, Period: e.period, entry: *e}
}

// preparedTable has the log entries of batches that are not decided. Every checkpoint begins a new
// segment of the log, and carry writes them into it: so no entry leaves the log before it is settled.
type preparedTable struct {
	mu      sync.Mutex // locked under a tenant's; the log's queue is locked under it
	byClaim map[string]entry
}

// append adds an entry and appends it to the log.
func (p *preparedTable) append(e *entry, log *wal.Log) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.byClaim[e.claim] = *e
	return log.Append(e.append)
}

func (p *preparedTable) add(e *entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.byClaim[e.claim] = *e
}

func (p *preparedTable) remove(claim string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.byClaim, claim)
}

// rename changes the name of a tenant.
func (p *preparedTable) rename(from, to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for claim, e := range p.byClaim {
		if e.tenant == from {
			e.tenant = to
			p.byClaim[claim] = e
		}
	}
}

// carry writes the undecided entries into the open segment of the log.
func (p *preparedTable) carry(log *wal.Log) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.byClaim {
		log.Append(e.append)
	}
}
