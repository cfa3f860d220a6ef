package state

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"ninepocket/internal/wal"
)

const (
	// checkpointBytes is the length of log that brings a checkpoint forward.
	checkpointBytes = 16 << 20
	// openTimeout is how long opening waits for a process that reads the file.
	openTimeout = 5 * time.Second
	// retryInterval is when a failed checkpoint is tried again. Until then the log has everything.
	retryInterval = time.Second
)

// ErrLogLost reports that segments of the log were removed while they were needed.
var ErrLogLost = errors.New("segments of the metering log are gone")

// run writes checkpoints until the directory is stopped, and reports failures and when they end. A
// failed checkpoint is tried again: metering stays up as long as the log can be written.
func (d *Dir) run() {
	look := min(250*time.Millisecond, d.options.Every)
	ticker := time.NewTicker(look)
	defer ticker.Stop()

	var reported, failed error
	reportedDown := false
	waited := time.Duration(0)
	for {
		select {
		case <-d.stop:
			return
		case <-ticker.C:
		}

		waited += look
		wait := d.options.Every
		if failed != nil {
			wait = min(wait, retryInterval)
		}

		// A long log makes the next start slow: it brings the checkpoint forward. The records of a removed
		// log are only in memory until the next checkpoint.
		pathErr := d.checkPath()
		lost := failed == nil && pathErr == nil && d.reportMissing()
		// A disk that the log has filled has space again after a checkpoint.
		full := errors.Is(d.Log.Err(), wal.ErrReserveReached)
		due := waited >= wait || lost || full || failed == nil && d.Log.Size() >= checkpointBytes
		if due && pathErr == nil && (full || d.Log.Err() == nil) {
			waited = 0
			failed = d.Save(time.Second)
			if errors.Is(failed, errBusy) {
				failed = nil
			}
			// A tick during the checkpoint is dropped, so that readers of the file find a gap.
			ticker.Reset(look)
		}

		// Reported once, and again when the kind of failure changes or it ends.
		now := cmp.Or(pathErr, d.Log.Err())
		down := now != nil
		now = cmp.Or(now, failed)
		if (now == nil) != (reported == nil) || down != reportedDown {
			d.options.Report(now, down)
		}
		reported = now
		reportedDown = down
	}
}

// reportMissing reports missing segments of the log, and returns whether there are any.
func (d *Dir) reportMissing() bool {
	names := d.Log.MissingSegments()
	if len(names) == 0 {
		return false
	}
	d.metrics.missingSegments.Add(uint64(len(names)))
	d.options.Report(fmt.Errorf("%w: %s", ErrLogLost, strings.Join(names, ", ")), false)
	return true
}

// Save writes a checkpoint and drops the log that it covers. It waits up to timeout for a process that
// reads the file. If it fails, everything is as before.
func (d *Dir) Save(timeout time.Duration) error {
	return d.Between(func(*File) error { return d.save(timeout) })
}

// save is Save for a caller that has locked the file.
func (d *Dir) save(timeout time.Duration) error {
	if err := d.checkPath(); err != nil {
		return err
	}
	began := time.Now()

	// Readers lock the file briefly. Until the next checkpoint the log has everything.
	db, err := d.file.open(timeout)
	if errors.Is(err, errBusy) {
		d.metrics.busy.Add(1)
		return err
	}
	if err == nil {
		err = errors.Join(d.saveTo(db), db.close())
	}
	d.file.damagedPages = err != nil && (d.file.damagedPages || errors.Is(err, errPoisoned))

	d.metrics.times.Since(timeCheckpoint, began)
	if err != nil {
		d.metrics.failed.Add(1)
		return err
	}
	d.metrics.savedAt.Store(time.Now().UnixNano())
	return nil
}

func (d *Dir) saveTo(db *boltFile) error {
	if err := d.file.resolveUncertain(db); err != nil {
		return err
	}

	// The content has every record of the old segments, which can go when the file is written, except
	// the records that it carries into the new segment.
	last, err := d.Log.Rotate()
	if err != nil {
		return fmt.Errorf("cannot begin a checkpoint: %w", err)
	}
	d.content.Carry(d.Log)

	// Records after last must be in the log before they are in the file: numbers are never used twice.
	mark := d.content.Take()
	mark.Last = last
	if err := d.Log.Sync(); err != nil {
		d.content.Restore()
		return fmt.Errorf("cannot begin a checkpoint: %w", err)
	}

	if err := d.file.write(db, mark); err != nil {
		return err
	}
	return d.Log.RemoveThrough(last)
}
