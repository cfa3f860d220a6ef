package access

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// listSegments returns the numbers of the first records of the segments in dir,
// in order. A missing directory has none.
func listSegments(dir string) ([]uint64, error) {
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, cannot("list log %q: %w", dir, err)
	}
	var firsts []uint64
	for _, name := range names {
		if first, ok := segmentFirst(name.Name()); ok {
			firsts = append(firsts, first)
		}
	}
	slices.Sort(firsts)
	return firsts, nil
}

// replayEnd is where a replay ended.
type replayEnd struct {
	last     uint64 // last record read, or the one asked to start after
	tornPath string // segment with a torn end, "" = none
	tornAt   int64  // its whole length
}

// replay reads the records after number after, in order. A torn end of the last segment is
// where a crash cut it off, or what was allocated and not used, and is reported; anything else out of place is ErrCorrupt. A missing
// segment that is needed is ErrCorrupt too, wrapping fs.ErrNotExist.
func replay(dir string, after uint64, visit func(seq uint64, e *entry) error) (replayEnd, error) {
	firsts, err := listSegments(dir)
	if err != nil {
		return replayEnd{}, err
	}
	end := replayEnd{last: after}
	for i, first := range firsts {
		if i+1 < len(firsts) && firsts[i+1] <= after+1 {
			continue
		}
		if first > end.last+1 {
			return end, fmt.Errorf("%w: log %q: records %d to %d are missing: %w", ErrCorrupt, dir, end.last+1, first-1, fs.ErrNotExist)
		}
		if err := end.segment(dir, first, i == len(firsts)-1, visit); err != nil {
			return end, err
		}
	}
	return end, nil
}

// segment reads one segment.
func (end *replayEnd) segment(dir string, first uint64, isLast bool, visit func(uint64, *entry) error) error {
	path := segmentPath(dir, first)
	data, err := os.ReadFile(path)
	if err != nil {
		return cannot("read log segment %q: %w", path, err)
	}
	return end.records(path, data, first, isLast, visit)
}

// records reads the content of a segment.
func (end *replayEnd) records(path string, data []byte, first uint64, isLast bool, visit func(uint64, *entry) error) error {
	if !parseSegmentHeader(data, first) {
		if isLast && len(data) <= segmentHeader {
			return nil // cut off while it was made: nothing was ever in it
		}
		return fmt.Errorf("%w: log segment %q: bad header", ErrCorrupt, path)
	}
	at := segmentHeader
	for seq := first; at < len(data); seq++ {
		r, ok := parseRecord(data[at:])
		if !ok || r.seq != seq {
			if !isLast && isBlank(data[at:]) {
				return nil // allocated and not used; the next segment's number tells whether a record is missing
			}
			if !isLast || contradicts(data[at:], seq) {
				return fmt.Errorf("%w: log segment %q: record %d at byte %d is damaged", ErrCorrupt, path, seq, at)
			}
			end.tornPath, end.tornAt = path, int64(at)
			return nil
		}
		at += r.size
		if seq <= end.last {
			continue
		}
		e, err := decodeEntry(r.payload)
		if err != nil {
			return fmt.Errorf("log segment %q: record %d: %w", path, seq, err)
		}
		if err := visit(seq, &e); err != nil {
			return err
		}
		end.last = seq
	}
	return nil
}

func isBlank(data []byte) bool { return len(bytes.TrimLeft(data, "\x00")) == 0 }

// truncateSegment cuts a torn end off, durably.
func truncateSegment(path string, size int64) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return cannot("cut log segment %q: %w", path, err)
	}
	return errors.Join(file.Truncate(size), file.Sync(), file.Close())
}
