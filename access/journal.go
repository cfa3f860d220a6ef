package access

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ninepocket/access/state"
	"ninepocket/calendar"
	"ninepocket/internal/wal"
)

// usageLog records what calls have cost: the counters of days and periods, the ledger's rows, last
// uses, and the replies that are repeated. It admits and refuses nothing: that is [limits]. A
// journal with a log keeps what it records in a state directory.
//
// Its time, "at" throughout, is milliseconds that only run forward, also over a restart: the
// monotonic clock of the process plus an offset that continues where the log ended.
type usageLog struct {
	offset  int64 // store time = Instant.Mono + offset
	metrics *metrics
	closed  atomic.Bool
	waiting atomic.Int64 // bytes of replies that no checkpoint has

	mu       sync.Mutex // guards the map; never held with an account
	accounts map[string]*tenantState
	prepared preparedTable

	// The rest is nil in a journal that forgets.

	dir     *state.Dir
	content *content
	once    sync.Once
}

// newUsageLog returns a journal that forgets.
func newUsageLog(offset int64) *usageLog {
	return &usageLog{
		offset: offset, metrics: newMetrics(), accounts: map[string]*tenantState{},
		prepared: preparedTable{byClaim: map[string]entry{}},
	}
}

func (j *usageLog) time(now Instant) int64 { return now.Mono + j.offset }

func (j *usageLog) moment(now Instant) timePair { return timePair{store: j.time(now), wall: now.Wall} }

// tenantState returns a tenant's account, making it the first time.
func (j *usageLog) account(tenant string) *tenantState {
	j.mu.Lock()
	defer j.mu.Unlock()
	a := j.accounts[tenant]
	if a == nil {
		a = newTenantState(tenant, &j.waiting)
		j.accounts[tenant] = a
	}
	return a
}

// all returns the accounts of a tenant, or of all with "", in order of name.
func (j *usageLog) all(tenant string) []*tenantState {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []*tenantState
	for name, a := range j.accounts {
		if tenant == "" || tenant == name {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b *tenantState) int { return strings.Compare(a.tenant, b.tenant) })
	return out
}

// Err implements [Store].
func (j *usageLog) Err() error {
	if j.closed.Load() {
		return ErrClosed
	}
	if j.dir == nil {
		return nil
	}
	return unavailable(j.dir.Err())
}

// unavailable is the failure of a log, or nil, as a store tells it.
func unavailable(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, wal.ErrClosed):
		return ErrClosed
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// record enters a finished call in its account, whose lock the caller holds, and hands it to the
// log under the same lock. So a checkpoint of the account knows which log records the account
// holds. It returns the number of the record, to await.
func (j *usageLog) record(a *tenantState, e *entry) uint64 {
	a.apply(e)

	// Records stand in the log in the order in which the account changed: its lock sees to that.
	if j.dir != nil {
		a.seq = j.dir.Log.Append(e.append)
	}
	return a.seq
}

// await returns when a recorded call is written, or on disk. On an error the call is in no log, and
// the caller has to take it out of its account.
func (j *usageLog) await(seq uint64, durable bool) error {
	if j.dir == nil {
		return nil
	}

	wait := j.dir.Log.AwaitWritten
	if durable {
		wait = j.dir.Log.AwaitSynced
	}
	err := wait(seq)
	// What is on disk after all is as good as awaited.
	if err != nil {
		j.metrics.cancelledRecords.Add(1)
		if !j.dir.Log.Cancel(seq) {
			err = nil
		}
	}
	return unavailable(err)
}

// awaitUndo is await that takes a call which is in no log out of its account.
func (j *usageLog) awaitUndo(a *tenantState, e *entry, seq uint64, durable bool) error {
	err := j.await(seq, durable)
	if err != nil {
		a.mu.Lock()
		a.undo(e)
		a.mu.Unlock()
	}
	return err
}

// Ledger implements [Store].
func (j *usageLog) Ledger(tenant string, since calendar.Day) ([]LedgerRow, error) {
	if err := j.Err(); err != nil {
		return nil, err
	}

	if j.dir == nil {
		return sumRows(j.rowsOf(tenant, since), tenant, since), nil
	}

	var rows []LedgerRow
	err := j.dir.Between(func(file *state.File) (err error) {
		rows, err = j.allRows(file, tenant, since)
		return cmp.Or(err, j.content.settled())
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// allRows returns the ledger rows of a checkpoint file and of memory, in order.
func (j *usageLog) allRows(file *state.File, tenant string, since calendar.Day) ([]LedgerRow, error) {
	stored := newOfflineState()
	err := file.Load(stored)
	return sumRows(append(stored.rows, j.rowsOf(tenant, since)...), tenant, since), err
}

// settled returns an ErrUnavailable when nobody knows whether what was taken is in the file.
func (c *content) settled() error {
	if c.taken != nil {
		return fmt.Errorf("%w: a checkpoint is not settled", ErrUnavailable)
	}
	return nil
}

// rowsOf returns the ledger rows that accounts hold in memory, unordered.
func (j *usageLog) rowsOf(tenant string, since calendar.Day) []LedgerRow {
	var rows []LedgerRow
	for _, a := range j.all(tenant) {
		a.mu.Lock()
		for name, counts := range a.rows {
			if name.day >= since {
				row := name.row(a.tenant)
				row.Counts = *counts
				rows = append(rows, row)
			}
		}
		a.mu.Unlock()
	}
	return rows
}

// Checkpoint writes a checkpoint at once. Where the file of the last one is gone, damaged or another,
// that fails with ErrCorrupt, unless anew says that a new file shall begin: with everything that is in
// memory, which is what every account has used and may use. The ledger's rows of before are lost, with
// the replies that were in the file alone: their repetitions are refused, and not charged. A file that
// is there is moved aside, and its name returned (decision 1768).
func (j *usageLog) Checkpoint(anew bool, now time.Time) (aside string, err error) {
	if j.dir == nil {
		return "", errors.ErrUnsupported
	}
	return j.dir.SaveNow(anew, now)
}

// Close implements [Store]. It writes a last checkpoint when it can; the log has everything in any
// case.
func (j *usageLog) Close() error {
	if j.dir == nil {
		j.closed.Store(true)
		return nil
	}

	var err error
	j.once.Do(func() {
		err = j.dir.Stop(true)

		// Calls still under way find the store closed before they find the log ended.
		j.closed.Store(true)
		err = errors.Join(err, j.dir.Release())
	})
	return err
}
