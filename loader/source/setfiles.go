package source

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"
)

// perSetFiles are the files of a catalog that has one file of records for each set.
type perSetFiles[T any] struct {
	in    folder
	label string          // the report's prefix of names
	there map[string]bool // the names of those that are in the folder
	none  string          // the name of the failure if none is usable
	read  func(io.Reader) ([]record[T], error)
	use   func(rec *T, at Location, set string) *recordError
	// missing receives the sets whose files are missing, empty or of no use; may be nil.
	missing func(set string)
}

// perSetFile is where the file of a listed set is, or should be.
type perSetFile struct{ name, set, title string }

// jsonFiles finds the files DIR/SET.json of a folder, each a JSON array.
func jsonFiles[T any](in folder, dir string, check func(*T) *recordError) perSetFiles[T] {
	files := perSetFiles[T]{in: in, there: map[string]bool{}, none: "none of its card files is usable"}
	for _, f := range in.files() {
		rest, ok := strings.CutPrefix(f.name, dir+"/")
		if ok && strings.HasSuffix(rest, ".json") && !strings.Contains(rest, "/") {
			files.there[f.name] = true
		}
	}

	// These files are small enough to be read at once, which distinguishes a cut one from a bad record.
	files.read = func(r io.Reader) ([]record[T], error) {
		data, err := readWhole(r)
		if err != nil {
			return nil, err
		}
		return readArrayFile(data, check)
	}
	return files
}

// records hands the records of every listed set's file to use. Files of unlisted sets, broken and
// empty ones, and listed sets without a file are quarantined; without any usable file the catalog
// is an error.
func (s *perSetFiles[T]) records(ctx context.Context, to Sink, listed []perSetFile) error {
	sets := map[string]string{}
	for _, file := range listed {
		sets[file.name] = file.set
	}

	usable := 0
	done := int64(0)
	total := int64(len(s.there))
	to.Progress("catalog", 0, total)
	err := s.in.each(ctx, keyOf(s.there), func(f file, r io.Reader) error {
		// A refused file is done, too.
		done++
		defer to.Progress("catalog", done, total)
		name := path.Join(s.label, f.name)
		set, known := sets[f.name]
		if !known {
			quarantineFile(to, name, ReasonUnlistedFile, "")
			return nil
		}

		list, err := s.read(r)
		if len(list) == 0 && s.missing != nil {
			s.missing(set)
		}
		if err != nil {
			return quarantineOrFail(to, name, err)
		}

		if len(list) > 0 {
			usable++
		} else {
			quarantineFile(to, name, ReasonEmptyFile, "")
		}

		emit(to, name, list, func(rec *T, at Location) *recordError { return s.use(rec, at, set) })
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot read the catalog: %w", err)
	}

	for _, file := range listed {
		// Listed but missing files are reported: a catalog must not shrink unseen.
		if !s.there[file.name] {
			quarantineFile(to, path.Join(s.label, file.name), ReasonMissingFile, file.title)
			if s.missing != nil {
				s.missing(file.set)
			}
		}
	}

	if usable == 0 {
		return fmt.Errorf("cannot read the catalog: %s", s.none)
	}

	return nil
}

// emit hands every record that is not refused to use, which may refuse it too, and counts those
// that are left.
func emit[T any](to Sink, name string, list []record[T], use func(rec *T, at Location) *recordError) (usable int) {
	for i := range list {
		e := &list[i]
		at := Location{File: name, Line: e.line}
		bad := e.bad
		if bad == nil {
			bad = use(&e.rec, at)
		}

		if bad != nil {
			bad.quarantine(to, at)
			continue
		}

		usable++
	}

	return usable
}

// readListing reads the file of a folder that lists the sets of a catalog, and passes each usable
// set to use, which returns its id. It returns the files DIR/SET.json of the sets. thing is the source's
// word for a set.
func readListing[T any](
	ctx context.Context, in folder, name, thing, dir string, to Sink,
	parse func(data []byte) ([]record[T], error), use func(rec *T, at Location) string,
) (files []perSetFile, err error) {
	data, err := readNamed(ctx, in, name)
	if err != nil {
		return nil, err
	}

	list, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("cannot read the %ss in %q: %w", thing, name, err)
	}

	emit(to, name, list, func(rec *T, at Location) *recordError {
		set := use(rec, at)
		files = append(files, perSetFile{name: dir + "/" + set + ".json", set: set})
		return nil
	})
	// Without a set every card would be refused one by one.
	if len(files) == 0 {
		return nil, fmt.Errorf("cannot read the %ss in %q: no usable %s in it", thing, name, thing)
	}

	return files, nil
}

// readNamed reads one file of a folder.
func readNamed(ctx context.Context, in folder, name string) (data []byte, err error) {
	err = in.each(ctx, func(n string) bool { return n == name }, func(_ file, r io.Reader) error {
		data, err = readWhole(r)
		if err != nil {
			return fmt.Errorf("cannot read %q: %w", name, err)
		}
		return nil
	})
	return data, err
}
