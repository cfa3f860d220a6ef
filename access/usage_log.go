package access

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ninepocket/access/state"
	"ninepocket/calendar"
	"ninepocket/internal/counters"
	"ninepocket/internal/wal"
)

// usageLog records what calls have cost: counters of days and periods, ledger rows, last uses of
// keys, and stored replies. It admits and refuses nothing: that is [limits]. With a state directory
// the records are durable.
//
// Its time, "at" throughout, is milliseconds that only run forward, also over a restart: the
// monotonic clock of the process plus an offset that continues where the log ended.
type usageLog struct {
	offset       int64 // store time = Instant.Mono + offset
	metrics      metrics
	closed       atomic.Bool
	unsavedBytes atomic.Int64 // bytes of replies that no checkpoint has

	mu       sync.Mutex // guards the maps; locked together with a tenant's by rename alone, before it
	tenants  map[string]*tenantState
	owners   map[string]string // opaque names of deleted tenants, by the ids of their keys
	prepared preparedTable

	// The rest is nil without a state directory.

	dir       *state.Dir
	content   *content
	closeOnce sync.Once
}

// newUsageLog returns an empty usage log without a state directory.
func newUsageLog(offset int64) *usageLog {
	return &usageLog{
		offset: offset, tenants: map[string]*tenantState{}, prepared: preparedTable{byClaim: map[string]entry{}},
		metrics: metrics{times: counters.NewDurations(timeRows, counters.Decades(time.Microsecond, 10*time.Second)...)},
	}
}

func (ul *usageLog) storeTime(now Instant) int64 { return now.Mono + ul.offset }

func (ul *usageLog) times(now Instant) timePair {
	return timePair{store: ul.storeTime(now), wall: now.Wall}
}

// tenant returns a tenant's state, which it makes the first time.
func (ul *usageLog) tenant(tenant string) *tenantState {
	ul.mu.Lock()
	defer ul.mu.Unlock()
	a := ul.tenants[tenant]
	if a == nil {
		a = newTenantState(tenant, &ul.unsavedBytes)
		ul.tenants[tenant] = a
	}
	return a
}

// tenantOf returns the state that the calls of a key are counted in. They may have begun before its tenant
// was deleted.
func (ul *usageLog) tenantOf(key, tenant string) *tenantState {
	ul.mu.Lock()
	tenant = cmp.Or(ul.owners[key], tenant)
	ul.mu.Unlock()
	return ul.tenant(tenant)
}

// all returns the states of a tenant ("" = all), in order of name.
func (ul *usageLog) all(tenant string) []*tenantState {
	ul.mu.Lock()
	defer ul.mu.Unlock()
	var out []*tenantState
	for name, a := range ul.tenants {
		if tenant == "" || tenant == name {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b *tenantState) int { return cmp.Compare(a.tenant, b.tenant) })
	return out
}

// RenameDeleted gives the calls of deleted tenants to their opaque names, which owners has by the ids of
// their keys. When it returns nil no file of the state directory has an old name any more. On an error
// the next checkpoint tries again.
func (store *LocalStore) RenameDeleted(owners map[string]string) error {
	store.mu.Lock()
	store.owners = owners
	store.mu.Unlock()

	found := false
	_ = store.dir.Between(func(*state.File) error {
		for _, a := range store.all("") {
			if to := a.newName(owners); to != "" {
				store.rename(a, to)
				found = true
			}
		}
		return nil
	})
	if !found {
		return nil
	}
	return store.dir.Save(renameTimeout)
}

// newName returns the name that a state gets by the owners of its keys, "" if it stays.
func (a *tenantState) newName(owners map[string]string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key := range a.keys {
		if to := owners[key]; to != "" && to != a.tenant {
			return to
		}
	}
	return ""
}

// renameTimeout is how long the checkpoint of a rename waits for processes that read the file.
const renameTimeout = time.Second

// rename gives a tenant another name, and drops its replies. Rows that are under the new name
// already, as after a crash, are added. No checkpoint is being written.
func (ul *usageLog) rename(a *tenantState, to string) {
	ul.mu.Lock()
	defer ul.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()

	// The file follows at the next checkpoint.
	from := a.tenant
	ul.content.renames = append(ul.content.renames, tenantRename{from: from, to: to})
	// The next segment of the log gets these again.
	ul.prepared.rename(from, to)
	for row := range ul.content.changedRows {
		if row.Tenant == from {
			delete(ul.content.changedRows, row)
			row.Tenant = to
			ul.content.changedRows[row] = true
		}
	}
	delete(ul.tenants, from)
	if same := ul.tenants[to]; same != nil {
		a.merge(same)
	}
	ul.tenants[to] = a
	a.tenant = to
	a.dirty = true
	a.replies.clear()
}

// merge adds the calls of another state, which no call finds any more. One that found it may still end in it.
func (a *tenantState) merge(other *tenantState) {
	other.mu.Lock()
	defer other.mu.Unlock()
	a.seq = max(a.seq, other.seq)
	a.addRows(other.rows)
	for id, key := range other.keys {
		a.key(id).lastUse = max(a.key(id).lastUse, key.lastUse)
	}
}

// CallsByTenant returns how many calls of each tenant have ended since the start.
func (ul *usageLog) CallsByTenant() map[string]uint64 {
	calls := map[string]uint64{}
	for _, a := range ul.all("") {
		a.mu.Lock()
		calls[a.tenant] = a.calls
		a.mu.Unlock()
	}
	return calls
}

// Err implements [Store].
func (ul *usageLog) Err() error {
	if ul.closed.Load() {
		return ErrClosed
	}
	if ul.dir == nil {
		return nil
	}
	return unavailable(ul.dir.Err())
}

// unavailable translates the error of a log, or nil, into that of a store.
func unavailable(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, wal.ErrClosed):
		return ErrClosed
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// record adds a finished call to its tenant's state and to the log. The caller holds the tenant's
// mutex over both, so that a checkpoint knows which log records the state includes. It returns the
// number of the record, for await.
func (ul *usageLog) record(a *tenantState, e *entry) uint64 {
	e.tenant = a.tenant // it may have another name since the call began
	a.apply(e)
	a.calls++

	// The mutex also gives the log's records the order in which the state changed.
	if ul.dir != nil {
		a.seq = ul.dir.Log.Append(e.append)
	}
	return a.seq
}

// await returns when a recorded call is written, or on disk if durable. On an error the call is in no
// log, and the caller has to undo it in the tenant's state.
func (ul *usageLog) await(seq uint64, durable bool) error {
	if ul.dir == nil {
		return nil
	}

	wait := ul.dir.Log.AwaitWritten
	if durable {
		wait = ul.dir.Log.AwaitSynced
	}
	err := wait(seq)
	if err != nil {
		ul.metrics.cancelledRecords.Add(1)
		if !ul.dir.Log.Cancel(seq) {
			err = nil // it is on disk after all
		}
	}
	return unavailable(err)
}

// awaitUndo is await, and undoes a call that is in no log.
func (ul *usageLog) awaitUndo(a *tenantState, e *entry, seq uint64, durable bool) error {
	err := ul.await(seq, durable)
	if err != nil {
		a.mu.Lock()
		a.undo(e)
		a.mu.Unlock()
	}
	return err
}

// Ledger implements [Store].
func (ul *usageLog) Ledger(tenant string, since calendar.Day) ([]LedgerRow, error) {
	if err := ul.Err(); err != nil {
		return nil, err
	}

	if ul.dir == nil {
		return sumRows(ul.rowsOf(tenant, since), tenant, since), nil
	}

	var rows []LedgerRow
	err := ul.dir.Between(func(file *state.File) (err error) {
		rows, err = ul.allRows(file, tenant, since)
		return cmp.Or(err, ul.content.checkSettled())
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// allRows returns the ledger rows of the checkpoint file and of memory, in order.
func (ul *usageLog) allRows(file *state.File, tenant string, since calendar.Day) ([]LedgerRow, error) {
	stored := newOfflineContent()
	err := file.Load(stored)
	return sumRows(append(stored.rows, ul.rowsOf(tenant, since)...), tenant, since), err
}

// checkSettled returns an ErrUnavailable while it is unknown whether the taken deltas are in the file, and
// while the file has rows under the name of a deleted tenant.
func (c *content) checkSettled() error {
	if c.deltas != nil || len(c.renames)+len(c.taken) > 0 {
		return fmt.Errorf("%w: a checkpoint is not settled", ErrUnavailable)
	}
	return nil
}

// rowsOf returns the ledger rows in memory, unordered.
func (ul *usageLog) rowsOf(tenant string, since calendar.Day) []LedgerRow {
	var rows []LedgerRow
	for _, a := range ul.all(tenant) {
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

// Checkpoint writes a checkpoint at once. If the checkpoint file is missing, damaged or another
// one, it fails with ErrCorrupt. With rebuild it then begins a new file with everything in memory,
// which is all used and remaining units (decision 1768). Earlier ledger rows are lost. Replies that
// were only in the file are lost, too: repetitions of their calls are refused, and not charged. An
// existing file is moved aside, and its name returned.
func (store *LocalStore) Checkpoint(rebuild bool, now time.Time) (aside string, err error) {
	return store.dir.SaveNow(rebuild, now)
}

// Close implements [Store]. It writes a last checkpoint if it can; the log has everything in any case.
func (ul *usageLog) Close() error {
	if ul.dir == nil {
		ul.closed.Store(true)
		return nil
	}

	var err error
	ul.closeOnce.Do(func() {
		err = ul.dir.Stop(true)

		// Calls still under way find the store closed before they find the log ended.
		ul.closed.Store(true)
		err = errors.Join(err, ul.dir.Release())
	})
	return err
}
