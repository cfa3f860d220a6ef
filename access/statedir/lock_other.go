//go:build !unix

package statedir

import (
	"errors"
	"os"
	"time"
)

// Lock is not available on this system.
type Lock struct{}

func LockFile(string, time.Duration) (*Lock, error) { return nil, errors.ErrUnsupported }

func LockShared(string, time.Duration) (*Lock, error) { return nil, errors.ErrUnsupported }

func LockState(string, time.Duration) (*Lock, error) { return nil, errors.ErrUnsupported }

func (*Lock) Moved(string) error { return nil }

func (*Lock) Unlock() error { return nil }

func UnlockFile(file *os.File) error { return file.Close() }

func GiveUp(*os.File) error { return nil }
