package notify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"ninepocket/access/statedir"
	"ninepocket/internal/disk"
)

// fileLedger is a Ledger in a state directory.
type fileLedger struct {
	path string
	lock *disk.Lock
}

// OpenFile opens the ledger of a state directory. It is ErrBusy while another process has it.
func OpenFile(stateDir string) (Ledger, error) {
	lock, err := disk.TakeLock(filepath.Join(stateDir, statedir.HooksLockName), 0o600, 0)
	switch {
	case errors.Is(err, disk.ErrLocked):
		return nil, fmt.Errorf("cannot send the events of %q: %w", stateDir, ErrBusy)
	case err != nil:
		return nil, fmt.Errorf("cannot send events: %w", err)
	}
	return &fileLedger{filepath.Join(stateDir, statedir.HooksName), lock}, nil
}

func (ledger *fileLedger) Load(context.Context) ([]byte, error) {
	text, err := disk.ReadFile(disk.OS, ledger.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

func (ledger *fileLedger) Save(_ context.Context, record []byte) error {
	return statedir.ReplaceFile(ledger.path, record)
}

func (ledger *fileLedger) Close() error { return ledger.lock.Unlock() }
