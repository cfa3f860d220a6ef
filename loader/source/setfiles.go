package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// setFiles are the card files of a catalog that has one JSON array of cards a set, named by the
// set's id.
type setFiles struct {
	in     folder
	dir    string            // where they lie in the folder
	set    map[string]string // file name → set id
	number int
}

// newSetFiles finds the files DIR/SET.json of a folder.
func newSetFiles(in folder, dir string) setFiles {
	s := setFiles{in: in, dir: dir, set: map[string]string{}}
	for _, f := range in.files() {
		rest, ok := strings.CutPrefix(f.name, dir+"/")
		if set, json := strings.CutSuffix(rest, ".json"); ok && json && !strings.Contains(set, "/") {
			s.set[f.name] = set
			s.number++
		}
	}

	return s
}

// readSetFiles reads the cards of every file whose set is listed and hands each to card, which also
// refuses what is wrong with it. Files of unlisted sets, broken and empty ones, and listed sets
// without a file are quarantined; without any usable file the catalog is an error.
func readSetFiles[T any](
	ctx context.Context, s *setFiles, to Sink, listed []string, check func(*T) *fault,
	card func(e *record[T], file, set string),
) error {
	known := map[string]bool{}
	for _, set := range listed {
		known[set] = true
	}

	usable := 0
	done := int64(0)
	to.Progress("catalog", 0, int64(s.number))
	err := s.in.each(ctx, keyOf(s.set), func(f file, r io.Reader) error {
		done++
		defer to.Progress("catalog", done, int64(s.number))
		set := s.set[f.name]
		if !known[set] {
			refuseFile(to, f.name, ReasonUnlistedFile, nil)
			return nil
		}

		data, err := readWhole(r)
		var list []record[T]
		if err == nil {
			list, err = readArrayFile(data, check)
		}
		if err != nil {
			return refuseOrFail(to, f.name, err)
		}

		usable++
		if len(list) == 0 {
			refuseFile(to, f.name, ReasonEmptyFile, nil)
		}

		for i := range list {
			card(&list[i], f.name, set)
		}

		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot read the catalog: %w", err)
	}

	for _, set := range listed {
		// What is listed and not there is told: a catalog that shrinks must not do so unseen.
		if name := path.Join(s.dir, set+".json"); s.set[name] == "" {
			refuseFile(to, name, ReasonMissingFile, nil)
		}
	}

	if usable == 0 {
		return errors.New("cannot read the catalog: none of its card files is usable")
	}

	return nil
}
