package state

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

	"ninepocket/access/statedir"
	"ninepocket/internal/disk"
	"ninepocket/internal/wal"
)

// ErrCheckpointGone is a [wal.ErrCorrupt]: there is a log, but not the checkpoint that it follows.
var ErrCheckpointGone = fmt.Errorf("%w: it is gone", wal.ErrCorrupt)

// Loader receives stored data. It keeps no part of its arguments.
type Loader interface {
	// Load loads a value of the checkpoint. For a damaged one it returns an error that wraps wal.ErrCorrupt.
	Load(of Bucket, key, value []byte) error
	// Replay applies a record of the log. It is called in order for the records after the checkpoint, and
	// perhaps for some before it. An empty record has no effect.
	Replay(seq uint64, record []byte) error
}

// LogCounts are the numbers of records in the log of a state directory.
type LogCounts struct {
	Records int // that are not empty
	Torn    int // in a torn end: their calls were not answered
}

// Load reads a state directory, which a server may be writing, into a new Loader.
//
// It starts again if the server has written a newer checkpoint, and if the log seems damaged. Such a
// log may be good: the bytes of a record were read before it was written, and later those of another
// record, which says that the first one is on disk.
func Load[L Loader](dir string, newLoader func() L) (into L, found LogCounts, err error) {
	for range 20 {
		into = newLoader()
		found, err = LoadOnce(dir, into)
		if err == nil {
			return into, found, nil
		}

		// A missing segment was covered by a newer checkpoint than the one read.
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, wal.ErrCorrupt) {
			break
		}
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // another process writes; there is no event to wait on
	}
	return into, found, fmt.Errorf("cannot read ledger in %q: %w", dir, err)
}

// LoadOnce is [Load] for a directory that no process writes. On an error the Loader has a part of it.
func LoadOnce(dir string, into Loader) (found LogCounts, err error) {
	h, err := readCheckpoint(filepath.Join(dir, statedir.CheckpointName), into)
	if err != nil {
		return found, err
	}

	// The log continues where the checkpoint ends.
	walDir := filepath.Join(dir, statedir.LogName)
	if err := h.checkLog(walDir); err != nil {
		return found, err
	}
	end, err := wal.Read(walDir, h.Last, func(seq uint64, record []byte) error {
		if len(record) > 0 {
			found.Records++
		}
		return into.Replay(seq, record)
	})
	found.Torn = end.Dropped
	return found, err
}

// checkLog returns an error if the log or the checkpoint of a state directory is missing.
func (h *header) checkLog(walDir string) error {
	firsts, err := wal.Segments(walDir)
	if err != nil {
		return err
	}

	// One without the other would lose charges in silence.
	if h.exists() && len(firsts) == 0 {
		return fmt.Errorf("cannot read log %q: %w: it has no segment", walDir, wal.ErrCorrupt)
	}
	if !h.exists() && len(firsts) > 0 && slices.Min(firsts) > 1 {
		return fmt.Errorf("cannot read checkpoint next to log %q: %w", walDir, ErrCheckpointGone)
	}
	return nil
}

// readCheckpoint reads a checkpoint file without changing it, and waits while the server writes it. It
// checks all of the file, also parts that are not needed now: later checkpoints build on them. Another
// process that reads the file, however long, does not delay it.
func readCheckpoint(path string, into Loader) (h header, err error) {
	if err := wal.CheckFile(path); err != nil {
		return h, fmt.Errorf("cannot read checkpoint %q: %w", path, err)
	}

	// A state directory that no server has used has no file, or an empty one.
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return h, nil
	}

	// The server does not write the file while it is locked.
	lock, err := disk.TakeShared(path, openTimeout)
	if err != nil {
		return h, fmt.Errorf("cannot read checkpoint %q: %w", path, err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()

	// bbolt trusts its mapping, and panics on damage (decision 1758).
	if err := checkPages(path); err != nil {
		return h, fmt.Errorf("cannot read checkpoint %q: %w", path, err)
	}

	db, err := openReadOnly(path)
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	err = db.transact(db.View, func(tx *bbolt.Tx) (err error) {
		h, err = readHeader(tx)
		if err != nil || !h.exists() {
			return err
		}
		return h.visit(tx, into.Load)
	})
	if err != nil {
		return h, fmt.Errorf("cannot read checkpoint %q: %w", path, err)
	}
	return h, nil
}

// visit visits and checks every value of a checkpoint.
func (h *header) visit(tx *bbolt.Tx, value func(of Bucket, key, value []byte) error) error {
	as := func(of Bucket) func(key, data []byte) error {
		return func(key, data []byte) error { return value(of, key, data) }
	}

	if h.version == firstVersion {
		return cmp.Or(
			tx.Bucket(ledgerBucket).ForEach(as(Ledger)),
			tx.Bucket(accountsBucket).ForEach(as(Accounts)),
			tx.Bucket(repliesBucket).ForEach(as(FirstReplies)),
		)
	}

	vs := h.checksumBuckets(tx)
	return cmp.Or(
		vs.accounts.check("accounts", as(Accounts)),
		vs.ledger.check("ledger", as(Ledger)),
		vs.replies.check("answers", as(Replies)),
	)
}

// readHeader reads the header of a checkpoint, which is zero in a new file.
func readHeader(tx *bbolt.Tx) (header, error) {
	meta := tx.Bucket(metaBucket)
	if meta == nil {
		return header{}, nil
	}

	value := meta.Get(stateKey)
	if value == nil {
		return header{}, fmt.Errorf("%w: no state", wal.ErrCorrupt)
	}

	h, err := decodeHeader(value)
	if err != nil {
		return h, err
	}

	wanted := [][]byte{accountsBucket, ledgerBucket, answersBucket}
	if h.version == firstVersion {
		wanted = [][]byte{accountsBucket, ledgerBucket, repliesBucket}
	}
	for _, name := range wanted {
		if tx.Bucket(name) == nil {
			return h, fmt.Errorf("%w: no bucket %q", wal.ErrCorrupt, name)
		}
	}
	return h, nil
}

// openReadOnly opens a checkpoint file for reading; the server may write it at other times.
func openReadOnly(path string) (*boltFile, error) {
	db, err := openBolt(disk.OS, path, 0, bbolt.Options{ReadOnly: true, Timeout: openTimeout})
	if errors.Is(err, bbolterrors.ErrTimeout) {
		err = statedir.ErrLocked
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read checkpoint %q: %w", path, err)
	}
	return db, nil
}
