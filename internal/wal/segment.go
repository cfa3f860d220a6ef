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

// How much of a segment is allocated and mapped at a time: as much again as was written, within
// these bounds. One that is written looks for room as often.
const (
	leastChunk = 64 << 10
	mostChunk  = 1 << 20
)

// spareRoom is what a log that grows leaves free on its file system. When a disk is full of the log
// itself, nothing but a checkpoint makes room, and that needs some: two segments, and pages.
const spareRoom = 256 << 10

// writtenSegment is a segment that grows with each write(2).
type writtenSegment struct {
	*os.File
	size int64 // of what was written
	sure int64 // up to where there was room when it was looked for
}

// WriteSegment makes a segment that grows with each write(2): what there is where segments cannot
// be mapped.
func WriteSegment(path string) (Segment, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &writtenSegment{File: file, sure: leastChunk}, nil
}

// Write implements [Segment]. The first write of what a new segment takes over is not refused, however
// long it is.
func (s *writtenSegment) Write(p []byte) (int, error) {
	if s.size > segmentHeader && s.size+int64(len(p)) > s.sure {
		if err := checkRoom(s.File, s.size, len(p)); err != nil {
			return 0, err
		}
		s.sure = s.size + max(int64(len(p)), leastChunk)
	}

	n, err := s.File.Write(p)
	s.size += int64(n)
	return n, err
}
