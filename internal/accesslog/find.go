package accesslog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
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

// Find returns the lines of the log at path with a request id: a client may use one twice. The log
// may be compressed (.gz, .zst).
func Find(path, id string) (all []Line, err error) {
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
	return all, lines.Err()
}
