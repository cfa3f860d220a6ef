package source

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain is also the process that unpacks 7z archives for tests.
func TestMain(m *testing.M) {
	if len(os.Args) != 2 || os.Args[1] != "unpack" {
		os.Exit(m.Run())
	}
	if err := ServeUnpacking(os.Stdin, os.Stdout); err != nil {
		_, _ = os.Stderr.WriteString("source.test: " + err.Error() + "\n")
		os.Exit(1)
	}
}

// inAProcess are limits with a separate unpacking process.
func inAProcess(t *testing.T) limits {
	t.Helper()
	if raceEnabled {
		t.Skip("the race detector takes more memory than a process that unpacks may have; make alloc runs this")
	}

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	lim := defaultLimits
	lim.unpack = []string{self, "unpack"}
	return lim
}

// sevenHeaderOf is the header of an archive, and the packed streams before the header.
func sevenHeaderOf(archive []byte) (packed, header []byte) {
	offset := binary.LittleEndian.Uint64(archive[12:])
	return archive[32 : 32+offset], archive[32+offset:]
}

// sevenWrapped is an archive whose header lies in its own stream, as in most archives.
func sevenWrapped(archive []byte) []byte {
	packed, header := sevenHeaderOf(archive)
	size := sevenNumber(uint64(len(header)))
	b := append([]byte{0x17, 0x06}, sevenNumber(uint64(len(packed)))...)
	b = append(append(append(b, 1, 0x09), size...), 0)
	b = append(append(append(b, 0x07, 0x0B, 1, 0, 1, 1, 0, 0x0C), size...), 0x0A, 1)
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(header))
	b = append(b, 0, 0)
	return sevenArchive(slices.Concat(packed, header), b)
}

// TestUnpackingAllocatesWithinBounds unpacks archives in a process, good ones and ones whose
// headers announce more than there can be. Its name has it run without the race detector, too.
func TestUnpackingAllocatesWithinBounds(t *testing.T) {
	lim := inAProcess(t)
	tree := files{"a/b": "one", "c": "two", "d": ""}
	whole := tree.sevenZip(t)
	for _, data := range [][]byte{whole, sevenWrapped(whole)} {
		in, err := openFolder(save(t, "a.7z", data), lim)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := readFolder(in); err != nil || !maps.Equal(got, tree) {
			t.Errorf("read %v, %v", got, err)
		}
	}

	packed, header := sevenHeaderOf(whole)
	f := func(header []byte, words ...string) {
		t.Helper()
		for _, data := range [][]byte{sevenArchive(packed, header), sevenWrapped(sevenArchive(packed, header))} {
			began := time.Now()
			_, err := openFolder(save(t, "a.7z", data), lim)
			wantError(t, err, words...)
			if spent := time.Since(began); spent > unpackTimeout/2 {
				t.Errorf("%v took %v", err, spent)
			}
		}
	}

	replace := func(old, by string) []byte {
		t.Helper()
		if bytes.Count(header, []byte(old)) != 1 {
			t.Fatalf("%x is not once in %x", old, header)
		}
		return bytes.Replace(header, []byte(old), []byte(by), 1)
	}

	many := "\xff\xff\xff\xff\x00\x00\x00\x00\x00"            // 2^32-1
	f(replace("\x05\x03\x0e", "\x05"+many+"\x0e"), "archive") // files
	f(replace("\x07\x0b\x01", "\x07\x0b"+many), "archive")    // folders
	f(replace("\x06\x00\x01", "\x06\x00"+many), "archive")    // packed streams
	f(replace("\x0d\x02", "\x0d"+many), "archive")            // files in a folder
	f(replace("\x0b\x01\x00\x01\x01\x00", "\x0b\x01\x00"+many+"\x01\x00"), "archive")
	coder := func(by string) []byte { return replace("\x0b\x01\x00\x01\x01\x00", "\x0b\x01\x00\x01"+by) }
	f(coder("\x23\x03\x04\x01\x05\x08\x00\x00\x00\xff"), "memory") // PPMd with 4 GB
	f(coder("\x24\x06\xf1\x07\x01\x01\x00"), "archive")            // encryption
	f(coder("\x11\x00"+many+"\x01"), "archive")
	f(header[:len(header)-1], "archive")
}

func TestAProcessThatCannotUnpack(t *testing.T) {
	f := func(command, want string) {
		t.Helper()
		lim := defaultLimits
		lim.unpack = strings.Fields(command)
		_, err := openFolder(save(t, "a.7z", files{"a": "x"}.sevenZip(t)), lim)
		wantError(t, err, want)
	}

	f("/nowhere/at/all", "cannot start")
	f("cat /nowhere/at/all", "/nowhere/at/all")

	// A runtime that gets no page for itself faults; the stand-in does, too.
	ended := filepath.Join(t.TempDir(), "ended")
	script := "#!/bin/sh\necho 'SIGSEGV: segmentation violation' >&2\nexit 2\n"
	if err := os.WriteFile(ended, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	f(ended, "more than 1024 MB of memory")

	// It passes the archive on as it is.
	f("cat", "truncated")
	f("true", "truncated")
}
