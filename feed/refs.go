package feed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// refsEnd is how the name of the index of a day ends.
const refsEnd = ".refs"

// refsFile is the index of a day, beside its files.
func refsFile(folder, day string) string { return filepath.Join(folder, day+refsEnd) }

// refsHead is the first line of an index: a checksum of the rest, and the sizes of the files that it is of.
func refsHead(folder, day string, refs []byte) string {
	head := fmt.Sprintf("refs %016x", xxhash.Sum64(refs))
	for _, file := range DayFiles(folder, day) {
		if info, err := os.Stat(file); err == nil {
			head += fmt.Sprintf(" %d", info.Size())
		}
	}
	return head
}

// errNoRefs is that of a day whose index is missing, damaged or of other files.
var errNoRefs = errors.New("the index of the day cannot be used")

// readRefs returns the references of a day, each between two line feeds, ascending.
func readRefs(folder, day string) ([]byte, error) {
	b, err := os.ReadFile(refsFile(folder, day)) //nolint:gosec // of our own folder
	if err != nil {
		return nil, err
	}
	head, _, ok := bytes.Cut(b, []byte("\n"))
	if !ok || string(head) != refsHead(folder, day, b[len(head):]) {
		return nil, errNoRefs
	}
	return b[len(head):], nil
}

// DaysOf lists the days of a folder that have a row of any of some references, such as 3/42382, and those
// that have no index that could say it.
func DaysOf(folder string, refs []string) (have, unknown []string, err error) {
	days, err := Days(folder)
	have = []string{} // never null for scripts
	unknown = []string{}
	for _, day := range days {
		all, err := readRefs(folder, day)
		if err != nil {
			unknown = append(unknown, day)
			continue
		}
		if slices.ContainsFunc(refs, func(ref string) bool { return bytes.Contains(all, []byte("\n"+ref+"\n")) }) {
			have = append(have, day)
		}
	}
	return have, unknown, err
}

// indexDays writes the index of each day that has none. A day without one is a note: it is a help to
// people, and no pull fails for it.
func (p *pull) indexDays(ctx context.Context) {
	folder := filepath.Join(p.Into, "days")
	days, err := Days(folder)
	days = slices.DeleteFunc(days, func(day string) bool {
		_, err := readRefs(folder, day)
		return err == nil
	})
	for i, day := range days {
		if ctx.Err() != nil {
			return
		}
		p.progress("listing archived days", i, len(days))
		err = errors.Join(err, p.indexDay(folder, day))
	}
	if err != nil {
		p.warn("archived days are not listed for snapshot explain: %v", err)
	}
}

// indexDay writes the index of a day: of all its trees, for history is of all of them.
func (p *pull) indexDay(folder, day string) error {
	refs := map[string]bool{}
	for _, file := range DayFiles(folder, day) {
		entries, err := readDay(file)
		if err != nil {
			return fmt.Errorf("cannot read %q: %w", file, err)
		}
		for name, data := range entries {
			category, _, _ := strings.Cut(strings.TrimPrefix(name, day+"/"), "/")
			for _, rest := range bytes.Split(data, []byte(`"productId"`))[1:] {
				rest = bytes.TrimLeft(rest, " \t\r\n:")
				digits := bytes.TrimLeft(rest, "0123456789")
				refs[category+"/"+string(rest[:len(rest)-len(digits)])] = true
			}
		}
	}

	body := []byte("\n" + strings.Join(slices.Sorted(maps.Keys(refs)), "\n") + "\n")
	return p.write(refsFile(folder, day), append([]byte(refsHead(folder, day, body)), body...))
}
