package main

import (
	"bytes"
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

// cursorKeysName is the file of the state directory that holds the cursor signing key, so that
// cursors outlive a restart. It is the key and then its SHA-256; a file of the key alone is of an
// earlier version, and gets the checksum at the next start.
const cursorKeysName = "cursor.key"

// openCursors reads the signing key of a state directory, making one the first time.
func openCursors(state string) (*cursor.Signer, error) {
	secret, summed, err := readCursorKey(state)
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
	if errors.Is(err, access.ErrCorrupt) {
		return nil, fail(exitRefused, "restore the file, or run: ninepocket state repair --state "+state+
			", which removes it: the next start makes another, and clients begin their walks anew", err)
	}
	if err != nil {
		return nil, asFailure(err, stateRemedies, state)
	}
	return cursor.NewSigner(cursor.Key{ID: 1, Secret: [cursor.KeyLen]byte(secret)})
}

// readCursorKey reads the signing key of a state directory, and whether it has its checksum. A
// damaged one is access.ErrCorrupt.
func readCursorKey(state string) (secret []byte, summed bool, err error) {
	path := filepath.Join(state, cursorKeysName)
	data, err := wal.ReadFile(path)
	if err != nil {
		return nil, false, fmt.Errorf("cannot read cursor key %q: %w", path, err)
	}

	const whole = cursor.KeyLen + sha256.Size
	switch len(data) {
	case cursor.KeyLen:
		return data, false, nil
	case whole:
		secret = data[:cursor.KeyLen]
		if sum := sha256.Sum256(secret); !bytes.Equal(sum[:], data[cursor.KeyLen:]) {
			return nil, false, fmt.Errorf("cannot read cursor key %q: %w: it does not have its checksum",
				path, access.ErrCorrupt)
		}
		return secret, true, nil
	}
	return nil, false, fmt.Errorf("cannot read cursor key %q: %w: it has %d bytes instead of %d",
		path, access.ErrCorrupt, len(data), whole)
}

// checkCursorKey says what is wrong with the cursor key; before the first start there is none.
func checkCursorKey(state string) (damage []string, err error) {
	_, _, err = readCursorKey(state)
	switch {
	case errors.Is(err, access.ErrCorrupt):
		return []string{err.Error()}, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	}
	return nil, err
}

// repairCursorKey removes a damaged cursor key: nothing but a copy has it, and another one does.
func repairCursorKey(state string, report *access.RepairReport) error {
	damage, err := checkCursorKey(state)
	if err != nil || len(damage) == 0 {
		return err
	}
	if err := os.Remove(filepath.Join(state, cursorKeysName)); err != nil {
		return err
	}
	report.Dropped = append(report.Dropped,
		"the cursor key: the next start makes another, and clients begin their walks anew")
	return nil
}
