package wal

import (
	"io"
	"os"
)

// Segment is a log segment open for appending. One goroutine at a time writes; Sync may run beside
// it. The file may be longer than what was written, by zeros.
type Segment interface {
	io.Writer
	// Sync puts on disk what was written before it was called.
	Sync() error
	Close() error
}

// WriteSegment makes a segment that grows with each write(2): what there is where segments cannot
// be mapped.
func WriteSegment(path string) (Segment, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
}
