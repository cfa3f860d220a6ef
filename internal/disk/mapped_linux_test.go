package disk

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// mustMap makes a mapped segment with a header, or skips the test.
func mustMap(t *testing.T) (f *mappedFile, path string, header []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "segment")
	file, err := mapFile(path)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("skipped: mapped segments, because they cannot be made here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = file.Close() })
	f = file.(*mappedFile)
	header = []byte("the header of a log.")
	if n, err := f.Write(header); n != len(header) || err != nil {
		t.Fatal(n, err)
	}
	return f, path, header
}

// TestMappedSegment writes across many chunks, in pieces from small to larger than a chunk: the
// file always has all of it, then zeros.
func TestMappedSegment(t *testing.T) {
	t.Parallel()
	s, path, want := mustMap(t)
	check := func(maxBytes int) {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(data, want) || len(bytes.TrimLeft(data[len(want):], "\x00")) > 0 {
			t.Fatalf("%d bytes after %d written (%v)", len(data), len(want), err)
		}
		if len(data) > maxBytes {
			t.Fatalf("the file has %d bytes, want at most %d", len(data), maxBytes)
		}
	}

	check(len(want)) // a longer file always has a header
	for i, size := range []int{1, 7, 8, 9, 4000, 100, maxChunk / 2, maxChunk, 3*maxChunk + 5, 24, maxChunk - 1, 2} {
		p := bytes.Repeat([]byte{byte(i + 1)}, size)
		if n, err := s.Write(p); n != size || err != nil {
			t.Fatal(n, err)
		}
		want = append(want, p...)
		check(len(want) + maxChunk)
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

	check(len(want) + maxChunk)
}

// TestUnmappedSystem makes no mapped file on a system that may move the blocks of a file.
func TestUnmappedSystem(t *testing.T) {
	known := inPlace
	inPlace = nil
	defer func() { inPlace = known }()
	if _, err := OS.Append(filepath.Join(t.TempDir(), "segment"), true); !errors.Is(err, errors.ErrUnsupported) {
		t.Fatal(err)
	}
}
