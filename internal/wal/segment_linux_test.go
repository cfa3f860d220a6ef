package wal

import (
	"errors"
	"os"
	"testing"

	"ninepocket/internal/disk/disktest"
)

// mustMap skips a test where segments cannot be mapped.
func mustMap(t *testing.T) {
	t.Helper()
	if !disktest.Maps(t) {
		t.SkipNow()
	}
}

// TestMappedFault cuts the file short under the mapping. The copy fails with an error, not the
// process with a signal, and the log continues in a new file that has all records.
func TestMappedFault(t *testing.T) {
	dir := t.TempDir()
	mustMap(t)
	l, err := Start(dir, 1, Options{Inline: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.CloseNow()

	if err := l.AwaitWritten(l.Append(testPayload(1))); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(segmentPath(dir, 1), 0); err != nil {
		t.Fatal(err)
	}
	for n := 2; n <= 3; n++ {
		if err := l.AwaitWritten(l.Append(testPayload(n))); err != nil {
			t.Fatal(err)
		}
	}

	if count, _, err := readLog(t, dir, 0); err != nil || count != 3 {
		t.Fatalf("%d records are left (%v)", count, err)
	}
}

// TestMappedDeath leaves a log as a dying process does: zeros follow the last record, and are a
// torn end.
func TestMappedDeath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustMap(t)
	l, err := Start(dir, 1, Options{Inline: true})
	if err != nil {
		t.Fatal(err)
	}
	if l.Unmapped() != nil {
		t.Fatal(l.Unmapped())
	}
	if count, end, err := readLog(t, dir, 0); count != 0 || err != nil || end.TornPath != "" {
		t.Fatalf("a header alone: %d %+v %v", count, end, err)
	}

	for n := 1; n <= 9; n++ {
		if err := l.AwaitWritten(l.Append(testPayload(n))); err != nil {
			t.Fatal(err)
		}
	}

	l.CloseNow()
	path := segmentPath(dir, 1)
	if info, err := os.Stat(path); err != nil || info.Size() != 64<<10 {
		t.Fatal(info, err)
	}

	count, end, err := readLog(t, dir, 0)
	if count != 9 || err != nil || end.TornPath != path {
		t.Fatalf("%d records, %+v, %v", count, end, err)
	}
	if err := end.Trim(); err != nil {
		t.Fatal(err)
	}
	if count, end, err := readLog(t, dir, 0); count != 9 || err != nil || end.TornPath != "" {
		t.Fatalf("after cutting: %d records, %+v, %v", count, end, err)
	}
}

// TestUnmapped opens a log where segments cannot be mapped: they are written, and the log says why.
func TestUnmapped(t *testing.T) {
	dir := t.TempDir()
	l, err := Start(dir, 1, Options{Disk: written(nil), Inline: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.CloseNow()
	if !errors.Is(l.Unmapped(), errors.ErrUnsupported) {
		t.Fatal(l.Unmapped())
	}

	for n := 1; n <= 9; n++ {
		if err := l.AwaitWritten(l.Append(testPayload(n))); err != nil {
			t.Fatal(err)
		}
		if n == 5 {
			if _, err := l.Rotate(); err != nil {
				t.Fatal(err)
			}
		}
	}

	if count, end, err := readLog(t, dir, 0); count != 9 || err != nil || end.TornPath != "" {
		t.Fatal(count, end, err)
	}
}
