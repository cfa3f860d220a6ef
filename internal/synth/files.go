package synth

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

// file is one file of the directory, compressed or not. Its buffer stores the first error, which
// close returns.
type file struct {
	buf  *bufio.Writer
	disk *os.File
	zip  *zstd.Encoder // nil when plain
}

// create creates a file, with .zst added to its name if it is compressed. Encoders are small,
// because many are open at once.
func create(dir, name string, compress bool) (*file, error) {
	if compress {
		name += ".zst"
	}

	const once = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	disk, err := os.OpenFile(filepath.Join(dir, name), once, 0o644) //nolint:gosec // a catalog is no secret
	if err != nil {
		return nil, err
	}

	f := &file{disk: disk}
	if !compress {
		f.buf = bufio.NewWriterSize(disk, 1<<16)
		return f, nil
	}
	// Many encoders are open at once, so each is small.
	f.zip, err = zstd.NewWriter(disk, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<19))
	if err != nil {
		return nil, errors.Join(err, disk.Close())
	}
	f.buf = bufio.NewWriterSize(f.zip, 1<<16)
	return f, nil
}

func (f *file) close() error {
	err := f.buf.Flush()
	if f.zip != nil {
		err = errors.Join(err, f.zip.Close())
	}
	return errors.Join(err, f.disk.Close())
}

// text and row write their arguments; the buffer stores an error until close.
func (f *file) text(s string) { _, _ = f.buf.WriteString(s) }
func (f *file) row(b []byte)  { _, _ = f.buf.Write(b) }

// line writes v as one line of JSON, without escapes for HTML.
func (f *file) line(v any) error {
	e := json.NewEncoder(f.buf)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// makeEmpty creates dir, which must be empty if it exists.
func makeEmpty(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // a catalog is no secret
		return err
	}

	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("the directory is not empty (it holds %q); name another one", entries[0].Name())
	}
	return nil
}
