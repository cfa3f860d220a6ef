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

// What a store needs of a journal whose rights are held elsewhere, because many servers share them:
// an LocalStore store that admits nothing itself, and records what calls have cost.

// QuotaState is a tenant's use of one quota at an instant.
type QuotaState struct {
	Day    calendar.Day
	Period calendar.Period // PeriodCredits only
	Used   int64           // charged by this journal
}

// QuotaState returns the day or period that a call of now is charged to, and what is charged to it.
func (store *LocalStore) QuotaState(p *keys.Principal, spec *LimitSpec, now Instant) QuotaState {
	a := store.tenant(p.Tenant)
	a.mu.Lock()
	defer a.mu.Unlock()
	st := a.stand(p, spec, store.times(now))
	return QuotaState{Day: st.day, Period: st.period, Used: st.used}
}

// Record enters a call that ended, and what it is charged: 0 or 1. When it returns nil the call is
// recorded as durably as its rule asks; on an error it is in no log.
func (store *LocalStore) Record(res Reservation, charged int64) error {
	if sampled() {
		defer store.metrics.times.Since(timeFinish, time.Now())
	}
	if err := store.Err(); err != nil {
		return err
	}

	// The journal's own time is another than the ticket's, which is of the clock that all servers share.
	e := newEntry(&res, charged)
	e.at = store.storeTime(res.Now)
	a := store.tenant(res.Principal.Tenant)
	a.mu.Lock()
	seq := store.record(a, &e)
	a.mu.Unlock()

	return store.awaitUndo(a, &e, seq, res.Spec.Durable && charged > 0)
}

// PreparedBatch is a batch that is logged and not charged yet; Redis decides the charge. Its owner
// settles it as soon as it knows; after a crash, the next process does.
type PreparedBatch struct {
	Tenant    string
	Claim     string // names the batch, once and for all
	RecordKey string // where the decision is found
	Period    calendar.Period

	entry entry
}

// Prepare puts a batch on disk that costs one unit if its claim is decided so. Nothing is charged
// yet.
func (store *LocalStore) Prepare(res Reservation, claim, recordKey string) (*PreparedBatch, error) {
	if err := store.Err(); err != nil {
		return nil, err
	}
	if claim == "" {
		return nil, errors.New("cannot prepare a batch without a claim")
	}

	e := newEntry(&res, res.Spec.Cost)
	e.at = store.storeTime(res.Now)
	e.claim = claim
	e.recordKey = recordKey
	e.isPrepared = true
	seq := store.prepared.begin(&e, store.dir.Log)
	if err := store.await(seq, true); err != nil {
		store.prepared.remove(claim)
		return nil, err
	}
	return e.batch(), nil
}

// Settle charges a prepared batch, or says that it is void. On an error it stays prepared.
func (store *LocalStore) Settle(batch *PreparedBatch, charged bool) error {
	if err := store.Err(); err != nil {
		return err
	}

	e := batch.entry
	e.isPrepared = false
	if !charged {
		e.charged = 0
	}

	// One step for a checkpoint: it carries what is prepared, or finds it in the account. Of two who
	// settle at once, one finds it gone.
	a := store.tenant(e.tenant)
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

// Unsettled returns the batches that are prepared, in order of their claims.
func (store *LocalStore) Unsettled() []*PreparedBatch { return store.prepared.all() }

func (e *entry) batch() *PreparedBatch {
	return &PreparedBatch{Tenant: e.tenant, Claim: e.claim, RecordKey: e.recordKey, Period: e.period, entry: *e}
}

// preparedTable are the entries of a log that are not decided. Every checkpoint begins a segment,
// into which they are written again: so none leaves the log before it is settled.
type preparedTable struct {
	mu      sync.Mutex // taken under an account's; the log's queue is taken under it
	byClaim map[string]entry
}

// begin adds an entry and hands it to the log.
func (p *preparedTable) begin(e *entry, log *wal.Log) uint64 {
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

// carry writes what is not decided into the open segment of the log.
func (p *preparedTable) carry(log *wal.Log) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.byClaim {
		log.Append(e.append)
	}
}

func (p *preparedTable) all() (out []*PreparedBatch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, claim := range slices.Sorted(maps.Keys(p.byClaim)) {
		e := p.byClaim[claim]
		out = append(out, e.batch())
	}
	return out
}
