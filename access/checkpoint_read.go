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
func (c *checkpointer) load() (state storedState, err error) {
	db, err := openCheckpoint(c.path, bboltPatience)
	if err != nil {
		return state, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.View(func(tx *bbolt.Tx) error {
		if state, err = readState(tx); err != nil || !state.exists {
			return err
		}
		err := tx.Bucket(accountsBucket).ForEach(func(tenant, value []byte) error {
			return c.journal.account(string(tenant)).decode(value)
		})
		if err != nil {
			return err
		}
		return c.loadReplies(tx.Bucket(repliesBucket))
	})
	if err != nil {
		return state, fmt.Errorf("cannot read checkpoint %q: %w", c.path, err)
	}
	return state, nil
}

func (c *checkpointer) loadReplies(bucket *bbolt.Bucket) error {
	err := bucket.ForEach(func(key, value []byte) error {
		tenant, r, err := decodeReply(key, value)
		if err != nil {
			return err
		}
		a := c.journal.account(tenant)
		a.replies.add(r)
		a.replies.order = append(a.replies.order, r)
		return nil
	})
	for _, a := range c.journal.all("") {
		slices.SortFunc(a.replies.order, func(x, y *reply) int { return cmp.Compare(x.at, y.at) })
	}
	return err
}

func readState(tx *bbolt.Tx) (storedState, error) {
	meta := tx.Bucket(metaBucket)
	if meta == nil {
		return storedState{}, nil
	}
	return decodeState(meta.Get(stateKey))
}

// storedView is what another process reads of a checkpoint.
type storedView struct {
	state    storedState
	rows     []LedgerRow
	accounts map[string]*account
}

// readCheckpoint reads the file without changing it, waiting while the server writes it.
func readCheckpoint(path string) (view storedView, err error) {
	view.accounts = map[string]*account{}
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return view, nil
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: bboltPatience})
	if errors.Is(err, bbolterrors.ErrTimeout) {
		err = errLocked
	}
	if err != nil {
		return view, fmt.Errorf("cannot read checkpoint %q: %w", path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.View(func(tx *bbolt.Tx) (err error) {
		if view.state, err = readState(tx); err != nil || !view.state.exists {
			return err
		}
		err = tx.Bucket(accountsBucket).ForEach(func(tenant, value []byte) error {
			a := newAccount(string(tenant))
			view.accounts[a.tenant] = a
			return a.decode(value)
		})
		if err != nil {
			return err
		}
		return tx.Bucket(ledgerBucket).ForEach(func(key, value []byte) error {
			row, err := decodeRowKey(key)
			if err == nil {
				row.Counts, err = decodeCounts(value)
			}
			view.rows = append(view.rows, row)
			return err
		})
	})
	if err != nil {
		return view, fmt.Errorf("cannot read checkpoint %q: %w", path, err)
	}
	return view, nil
}

// ledgerSum adds up rows of the same name.
type ledgerSum map[LedgerRow]Counts

func (sum ledgerSum) add(row LedgerRow) {
	counts := row.Counts
	row.Counts = Counts{}
	have := sum[row]
	sum[row] = Counts{Calls: have.Calls + counts.Calls, Charged: have.Charged + counts.Charged}
}

func (sum ledgerSum) rows(tenant string, since Day) []LedgerRow {
	rows := []LedgerRow{}
	for row, counts := range sum {
		if row.Day >= since && (tenant == "" || tenant == row.Tenant) {
			row.Counts = counts
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, compareRows)
	return rows
}

// readBeside reads the checkpoint and the log of a state directory from any process.
// When the server moves on to a new checkpoint in between, it starts over; also when the log seems damaged, because a
// record may be written and called synced by another while the bytes of both are read.
func readBeside(stateDir string, visit func(e *entry)) (view storedView, err error) {
	for range 20 {
		view, err = readCheckpoint(filepath.Join(stateDir, checkpointName))
		if err != nil {
			return view, err
		}
		var entries []entry
		_, err = wal.Read(filepath.Join(stateDir, walDirName), view.state.last, func(seq uint64, payload []byte) error {
			e, err := decodeEntry(payload)
			if err != nil {
				return err
			}
			if a := view.accounts[e.tenant]; a == nil || seq > a.seq {
				e.reply = nil
				entries = append(entries, e)
			}
			return nil
		})
		if err == nil {
			for i := range entries {
				visit(&entries[i])
			}
			return view, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrCorrupt) {
			break
		}
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // another process writes; there is no event to wait on
	}
	return view, fmt.Errorf("cannot read ledger in %q: %w", stateDir, err)
}

// ReadUsage returns the ledger of a state directory for a tenant ("" = all) from
// a day on, up to the last written call, whether or not a server runs there.
func ReadUsage(stateDir, tenant string, since Day) (LedgerReport, error) {
	sum := ledgerSum{}
	view, err := readBeside(stateDir, func(e *entry) {
		sum.add(LedgerRow{Tenant: e.tenant, Key: e.key, Day: e.day, Operation: e.op, Counts: Counts{Calls: 1, Charged: e.charged}})
	})
	if err != nil {
		return LedgerReport{}, err
	}
	for _, row := range view.rows {
		sum.add(row)
	}
	return newLedgerReport(sum.rows(tenant, since)), nil
}

// ReadLastUse returns when each key of a state directory last made a call, by
// key id, whether or not a server runs there. Keys never used are not in it.
func ReadLastUse(stateDir string) (map[string]time.Time, error) {
	last := map[string]int64{}
	view, err := readBeside(stateDir, func(e *entry) { last[e.key] = max(last[e.key], e.wall) })
	if err != nil {
		return nil, err
	}
	for _, a := range view.accounts {
		for id, key := range a.keys {
			last[id] = max(last[id], key.lastUse)
		}
	}
	out := make(map[string]time.Time, len(last))
	for id, wall := range last {
		if wall > 0 {
			out[id] = time.UnixMilli(wall).UTC()
		}
	}
	return out, nil
}
