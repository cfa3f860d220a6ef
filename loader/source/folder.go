package source

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
)

// limits bound the expansion of an input, so that a hostile or broken archive is an error and not a
// full machine.
type limits struct {
	entries int   // files and folders of one archive
	entry   int64 // bytes of one file after decompression
	total   int64 // bytes of one archive after decompression

	unpack []string // Options.Unpack
}

// defaultLimits leave room for a year of whole TCGCSV days in one archive, and for the wide history
// of a million cards. Such a year has about 600 files and 10 MB a day for two games, and ten times
// that for all games of the feed, which are skipped.
var defaultLimits = limits{entries: 4 << 20, entry: 4 << 30, total: 64 << 30}

const (
	// maxWhole bounds a file that is read into memory at once: the largest real one is 3 MB.
	maxWhole = 64 << 20
	// maxWindow is the largest zstd window accepted: that of `zstd --long=27`.
	maxWindow = 1 << 27
	// maxDepth bounds how deep the folders of a directory are followed.
	maxDepth = 16
)

// file is one regular file of a folder.
type file struct {
	name string // slash-separated, below the folder
	size int64
	mod  time.Time
}

// folder is a tree of files that was listed when it was opened: a directory or an archive. Nothing
// is ever written.
type folder interface {
	// files lists the regular files in the order in which each visits them.
	files() []file
	// each passes the files that want accepts to visit, which must be done with r when it returns.
	each(ctx context.Context, want func(name string) bool, visit func(f file, r io.Reader) error) error
}

// archiveSuffixes are the names of archives that openFolder reads.
var archiveSuffixes = []string{".tar.zst", ".tar.gz", ".tgz", ".tar", ".7z"}

func hasSuffix(name string, suffixes []string) bool {
	return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(strings.ToLower(name), s) })
}

// openFolder opens a directory, or an archive by the end of its name.
func openFolder(name string, lim limits) (folder, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return openDir(name)
	case hasSuffix(name, archiveSuffixes):
		return openTar(name, lim)
	default:
		return nil, fmt.Errorf("cannot read %q: give a directory or a file ending in %s", name,
			strings.Join(archiveSuffixes, ", "))
	}
}

// dirFolder is a directory. Symbolic links below it are passed over, because "latest -> 2026-04-20"
// would be read twice.
type dirFolder struct {
	root string
	list []file
}

func openDir(name string) (*dirFolder, error) {
	root, err := filepath.EvalSymlinks(name)
	if err != nil {
		return nil, err
	}

	d := &dirFolder{root: root}
	err = filepath.WalkDir(root, func(p string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}

		// Names do not depend on the system that runs the build.
		rel = filepath.ToSlash(rel)
		if entry.IsDir() {
			if rel != "." && strings.HasPrefix(entry.Name(), ".") {
				return fs.SkipDir
			}
			if strings.Count(rel, "/") >= maxDepth {
				return fmt.Errorf("cannot read %q: more than %d folders deep", rel, maxDepth)
			}
			return nil
		}

		// Links, devices and hidden files are none of a catalog's.
		if !entry.Type().IsRegular() || strings.HasPrefix(entry.Name(), ".") {
			return nil
		}

		info, err := entry.Info()
		if err != nil {
			return err
		}

		d.list = append(d.list, file{name: rel, size: info.Size(), mod: info.ModTime()})
		return nil
	})
	return d, err
}

func (d *dirFolder) files() []file { return d.list }

func (d *dirFolder) each(ctx context.Context, want func(string) bool, visit func(file, io.Reader) error) error {
	for _, f := range d.list {
		if !want(f.name) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.visit(f, visit); err != nil {
			return err
		}
	}

	return nil
}

func (d *dirFolder) visit(f file, visit func(file, io.Reader) error) error {
	r, err := os.Open(filepath.Join(d.root, filepath.FromSlash(f.name)))
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // only read
	return visit(f, r)
}

// safeName checks the name of an archive's entry and returns it cleaned. Nothing is written to
// disk, so a name cannot do harm here. An archive with such a name is refused because it was made
// to do harm or is broken.
func safeName(name string) (string, error) {
	switch {
	case name == "":
		return "", errors.New("an entry has no name")
	case strings.HasPrefix(name, "/") || len(name) > 1 && name[1] == ':':
		return "", fmt.Errorf("entry %q has an absolute path", clip(name))
	case strings.ContainsAny(name, "\\\x00"):
		return "", fmt.Errorf("entry %q has a backslash or NUL in its name", clip(name))
	case slices.Contains(strings.Split(name, "/"), ".."):
		return "", fmt.Errorf("entry %q leaves the archive's folder", clip(name))
	}

	return path.Clean(name), nil
}

// errTooBig is the error of a reader that gave as much as its limit allows.
var errTooBig = errors.New("larger than allowed")

// limitReader reads at most n bytes and then fails with errTooBig, unlike io.LimitReader, which
// ends quietly.
type limitReader struct {
	r io.Reader
	n int64
}

func (b *limitReader) Read(p []byte) (int, error) {
	if b.n <= 0 {
		// One byte distinguishes the end from an overflow.
		var one [1]byte
		n, err := b.r.Read(one[:])
		if n > 0 {
			return 0, errTooBig
		}
		return 0, err
	}

	if int64(len(p)) > b.n {
		p = p[:b.n]
	}

	n, err := b.r.Read(p)
	b.n -= int64(n)
	return n, err
}

// readError is the error of a file that cannot be read, unlike one that is read and makes no
// sense.
type readError struct{ error }

func (u readError) Unwrap() error { return u.error }

// readWhole reads a file of at most maxWhole.
func readWhole(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(&limitReader{r: r, n: maxWhole})
	if err != nil && !errors.Is(err, errTooBig) {
		err = readError{err}
	}
	return data, err
}

// unpacked returns a reader of a file's content, decompressed by the end of its name.
func unpacked(name string, r io.Reader) (io.ReadCloser, error) {
	lower := strings.ToLower(name)
	switch {
	case strings.HasSuffix(lower, ".zst"):
		// One goroutine: the caller's. The parsers behind it take longer than the decompression.
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow),
			zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil

	case strings.HasSuffix(lower, ".gz"), strings.HasSuffix(lower, ".tgz"):
		return gzip.NewReader(r)
	default:
		return io.NopCloser(r), nil
	}
}

// clip cuts text from an input to a length that is readable in a message.
func clip(s string) string { return Clip(s, 120) }

// Clip cuts text from an input to a number of bytes, between characters and as valid UTF-8.
func Clip(s string, limit int) string {
	// Nobody needs megabytes to be valid.
	s = s[:min(len(s), limit+utf8.UTFMax)]
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}

	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}

	return s[:limit] + "…"
}
