package wal

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
)

// segments are the files of a log that hold what nothing else does: the open one, and those of
// before that were not removed. Somebody else may remove them.
type segments struct {
	mu     sync.Mutex
	files  map[uint64]fs.FileInfo // by first record
	active uint64                 // the one that is written
}

// track notes a segment as it is now; open says that it is the one that is written from now on.
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

// untrackThrough forgets the segments that hold nothing after record last.
func (s *segments) untrackThrough(last uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.files, func(first uint64, _ fs.FileInfo) bool { return first <= last && first != s.active })
}

// isMissing reports whether the file of a segment is not there, or is another one. What cannot be
// asked is taken to be there.
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

// activeMissing reports whether the segment that is written is gone.
func (s *segments) activeMissing(dir string) bool {
	s.mu.Lock()
	first := s.active
	known := s.files[first] != nil
	s.mu.Unlock()
	return known && s.isMissing(dir, first)
}

// MissingSegments names the segments that somebody removed or replaced while they were needed. What
// the open one gets is lost with it until the log is rotated.
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
