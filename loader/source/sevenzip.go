package source

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"

	"github.com/bodgit/sevenzip"
)

// sevenFolder is a 7z archive, which is how TCGCSV packs its archive days (PPMd).
type sevenFolder struct {
	path string
	lim  limits
	list []file
}

// openSevenZip lists an archive. Its list is its end, so a truncated archive fails here.
func openSevenZip(path string, lim limits) (*sevenFolder, error) {
	s := &sevenFolder{path: path, lim: lim}
	err := s.open(func(r *sevenzip.Reader) error {
		seen := map[string]bool{}
		var total int64
		if len(r.File) > lim.entries {
			return fmt.Errorf("more than %d entries", lim.entries)
		}
		for _, entry := range r.File {
			f, skip, err := sevenEntry(entry, lim)
			if err != nil {
				return err
			}
			if skip {
				continue
			}
			if seen[f.name] {
				return fmt.Errorf("entry %q is there twice", clip(f.name))
			}
			seen[f.name] = true
			if total += f.size; total > lim.total {
				return damaged(errTooBig)
			}
			s.list = append(s.list, f)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *sevenFolder) files() []file { return s.list }

func (s *sevenFolder) each(ctx context.Context, want func(string) bool, visit func(file, io.Reader) error) error {
	return s.open(func(r *sevenzip.Reader) error {
		for _, entry := range r.File {
			f, skip, err := sevenEntry(entry, s.lim)
			if err != nil {
				return err
			}
			if skip || !want(f.name) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := visitSeven(entry, f, visit); err != nil {
				return err
			}
		}
		return nil
	})
}

// open opens the archive for the time of do.
func (s *sevenFolder) open(do func(*sevenzip.Reader) error) error {
	raw, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer raw.Close() //nolint:errcheck // only read
	info, err := raw.Stat()
	if err != nil {
		return err
	}
	if err := checkSevenZip(raw, info.Size(), s.lim); err != nil {
		return err
	}
	var r *sevenzip.Reader
	err = guarded(func() error {
		r, err = sevenzip.NewReader(raw, info.Size())
		return err
	})
	if err != nil {
		return damaged(err)
	}
	return do(r)
}

// guarded calls into the library, which indexes by what an archive says and panics where a forged one lies: input
// must not take the process down, so a panic in it is damage like any other.
func guarded(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return call()
}

// guardedReader is a reader of the library's, guarded.
type guardedReader struct{ r io.Reader }

func (g guardedReader) Read(p []byte) (n int, err error) {
	err = guarded(func() error {
		n, err = g.r.Read(p)
		return err
	})
	return n, err
}

// sevenEntry tells a file to read from one to skip.
func sevenEntry(entry *sevenzip.File, lim limits) (f file, skip bool, err error) {
	name, err := safeName(entry.Name)
	if err != nil {
		return file{}, false, err
	}
	mode := entry.FileInfo().Mode()
	switch {
	case mode.IsDir():
		return file{}, true, nil
	case mode&fs.ModeSymlink != 0:
		return file{}, false, fmt.Errorf("entry %q is a link", clip(entry.Name))
	case !mode.IsRegular():
		return file{}, false, fmt.Errorf("entry %q is neither a file nor a folder", clip(entry.Name))
	case entry.UncompressedSize > uint64(lim.entry):
		return file{}, false, fmt.Errorf("entry %q is larger than the %d bytes allowed", clip(name), lim.entry)
	}
	return file{name: name, size: int64(entry.UncompressedSize), mod: entry.Modified}, false, nil
}

// visitSeven reads one entry to its end, so that its checksum is compared, which the library leaves to its caller.
func visitSeven(entry *sevenzip.File, f file, visit func(file, io.Reader) error) error {
	var rc io.ReadCloser
	err := guarded(func() (err error) {
		rc, err = entry.Open()
		return err
	})
	if err != nil {
		return fmt.Errorf("entry %q: %w", clip(f.name), damaged(err))
	}
	defer rc.Close() //nolint:errcheck // only read
	sum := crc32.NewIEEE()
	body := &faultReader{r: io.TeeReader(guardedReader{rc}, sum)}
	err = visit(f, body)
	if err == nil && body.err == nil {
		_, err = io.Copy(io.Discard, body)
	}
	if body.err != nil {
		return fmt.Errorf("entry %q: %w", clip(f.name), damaged(body.err))
	}
	if err == nil && entry.CRC32 != 0 && sum.Sum32() != entry.CRC32 {
		return fmt.Errorf("entry %q: %w", clip(f.name), damaged(errors.New("checksum mismatch")))
	}
	return err
}
