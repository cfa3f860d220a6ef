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

// ErrLocked reports that another process has the lock.
var ErrLocked = errors.New("locked by another process")

// Forever waits for a lock as long as it takes.
const Forever time.Duration = math.MaxInt64

// Lock is an advisory lock. The system releases it when its process ends, however it ends; the file
// stays. It bypasses a faulty disk: locks are only of this machine.
type Lock struct{ file *flock.Flock }

// TakeLock takes the exclusive lock of a file, or of a folder if mode has fs.ModeDir. A missing file is
// made with the mode. It waits for other processes, and returns ErrLocked after that.
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

// TakeShared takes a shared lock of an existing file.
func TakeShared(name string, wait time.Duration) (*Lock, error) {
	file := flock.New(name, flock.SetFlag(os.O_RDONLY))
	return pollLock(file, file.TryRLock, wait)
}

// pollLock tries to lock until that succeeds, or the wait is over.
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
		time.Sleep(pause) //nolint:forbidigo // the system has no event for a lock that becomes free
	}
}

// Relocated reports whether the locked file or folder is not at its path any more. If that is unknown,
// it is taken as present.
func (lock *Lock) Relocated() bool {
	here, err := os.Stat(lock.file.Path())
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return false
	}
	locked, unknown := lock.file.Stat()
	return unknown == nil && !os.SameFile(here, locked)
}

// Unlock releases the lock at once, also if a process that is being forked has a copy of the descriptor.
func (lock *Lock) Unlock() error { return lock.file.Unlock() }
