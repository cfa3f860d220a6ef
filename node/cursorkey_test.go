package node

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ninepocket/access"
	"ninepocket/engine/cursor"
)

// TestDamagedCursorKey wants a cursor key that stays, also one without a checksum; every flipped
// bit and every cut is refused, found by a check, and fixed by a repair.
func TestDamagedCursorKey(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, cursorKeysName)
	put := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open := func() []byte {
		t.Helper()
		if _, err := ownCursorKey(dir); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}

	first := open()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || len(first) != 2*cursor.KeyLen {
		t.Fatalf("%d bytes, %v (%v)", len(first), info.Mode(), err)
	}
	if again := open(); !bytes.Equal(again, first) {
		t.Fatal("the key changed")
	}
	put(first[:cursor.KeyLen])
	if again := open(); !bytes.Equal(again, first) {
		t.Fatal("a key without a checksum is another one at the next start")
	}

	bad := [][]byte{{}, first[:7], first[:cursor.KeyLen-1], first[:len(first)-1]}
	for bit := range 8 * len(first) {
		flipped := bytes.Clone(first)
		flipped[bit/8] ^= 1 << (bit % 8)
		bad = append(bad, flipped)
	}

	for _, data := range bad {
		put(data)
		_, err := ownCursorKey(dir)
		if !errors.Is(err, access.ErrCorrupt) || !strings.Contains(err.Error(), path) {
			t.Fatalf("a key of %d bytes: %v", len(data), err)
		}
		if removed, err := RepairCursorKey(dir); err != nil || !removed {
			t.Fatalf("a repair of %d bytes: %t (%v)", len(data), removed, err)
		}
		if _, _, err := ReadCursorKey(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("after a repair: %v", err)
		}
		if removed, err := RepairCursorKey(dir); err != nil || removed {
			t.Fatalf("a second repair: %t (%v)", removed, err)
		}
	}

	if again := open(); bytes.Equal(again, first) {
		t.Fatal("the damaged key is back")
	}
}
