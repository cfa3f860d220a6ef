//go:build !unix

package access

import (
	"errors"
	"os"
	"time"
)

// fileLock is not available on this system.
type fileLock struct{}

func lockFile(string, time.Duration) (*fileLock, error) { return nil, errors.ErrUnsupported }

func lockShared(string, time.Duration) (*fileLock, error) { return nil, errors.ErrUnsupported }

func lockState(string, time.Duration) (*fileLock, error) { return nil, errors.ErrUnsupported }

func (*fileLock) moved(string) error { return nil }

func (*fileLock) unlock() error { return nil }

func unlockFile(file *os.File) error { return file.Close() }

func giveUp(*os.File) error { return nil }
