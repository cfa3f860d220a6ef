package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"ninepocket/internal/wal"
)

// SaveNow writes a checkpoint at once. Where the file of the last one is gone, damaged or another, that
// fails with wal.ErrCorrupt, unless anew says that a new file shall begin, with everything that is in
// memory. A file that is there is moved aside then, and its name returned (decision 1768).
//
// It is one step for others that write checkpoints: what one of them has just begun anew must not be
// taken for lost.
func (d *Dir) SaveNow(rebuild bool, now time.Time) (aside string, err error) {
	err = d.Between(func(f *File) error {
		err := d.save(openTimeout)
		if errors.Is(err, errPoisoned) {
			err = d.save(openTimeout) // a page that could not be read once is no damage
		}

		// bbolt has errors of its own for a file that is none of its. What is not there may be the log.
		_, gone := os.Stat(f.path)
		if err != nil && (errors.Is(gone, fs.ErrNotExist) || errors.Is(checkPages(f.path), wal.ErrCorrupt)) {
			err = fmt.Errorf("%w: %w", wal.ErrCorrupt, err)
		}
		if !rebuild || !errors.Is(err, wal.ErrCorrupt) {
			return err
		}

		if err := d.checkPath(); err != nil {
			return err
		}
		aside, err = f.startNewFile(now)
		if err != nil {
			return err
		}
		return d.save(openTimeout)
	})
	return aside, err
}

// startNewFile makes the next checkpoint begin a file and hold all that is in memory.
func (f *File) startNewFile(now time.Time) (aside string, err error) {
	aside = f.path + now.UTC().Format(".damaged-20060102T150405.000Z")
	err = f.options.Disk.Rename(f.path, aside)
	if errors.Is(err, fs.ErrNotExist) {
		aside = ""
		err = nil
	}
	if err != nil {
		return "", fmt.Errorf("cannot move checkpoint %q aside: %w", f.path, err)
	}

	f.durableNumber = 0
	f.damagedPages = false
	f.restore()
	f.content.MarkAllDirty()
	return aside, nil
}
