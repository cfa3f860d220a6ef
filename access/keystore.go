package access

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ninepocket/internal/wal"
)

// Names inside a state directory.
const (
	keysName       = "keys.json"
	keysLockName   = "keys.lock"
	oldLockName    = "server.lock" // that of servers before decision 1760
	checkpointName = "meter.db"
	walDirName     = "wal"
)

// keysLockPatience is how long a writer waits for another one.
const keysLockPatience = 10 * time.Second

// ReadKeys reads the keys file of a state directory. A missing file is ErrNoKeysFile in a new
// directory, ErrKeysGone in one that a server used, and ErrKeysShared where that was one of a fleet; a
// damaged file is ErrCorrupt.
func ReadKeys(stateDir string) (*KeyFile, error) {
	path := filepath.Join(stateDir, keysName)
	data, err := readKeysFile(path)
	if err != nil {
		return nil, err
	}
	f, err := parseKeyFile(data)
	if err != nil {
		return nil, fmt.Errorf("cannot read keys file %q: %w", path, err)
	}
	return f, nil
}

// readKeysFile returns the content of a keys file. Anything but a file in its place is damage.
func readKeysFile(path string) ([]byte, error) {
	data, err := wal.ReadFile(path)
	if errors.Is(err, ErrCorrupt) {
		err = fmt.Errorf("%w%s", ErrKeysDamaged, strings.TrimPrefix(err.Error(), ErrCorrupt.Error()))
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = missingKeys(filepath.Dir(path))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read keys file %q: %w", path, err)
	}
	return data, nil
}

// missingKeys says what it means that a state directory has no keys file. No server starts without
// keys, so where one metered there were some. A new file would take the keys of all tenants away.
func missingKeys(stateDir string) error {
	segments, err := wal.Segments(filepath.Join(stateDir, walDirName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err = os.Stat(filepath.Join(stateDir, checkpointName))

	switch {
	case err == nil || len(segments) > 0:
		// A server of a fleet meters here, and nobody makes keys here.
		if _, err := readIncarnation(stateDir); !errors.Is(err, fs.ErrNotExist) {
			return ErrKeysShared
		}
		return ErrKeysGone
	case errors.Is(err, fs.ErrNotExist):
		return ErrNoKeysFile
	}
	return err
}

// UpdateKeys changes the keys file of a state directory: it reads the file (or starts an empty one in
// a new directory, which it makes), calls change, and replaces the file as a whole, all under a lock, so that
// concurrent writers lose nothing. When change fails nothing is written. The file is on disk when
// UpdateKeys returns. It belongs to who it belonged to, or to who the directory does; where this user
// cannot do that, nothing is changed, and the error is ErrOwner.
func UpdateKeys(stateDir string, change func(*KeyFile) error) error {
	if err := makeStateDir(stateDir); err != nil {
		return fmt.Errorf("cannot make state directory %q: %w", stateDir, err)
	}
	// Whoever cannot leave a file that the server can read learns so before anything is made.
	if err := checkOwner(filepath.Join(stateDir, keysName)); err != nil {
		return err
	}

	// The lock has a file of its own: the keys file is another one after each change.
	lock, err := lockFile(filepath.Join(stateDir, keysLockName), keysLockPatience)
	if err != nil {
		return fmt.Errorf("cannot lock keys file in %q: %w", stateDir, err)
	}
	defer func() { _ = lock.unlock() }() // whether the change was made is known by then

	// The first key makes the file.
	f, err := ReadKeys(stateDir)
	if errors.Is(err, ErrNoKeysFile) {
		f = NewKeyFile()
		err = nil
	}
	if err != nil {
		return err
	}
	if err := change(f); err != nil {
		return err
	}

	return writeKeys(stateDir, f)
}

func writeKeys(stateDir string, f *KeyFile) error {
	data, err := f.encode()
	if err != nil {
		return fmt.Errorf("cannot write keys file in %q: %w", stateDir, err)
	}
	path := filepath.Join(stateDir, keysName)
	of, err := ownerFor(path)
	if err != nil {
		return fmt.Errorf("cannot replace file %q: %w", path, err)
	}
	return replaceFile(path, data, of)
}

// ReplaceFile puts data at path, wholly or not at all: after a crash the file is the old one or the
// new one. It is on disk when ReplaceFile returns. It belongs to who the old one belonged to, with its
// mode, or to who the directory does, with mode 0600, where this user can do that, and else to this
// user.
func ReplaceFile(path string, data []byte) error {
	of, err := ownerFor(path)
	if err != nil {
		return fmt.Errorf("cannot replace file %q: %w", path, err)
	}
	return replaceWhere(path, data, of)
}

// replaceWhere is replaceFile where of is a wish.
func replaceWhere(path string, data []byte, of owner) error {
	err := replaceFile(path, data, of)
	if errors.Is(err, ErrOwner) {
		return replaceFile(path, data, owner{uid: -1, gid: -1, mode: 0o600})
	}
	return err
}

// replaceFile is ReplaceFile with a file that belongs to its owner; when it cannot be, nothing is
// changed.
func replaceFile(path string, data []byte, of owner) (err error) {
	temp, err := of.makeTemp(path)
	if err != nil {
		return fmt.Errorf("cannot replace file %q: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("cannot replace file %q: %w", path, err), temp.Close())
		}
	}()

	// The content is on disk before the name leads to it, and the name before the caller goes on.
	_, err = temp.Write(data)
	if err == nil {
		err = temp.Sync()
	}
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	if err := wal.SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return temp.Close()
}
