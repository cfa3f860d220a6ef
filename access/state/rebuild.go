package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"ninepocket/internal/wal"
)

// SaveNow writes a checkpoint at once. If the checkpoint file is missing, damaged or another one, it
// fails with wal.ErrCorrupt. With rebuild it then begins a new file with everything in memory; an
// existing file is moved aside, and its name returned (decision 1768).
//
// It locks the file over all steps: another checkpoint must not mistake a file that was just begun for
// a lost one.
func (d *Dir) SaveNow(rebuild bool, now time.Time) (aside string, err error) {
	err = d.Between(func(f *File) error {
		err := d.save(openTimeout)
		if errors.Is(err, errPoisoned) {
			err = d.save(openTimeout) // one failed read of a page is not damage
		}

		// For another kind of file bbolt has its own errors. An fs.ErrNotExist may be of the log.
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

// startNewFile makes the next checkpoint begin a file with everything in memory.
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
