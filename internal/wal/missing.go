package wal

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
)

// segments are the files of a log with records that are needed: the open one, and earlier ones that
// were not removed. Other programs may remove them.
type segments struct {
	mu     sync.Mutex
	files  map[uint64]fs.FileInfo // by first record
	active uint64                 // first record of the open segment
}

// track records the file of a segment as it is now; with open it is the open segment.
func (s *segments) track(dir string, first uint64, open bool) {
	info, err := os.Stat(segmentPath(dir, first))
	s.mu.Lock()
	defer s.mu.Unlock()
	if open {
		s.active = first
	}
	if err == nil {
		s.files[first] = info
	}
}

// untrackThrough drops the segments without records after last.
func (s *segments) untrackThrough(last uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.files, func(first uint64, _ fs.FileInfo) bool { return first <= last && first != s.active })
}

// isMissing reports whether a segment's file is missing or another one. If that is unknown, it is taken
// as present.
func (s *segments) isMissing(dir string, first uint64) bool {
	info, err := os.Stat(segmentPath(dir, first))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.files[first]
	return known != nil && !os.SameFile(info, known)
}

// MissingSegments returns the names of segments that were removed or replaced while they were needed.
// If the open one is missing, later records are lost with it until the log is rotated.
func (l *Log) MissingSegments() (names []string) {
	l.segments.mu.Lock()
	firsts := slices.Sorted(maps.Keys(l.segments.files))
	l.segments.mu.Unlock()
	for _, first := range firsts {
		if l.segments.isMissing(l.dir, first) {
			names = append(names, SegmentName(first))
		}
	}
	return names
}
