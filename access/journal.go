package access

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"ninepocket/access/statedir"
	"ninepocket/calendar"
	"ninepocket/internal/wal"
)

// journal records what calls have cost: the counters of days and periods, the ledger's rows, last
// uses, and the replies that are repeated. It admits and refuses nothing: that is [limits]. A
// journal with a log keeps what it records in a state directory.
//
// Its time, "at" throughout, is milliseconds that only run forward, also over a restart: the
// monotonic clock of the process plus an offset that continues where the log ended.
type journal struct {
	offset  int64 // store time = Instant.Mono + offset
	meter   *meter
	closed  atomic.Bool
	waiting atomic.Int64 // bytes of replies that no checkpoint has

	mu       sync.Mutex // guards the map; never held with an account
	accounts map[string]*account
	prepared prepared

	// The rest is nil in a journal that forgets.

	torn   int   // records that the log's torn end held when it was opened
	opened int64 // store time
	boot   func() boot
	log    *wal.Log
	saver  *checkpointer
	lock   *statedir.Lock
	dir    string                // the state directory, whose lock that is
	moved  atomic.Pointer[error] // it is not at its path: see place
	stop   chan struct{}
	once   sync.Once
	wg     sync.WaitGroup
}

// newJournal returns a journal that forgets.
func newJournal(offset int64) *journal {
	return &journal{offset: offset, meter: newMeter(), accounts: map[string]*account{}}
}

func (j *journal) time(now Instant) int64 { return now.Mono + j.offset }

func (j *journal) moment(now Instant) moment { return moment{store: j.time(now), wall: now.Wall} }

// account returns a tenant's account, making it the first time.
func (j *journal) account(tenant string) *account {
	j.mu.Lock()
	defer j.mu.Unlock()
	a := j.accounts[tenant]
	if a == nil {
		a = newAccount(tenant, &j.waiting)
		j.accounts[tenant] = a
	}
	return a
}

// all returns the accounts of a tenant, or of all with "", in order of name.
func (j *journal) all(tenant string) []*account {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []*account
	for name, a := range j.accounts {
		if tenant == "" || tenant == name {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b *account) int { return strings.Compare(a.tenant, b.tenant) })
	return out
}

// Err implements [Store].
func (j *journal) Err() error {
	if j.closed.Load() {
		return errClosed
	}
	if j.log == nil {
		return nil
	}
	if err := j.moved.Load(); err != nil {
		return *err
	}
	return unavailable(j.log.Err())
}

// place finds out whether the state directory is still at its path. While it is not, nothing is
// written by that path, which may lead into a copy that another server has, and calls are refused:
// the next server would know nothing of them (decision 1767).
func (j *journal) place() error {
	if j.lock == nil {
		return nil
	}
	err := j.lock.Moved(j.dir)
	if err == nil {
		j.moved.Store(nil)
		return nil
	}
	err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	j.moved.Store(&err)
	return err
}

// unavailable is the failure of a log, or nil, as a store tells it.
func unavailable(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, wal.ErrClosed):
		return errClosed
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// record enters a finished call in its account, whose lock the caller holds, and hands it to the
// log under the same lock. So a checkpoint of the account knows which log records the account
// holds. It returns the number of the record, to await.
func (j *journal) record(a *account, e *entry) uint64 {
	a.apply(e)

	// Records stand in the log in the order in which the account changed: its lock sees to that.
	if j.log != nil {
		a.seq = j.log.Append(e.append)
	}
	return a.seq
}

// await returns when a recorded call is written, or on disk. On an error the call is in no log, and
// the caller has to take it out of its account.
func (j *journal) await(seq uint64, durable bool) error {
	if j.log == nil {
		return nil
	}

	wait := j.log.AwaitWritten
	if durable {
		wait = j.log.AwaitSynced
	}
	err := wait(seq)
	// What is on disk after all is as good as awaited.
	if err != nil {
		j.meter.doubts.Add(1)
		if !j.log.GiveUp(seq) {
			err = nil
		}
	}
	return unavailable(err)
}

// Ledger implements [Store].
func (j *journal) Ledger(tenant string, since calendar.Day) ([]LedgerRow, error) {
	if err := j.Err(); err != nil {
		return nil, err
	}

	var stored []LedgerRow
	if j.saver != nil {
		// While no checkpoint is written, a row is either in memory or in the file, not on the way.
		j.saver.mu.Lock()
		defer j.saver.mu.Unlock()
		var err error
		_, stored, err = newJournal(0).readCheckpoint(j.saver.path)
		if err == nil && j.saver.doubtful != nil {
			err = fmt.Errorf("%w: a checkpoint is not settled", ErrUnavailable)
		}
		if err != nil {
			return nil, err
		}
	}
	return sumRows(append(stored, j.rowsOf(tenant, since)...), tenant, since), nil
}

// rowsOf returns the ledger rows that accounts hold in memory, unordered.
func (j *journal) rowsOf(tenant string, since calendar.Day) []LedgerRow {
	var rows []LedgerRow
	for _, a := range j.all(tenant) {
		a.mu.Lock()
		for name, counts := range a.rows {
			if name.day >= since {
				row := LedgerRow{Tenant: a.tenant, Key: name.key, Day: name.day, Operation: name.op, Counts: *counts}
				rows = append(rows, row)
			}
		}
		a.mu.Unlock()
	}
	return rows
}

// Close implements [Store]. It writes a last checkpoint when it can; the log has everything in any
// case.
func (j *journal) Close() error {
	if j.log == nil {
		j.closed.Store(true)
		return nil
	}

	var err error
	j.once.Do(func() {
		close(j.stop)
		j.wg.Wait()

		// A log that is down may be mended by now; if not, the next start reads what is there.
		err = unavailable(j.log.Sync())
		err = errors.Join(err, j.saver.end(err == nil))

		// Calls still under way find the store closed before they find the log ended.
		j.closed.Store(true)
		j.log.Abandon()
		err = errors.Join(err, j.lock.Unlock())
	})
	return err
}
