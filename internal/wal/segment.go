package wal

import (
	"errors"
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

// chooseSegments opens the first segment of a log, mapped where the system and its file system can,
// else written; the log's other segments are made in the same way. Why it is not mapped is kept for
// those who ask.
func (l *Log) chooseSegments(first uint64) (Segment, error) {
	l.create = MapSegment
	file, err := l.open(first)
	if !errors.Is(err, errors.ErrUnsupported) {
		return file, err
	}

	l.create = WriteSegment
	l.unmapped = err
	return l.open(first)
}
