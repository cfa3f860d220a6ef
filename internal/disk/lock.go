package disk

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"os"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// ErrLocked means: another process holds the lock.
var ErrLocked = errors.New("locked by another process")

// Forever waits for a lock as long as it takes.
const Forever time.Duration = math.MaxInt64

// Lock is an advisory lock. The system drops it when its process ends, however it ends; the file
// stays. No faulty disk stands between: locks are of this machine alone.
type Lock struct{ file *flock.Flock }

// TakeLock takes the exclusive lock of a file, or of a folder where mode has fs.ModeDir. A file
// that is not there is made with the mode. It waits for others, and is ErrLocked after that.
func TakeLock(name string, mode fs.FileMode, wait time.Duration) (*Lock, error) {
	flag := os.O_RDWR | os.O_CREATE
	if mode.IsDir() {
		flag = os.O_RDONLY
	}
	file := flock.New(name, flock.SetFlag(flag), flock.SetPermissions(mode.Perm()))
	lock, err := pollLock(file, file.TryLock, wait)
	if err == nil && !mode.IsDir() {
		InheritOwner(name)
	}
	return lock, err
}

// TakeShared takes the lock of a file that is there, beside others who do the same.
func TakeShared(name string, wait time.Duration) (*Lock, error) {
	file := flock.New(name, flock.SetFlag(os.O_RDONLY))
	return pollLock(file, file.TryRLock, wait)
}

// pollLock asks for a lock until it is there, or the wait is over.
func pollLock(file *flock.Flock, try func() (bool, error), wait time.Duration) (*Lock, error) {
	const pause = 5 * time.Millisecond
	for waited := time.Duration(0); ; waited += pause {
		locked, err := try()
		switch {
		case locked:
			return &Lock{file}, nil
		case waited >= wait, err != nil && !errors.Is(err, syscall.EINTR):
			return nil, cmp.Or(err, ErrLocked)
		}
		time.Sleep(pause) //nolint:forbidigo // the system tells nobody that a lock is free
	}
}

// Relocated reports whether the file or folder that is locked is not at its path any more. What
// cannot be asked is taken to be there.
func (lock *Lock) Relocated() bool {
	here, err := os.Stat(lock.file.Path())
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return false
	}
	locked, unknown := lock.file.Stat()
	return unknown == nil && !os.SameFile(here, locked)
}

// Unlock gives the lock up at once, also where a process being forked holds a copy of the descriptor
// for a moment.
func (lock *Lock) Unlock() error { return lock.file.Unlock() }
