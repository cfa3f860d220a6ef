package state

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"ninepocket/internal/disk"
	"ninepocket/internal/wal"
)

// errBusy reports that another process reads the checkpoint file for longer than we wait. The next
// checkpoint replaces the one that was skipped.
var errBusy = errors.New("checkpoint file is being read")

// File is the checkpoint file of an open state directory. mu guards it: see [Dir.Between].
type File struct {
	path    string
	content Content
	options *Options

	mu            sync.Mutex // one checkpoint at a time
	startedNumber uint64     // of the last checkpoint that was begun
	durableNumber uint64     // of the last one that is known to be in the file; 0 = none
	uncertain     bool       // the last one that was begun may be in the file: see resolveUncertain
	damagedPages  bool       // the file had pages that could not be read
	reader        *boltFile  // open for reading after the first read; nil when closed
	closed        bool       // nothing is read any more
}

// open opens the file for writing; if another process reads it for longer than timeout, the error is
// errBusy. It makes a new file only if there was none.
func (f *File) open(timeout time.Duration) (*boltFile, error) {
	// Our own lock for reading would block it.
	err := f.endReading()
	if err == nil {
		err = wal.CheckFile(f.path)
	}
	// Each read of damaged pages through a mapping would leak the mapping.
	if err == nil && f.damagedPages {
		err = checkPages(f.path)
	}

	var db *boltFile
	if err == nil {
		// A new file in place of a lost one would look like all charges ever made.
		dropFlags := 0
		if f.durableNumber > 0 {
			dropFlags = os.O_CREATE
		}
		unsynced := disk.Unsynced(f.options.Disk)
		db, err = openBolt(f.options.Disk, f.path, dropFlags, bbolt.Options{
			Timeout: timeout, FreelistType: bbolt.FreelistMapType, NoSync: unsynced, NoGrowSync: unsynced,
		})
	}

	if errors.Is(err, bbolterrors.ErrTimeout) {
		err = errBusy
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open checkpoint %q: %w", f.path, err)
	}
	return db, nil
}

// resolveUncertain checks that the file is the one of the last checkpoint, because its data are nowhere
// else. It also finds out whether a checkpoint that failed is in the file. The file shows that, but
// perhaps only from the page cache: its two meta pages are written again before anything else changes
// the file (decision 1752).
func (f *File) resolveUncertain(db *boltFile) error {
	var stored header
	err := db.transact(db.View, func(tx *bbolt.Tx) (err error) {
		stored, err = readHeader(tx)
		return err
	})

	written := f.uncertain && stored.number == f.startedNumber
	if err == nil && !written && stored.number != f.durableNumber {
		err = fmt.Errorf("%w: it has checkpoint %d, not %d: the file is gone, or another is in its place",
			wal.ErrCorrupt, stored.number, f.durableNumber)
	}
	if err == nil && f.uncertain {
		err = rewriteMeta(db)
	}
	if err != nil {
		return fmt.Errorf("cannot settle checkpoint %q: %w", f.path, err)
	}

	if written {
		f.confirm()
	} else {
		f.restore()
	}
	return nil
}

// confirm records that the last checkpoint is in the file.
func (f *File) confirm() {
	f.durableNumber = f.startedNumber
	f.uncertain = false
	f.content.Confirm()
}

// restore records that the last checkpoint is not in the file.
func (f *File) restore() {
	f.uncertain = false
	f.content.Restore()
}

// write writes the taken content as the next checkpoint.
func (f *File) write(db *boltFile, mark Mark) error {
	f.startedNumber++
	next := header{version: currentVersion, number: f.startedNumber, Mark: mark}

	// From here on, the file may have the checkpoint even after an error.
	f.uncertain = true
	scrub := false
	err := db.transact(db.Update, func(tx *bbolt.Tx) (err error) {
		scrub, err = writeCheckpoint(tx, next, f.content)
		if err == nil {
			err = db.disk.Sync() // a failing disk returns its error while the file is unchanged
		}
		return err
	})
	// The file may be a new one. The log that it covers is removed next.
	if err == nil {
		err = f.options.Disk.SyncDir(filepath.Dir(f.path))
	}
	if err == nil && scrub {
		err = scrubFreePages(db)
	}
	if err != nil {
		return fmt.Errorf("cannot write checkpoint %q: %w", f.path, err)
	}
	f.confirm()
	return nil
}

// scrubFreePages overwrites the pages that the last two states of the file do not use: a value that was
// removed stays in them otherwise.
func scrubFreePages(db *boltFile) error {
	var free []int
	err := db.transact(db.View, func(tx *bbolt.Tx) (err error) { free, err = freePages(tx); return err })
	if err != nil {
		return err
	}

	// Another transaction, which changes nothing, makes both meta pages those of states without the values.
	var both []int
	err = db.transact(db.Update, func(tx *bbolt.Tx) error {
		meta := tx.Bucket(metaBucket)
		return meta.Put(stateKey, bytes.Clone(meta.Get(stateKey)))
	})
	if err == nil {
		err = db.transact(db.View, func(tx *bbolt.Tx) (err error) { both, err = freePages(tx); return err })
	}
	// A page that the second transaction took is in use.
	empty := make([]byte, db.Info().PageSize)
	for _, id := range both {
		if _, found := slices.BinarySearch(free, id); found && err == nil {
			_, err = db.disk.WriteAt(empty, int64(id)*int64(len(empty)))
		}
	}
	return cmp.Or(err, db.disk.Sync())
}

// freePages returns the numbers of the free pages, ascending.
func freePages(tx *bbolt.Tx) (free []int, err error) {
	for id := 0; ; id++ {
		page, err := tx.Page(id)
		if err != nil || page == nil {
			return free, err
		}
		if page.Type == "free" {
			free = append(free, id)
		} else {
			id += page.OverflowCount
		}
	}
}

// rewriteMeta writes the first two pages of a bbolt file again as they are, and syncs them.
func rewriteMeta(db *boltFile) error {
	pages := make([]byte, 2*db.Info().PageSize)
	_, err := db.disk.ReadAt(pages, 0)
	if err == nil {
		_, err = db.disk.WriteAt(pages, 0)
	}
	if err == nil {
		err = db.disk.Sync()
	}
	return err
}

// Load passes all of the file to a Loader, and checks it.
func (f *File) Load(into Loader) error {
	_, err := readCheckpoint(f.path, into)
	return err
}

// View is a read-only view of a checkpoint.
type View struct {
	checksumBuckets
	version byte
}

// First reports whether the checkpoint is of version 1, whose values are all in memory.
func (v *View) First() bool { return v.version == firstVersion }

// Row returns a ledger row, for [DecodeCounts]; nil when there is none. It is valid as long as the view.
func (v *View) Row(key []byte) ([]byte, error) { return v.ledger.get(key) }

// Reply returns a stored reply, nil when there is none. It is valid as long as the view.
func (v *View) Reply(key []byte) ([]byte, error) { return v.replies.get(key) }

// Read reads from the file, which stays open until the next checkpoint. Opening it takes three times as
// long as all else that a repeated batch needs.
func (f *File) Read(from func(*View) error) error {
	if f.closed {
		return wal.ErrClosed
	}
	if err := f.openReader(); err != nil {
		return err
	}

	err := f.reader.transact(f.reader.View, func(tx *bbolt.Tx) error {
		h, err := readHeader(tx)
		if err != nil {
			return err
		}
		return from(&View{checksumBuckets: h.checksumBuckets(tx), version: h.version})
	})
	if err != nil {
		// The next read opens the file again: it may be good by then.
		f.damagedPages = f.damagedPages || errors.Is(err, errPoisoned)
		err = errors.Join(err, f.endReading())
	}
	return err
}

// openReader opens the file for reading, unless it is open.
func (f *File) openReader() (err error) {
	if f.reader != nil {
		return nil
	}
	// Each read of damaged pages through a mapping would leak the mapping.
	if f.damagedPages {
		err = checkPages(f.path)
	}
	if err != nil {
		return fmt.Errorf("cannot read checkpoint %q: %w", f.path, err)
	}
	f.reader, err = openReadOnly(f.path)
	return err
}

// endReading closes the file if it is open for reading.
func (f *File) endReading() error {
	if f.reader == nil {
		return nil
	}
	db := f.reader
	f.reader = nil
	return db.close()
}

// end closes the file for reading for good.
func (f *File) end() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return f.endReading()
}
