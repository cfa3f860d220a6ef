package feed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// refsFile is the index of a day, next to its files: a first line about the files, then the references.
func refsFile(folder, day string) string { return filepath.Join(folder, day+".refs") }

// refsHead is the first line of an index: a checksum of the other lines, and the sizes of the day's files.
func refsHead(folder, day string, refs []byte) string {
	var head strings.Builder
	fmt.Fprintf(&head, "refs %016x", xxhash.Sum64(refs))
	for _, file := range DayFiles(folder, day) {
		if info, err := os.Stat(file); err == nil {
			fmt.Fprintf(&head, " %d", info.Size())
		}
	}
	return head.String()
}

// readRefs returns the references of a day, each between two line feeds. An index that is missing, damaged or
// made from other files yields none.
func readRefs(folder, day string) (refs []byte, ok bool) {
	b, _ := os.ReadFile(refsFile(folder, day))
	head := bytes.IndexByte(b, '\n')
	return b[max(head, 0):], head > 0 && string(b[:head]) == refsHead(folder, day, b[head:])
}

// DaysOf lists the days of a folder that have a row of any of the references, such as 3/42382. Unknown
// are the days without an index.
func DaysOf(folder string, refs []string) (have, unknown []string, err error) {
	have = []string{} // never null for scripts
	unknown = []string{}
	days, err := Days(folder)
	for _, day := range days {
		all, ok := readRefs(folder, day)
		if !ok {
			unknown = append(unknown, day)
		}
		named := func(ref string) bool { return bytes.Contains(all, []byte("\n"+ref+"\n")) }
		if ok && slices.ContainsFunc(refs, named) {
			have = append(have, day)
		}
	}
	return have, unknown, err
}

// indexDays writes the missing indexes of days. A failure is only a note: the index helps people,
// and no pull fails for it.
func (p *pull) indexDays(ctx context.Context) {
	folder := filepath.Join(p.Into, "days")
	// Complete indexes stay, so that a year of days is read once.
	_, days, err := DaysOf(folder, nil)
	for i, day := range days {
		if ctx.Err() == nil {
			p.progress("listing archived days", i, len(days))
			err = errors.Join(err, p.indexDay(folder, day))
		}
	}
	if err != nil {
		p.warn("archived days are not listed for snapshot explain: %v", err)
	}
}

// indexDay writes the index of all versions of a day, because history uses them all.
func (p *pull) indexDay(folder, day string) error {
	refs := map[string]bool{}
	for _, file := range DayFiles(folder, day) {
		entries, err := readDay(file)
		if err != nil {
			return fmt.Errorf("cannot read %q: %w", file, err)
		}
		// References contain the category, which is a folder of the archive.
		for name, data := range entries {
			category, _, _ := strings.Cut(strings.TrimPrefix(name, day+"/"), "/")
			for _, row := range productRow.FindAllSubmatch(data, -1) {
				refs[category+"/"+string(row[1])] = true
			}
		}
	}

	body := []byte("\n" + strings.Join(slices.Sorted(maps.Keys(refs)), "\n") + "\n")
	return p.write(refsFile(folder, day), append([]byte(refsHead(folder, day, body)), body...))
}

// productRow is the product number of a row of prices.
var productRow = regexp.MustCompile(`"productId"\s*:\s*(\d+)`)
