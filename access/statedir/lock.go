package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"ninepocket/internal/disk"
)

// ErrLocked means: another process holds the lock.
var ErrLocked = disk.ErrLocked

// Lock is the lock of a state directory for one server. It locks the directory itself, which nobody
// can remove and make again as they can a file in it (decision 1760).
type Lock struct {
	current *disk.Lock
	// old is the lock of a file: a server of the first versions asks for it alone, and the two must see
	// each other during an upgrade.
	old *disk.Lock
}

// LockState takes the lock of a state directory, waiting up to patience. One that is still held is
// ErrLocked.
func LockState(dir string, timeout time.Duration) (*Lock, error) {
	lock, err := disk.TakeLock(dir, fs.ModeDir, timeout)
	if err != nil {
		return nil, fmt.Errorf("cannot lock state directory %q for one server: %w", dir, err)
	}

	old, err := disk.TakeLock(filepath.Join(dir, OldLockName), 0o600, timeout)
	if err != nil {
		err = errors.Join(err, lock.Unlock())
		return nil, fmt.Errorf("cannot lock state directory %q for one server: %w", dir, err)
	}
	return &Lock{lock, old}, nil
}

// Moved returns ErrMoved when the directory that is locked is not at its path any more.
func (lock *Lock) Moved(dir string) error {
	if lock.current.Relocated() {
		return fmt.Errorf("%w: %q", ErrMoved, dir)
	}
	return nil
}

// Unlock gives the lock up at once.
func (lock *Lock) Unlock() error { return errors.Join(lock.old.Unlock(), lock.current.Unlock()) }
