package feed

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// dayEnd is the end of the name of a day's file.
const dayEnd = ".tar.zst"

// maxEarlier is the number of earlier versions of a day that have a file: a feed is rebuilt once or
// twice a day.
const maxEarlier = 9

// DayFile is the file with the archived prices of a day, such as 2026-08-22, in a directory of the feed.
func DayFile(dir, day string) string { return filepath.Join(dir, "days", day+dayEnd) }

// DayFiles are the files of a day in a folder. The day's own file is first. If a rebuilt feed
// changed prices, the files of its earlier versions follow, newest first.
func DayFiles(folder, day string) (files []string) {
	files = []string{filepath.Join(folder, day+dayEnd)}
	for n := maxEarlier; n > 0; n-- {
		file := filepath.Join(folder, fmt.Sprintf("%s.%d%s", day, n, dayEnd))
		if _, err := os.Stat(file); err == nil {
			files = append(files, file)
		}
	}
	return files
}

// Days lists the archived days of a folder, ascending. A missing folder has none.
func Days(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}

	var days []string
	for _, entry := range entries {
		day, ok := strings.CutSuffix(entry.Name(), dayEnd)
		if _, err := time.Parse(time.DateOnly, day); ok && err == nil {
			days = append(days, day)
		}
	}
	return days, nil
}

// archiveDay packs a feed directory's prices into its day's file, unless the file has exactly these, and
// removes files of days that are too old. If the feed was rebuilt on that day, prices that only the earlier
// directory has stay in the day's file. Prices that the later directory changed go to a separate file: only
// a build can decide between the two.
func (p *pull) archiveDay(from string) error {
	entries, err := p.dayEntries(from)
	if err != nil {
		return err
	}
	// A day that a rollback discarded is not archived again.
	stamp := path.Join(p.result.Day, lastUpdated)
	discarded, _ := readDay(filepath.Join(p.aside(), p.result.Day+dayEnd))
	if bytes.Equal(discarded[stamp], entries[stamp]) {
		return p.dropDays()
	}
	had, err := readDay(p.result.DayFile)
	if err != nil {
		p.warn("the archived day %s cannot be read and is written again: %v", p.result.DayFile, err)
	}

	same := len(had) == len(entries)
	changed := false
	for name, data := range had {
		fresh, ok := entries[name]
		same = same && ok && bytes.Equal(fresh, data)
		// A file without rows does not replace earlier prices of the day.
		if !ok || !hasRows(fresh) {
			entries[name] = data
		}
		changed = changed || hasRows(data) && !bytes.Equal(entries[name], data)
	}
	if changed {
		if err := p.saveEarlier(); err != nil {
			return fmt.Errorf("cannot archive the earlier prices of %s: %w", p.result.Day, err)
		}
	}
	if !same {
		if err := p.packDay(entries); err != nil {
			return fmt.Errorf("cannot archive the day %s: %w", p.result.Day, err)
		}
	}
	return p.dropDays()
}

// hasRows reports whether a file has a row of prices.
func hasRows(data []byte) bool { return bytes.Contains(data, []byte(`"productId"`)) }

// saveEarlier renames the file of an earlier version of the day. Beyond maxEarlier, the last
// file is replaced.
func (p *pull) saveEarlier() error {
	n := min(len(DayFiles(filepath.Dir(p.result.DayFile), p.result.Day)), maxEarlier)
	earlier := strings.TrimSuffix(p.result.DayFile, dayEnd) + fmt.Sprintf(".%d", n) + dayEnd
	return errors.Join(p.disk.Remove(earlier), p.move(p.result.DayFile, earlier))
}

// missingPrices stands in a day's file for the prices of a group that could not be fetched, so
// that a build that fills the day can name the group.
const missingPrices = `{"success":false,"errors":["could not be pulled"],"results":[]}` + "\n"

// dayEntries are the files of a day by their names in the day's archive.
func (p *pull) dayEntries(from string) (map[string][]byte, error) {
	entries := map[string][]byte{path.Join(p.result.Day, lastUpdated): []byte(p.stamped)}
	for _, m := range readTree(from).Missing {
		if m.File == "prices" {
			entries[path.Join(p.result.Day, m.Category, m.Group, m.File)] = []byte(missingPrices)
		}
	}

	root := filepath.Join(resolved(from), "tcgplayer")
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() != "prices" {
			return err
		}
		rel, _ := filepath.Rel(root, name) // it is below the root
		data, err := os.ReadFile(name)     //nolint:gosec // a path of our own
		entries[path.Join(p.result.Day, filepath.ToSlash(rel))] = data
		return err
	})
	return entries, err
}

// readDay reads a day's file; a missing file has no entries.
func readDay(name string) (map[string][]byte, error) {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read

	plain, err := zstd.NewReader(file)
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	entries := map[string][]byte{}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(io.LimitReader(archive, maxFile))
		if err != nil {
			return nil, err
		}
		entries[header.Name] = data
	}
}

// CheckDay reads a day's file to its end.
func CheckDay(name string) error {
	if _, err := readDay(name); err != nil {
		return fmt.Errorf("cannot read archived day %q: %w", name, err)
	}
	return nil
}

// packDay writes a day's file. Equal days produce equal files.
func (p *pull) packDay(entries map[string][]byte) error {
	var packed bytes.Buffer
	compress, _ := zstd.NewWriter(&packed, zstd.WithEncoderLevel(zstd.SpeedBetterCompression)) // the level is valid
	archive := tar.NewWriter(compress)
	var err error
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		header := &tar.Header{
			Name: name, Mode: 0o644, Size: int64(len(entries[name])), ModTime: p.result.Updated, Typeflag: tar.TypeReg,
		}
		err = errors.Join(err, archive.WriteHeader(header))
		if err == nil {
			_, err = archive.Write(entries[name])
		}
	}

	err = errors.Join(err, archive.Close(), compress.Close())
	if err != nil {
		return err
	}
	return p.write(p.result.DayFile, packed.Bytes())
}

// dropDays removes the archived days beyond the newest.
func (p *pull) dropDays() error {
	if p.ArchiveDays == 0 {
		return nil
	}
	folder := filepath.Join(p.Into, "days")
	days, err := Days(folder)
	for _, day := range days[:max(0, len(days)-p.ArchiveDays)] {
		for _, file := range append(DayFiles(folder, day), refsFile(folder, day)) {
			err = errors.Join(err, p.disk.Remove(file))
		}
		p.result.Removed = append(p.result.Removed, day)
	}
	return err
}
