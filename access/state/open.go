package state

import (
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

// Content is what a store counts, as its state directory sees it. The directory calls one method at a
// time, but for the calls of Load and Replay that others make for themselves.
type Content interface {
	Loader

	// Loaded is told that all is read, and where the last checkpoint stood; zero when there was none.
	Loaded(Mark)

	// Take begins a checkpoint: it takes out what changed since the last one, and says where that stands.
	// Last is left to the directory. What was taken is then either kept or restored.
	Take() Mark
	// Write writes what was taken.
	Write(*Writer)
	// Confirm is told that what was taken is in the file; without anything taken it does nothing.
	Confirm()
	// Restore takes back what was taken, which is in no file; without anything taken it does nothing.
	Restore()

	// Carry writes into the log's new segment what the older ones hold and no checkpoint does.
	Carry(*wal.Log)
	// MarkAllDirty makes the next checkpoint one of everything, because the file is lost.
	MarkAllDirty()
}

// Options configure a [Dir].
type Options struct {
	Every time.Duration // between checkpoints
	// Report is told of a failure when it begins or becomes another one, and nil when it is over. Down says
	// that nothing can be recorded; else a checkpoint is delayed alone.
	Report func(failure error, down bool)
	Seams
}

// Seams is where tests and simulations take hold of a [Dir]. Elsewhere it is zero.
type Seams struct {
	Disk   disk.FS          // nil = this machine's
	Inline bool             // no goroutine, and no checkpoint by itself
	Now    func() time.Time // when the log is mended
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
	tornRecords int                   // records that the log's torn end held when it was opened
	relocated   atomic.Pointer[error] // it is not at its path: see place

	stop chan struct{}
	wg   sync.WaitGroup
}

// Open opens a state directory, making it when it is not there, and hands what it holds to the content.
// When another server has the directory the error is statedir.ErrLocked; when what is stored is damaged,
// wal.ErrCorrupt.
func Open(path string, content Content, options Options) (*Dir, error) {
	if options.Disk == nil {
		options.Disk = disk.OS
	}
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

// recover reads what is stored, then starts a new log segment and a checkpoint, so that the old
// segments are not needed again.
func (d *Dir) recover(walDir string) error {
	stored, err := readCheckpoint(d.file.path, d.content)
	if err != nil {
		return err
	}
	d.file.startedNumber = stored.number
	d.file.durableNumber = stored.number

	// The log goes on where the checkpoint ends. What a crash tore off was never acknowledged.
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

	// A checkpoint at once shows that one can be written, before anything is charged.
	// Where another process reads the file, the log has everything until that ends.
	if err := d.Save(time.Second); err != nil && !errors.Is(err, errBusy) {
		d.Log.CloseNow()
		return err
	}
	return nil
}

// checkPath finds out whether the directory is still at its path, and returns statedir.ErrMoved when it is
// not. While it is not, nothing is written by that path, which may lead into a copy that another server
// has (decision 1767).
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

// Stop ends the checkpoints, after a last one if it is asked for. Nothing is read from the file from then
// on. The log has everything in any case, and can be written until Release.
func (d *Dir) Stop(save bool) error {
	close(d.stop)
	d.wg.Wait()
	if !save {
		return d.file.end()
	}

	// A log that is down may be mended by now; if not, the next start reads what is there.
	err := d.Log.Sync()
	if err == nil {
		err = d.Save(openTimeout)
		if errors.Is(err, errBusy) {
			err = nil // the next start reads the log
		}
	}
	return errors.Join(err, d.file.end())
}

// Release ends the log, and lets another server have the directory.
func (d *Dir) Release() error {
	d.Log.CloseNow()
	return d.lock.Unlock()
}

// Between calls do while no checkpoint is written: what was counted is either in memory or in the file,
// not on the way. File is good until do returns.
func (d *Dir) Between(do func(*File) error) error {
	d.file.mu.Lock()
	defer d.file.mu.Unlock()
	return do(d.file)
}
