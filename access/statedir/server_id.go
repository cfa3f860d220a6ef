package statedir

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"ninepocket/internal/wal"
)

// ErrServerID is a wal.ErrCorrupt of the server id of a state directory.
var ErrServerID = fmt.Errorf("%w", wal.ErrCorrupt)

// ServerID returns the name under which a state directory reports usage, and makes one the first
// time. A report under a name replaces the earlier one: a name that changed, or that two directories
// have, would make bills wrong. So a damaged one is ErrServerID, and a copy of the directory has it
// too.
func ServerID(stateDir string) (name string, err error) {
	name, err = ReadServerID(stateDir)
	if !errors.Is(err, fs.ErrNotExist) {
		return name, err
	}
	if err := Make(stateDir); err != nil {
		return "", fmt.Errorf("cannot make state directory %q: %w", stateDir, err)
	}

	// Two commands that start at once get one name.
	lock, err := LockWriters(stateDir)
	if err != nil {
		return "", fmt.Errorf("cannot lock state directory %q: %w", stateDir, err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	name, err = ReadServerID(stateDir)
	if !errors.Is(err, fs.ErrNotExist) {
		return name, err
	}

	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	name = hex.EncodeToString(random[:])
	return name, ReplaceFile(filepath.Join(stateDir, ServerIDName), []byte(encodeName(name)))
}

// ReadServerID returns the server id of a state directory; fs.ErrNotExist if it has none,
// ErrServerID if it is damaged.
func ReadServerID(stateDir string) (string, error) {
	path := filepath.Join(stateDir, ServerIDName)
	data, err := wal.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("cannot read server id %q: %w", path, err)
	}

	name, _, _ := strings.Cut(string(data), " ")
	if _, err := hex.DecodeString(name); err != nil || len(name) != 16 || string(data) != encodeName(name) {
		return "", fmt.Errorf("cannot read server id %q: %w: it does not have its checksum", path, ErrServerID)
	}
	return name, nil
}

// encodeName returns the content of the file with a server id.
func encodeName(name string) string {
	return fmt.Sprintf("%s %x\n", name, sha256.Sum256([]byte(name)))
}
