package tombstone

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestTombstones appends tombstones, one of them after a torn line: all are read, the torn line is named,
// and no name stands in the file.
func TestTombstones(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if none, err := Read(folder); none != nil || err != nil {
		t.Fatalf("an empty folder has %v, %v", none, err)
	}

	at := time.Date(2026, 11, 26, 20, 0, 0, 0, time.FixedZone("", 3600))
	want := []Tombstone{New("acme", "tenant_a", at), New("beta", "tenant_b", at)}
	if err := Append(folder, want[0]); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(folder, Name)
	text, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, append(text, `{"at":"2026-`...), 0o600)
	}
	if err == nil {
		err = Append(folder, want[1])
	}
	if err != nil {
		t.Fatal(err)
	}

	all, err := Read(folder)
	if diff := cmp.Diff(want, all); diff != "" || err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("%v, %s", err, diff)
	}
	if !all[0].Of("acme") || all[0].Of("beta") || all[0].Of("Acme") {
		t.Error("the first tombstone is not that of acme alone")
	}
	text, err = os.ReadFile(name)
	info, statErr := os.Stat(name)
	if err != nil || statErr != nil || strings.Contains(string(text), "acme") || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, %v: %s", err, statErr, info, text)
	}
}

// TestEveryFlippedBitIsFound: a letter of a member's name that became a capital is found, too.
func TestEveryFlippedBitIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := Append(dir, New("gone", "tenant_x", time.Now())); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, Name)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}

	for bit := range len(whole) * 8 {
		flipped := bytes.Clone(whole)
		flipped[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(name, flipped, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir); err == nil {
			t.Errorf("bit %d of %d is flipped, which is not found: %q", bit, len(whole)*8, flipped)
		}
	}
}
