package statedir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ninepocket/internal/disk"
	"ninepocket/internal/wal"
)

// ErrMoved reports that the state directory is not at its path any more, or another one is. The next
// server would not have the charges of this one.
var ErrMoved = errors.New("the state directory is gone from its path, or another is there")

// Names inside a state directory.
const (
	KeysName       = "keys.json"
	TenantsName    = "tenants.json" // what earlier versions cannot read in keys.json
	keysLockName   = "keys.lock"
	OldLockName    = "server.lock" // of servers before decision 1760
	CheckpointName = "meter.db"
	LogName        = "wal"
	// CursorKeyName and KeyRecordName belong to the command: the key of cursors, and the audit log of
	// commands that changed keys.
	CursorKeyName = "cursor.key"
	KeyRecordName = "keys.log"
	// ServerIDName is the file with the server id: 16 hexadecimal digits, and the SHA-256 of these.
	ServerIDName = "incarnation"
	// FleetKeysName is the file with the keys and plans that a server of a fleet received last.
	FleetKeysName = "fleet-keys.json"
	HooksName     = "hooks.json"
	// RevokedName is what a server of a fleet knows to be revoked.
	RevokedName = "revoked.json"
)

// lockTimeout is how long a writer waits for another one.
const lockTimeout = 10 * time.Second

// LockWriters lets one command at a time write the keys file or the server id of a state directory.
// It is independent of a running server. The lock has its own file, because each change replaces
// the keys file.
func LockWriters(stateDir string) (*disk.Lock, error) {
	return disk.TakeLock(filepath.Join(stateDir, keysLockName), 0o600, lockTimeout)
}

// Metered reports whether a server has metered in a state directory.
func Metered(stateDir string) (bool, error) {
	segments, err := wal.Segments(filepath.Join(stateDir, LogName))
	if err != nil || len(segments) > 0 {
		return err == nil, err
	}
	_, err = os.Stat(filepath.Join(stateDir, CheckpointName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
