package waltest

import (
	"errors"
	"path/filepath"
	"testing"

	"ninepocket/internal/wal"
)

// Create makes a segment.
type Create = func(path string) (wal.Segment, error)

// Kinds returns the ways to make segments that work here, by name: written, and mapped where the
// system can.
func Kinds(t testing.TB) map[string]Create {
	t.Helper()
	kinds := map[string]Create{"written": wal.WriteSegment}

	file, err := wal.MapSegment(filepath.Join(t.TempDir(), "probe"))
	if errors.Is(err, errors.ErrUnsupported) {
		t.Logf("skipped: mapped segments, because they cannot be made here: %v", err)
		return kinds
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		t.Fatal(err)
	}

	kinds["mapped"] = wal.MapSegment
	return kinds
}

// Unsynced returns segments that leave fsync out, for tests that do not cut the power.
func Unsynced(create Create) Create {
	return func(path string) (wal.Segment, error) {
		file, err := create(path)
		return unsynced{file}, err
	}
}

type unsynced struct{ wal.Segment }

func (unsynced) Sync() error { return nil }
