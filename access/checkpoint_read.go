package access

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"ninepocket/access/statedir"
	"ninepocket/calendar"
	"ninepocket/internal/wal"
)

// load fills the journal from the checkpoint file, if there is one. All of the file is checked, also
// what is not needed now: later it might be built on. A process that holds the file for reading,
// however long, does no harm.
func (cp *checkpointer) load() (storedState, error) {
	state, _, err := cp.journal.readCheckpoint(cp.path)
	cp.number = state.number
	cp.have = state.number
	return state, err
}

// loadFrom fills the journal's accounts and replies from a checkpoint, which it closes, and returns
// the ledger's rows.
func (j *journal) loadFrom(db *boltFile) (state storedState, rows []LedgerRow, err error) {
	defer func() { err = errors.Join(err, db.close()) }()
	err = db.view(func(tx *bbolt.Tx) error {
		var err error
		state, err = readState(tx)

		switch {
		case err != nil || !state.exists():
			return err
		case state.version == firstVersion:
			rows, err = firstRows(tx)
			return cmp.Or(err, j.loadFirst(tx))
		}

		rows, err = j.loadSealed(tx, state)
		return err
	})
	if err != nil {
		return state, nil, fmt.Errorf("cannot read checkpoint %q: %w", db.Path(), err)
	}
	return state, rows, nil
}

// readState reads the state of a checkpoint, which is the zero state in a new file.
func readState(tx *bbolt.Tx) (storedState, error) {
	meta := tx.Bucket(metaBucket)
	if meta == nil {
		return storedState{}, nil
	}

	value := meta.Get(stateKey)
	if value == nil {
		return storedState{}, fmt.Errorf("%w: no state", ErrCorrupt)
	}

	state, err := decodeState(value)
	if err != nil {
		return state, err
	}

	wanted := [][]byte{accountsBucket, ledgerBucket, answersBucket}
	if state.version == firstVersion {
		wanted = [][]byte{accountsBucket, ledgerBucket, repliesBucket}
	}
	for _, name := range wanted {
		if tx.Bucket(name) == nil {
			return state, fmt.Errorf("%w: no bucket %q", ErrCorrupt, name)
		}
	}
	return state, nil
}

// loadSealed reads a checkpoint and checks all of it.
func (j *journal) loadSealed(tx *bbolt.Tx, state storedState) (rows []LedgerRow, err error) {
	vs := state.vaults(tx)
	err = vs.accounts.check("accounts", func(tenant, value []byte) error {
		return j.account(string(tenant)).decode(value)
	})

	err = cmp.Or(err, vs.ledger.check("ledger", func(key, value []byte) error {
		row, err := decodeRowKey(key)
		if err == nil {
			row.Counts, err = decodeCounts(value)
		}
		rows = append(rows, row)
		return err
	}))

	err = cmp.Or(err, vs.answers.check("answers", func(key, value []byte) error {
		tenant, name, err := decodeAnswerKey(key)
		if err != nil {
			return err
		}

		r, err := decodeAnswer(value)
		j.account(tenant).replies.index(name, r.answer)
		return err
	}))
	return rows, err
}

// loadFirst reads the accounts and replies of version 1, all of which the next checkpoint writes
// anew.
func (j *journal) loadFirst(tx *bbolt.Tx) error {
	err := tx.Bucket(accountsBucket).ForEach(func(tenant, value []byte) error {
		a := j.account(string(tenant))
		a.dirty = true
		return a.decode(value)
	})
	if err != nil {
		return err
	}

	return tx.Bucket(repliesBucket).ForEach(func(key, value []byte) error {
		tenant, name, r, err := decodeReply(key, value)
		if err == nil {
			j.account(tenant).replies.keep(name, r)
		}
		return err
	})
}

// readReply returns the data of a reply that is in the checkpoint file alone.
func (cp *checkpointer) readReply(tenant string, name replyName, want answer) (data []byte, err error) {
	cp.mu.Lock()
	defer cp.mu.Unlock()

	err = cp.read(func(tx *bbolt.Tx, state storedState) error {
		vs := state.vaults(tx)
		value, err := vs.answers.get(answerKey(tenant, minuteOf(want.at), name))
		if err != nil {
			return err
		}
		if value == nil {
			return fmt.Errorf("%w: a reply is gone", ErrCorrupt)
		}

		r, err := decodeAnswer(value)
		if err == nil && len(r.data) == 0 {
			err = fmt.Errorf("%w: a reply was in a file that was lost", ErrCorrupt)
		}
		data = slices.Clone(r.data)
		return err
	})
	return data, err
}

// read reads from the file. It stays open until the next checkpoint, since opening it takes three times
// as long as all else that a repeated batch needs. The caller holds the lock.
func (cp *checkpointer) read(from func(*bbolt.Tx, storedState) error) error {
	if cp.ended {
		return errClosed
	}
	if cp.reader == nil {
		if err := cp.openReader(); err != nil {
			return err
		}
	}

	err := cp.reader.view(func(tx *bbolt.Tx) error {
		state, err := readState(tx)
		if err != nil {
			return err
		}
		return from(tx, state)
	})
	if err != nil {
		// The next one looks at the file anew: it may be well by then.
		cp.torn = cp.torn || errors.Is(err, errTorn)
		err = errors.Join(err, cp.endReading())
	}
	return err
}

// openReader opens the file for reading.
func (cp *checkpointer) openReader() error {
	// Each look at damaged pages through a mapping would leave the mapping.
	if cp.torn {
		if err := checkPages(cp.path); err != nil {
			return fmt.Errorf("cannot read checkpoint %q: %w", cp.path, err)
		}
	}

	db, err := openBeside(cp.path)
	if err == nil {
		cp.reader = db
	}
	return err
}

// endReading closes the file if it is open for reading. The caller holds the lock.
func (cp *checkpointer) endReading() error {
	if cp.reader == nil {
		return nil
	}
	db := cp.reader
	cp.reader = nil
	return db.close()
}

// end writes a last checkpoint if it is asked to. Nothing is read from then on.
func (cp *checkpointer) end(save bool) error {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	cp.ended = true
	err := cp.endReading()
	if !save {
		return err
	}

	saved := cp.saveLocked(bboltPatience)
	if errors.Is(saved, errBusy) {
		saved = nil // the next start reads the log
	}
	return errors.Join(err, saved)
}

// openBeside opens a checkpoint file for reading, which the server may write at other times.
func openBeside(path string) (*boltFile, error) {
	db, err := openBolt(path, bbolt.Options{ReadOnly: true, Timeout: bboltPatience})
	if errors.Is(err, bbolterrors.ErrTimeout) {
		err = statedir.ErrLocked
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read checkpoint %q: %w", path, err)
	}
	return db, nil
}

// readCheckpoint reads a checkpoint file without changing it, waiting while the server writes it:
// the accounts into the journal, and the ledger's rows.
func (j *journal) readCheckpoint(path string) (state storedState, rows []LedgerRow, err error) {
	if err := wal.CheckFile(path); err != nil {
		return state, nil, fmt.Errorf("cannot read checkpoint %q: %w", path, err)
	}

	// A state directory that no server has used has no file, or an empty one.
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return state, nil, nil
	}

	// Nobody writes the file while it is held.
	held, err := holdCheckpoint(path)
	if err != nil {
		return state, nil, fmt.Errorf("cannot read checkpoint %q: %w", path, err)
	}
	defer func() {
		if held != nil {
			err = errors.Join(err, held.Unlock())
		}
	}()

	// bbolt trusts what it maps, and damage would make it panic (decision 1758).
	if err := checkPages(path); err != nil {
		return state, nil, fmt.Errorf("cannot read checkpoint %q: %w", path, err)
	}

	db, err := openBeside(path)
	if err != nil {
		return state, nil, err
	}
	return j.loadFrom(db)
}

// beside is what a state directory holds, read from any process: a journal as it stands at the last
// written call, with the rows of its checkpoint apart.
type beside struct {
	*journal
	state   storedState
	rows    []LedgerRow
	records int // of the log
	end     wal.End
}

// readBeside reads a state directory, which a server may be writing.
//
// It starts over when the server has moved on to a newer checkpoint, and when the log seems
// damaged. Such a log may be whole: the bytes of a record were read before it was written, and
// after that those of a later record, which says that the first one is on disk.
func readBeside(stateDir string) (*beside, error) {
	var err error
	for range 20 {
		var found *beside
		found, err = readOnce(stateDir)
		if err == nil {
			return found, nil
		}

		// A segment that is gone was covered by a checkpoint that is newer than the one read.
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrCorrupt) {
			break
		}
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // another process writes; there is no event to wait on
	}
	return nil, fmt.Errorf("cannot read ledger in %q: %w", stateDir, err)
}

// readOnce is one try of readBeside.
func readOnce(stateDir string) (found *beside, err error) {
	found = &beside{journal: newJournal(0)}
	found.state, found.rows, err = found.readCheckpoint(filepath.Join(stateDir, statedir.CheckpointName))
	if err != nil {
		return nil, err
	}

	walDir := filepath.Join(stateDir, statedir.LogName)
	if err := found.state.checkLog(walDir); err != nil {
		return nil, err
	}
	found.end, err = wal.Read(walDir, found.state.last, func(seq uint64, data []byte) error {
		if len(data) > 0 {
			found.records++
		}
		return found.reapply(seq, data)
	})
	return found, err
}

// ReadUsage returns the ledger of a state directory for a tenant ("" = all) from a day on, up to
// the last written call, whether or not a server runs there.
func ReadUsage(stateDir, tenant string, since calendar.Day) (LedgerReport, error) {
	rows, err := ReadLedger(stateDir, tenant, since, math.MaxInt32)
	if err != nil {
		return LedgerReport{}, err
	}
	return NewLedgerReport(rows), nil
}

// ReadLedger returns the rows that ReadUsage groups, up to a day.
func ReadLedger(stateDir, tenant string, since, until calendar.Day) ([]LedgerRow, error) {
	found, err := readBeside(stateDir)
	if err != nil {
		return nil, err
	}

	// The log goes on where the rows of the checkpoint end: they add up.
	rows := sumRows(append(found.rows, found.rowsOf(tenant, since)...), tenant, since)
	return slices.DeleteFunc(rows, func(row LedgerRow) bool { return row.Day > until }), nil
}

// ReadLastUse returns when each key of a state directory last made a call, by key id, whether or
// not a server runs there. Keys never used are not in it.
func ReadLastUse(stateDir string) (map[string]time.Time, error) {
	found, err := readBeside(stateDir)
	if err != nil {
		return nil, err
	}

	last := map[string]time.Time{}
	for _, a := range found.all("") {
		for id, key := range a.keys {
			when := time.UnixMilli(key.lastUse).UTC()
			if key.lastUse > 0 && when.After(last[id]) {
				last[id] = when
			}
		}
	}
	return last, nil
}
