package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"ninepocket/internal/disk"
)

// ErrLocked reports that another process has the lock.
var ErrLocked = disk.ErrLocked

// Lock is the lock of a state directory for one server. It locks the directory itself, because a lock
// file in it could be removed and made again (decision 1760).
type Lock struct {
	current *disk.Lock
	// old locks a file: servers of the first versions lock only that, and the two must exclude each
	// other during an upgrade.
	old *disk.Lock
}

// LockState locks a state directory for one server, and waits up to timeout. If it is still locked then,
// the error is ErrLocked.
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

// Moved returns ErrMoved if the locked directory is not at its path any more.
func (lock *Lock) Moved(dir string) error {
	if lock.current.Relocated() {
		return fmt.Errorf("%w: %q", ErrMoved, dir)
	}
	return nil
}

// Unlock releases the lock at once.
func (lock *Lock) Unlock() error { return errors.Join(lock.old.Unlock(), lock.current.Unlock()) }
