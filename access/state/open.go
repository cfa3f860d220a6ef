package state

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"ninepocket/access/statedir"
	"ninepocket/internal/disk"
	"ninepocket/internal/wal"
)

// Content is the data of a store, for its state directory. The directory calls one method at a time,
// except Load and Replay, which others may call for themselves.
type Content interface {
	Loader

	// Loaded ends the loading. It receives the Mark of the last checkpoint, zero when there was none.
	Loaded(Mark)

	// Take begins a checkpoint: it takes the changes since the last one, and returns their Mark without
	// Last, which the directory sets. The taken changes are then either confirmed or restored.
	Take() Mark
	// Write writes the taken changes.
	Write(*Writer)
	// Confirm drops the taken changes, if any: they are in the file.
	Confirm()
	// Restore takes back the taken changes, if any: they are in no file.
	Restore()

	// Carry copies into the log's new segment the records of older ones that are in no checkpoint.
	Carry(*wal.Log)
	// MarkAllDirty makes the next checkpoint write everything, because the file is lost.
	MarkAllDirty()
}

// Options configure a [Dir].
type Options struct {
	Every time.Duration // between checkpoints
	// Report receives a failure when it begins or changes, and nil when it is over. down means that
	// nothing can be recorded; else only a checkpoint is delayed.
	Report func(failure error, down bool)
	Seams
}

// Seams replaces parts of a [Dir] in tests and simulations. Elsewhere it is zero.
type Seams struct {
	Disk   disk.FS          // nil = this machine's
	Inline bool             // no goroutine, and no checkpoint by itself
	Now    func() time.Time // clock of the log's recovery
}

// Dir is a state directory that one server has locked.
type Dir struct {
	Log *wal.Log

	path        string
	lock        *statedir.Lock
	file        *File
	content     Content
	options     Options
	metrics     *metrics
	tornRecords int                   // records of the log's torn end when it was opened
	relocated   atomic.Pointer[error] // it is not at its path: see checkPath

	stop chan struct{}
	wg   sync.WaitGroup
}

// Open opens a state directory, which it makes if it is missing, and loads it into the content. If
// another server has the directory the error is statedir.ErrLocked; if stored data is damaged,
// wal.ErrCorrupt.
func Open(path string, content Content, options Options) (*Dir, error) {
	options.Disk = cmp.Or(options.Disk, disk.OS)
	walDir := filepath.Join(path, statedir.LogName)
	if _, err := wal.Segments(walDir); err != nil {
		return nil, fmt.Errorf("cannot open metering in %q: %w", path, err)
	}
	if err := statedir.Make(walDir); err != nil {
		return nil, fmt.Errorf("cannot make state directory %q: %w", path, err)
	}

	// One process writes a state directory: two would give records the same number.
	lock, err := statedir.LockState(path, 0)
	if err != nil {
		return nil, err
	}

	d := &Dir{
		path: path, lock: lock, content: content, options: options, metrics: newMetrics(),
		stop: make(chan struct{}),
	}
	d.file = &File{path: filepath.Join(path, statedir.CheckpointName), content: content, options: &d.options}
	if err := d.recover(walDir); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open metering in %q: %w", path, err), lock.Unlock())
	}

	if !options.Inline {
		d.wg.Go(d.run)
	}
	return d, nil
}

// recover reads the stored data, then starts a new log segment and writes a checkpoint, so that the old
// segments are not needed again.
func (d *Dir) recover(walDir string) error {
	stored, err := readCheckpoint(d.file.path, d.content)
	if err != nil {
		return err
	}
	d.file.startedNumber = stored.number
	d.file.durableNumber = stored.number

	// The log continues where the checkpoint ends. A torn end was never acknowledged.
	if err := stored.checkLog(walDir); err != nil {
		return err
	}
	end, err := wal.Read(walDir, stored.Last, d.content.Replay)
	if err != nil {
		return err
	}
	if err := end.Trim(); err != nil {
		return err
	}

	d.tornRecords = end.Dropped
	d.content.Loaded(stored.Mark)

	d.Log, err = wal.Start(walDir, end.Last+1, wal.Options{
		Disk: d.options.Disk, OnSync: d.metrics.synced, Inline: d.options.Inline, Now: d.options.Now,
		CanCreate: func() error { return d.lock.Moved(d.path) },
	})
	if err != nil {
		return err
	}

	// A checkpoint at once proves that one can be written, before anything is charged. While another
	// process reads the file, the log has everything.
	if err := d.Save(time.Second); err != nil && !errors.Is(err, errBusy) {
		d.Log.CloseNow()
		return err
	}
	return nil
}

// checkPath returns statedir.ErrMoved if the directory is not at its path any more. Then nothing is
// written by that path, which may lead into a copy that another server has (decision 1767).
func (d *Dir) checkPath() error {
	err := d.lock.Moved(d.path)
	if err != nil {
		d.relocated.Store(&err)
		return err
	}
	d.relocated.Store(nil)
	return nil
}

// Err returns why nothing can be recorded now, or nil. It is cheap.
func (d *Dir) Err() error {
	if err := d.relocated.Load(); err != nil {
		return *err
	}
	return d.Log.Err()
}

// Stop ends the checkpoints, after a last one if save is set. Nothing is read from the file afterwards.
// The log has everything in any case, and can be written until Release.
func (d *Dir) Stop(save bool) error {
	close(d.stop)
	d.wg.Wait()
	if !save {
		return d.file.end()
	}

	// A log that is down may recover now; if not, the next start reads the rest.
	err := d.Log.Sync()
	if err == nil {
		err = d.Save(openTimeout)
		if errors.Is(err, errBusy) {
			err = nil // the next start reads the log
		}
	}
	return errors.Join(err, d.file.end())
}

// Release closes the log, and unlocks the directory for another server.
func (d *Dir) Release() error {
	d.Log.CloseNow()
	return d.lock.Unlock()
}

// Between calls do while no checkpoint is written: all data are either in memory or in the file, and not
// being written. File is valid until do returns.
func (d *Dir) Between(do func(*File) error) error {
	d.file.mu.Lock()
	defer d.file.mu.Unlock()
	return do(d.file)
}
