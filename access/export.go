package access

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"ninepocket/access/state"
	"ninepocket/calendar"
)

// Changed returns the ledger rows that changed since the last call, in order, with their totals in
// this state directory. It also returns when their keys were last used. All of it is on disk. On an
// error nothing counts as returned. The store has to be opened with Export, and one goroutine calls
// at a time.
func (store *LocalStore) Changed() ([]LedgerRow, map[string]time.Time, error) {
	return store.changed(func(file *state.File) ([]LedgerRow, error) {
		fresh := store.rowsOf("", 0)
		names := append(slices.Collect(maps.Keys(store.content.changedRows)), fresh...)
		stored, err := totals(file, names)
		return append(stored, fresh...), err
	})
}

// Totals returns all ledger rows from a day on, as Changed does. Changed returns later changes.
func (store *LocalStore) Totals(since calendar.Day) ([]LedgerRow, map[string]time.Time, error) {
	return store.changed(func(file *state.File) ([]LedgerRow, error) { return store.allRows(file, "", since) })
}

// changed adds up the rows that find returns while no checkpoint is written, and makes them durable.
func (ul *usageLog) changed(
	find func(*state.File) ([]LedgerRow, error),
) (rows []LedgerRow, used map[string]time.Time, err error) {
	if err := ul.Err(); err != nil {
		return nil, nil, err
	}

	err = ul.dir.Between(func(file *state.File) error {
		if err := ul.content.checkSettled(); err != nil {
			return err
		}

		cancelled := ul.metrics.cancelledRecords.Load()
		rows, err = find(file)
		if err != nil {
			return err
		}
		rows = sumRows(rows, "", 0)
		used = ul.lastUses(rows)

		// A call that is in no log is undone, and must not be returned. Once the log is on disk no record
		// is cancelled; those before are counted.
		if err := unavailable(ul.dir.Log.Sync()); err != nil {
			return err
		}
		if ul.metrics.cancelledRecords.Load() != cancelled {
			return fmt.Errorf("%w: a call was given up meanwhile", ErrUnavailable)
		}
		clear(ul.content.changedRows)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return rows, used, nil
}

// lastUses returns when the keys of rows were last used.
func (ul *usageLog) lastUses(rows []LedgerRow) map[string]time.Time {
	used := map[string]time.Time{}
	for _, row := range rows {
		if _, known := used[row.Key]; known {
			continue
		}
		a := ul.tenant(row.Tenant)
		a.mu.Lock()
		used[row.Key] = time.UnixMilli(a.key(row.Key).lastUse).UTC()
		a.mu.Unlock()
	}
	return used
}

// totals reads the counts of rows from the checkpoint file, each row once.
func totals(file *state.File, names []LedgerRow) (rows []LedgerRow, err error) {
	if len(names) == 0 {
		return nil, nil
	}

	err = file.Read(func(stored *state.View) error {
		if stored.First() {
			return fmt.Errorf("%w: no checkpoint of this version was written yet", ErrUnavailable)
		}

		seen := map[LedgerRow]bool{}
		for _, row := range names {
			row.Counts = Counts{}
			if seen[row] {
				continue
			}
			seen[row] = true

			value, err := stored.Row(appendRowKey(nil, row.Tenant, row.name()))
			if err == nil {
				row.Calls, row.Charged, err = state.DecodeCounts(value)
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
