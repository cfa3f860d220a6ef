package accesslog

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// TestFind looks requests up in a log that was rotated as logrotate does, with numbers and with dates.
// Each file has a request of its own and one that all have, in the middle of other lines.
func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "access.log")
	// The newest first; names do not show the order.
	names := []string{"", ".1", "-20261125", "-20261126.gz", ".3.zst", ".2.gz"}
	for i, name := range names {
		var text bytes.Buffer
		out := compressor(t, &text, name)
		for _, id := range []string{"req_other", "req_of" + name, "req_common", "req_common", "req_last"} {
			if _, err := io.WriteString(out, `{"request_id":"`+id+`","tenant":"t`+name+`"}`+"\n"); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		write(t, path+name, text.Bytes(), time.Duration(i)*time.Hour)
	}
	// Neighbours that are none.
	if err := os.Mkdir(path+".d", 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "access2.log"), []byte(`{"request_id":"req_foreign"}`+"\n"), 0)

	for i, name := range names {
		all, searched, err := Find(path, "req_of"+name)
		if err != nil || len(all) != 1 || all[0].Tenant != "t"+name || len(searched) != i+1 ||
			searched[i] != path+name {
			t.Errorf("%q: %v in %q, %v", name, all, searched, err)
		}
	}
	if all, searched, err := Find(path, "req_common"); err != nil || len(all) != 2 || len(searched) != 1 {
		t.Errorf("the newest file alone has to do: %v in %q, %v", all, searched, err)
	}
	all, searched, err := Find(path, "req_foreign")
	if err != nil || len(all) > 0 || len(searched) != len(names) {
		t.Errorf("what is nowhere: %v in %q, %v", all, searched, err)
	}
	// A pattern instead, of which the log itself is no part.
	all, searched, err = Find(filepath.Join(dir, "access?log.*"), "req_of.2.gz")
	if err != nil || len(all) != 1 || len(searched) != 3 {
		t.Errorf("by a pattern: %v in %q, %v", all, searched, err)
	}

	// A file that is being compressed hides no request of another, and is named when there is none.
	write(t, path+"-20261126.gz", []byte("\x1f\x8b\x08"), time.Minute)
	if all, _, err := Find(path, "req_of.2.gz"); err != nil || len(all) != 1 {
		t.Errorf("beside a torn file: %v, %v", all, err)
	}
	if _, _, err := Find(path, "req_of-20261126.gz"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("in a torn file: %v", err)
	}
	if _, _, err := Find(filepath.Join(dir, "none.log"), "req_x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in no file: %v", err)
	}
	if _, _, err := Find(filepath.Join(dir, "[*"), "req_x"); !errors.Is(err, filepath.ErrBadPattern) {
		t.Errorf("by a bad pattern: %v", err)
	}
}

// compressor compresses as the name of a file says.
func compressor(t *testing.T, w io.Writer, name string) io.WriteCloser {
	t.Helper()
	switch filepath.Ext(name) {
	case ".gz":
		return gzip.NewWriter(w)
	case ".zst":
		out, err := zstd.NewWriter(w)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	return plain{w}
}

type plain struct{ io.Writer }

func (plain) Close() error { return nil }

// write writes a file that changed a time ago.
func write(t *testing.T, path string, text []byte, ago time.Duration) {
	t.Helper()
	at := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC).Add(-ago)
	if err := errors.Join(os.WriteFile(path, text, 0o600), os.Chtimes(path, at, at)); err != nil {
		t.Fatal(err)
	}
}
