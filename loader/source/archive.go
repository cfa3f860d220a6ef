package source

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// tarFolder is a tar archive, compressed or not, or a 7z archive as one. Each pass decompresses it
// once from front to back.
type tarFolder struct {
	path string
	lim  limits
	list []file
}

// openTar reads an archive through once: names, limits and the end marker are checked before any
// record is used.
func openTar(path string, lim limits) (*tarFolder, error) {
	folder := &tarFolder{path: path, lim: lim}
	seen := map[string]bool{}
	// Everything that could stop a build is found before the first record is read.
	all := func(string) bool { return true }
	err := folder.each(context.Background(), all, func(f file, _ io.Reader) error {
		if seen[f.name] {
			return fmt.Errorf("entry %q is there twice", clip(f.name))
		}
		seen[f.name] = true
		folder.list = append(folder.list, f)
		return nil
	})
	return folder, err
}

func (t *tarFolder) files() []file { return t.list }

// each visits regular files. Errors name the archive's entry; a truncated archive is one.
func (t *tarFolder) each(ctx context.Context, want func(string) bool, visit func(file, io.Reader) error) error {
	plain, err := t.open()
	if err != nil {
		return err
	}
	defer plain.Close() //nolint:errcheck // only read

	// The end of an archive distinguishes a whole archive from one that was cut between entries.
	tail := &tailReader{r: &limitReader{r: plain, n: t.lim.total}}
	tr := tar.NewReader(tail)
	for n := 0; ; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		header, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return finish(tail)
		}
		if err != nil {
			return damaged(err)
		}
		if n >= t.lim.entries {
			return fmt.Errorf("more than %d entries", t.lim.entries)
		}

		f, skip, err := tarEntry(header)
		if err != nil {
			return err
		}
		if skip {
			continue
		}
		if f.size > t.lim.entry {
			return fmt.Errorf("entry %q is larger than the %d bytes allowed", clip(f.name), t.lim.entry)
		}
		if !want(f.name) {
			continue
		}

		body := &errorReader{r: tr}
		err = visit(f, body)
		// The visitor's error about a broken stream is an error of the archive, not of its file.
		if body.err != nil {
			return fmt.Errorf("entry %q: %w", clip(f.name), damaged(body.err))
		}
		if err != nil {
			return err
		}
	}
}

// open opens the archive as a plain tar stream.
func (t *tarFolder) open() (io.ReadCloser, error) {
	if strings.HasSuffix(strings.ToLower(t.path), ".7z") {
		return openSevenZip(t.path, t.lim.unpack)
	}

	raw, err := os.Open(t.path)
	if err != nil {
		return nil, err
	}
	plain, err := unpacked(t.path, bufio.NewReaderSize(raw, 1<<16))
	if err != nil {
		_ = raw.Close() // only read
		return nil, damaged(err)
	}

	return &unpackedFile{plain, raw}, nil
}

// unpackedFile is a file's content after decompression.
type unpackedFile struct {
	io.ReadCloser
	raw *os.File
}

func (u *unpackedFile) Close() error { return errors.Join(u.ReadCloser.Close(), u.raw.Close()) }

// tarEntry distinguishes a file to read from one to skip, and refuses entries that have no place in a catalog.
func tarEntry(header *tar.Header) (f file, skip bool, err error) {
	name, err := safeName(header.Name)
	if err != nil {
		return file{}, false, err
	}

	switch header.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse:
		return file{name: name, size: header.Size, mod: header.ModTime}, false, nil
	case tar.TypeDir, tar.TypeXGlobalHeader:
		return file{}, true, nil
	case tar.TypeSymlink, tar.TypeLink:
		return file{}, false, fmt.Errorf("entry %q is a link to %q", clip(header.Name), clip(header.Linkname))
	default:
		return file{}, false, fmt.Errorf("entry %q is neither a file nor a folder", clip(header.Name))
	}
}

// errTruncated is the cause where a tar ends without its end marker.
var errTruncated = errors.New("ends without the end-of-archive marker")

// finish reads to the end, so that checksums of the compression are checked. It looks for the end
// marker of two zero blocks (one is tolerated, as in tar itself). Without the marker, an archive
// was cut between entries.
func finish(tail *tailReader) error {
	if tail.zeros < 512 {
		return damaged(errTruncated)
	}
	if _, err := io.Copy(io.Discard, tail); err != nil {
		return damaged(err)
	}
	return nil
}

// damaged describes the fault of an archive as a whole.
func damaged(err error) error {
	switch {
	case errors.As(err, new(*unpackError)):
		return err
	case errors.Is(err, errTooBig):
		return fmt.Errorf("the archive is %w after decompression", err)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, errTruncated):
		return fmt.Errorf("the archive is truncated: %w", err)
	default:
		return fmt.Errorf("the archive is damaged: %w", err)
	}
}

// tailReader counts the zero bytes at the end of the read bytes.
type tailReader struct {
	r     io.Reader
	zeros int
}

func (t *tailReader) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	// Only the zeros at the very end count.
	zeros := n - len(bytes.TrimRight(p[:n], "\x00"))
	if zeros == n {
		zeros += t.zeros
	}
	t.zeros = zeros
	return n, err
}

// errorReader remembers the error of a stream, which a parser would report as that of a file.
type errorReader struct {
	r   io.Reader
	err error
}

func (f *errorReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}
