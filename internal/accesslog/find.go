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
	"maps"
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
// id twice. Files are the log at path and those that were rotated beside it, or all that a pattern
// matches, compressed (.gz, .zst) or not. searched are those that it looked through. The error
// joins those of files that cannot be read, unless another one has the request.
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
		unread = append(unread, err)
	}
	return nil, searched, errors.Join(unread...)
}

// files returns the files of a log, the newest first.
func files(path string) (all []string, err error) {
	patterns := []string{path}
	_, missing := os.Lstat(path)
	if missing == nil || !strings.ContainsAny(path, "*?[") {
		// Such names have the files that logrotate leaves, with numbers or with dates.
		exact := escape.Replace(path)
		patterns = []string{exact, exact + ".*", exact + "-*"}
	}

	changed := map[string]time.Time{}
	for _, pattern := range patterns {
		names, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", pattern, err)
		}
		for _, name := range names {
			// One that is rotated right now comes back under another name.
			if info, err := os.Stat(name); err == nil && !info.IsDir() {
				changed[name] = info.ModTime()
			}
		}
	}
	if len(changed) == 0 {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}

	return slices.SortedFunc(maps.Keys(changed), func(a, b string) int {
		return cmp.Or(changed[b].Compare(changed[a]), strings.Compare(a, b))
	}), nil
}

// escape makes a pattern of a path that only the path matches.
var escape = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

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
		return nil, fmt.Errorf("%q: %w", path, err)
	}

	lines := bufio.NewScanner(in)
	// Longer than any line of ours: another program may have written to the file.
	lines.Buffer(nil, 1<<20)
	wanted := []byte(`"request_id":"` + id + `"`)
	for lines.Scan() {
		var line Line
		// Most lines are skipped without being decoded.
		if bytes.Contains(lines.Bytes(), wanted) && json.Unmarshal(lines.Bytes(), &line) == nil {
			all = append(all, line)
		}
	}
	if err := lines.Err(); err != nil {
		return all, fmt.Errorf("%q: %w", path, err)
	}
	return all, nil
}
