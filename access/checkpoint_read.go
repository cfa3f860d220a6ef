package access

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"ninepocket/internal/wal"
)

// load fills the journal from the checkpoint file, which it makes when it is not there.
func (c *checkpointer) load() (storedState, error) {
	db, err := c.open(bboltPatience)
	if err != nil {
		return storedState{}, err
	}
	return c.journal.loadFrom(db, c.journal.loadReplies)
}

// loadFrom fills the journal's accounts from a checkpoint, which it closes. When the file holds
// one, rest reads what else is wanted of it.
func (j *journal) loadFrom(db *bbolt.DB, rest func(tx *bbolt.Tx) error) (state storedState, err error) {
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.View(func(tx *bbolt.Tx) error {
		var err error
		state, err = j.loadAccounts(tx)
		if err != nil || !state.exists {
			return err
		}
		return rest(tx)
	})
	if err != nil {
		return state, fmt.Errorf("cannot read checkpoint %q: %w", db.Path(), err)
	}
	return state, nil
}

// loadAccounts reads what a checkpoint holds of each account but for rows and replies.
func (j *journal) loadAccounts(tx *bbolt.Tx) (storedState, error) {
	meta := tx.Bucket(metaBucket)
	if meta == nil {
		return storedState{}, nil
	}
	state, err := decodeState(meta.Get(stateKey))
	if err != nil || !state.exists {
		return state, err
	}
	return state, tx.Bucket(accountsBucket).ForEach(func(tenant, value []byte) error {
		return j.account(string(tenant)).decode(value)
	})
}

func (j *journal) loadReplies(tx *bbolt.Tx) error {
	err := tx.Bucket(repliesBucket).ForEach(func(key, value []byte) error {
		tenant, r, err := decodeReply(key, value)
		if err != nil {
			return err
		}
		replies := &j.account(tenant).replies
		replies.add(r)
		replies.order = append(replies.order, r)
		return nil
	})

	// The file is in order of names; replies leave in order of time.
	for _, a := range j.all("") {
		slices.SortFunc(a.replies.order, func(x, y *reply) int { return cmp.Compare(x.at, y.at) })
	}
	return err
}

// readCheckpoint reads a checkpoint file without changing it, waiting while the server writes it:
// the accounts into the journal, and the ledger's rows.
func (j *journal) readCheckpoint(path string) (state storedState, rows []LedgerRow, err error) {
	// A state directory that no server has used has no file, or an empty one.
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return state, nil, nil
	}

	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: bboltPatience})
	if errors.Is(err, bbolterrors.ErrTimeout) {
		err = errLocked
	}
	if err != nil {
		return state, nil, fmt.Errorf("cannot read checkpoint %q: %w", path, err)
	}

	state, err = j.loadFrom(db, func(tx *bbolt.Tx) error {
		return tx.Bucket(ledgerBucket).ForEach(func(key, value []byte) error {
			row, err := decodeRowKey(key)
			if err == nil {
				row.Counts, err = decodeCounts(value)
			}
			rows = append(rows, row)
			return err
		})
	})
	return state, rows, err
}

// readBeside reads a state directory from any process: a journal as it stands at the last written
// call, with the rows of its checkpoint apart.
//
// It starts over when the server has moved on to a newer checkpoint, and when the log seems
// damaged. Such a log may be whole: the bytes of a record were read before it was written, and
// after that those of a later record, which says that the first one is on disk.
func readBeside(stateDir string) (j *journal, rows []LedgerRow, err error) {
	for range 20 {
		var state storedState
		j = newJournal(0)
		state, rows, err = j.readCheckpoint(filepath.Join(stateDir, checkpointName))
		if err != nil {
			return nil, nil, err
		}

		_, err = wal.Read(filepath.Join(stateDir, walDirName), state.last, j.reapply)
		if err == nil {
			return j, rows, nil
		}

		// A segment that is gone was covered by a checkpoint that is newer than the one read.
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrCorrupt) {
			break
		}
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // another process writes; there is no event to wait on
	}
	return nil, nil, fmt.Errorf("cannot read ledger in %q: %w", stateDir, err)
}

// ReadUsage returns the ledger of a state directory for a tenant ("" = all) from a day on, up to
// the last written call, whether or not a server runs there.
func ReadUsage(stateDir, tenant string, since Day) (LedgerReport, error) {
	j, rows, err := readBeside(stateDir)
	if err != nil {
		return LedgerReport{}, err
	}

	// The log goes on where the rows of the checkpoint end: they add up.
	return newLedgerReport(sumRows(append(rows, j.rowsOf(tenant, since)...), tenant, since)), nil
}

// ReadLastUse returns when each key of a state directory last made a call, by key id, whether or
// not a server runs there. Keys never used are not in it.
func ReadLastUse(stateDir string) (map[string]time.Time, error) {
	j, _, err := readBeside(stateDir)
	if err != nil {
		return nil, err
	}

	last := map[string]time.Time{}
	for _, a := range j.all("") {
		for id, key := range a.keys {
			at := time.UnixMilli(key.lastUse).UTC()
			if key.lastUse > 0 && at.After(last[id]) {
				last[id] = at
			}
		}
	}
	return last, nil
}
