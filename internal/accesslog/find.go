package accesslog

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Line is a decoded line of an access log.
type Line struct {
	Time      time.Time `json:"time"`
	RequestID string    `json:"request_id"`
	Tenant    string    `json:"tenant"`
	Key       string    `json:"key"` // its id
	Surface   string    `json:"surface"`
	Operation string    `json:"operation"`
	Status    int       `json:"status"`
	Snapshot  string    `json:"snapshot_id"`
	Bytes     int       `json:"bytes"` // of the body, as sent
	Micros    int64     `json:"duration_us"`
}

// Find returns the lines with a request id of the newest file that has some: a client may use one
// id twice. Files are the log at path and its rotated files, or all that a pattern matches,
// compressed (.gz, .zst) or not. searched are those that it looked through. The error joins those
// of files that cannot be read, unless another one has the request.
func Find(path, id string) (all []Line, searched []string, err error) {
	searched, err = files(path)
	if err != nil {
		return nil, nil, err
	}

	var unread []error
	for i, name := range searched {
		all, err := findIn(name, id)
		if len(all) > 0 {
			return all, searched[:i+1], nil
		}
		if err != nil {
			unread = append(unread, fmt.Errorf("%q: %w", name, err))
		}
	}
	return nil, searched, errors.Join(unread...)
}

// files returns the files of a log, the newest first. Those that were rotated have the names that
// logrotate gives, with numbers or with dates.
func files(path string) (all []string, err error) {
	for _, pattern := range []string{path, path + ".*", path + "-*"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", pattern, err)
		}
		all = append(all, names...)
	}

	// One that is rotated right now comes back under another name.
	changed := func(name string) time.Time {
		info, err := os.Stat(name)
		if err != nil || info.IsDir() {
			return time.Time{}
		}
		return info.ModTime()
	}
	all = slices.DeleteFunc(all, func(name string) bool { return changed(name).IsZero() })
	if len(all) == 0 {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(changed(b).Compare(changed(a)), strings.Compare(a, b))
	})
	return slices.Compact(all), nil
}

// findIn returns the lines with a request id of one file.
func findIn(path, id string) (all []Line, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read

	var in io.Reader = file
	switch {
	case strings.HasSuffix(path, ".gz"):
		in, err = gzip.NewReader(file)
	case strings.HasSuffix(path, ".zst"):
		in, err = zstd.NewReader(file)
	}
	if err != nil {
		return nil, err
	}

	lines := bufio.NewScanner(in)
	// Longer than any line of the access log: another program may have written to the file.
	lines.Buffer(nil, 1<<20)
	wanted := []byte(`"request_id":"` + id + `"`)
	for lines.Scan() {
		var line Line
		// Most lines are skipped without being decoded.
		if bytes.Contains(lines.Bytes(), wanted) && json.Unmarshal(lines.Bytes(), &line) == nil {
			all = append(all, line)
		}
	}
	return all, lines.Err()
}
