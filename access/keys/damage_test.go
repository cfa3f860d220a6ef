package keys

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"ninepocket/access/statedir"
	"ninepocket/internal/testsweep"
	"ninepocket/internal/wal"
)

// TestKeyFileBits flips every bit of a keys file: it is refused, or says exactly the same.
func TestKeyFileBits(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(stored(t), statedir.KeysName))
	if err != nil {
		t.Fatal(err)
	}
	f, err := parseFile(data)
	if err != nil || f.SHA256 == "" {
		t.Fatal(err)
	}
	want, _ := json.Marshal(f)

	harmless := 0
	for bit := 0; bit < len(data)*8; bit += testsweep.Stride(5) {
		bad := bytes.Clone(data)
		bad[bit/8] ^= 1 << (bit % 8)
		f, err := parseFile(bad)
		if err != nil {
			if !errors.Is(err, wal.ErrCorrupt) {
				t.Fatalf("bit %d: %v", bit, err)
			}
			continue
		}
		if got, _ := json.Marshal(f); !bytes.Equal(got, want) {
			t.Fatalf("bit %d of byte %q made another file:\n%s", bit, data[bit/8], got)
		}
		harmless++
	}
	t.Logf("%d of %d bits have no effect: white space, and the case of names", harmless, len(data)*8)
	if harmless > len(data)*8/4 {
		t.Error("too many to be true")
	}
}

// TestOldKeyFile reads a file without a checksum, and adds one at the next change.
func TestOldKeyFile(t *testing.T) {
	t.Parallel()
	dir := stored(t)
	path := filepath.Join(dir, statedir.KeysName)
	f, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}

	f.SHA256 = ""
	old, _ := json.MarshalIndent(f, "", "  ")
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}

	if err := Update(dir, func(*File) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if f, err := Read(dir); err != nil || f.SHA256 == "" {
		t.Fatalf("no checksum after a change: %v", err)
	}
}
