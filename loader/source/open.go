package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ninepocket/snapshot"
)

// Kind is one form of input.
type Kind struct {
	// Name is how `--source KIND:PATH` and `--prices KIND:PATH` name it.
	Name string
	// Open opens an input of the kind; see [Open].
	Open func(path string, o Options) (Source, error)
}

// Kinds is the one table of the kinds of sources. The command line, the loader and their messages
// read it.
var Kinds = []Kind{
	{KindTCGCSV, bounding(openTCGCSV)},
	{KindPokemonTCG, bounding(openPokemonTCG)},
	{KindPunkRecords, bounding(openPunkRecords)},
	{KindNative, bounding(openNative)},
}

// KindNames are the names of the kinds, in the order of the table.
func KindNames() []string {
	names := make([]string, len(Kinds))
	for i := range Kinds {
		names[i] = Kinds[i].Name
	}
	return names
}

// bounding is the row of a kind that reads within limits.
func bounding(open func(path string, o Options, lim limits) (Source, error)) func(string, Options) (Source, error) {
	return func(path string, o Options) (Source, error) { return open(path, o, o.limits) }
}

// The kinds.
const (
	KindTCGCSV      = "tcgcsv"
	KindPokemonTCG  = "pokemon-tcg-data"
	KindPunkRecords = "punk-records"
	KindNative      = "native"
)

// The games of the sources that have one game each.
const (
	pokemon  = "pokemon"
	onePiece = "one-piece"
)

// Open opens an input: a directory, an archive (.tar, .tar.zst, .tar.gz, .7z) or, for tcgcsv and
// pokemon-tcg-data, a wide history file (.csv, .csv.zst). It lists the input and reads what the
// Feed needs; records are read later.
func Open(kind, path string, o Options) (Source, error) {
	src, err := open(kind, path, o, defaultLimits)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s source %q: %w", kind, path, err)
	}
	return src, nil
}

func open(kind, path string, o Options, lim limits) (Source, error) {
	if o.DefaultCondition == "" {
		o.DefaultCondition = snapshot.Ungraded.Code()
	} else if _, ok := snapshot.ParseCondition(o.DefaultCondition); !ok {
		return nil, fmt.Errorf("default condition %q is not a condition's code", o.DefaultCondition)
	}

	o.limits = lim
	o.limits.unpack = o.Unpack

	for _, k := range Kinds {
		if k.Name == kind {
			return k.Open(path, o)
		}
	}

	return nil, fmt.Errorf("unknown kind: use one of %s", strings.Join(KindNames(), ", "))
}

// msOf is an instant in milliseconds, NoTime for the zero time.
func msOf(t time.Time) int64 {
	if t.IsZero() {
		return snapshot.NoTime
	}
	return t.UnixMilli()
}

// historyFile is a wide history file that stands by itself, or lies in a directory of such files.
type historyFile struct {
	path string // on disk
	name string // in the report
}

// readHistoryFile reads one, telling the sink how much of the file is done.
func readHistoryFile(ctx context.Context, f historyFile, form wideForm, lim limits, to Sink) error {
	raw, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer raw.Close() //nolint:errcheck // only read

	info, err := raw.Stat()
	if err != nil {
		return err
	}

	// Progress is told in bytes of the file on disk, whose size is known.
	in := &counted{r: raw}
	plain, err := unpacked(f.path, in)
	if err != nil {
		return fmt.Errorf("cannot read history file %q: %w", f.name, err)
	}
	defer plain.Close() //nolint:errcheck // only read

	progress := func() { to.Progress("history "+f.name, in.n, info.Size()) }
	progress()
	if err := readWide(ctx, &bounded{r: plain, n: lim.total}, f.name, form, to, progress); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("the file is truncated: %w", err)
		}
		return err
	}

	to.Progress("history "+f.name, info.Size(), info.Size())
	return nil
}

// counted counts the bytes read.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// isHistoryFile reports whether a path is a regular file with the name of a wide history file.
func isHistoryFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && hasSuffix(path, wideSuffixes)
}

// historyFilesIn are the wide history files right in a directory.
func historyFilesIn(root string, in folder) []historyFile {
	if _, ok := in.(*dirFolder); !ok {
		return nil
	}

	var list []historyFile
	for _, f := range in.files() {
		if !strings.Contains(f.name, "/") && hasSuffix(f.name, wideSuffixes) {
			list = append(list, historyFile{path: filepath.Join(root, f.name), name: f.name})
		}
	}

	return list
}
