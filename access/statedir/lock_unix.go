//go:build unix

package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// fileLock is an exclusive advisory lock. The system drops it when its process ends, however it
// ends; the file stays.
type Lock struct {
	file *os.File
	old  *Lock // of a state directory, for servers that know the file alone; nil for others
}

// lockFile takes the lock at path, waiting up to patience. A lock still held is ErrLocked. A file that
// it makes belongs to who the directory belongs to, where this user can do that: the server locks it,
// too.
func LockFile(path string, patience time.Duration) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		of, unknown := OwnerFor(path)
		file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err == nil && unknown == nil {
			_ = of.Give(file) // else it is this user's, as the rest of what it makes
		}
	}
	if err != nil {
		return nil, err
	}
	return lock(file, syscall.LOCK_EX, patience)
}

// lockShared takes a lock for reading of a file that is there.
func LockShared(path string, patience time.Duration) (*Lock, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return lock(file, syscall.LOCK_SH, patience)
}

// lockState takes the lock of a state directory: that of the directory itself, which nobody can remove
// and make anew as they can a file in it (decision 1760). The file is locked as well: a server of the
// first versions asks for it alone, and the two must see each other during an upgrade.
func LockState(dir string, patience time.Duration) (*Lock, error) {
	file, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	taken, err := lock(file, syscall.LOCK_EX, patience)
	if err == nil {
		taken.old, err = LockFile(filepath.Join(dir, OldLockName), patience)
		if err != nil {
			err = errors.Join(err, taken.Unlock())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot lock state directory %q for one server: %w", dir, err)
	}
	return taken, nil
}

func lock(file *os.File, how int, patience time.Duration) (_ *Lock, err error) {
	// Flock itself waits without end.
	const pause = 5 * time.Millisecond
	for waited := time.Duration(0); ; waited += pause {
		err = syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
		if err == nil {
			return &Lock{file: file}, nil
		}

		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			break
		}
		if waited >= patience {
			err = ErrLocked
			break
		}

		time.Sleep(pause) //nolint:forbidigo // another process holds the lock; there is no event to wait on
	}
	return nil, errors.Join(err, file.Close())
}

// moved returns ErrMoved when the directory that is locked is not at its path any more. What cannot be
// asked is taken to be there.
func (lock *Lock) Moved(dir string) error {
	here, err := os.Stat(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	locked, unknown := lock.file.Stat()
	if unknown == nil && !os.SameFile(here, locked) {
		return fmt.Errorf("%w: %q", ErrMoved, dir)
	}
	return nil
}

// unlock gives the lock up at once, also where a process being forked holds a copy of the
// descriptor for a moment.
func (lock *Lock) Unlock() error {
	if lock.old != nil {
		return errors.Join(lock.old.Unlock(), UnlockFile(lock.file))
	}
	return UnlockFile(lock.file)
}

// unlockFile gives up the lock of an open file, and closes it.
func UnlockFile(file *os.File) error { return errors.Join(GiveUp(file), file.Close()) }

// giveUp gives up the lock of an open file.
func GiveUp(file *os.File) error { return syscall.Flock(int(file.Fd()), syscall.LOCK_UN) }
