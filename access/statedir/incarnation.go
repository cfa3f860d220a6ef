package statedir

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"ninepocket/internal/wal"
)

// ErrIncarnation is a wal.ErrCorrupt of the incarnation of a state directory.
var ErrIncarnation = fmt.Errorf("%w", wal.ErrCorrupt)

// Incarnation returns the name under which a state directory reports usage, and makes one the first
// time. A report under a name replaces the earlier one: a name that changed, or that two directories
// have, would make bills wrong. So a damaged one is ErrIncarnation, and a copy of the directory has it
// too.
func Incarnation(stateDir string) (name string, err error) {
	name, err = ReadIncarnation(stateDir)
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
	name, err = ReadIncarnation(stateDir)
	if !errors.Is(err, fs.ErrNotExist) {
		return name, err
	}

	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	name = fmt.Sprintf("%016x", binary.BigEndian.Uint64(random[:]))
	return name, ReplaceFile(filepath.Join(stateDir, IncarnationName), []byte(encodeName(name)))
}

// ReadIncarnation returns the incarnation of a state directory; fs.ErrNotExist if it has none,
// ErrIncarnation if it is damaged.
func ReadIncarnation(stateDir string) (string, error) {
	path := filepath.Join(stateDir, IncarnationName)
	data, err := wal.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("cannot read incarnation %q: %w", path, err)
	}

	name, _, _ := strings.Cut(string(data), " ")
	if _, err := hex.DecodeString(name); err != nil || len(name) != 16 || string(data) != encodeName(name) {
		return "", fmt.Errorf("cannot read incarnation %q: %w: it does not have its checksum", path, ErrIncarnation)
	}
	return name, nil
}

// encodeName returns the content of the file with an incarnation.
func encodeName(name string) string {
	sum := sha256.Sum256([]byte(name))
	return name + " " + hex.EncodeToString(sum[:]) + "\n"
}
