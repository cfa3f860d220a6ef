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

// Kinds is the only table of the kinds of sources. The command line, the loader and their
// messages read it.
var Kinds = []Kind{
	{KindTCGCSV, opening(newTCGCSV, "")},
	{KindPokemonTCG, opening(newPokemonTCG, "")},
	{KindPunkRecords, opening(newPunkRecords, "punk-records has no prices; its cards are priced by another source")},
	{KindNative, opening(newNative, "a history file by itself has no namespace: "+
		"put it into history/ of a directory with a source.toml")},
}

// KindNames are the names of the kinds, in the order of the table.
func KindNames() []string {
	names := make([]string, len(Kinds))
	for i := range Kinds {
		names[i] = Kinds[i].Name
	}
	return names
}

// opening is how a kind is opened whose sources are made of folders. A wide history file that
// stands by itself is a folder of one file, unless noHistory says why the kind has none.
func opening(
	inside func(in folder, name string, o Options) (Source, error), noHistory string,
) func(string, Options) (Source, error) {
	return func(name string, o Options) (Source, error) {
		info, err := os.Stat(name)
		if err == nil && info.Mode().IsRegular() && hasSuffix(name, wideSuffixes) {
			if noHistory != "" {
				return nil, errors.New(noHistory)
			}
			alone := []file{{name: filepath.Base(name), size: info.Size(), mod: info.ModTime()}}
			return inside(&dirFolder{root: filepath.Dir(name), list: alone}, name, o)
		}

		// An archive is read through here, so that a broken one is reported before any record.
		in, err := openFolder(name, o.limits)
		if err != nil {
			return nil, err
		}

		return inside(in, name, o)
	}
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
// pokemon-tcg-data, a wide history file (.csv, .csv.zst). It lists the input and reads the parts
// that the Feed needs; records are read later.
func Open(kind, path string, o Options) (Source, error) {
	o.limits = defaultLimits
	src, err := open(kind, path, o)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s source %q: %w", kind, path, err)
	}
	return src, nil
}

func open(kind, path string, o Options) (Source, error) {
	if o.DefaultCondition == "" {
		o.DefaultCondition = snapshot.Ungraded.Code()
	} else if _, ok := snapshot.ParseCondition(o.DefaultCondition); !ok {
		return nil, fmt.Errorf("default condition %q is not a condition's code", o.DefaultCondition)
	}
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

// historyIn are the names of the wide history files directly in a directory.
func historyIn(in folder) (names []string) {
	if _, ok := in.(*dirFolder); !ok {
		return nil
	}

	for _, f := range in.files() {
		if !strings.Contains(f.name, "/") && hasSuffix(f.name, wideSuffixes) {
			names = append(names, f.name)
		}
	}

	return names
}

// readHistory reads the wide history files directly in a directory.
func readHistory(ctx context.Context, in folder, layout wideLayout, o Options, to Sink) error {
	return eachInOrder(ctx, in, historyIn(in), func(f file, r io.Reader) error {
		// Progress is reported in bytes of the file on disk, whose size is known.
		progress := &progressReader{r: r, phase: "history " + f.name, size: f.size, to: to}
		plain, err := unpacked(f.name, progress)
		if err != nil {
			return fmt.Errorf("cannot read %q: %w", f.name, err)
		}
		defer plain.Close() //nolint:errcheck // only read

		err = readWide(ctx, &limitReader{r: plain, n: o.limits.total}, f.name, layout, to)
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return fmt.Errorf("the file is truncated: %w", err)
		case err == nil:
			to.Progress(progress.phase, f.size, f.size)
		}

		return err
	})
}

// progressReader reports how much was read.
type progressReader struct {
	r     io.Reader
	phase string
	done  int64
	size  int64
	to    Sink
}

func (t *progressReader) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.done += int64(n)
	t.to.Progress(t.phase, t.done, t.size)
	return n, err
}
