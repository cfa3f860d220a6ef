package node

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ninepocket/access"
	"ninepocket/access/statedir"
	"ninepocket/engine/cursor"
	"ninepocket/internal/wal"
)

// cursorKeysName is the file in the state directory with the cursor signing key, so that cursors
// stay valid after a restart. It has the key and its SHA-256. A file with the key alone is from an
// earlier version, and gets the checksum at the next start.
const cursorKeysName = "cursor.key"

// openCursorKeys reads the secrets that sign cursors: those of the fleet, or that of the state
// directory, where the first start creates it.
func (n *Node) openCursorKeys(ctx context.Context) error {
	var keys []cursor.Key
	var err error
	switch {
	case n.fleet == nil:
		keys, err = ownCursorKey(n.Config.State)
	case n.fleet.cursorKeys != nil:
		keys = n.fleet.cursorKeys
	default:
		keys, err = n.fleet.control.CursorKeys(ctx)
	}
	if err == nil {
		n.cursors, err = cursor.NewSigner(keys...)
	}
	return err
}

func ownCursorKey(state string) ([]cursor.Key, error) {
	secret, summed, err := ReadCursorKey(state)
	if errors.Is(err, fs.ErrNotExist) {
		secret = make([]byte, cursor.KeyLen)
		// Never fails.
		_, _ = rand.Read(secret)
		err = nil
	}

	if err == nil && !summed {
		sum := sha256.Sum256(secret)
		err = statedir.ReplaceFile(filepath.Join(state, cursorKeysName), append(bytes.Clone(secret), sum[:]...))
	}
	if err != nil {
		return nil, err
	}
	return []cursor.Key{{ID: 1, Secret: [cursor.KeyLen]byte(secret)}}, nil
}

// ReadCursorKey reads the signing key of a state directory, and reports whether the file has its
// checksum. Before the first start the error is fs.ErrNotExist. A damaged file is
// access.ErrCorrupt.
func ReadCursorKey(state string) (secret []byte, summed bool, err error) {
	path := filepath.Join(state, cursorKeysName)
	data, err := wal.ReadFile(path)
	if err != nil {
		return nil, false, fmt.Errorf("cannot read cursor key %q: %w", path, err)
	}

	const whole = cursor.KeyLen + sha256.Size
	if len(data) != cursor.KeyLen && len(data) != whole {
		return nil, false, fmt.Errorf("cannot read cursor key %q: %w: it has %d bytes instead of %d",
			path, access.ErrCorrupt, len(data), whole)
	}
	secret = data[:cursor.KeyLen]
	sum := sha256.Sum256(secret)
	summed = len(data) == whole
	if summed && !bytes.Equal(sum[:], data[cursor.KeyLen:]) {
		return nil, false, fmt.Errorf("cannot read cursor key %q: %w: it does not have its checksum",
			path, access.ErrCorrupt)
	}
	return secret, summed, nil
}

// RepairCursorKey removes a damaged cursor key, and reports whether it did. Only a backup could
// restore it, and the next start creates another.
func RepairCursorKey(state string) (removed bool, err error) {
	_, _, err = ReadCursorKey(state)
	switch {
	case errors.Is(err, access.ErrCorrupt):
		return true, os.Remove(filepath.Join(state, cursorKeysName))
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	}
	return false, err
}
