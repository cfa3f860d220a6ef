package wal

import (
	"bytes"
	"errors"
	"fmt"
)

// Salvage visits every undamaged record after number after, in order, and skips damage. It returns the
// missing parts, in words. It is for repairs: [Read] is for everything else.
func Salvage(dir string, after uint64, visit Visitor) (lost []string, err error) {
	firsts, err := Segments(dir)
	if errors.Is(err, ErrCorrupt) {
		return []string{fmt.Sprintf("the whole log: %v", err)}, nil
	}
	if err != nil {
		return nil, err
	}

	last := after
	ends := endsOf(firsts)
	for i, first := range firsts {
		data, err := ReadFile(segmentPath(dir, first))
		if err != nil {
			lost = append(lost, fmt.Sprintf("log segment %s: %v", SegmentName(first), err))
			continue
		}
		if len(data) < segmentHeader {
			lost = append(lost, fmt.Sprintf("log segment %s: it is cut to %d bytes", SegmentName(first), len(data)))
			continue
		}

		used := len(bytes.TrimRight(data, "\x00"))
		for at := segmentHeader; at < used; {
			r, ok := recordAt(data, at, first, ends[i])
			if !ok {
				at++
				continue
			}
			at += r.size
			if r.seq <= last {
				continue
			}

			if r.seq > last+1 && last > 0 {
				lost = append(lost, fmt.Sprintf("log records %d to %d", last+1, r.seq-1))
			}
			last = r.seq
			if err := visit(r.seq, r.payload); err != nil {
				return lost, err
			}
		}
	}
	return lost, nil
}
