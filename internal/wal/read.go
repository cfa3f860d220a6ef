package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"ninepocket/internal/disk"
)

// ErrCorrupt reports that stored data is damaged in a way that a crash cannot explain.
var ErrCorrupt = errors.New("corrupt data")

// ReadFile reads a file of a state directory. Anything else in its place, such as a directory, is
// ErrCorrupt.
func ReadFile(path string) ([]byte, error) {
	data, err := disk.ReadFile(disk.OS, path)
	return data, asCorrupt(err)
}

// CheckFile returns an error for an existing path that is not a regular file, as [ReadFile] does.
func CheckFile(path string) error { return asCorrupt(disk.CheckFile(path)) }

// asCorrupt converts a NotRegularError into an ErrCorrupt.
func asCorrupt(err error) error {
	if _, is := errors.AsType[*disk.NotRegularError](err); is {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return err
}

// Segments returns the numbers of the first records of the segments in dir, in order. A missing
// directory has none.
func Segments(dir string) ([]uint64, error) {
	names, err := disk.OS.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if errors.Is(err, syscall.ENOTDIR) {
		err = fmt.Errorf("%w: it is no directory", ErrCorrupt)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list log %q: %w", dir, err)
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

// End is where reading a log ended.
type End struct {
	Last     uint64 // last record read, or the one to start after
	TornPath string // segment with a torn end, "" = none
	TornAt   int64  // length of its undamaged part
	Dropped  int    // records in the torn end, at least; none when it is zeros
}

// Visitor receives a record. The payload is valid only during the call.
type Visitor func(seq uint64, payload []byte) error

// Read visits the records after number after, in order. It accepts a torn end of the last segment,
// after a crash or with allocated and unused space, and returns it in End. Any other damage is
// ErrCorrupt. A missing segment that is needed is ErrCorrupt too, wrapping fs.ErrNotExist.
func Read(dir string, after uint64, visit Visitor) (End, error) {
	firsts, err := Segments(dir)
	if err != nil {
		return End{}, err
	}

	// Only the last segment can be torn: a new one starts when the old one is on disk.
	end := End{Last: after}
	ends := endsOf(firsts)
	for i, first := range firsts {
		if ends[i] <= after+1 {
			continue // none of its records is needed
		}
		if first > end.Last+1 {
			return end, fmt.Errorf("%w: log %q: records %d to %d are missing: %w",
				ErrCorrupt, dir, end.Last+1, first-1, fs.ErrNotExist)
		}

		path := segmentPath(dir, first)
		data, err := ReadFile(path)
		if err != nil {
			return end, fmt.Errorf("cannot read log segment %q: %w", path, err)
		}
		if err := end.records(path, data, first, ends[i], visit); err != nil {
			return end, err
		}
	}
	return end, nil
}

// endless is where the last segment ends.
const endless = ^uint64(0)

// endsOf returns for each segment the first record of the next one: a segment ends where that begins.
func endsOf(firsts []uint64) []uint64 { return slices.Concat(firsts, []uint64{endless})[1:] }

// records reads the content of a segment, up to where the next one begins. Later records were written
// again there, after a failure.
func (end *End) records(path string, data []byte, first, next uint64, visit Visitor) error {
	isLast := next == endless
	// A segment gets its name when its header is on disk, so one without a header was cut.
	if !bytes.HasPrefix(data, encodeHeader(first)) {
		return fmt.Errorf("%w: log segment %q: bad header", ErrCorrupt, path)
	}

	// Numbers have no gaps: data with another number is not a record.
	at := segmentHeader
	for seq := first; at < len(data) && seq != next; seq++ {
		r, ok := parseRecord(data[at:])
		if !ok || r.seq != seq {
			return end.classifyTail(path, data, at, seq, isLast)
		}
		at += r.size
		if seq <= end.Last {
			continue // not needed, but it must be undamaged
		}

		if err := visit(seq, r.payload); err != nil {
			return fmt.Errorf("log segment %q: record %d: %w", path, seq, err)
		}
		end.Last = seq
	}
	return nil
}

// classifyTail classifies the data in the place of record seq: the end of the segment, a torn end, or
// damage.
func (end *End) classifyTail(path string, data []byte, at int, seq uint64, isLast bool) error {
	if !isLast && len(bytes.TrimLeft(data[at:], "\x00")) == 0 {
		return nil // allocated and unused; the next segment's number shows whether a record is missing
	}
	if !isLast || provesSynced(data[at:], seq) {
		return fmt.Errorf("%w: log segment %q: record %d at byte %d is damaged", ErrCorrupt, path, seq, at)
	}

	end.TornPath = path
	end.TornAt = int64(at)
	end.Dropped = countTorn(data[at:], seq)
	return nil
}

// Trim cuts off a torn end, durably. Without one it does nothing.
func (end *End) Trim() error {
	if end.TornPath == "" {
		return nil
	}
	file, err := disk.OS.Open(end.TornPath, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("cannot cut log segment %q: %w", end.TornPath, err)
	}
	return errors.Join(file.Truncate(end.TornAt), file.Sync(), file.Close())
}
