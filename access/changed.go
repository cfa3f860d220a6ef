package access

import (
	"fmt"
	"ninepocket/calendar"
	"time"

	"go.etcd.io/bbolt"
)

// Changed returns the ledger's rows that changed since it was called last, in order: their totals in
// this state directory, and when their keys were last used. What it returns is on disk. On an error
// nothing counts as returned. The store has to be opened with Export; one goroutine calls at a time.
func (store *Embedded) Changed() ([]LedgerRow, map[string]time.Time, error) {
	return store.changed(func() ([]LedgerRow, error) {
		// While no checkpoint is written, a row is in memory or in the file, not on the way.
		fresh := store.rowsOf("", 0)
		stored, err := store.saver.totals(append(store.saver.movedRows(), fresh...))
		return append(stored, fresh...), err
	})
}

// Totals returns all of the ledger's rows from a day on, as Changed does. What changes from then on is
// for Changed to tell.
func (store *Embedded) Totals(since calendar.Day) ([]LedgerRow, map[string]time.Time, error) {
	return store.changed(func() ([]LedgerRow, error) {
		_, stored, err := newJournal(0).readCheckpoint(store.saver.path)
		return sumRows(append(stored, store.rowsOf("", since)...), "", since), err
	})
}

// changed sums up the rows that find finds while no checkpoint is written, and makes them durable.
func (j *journal) changed(find func() ([]LedgerRow, error)) ([]LedgerRow, map[string]time.Time, error) {
	if err := j.Err(); err != nil {
		return nil, nil, err
	}

	cp := j.saver
	cp.mu.Lock()
	defer cp.mu.Unlock()
	if cp.doubtful != nil {
		return nil, nil, fmt.Errorf("%w: a checkpoint is not settled", ErrUnavailable)
	}

	doubts := j.meter.doubts.Load()
	rows, err := find()
	if err != nil {
		return nil, nil, err
	}
	rows = sumRows(rows, "", 0)
	used := j.lastUses(rows)

	// A call that no log has is taken out of its account again, and must not have been told of. Once
	// the log is on disk no record is given up; one that was before has been counted.
	if err := unavailable(j.log.Sync()); err != nil {
		return nil, nil, err
	}
	if j.meter.doubts.Load() != doubts {
		return nil, nil, fmt.Errorf("%w: a call was given up meanwhile", ErrUnavailable)
	}

	clear(cp.moved)
	return rows, used, nil
}

// lastUses returns when the keys of rows were last used.
func (j *journal) lastUses(rows []LedgerRow) map[string]time.Time {
	used := map[string]time.Time{}
	for _, row := range rows {
		if _, known := used[row.Key]; known {
			continue
		}
		a := j.account(row.Tenant)
		a.mu.Lock()
		used[row.Key] = time.UnixMilli(a.key(row.Key).lastUse).UTC()
		a.mu.Unlock()
	}
	return used
}

// noteMoved notes the rows that went into the file.
func (cp *checkpointer) noteMoved(img *image) {
	if cp.moved == nil {
		return
	}
	for name := range img.rows {
		cp.moved[LedgerRow{Tenant: img.of.tenant, Key: name.key, Day: name.day, Operation: name.op}] = true
	}
}

func (cp *checkpointer) movedRows() (rows []LedgerRow) {
	for row := range cp.moved {
		rows = append(rows, row)
	}
	return rows
}

// totals reads what the checkpoint file has of rows, each once. The caller holds the lock.
func (cp *checkpointer) totals(names []LedgerRow) (rows []LedgerRow, err error) {
	if len(names) == 0 {
		return nil, nil
	}

	err = cp.read(func(tx *bbolt.Tx, state storedState) error {
		if state.version != checkpointVersion {
			return fmt.Errorf("%w: no checkpoint of this version was written yet", ErrUnavailable)
		}

		vs := state.vaults(tx)
		seen := map[LedgerRow]bool{}
		for _, row := range names {
			row.Counts = Counts{}
			if seen[row] {
				continue
			}
			seen[row] = true

			name := rowName{key: row.Key, day: row.Day, op: row.Operation}
			value, err := vs.ledger.get(appendRowKey(nil, row.Tenant, name))
			if err == nil {
				row.Counts, err = decodeCounts(value)
			}
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
		return nil
	})
	return rows, err
}
