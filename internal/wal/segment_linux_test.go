package wal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// mustMap makes a mapped segment with a header, or skips the test.
func mustMap(t *testing.T) (*mappedSegment, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "segment")
	file, err := MapSegment(path)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("skipped: mapped segments, because they cannot be made here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = file.Close() })
	s := file.(*mappedSegment)
	if n, err := s.Write(segmentHead(1)); n != segmentHeader || err != nil {
		t.Fatal(n, err)
	}
	return s, path
}

// TestMappedSegment writes across many chunks, in pieces from small to larger than a chunk: the
// file always has all of it, then zeros.
func TestMappedSegment(t *testing.T) {
	t.Parallel()
	s, path := mustMap(t)
	want := segmentHead(1)
	check := func(atMost int) {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(data, want) || len(bytes.TrimLeft(data[len(want):], "\x00")) > 0 {
			t.Fatalf("%d bytes after %d written (%v)", len(data), len(want), err)
		}
		if len(data) > atMost {
			t.Fatalf("the file has %d bytes, want at most %d", len(data), atMost)
		}
	}

	check(segmentHeader) // a longer file always has a header
	for i, size := range []int{1, 7, 8, 9, 4000, 100, mostChunk / 2, mostChunk, 3*mostChunk + 5, 24, mostChunk - 1, 2} {
		p := bytes.Repeat([]byte{byte(i + 1)}, size)
		if n, err := s.Write(p); n != size || err != nil {
			t.Fatal(n, err)
		}
		want = append(want, p...)
		check(len(want) + mostChunk)
		if err := s.Sync(); err != nil {
			t.Fatal(err)
		}
	}

	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write([]byte("more")); !errors.Is(err, os.ErrClosed) {
		t.Fatal(err)
	}

	check(len(want) + mostChunk)
}

// TestMappedFault cuts the file short under the mapping, as nobody should: the copy fails with an
// error, not the process with a signal, and the log goes on in a new file that has all of it.
func TestMappedFault(t *testing.T) {
	dir := t.TempDir()
	mustMap(t)
	l, err := Start(dir, 1, Options{Inline: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Abandon()

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

	l.Abandon()
	path := segmentPath(dir, 1)
	if info, err := os.Stat(path); err != nil || info.Size() != leastChunk {
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
	known := inPlace
	inPlace = nil
	defer func() { inPlace = known }()
	dir := t.TempDir()
	l, err := Start(dir, 1, Options{Inline: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Abandon()
	if _, ok := l.file.(*writtenSegment); !ok || !errors.Is(l.Unmapped(), errors.ErrUnsupported) {
		t.Fatalf("%T, %v", l.file, l.Unmapped())
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
