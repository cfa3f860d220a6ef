package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"ninepocket/access/statedir"
	"ninepocket/internal/disk"
	"ninepocket/internal/wal"
)

// ErrCopy reports that the copy of a state directory cannot be written. The directory itself is good.
var ErrCopy = errors.New("cannot write the copy")

// copiedFiles are the files of a state directory except the log, in the order in which they are copied.
var copiedFiles = []string{
	statedir.KeysName, statedir.TenantsName, statedir.CursorKeyName, statedir.KeyRecordName, statedir.ServerIDName,
	statedir.HooksName, statedir.RevokedName, statedir.CheckpointName,
}

// Copy makes a consistent copy of a state directory, whether or not a server runs there. The new
// directory must be missing or empty, and outside of the state directory. check verifies the copy; if
// it or anything else fails, nothing of the copy stays. The files have the owners of the originals, if
// this user can set them.
func Copy(dir, to string, check func() error) (err error) {
	if err := checkTarget(dir, to); err != nil {
		return err
	}

	_, before := os.Stat(to)
	defer func() {
		if err != nil {
			err = errors.Join(err, removeCopy(to, before != nil))
		}
	}()
	if err := os.MkdirAll(filepath.Join(to, statedir.LogName), 0o700); err != nil {
		return fmt.Errorf("%w into %q: %w", ErrCopy, to, err)
	}
	if before != nil {
		chownLike(to, dir)
	}
	chownLike(filepath.Join(to, statedir.LogName), filepath.Join(dir, statedir.LogName))

	// As long as the checkpoint file is locked for reading, the server delays checkpoints, and removes no
	// segment of the log.
	lock, err := disk.TakeShared(filepath.Join(dir, statedir.CheckpointName), openTimeout)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = copyFiles(dir, to)
	}
	if lock != nil {
		err = errors.Join(err, lock.Unlock())
	}
	if err != nil {
		return fmt.Errorf("cannot back up %q: %w", dir, err)
	}
	return check()
}

// chownLike sets the owner of a directory to that of another one, so that a copy that root made can
// replace the original. On a disk without owners it does nothing.
func chownLike(path, like string) {
	owner, err := statedir.OwnerFor(like)
	if err == nil {
		_ = owner.ChownPath(path)
	}
}

// checkTarget refuses a folder for a copy that is not empty, or that is the state directory or inside
// of it, also through a link.
func checkTarget(stateDir, to string) error {
	names, err := os.ReadDir(to)
	if err == nil && len(names) > 0 {
		return fmt.Errorf("cannot back up into %q: it is not empty", to)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrCopy, err)
	}
	state, err := os.Stat(stateDir)
	if err != nil {
		return err
	}

	// A missing folder is made in the nearest one that exists.
	folder, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	place, err := filepath.EvalSymlinks(folder)
	for errors.Is(err, fs.ErrNotExist) && folder != filepath.Dir(folder) {
		folder = filepath.Dir(folder)
		place, err = filepath.EvalSymlinks(folder)
	}
	if err != nil {
		return fmt.Errorf("%w into %q: %w", ErrCopy, to, err)
	}

	for ; ; place = filepath.Dir(place) {
		if info, err := os.Stat(place); err == nil && os.SameFile(info, state) {
			return fmt.Errorf("cannot back up into %q: it is inside the state directory, and would be lost with it", to)
		}
		if place == filepath.Dir(place) {
			return nil
		}
	}
}

// removeCopy removes what a backup wrote, and the folder itself if the backup made it. Files of others
// stay.
func removeCopy(to string, made bool) error {
	var problems []error
	for _, name := range append(slices.Clone(copiedFiles), statedir.LogName) {
		problems = append(problems, os.RemoveAll(filepath.Join(to, name)))
	}
	if made {
		if err := os.Remove(to); !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// copyFiles copies the files of a state directory: the checkpoint before the log, which only grows.
func copyFiles(from, to string) error {
	files := slices.Clone(copiedFiles)
	firsts, err := wal.Segments(filepath.Join(from, statedir.LogName))
	if err != nil {
		return err
	}
	for _, first := range firsts {
		files = append(files, filepath.Join(statedir.LogName, wal.SegmentName(first)))
	}

	for _, name := range files {
		data, err := wal.ReadFile(filepath.Join(from, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		owner, err := statedir.OwnerFor(filepath.Join(from, name))
		if err == nil {
			err = statedir.ReplaceAsIfAllowed(filepath.Join(to, name), data, owner)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrCopy, err)
		}
	}
	return nil
}
