package waltest

import (
	"errors"
	"sync"

	"ninepocket/internal/wal"
)

// ErrDisk is the error of a [FaultyDisk].
var ErrDisk = errors.New("the disk said no")

// FaultyDisk makes segments, and fails the FailAt-th call that is made to it and none after: nobody
// must take the recovery for a repair. The log syncs in a goroutine of its own, beside the callers.
type FaultyDisk struct {
	Make   Create
	FailAt int
	Short  bool // a failing write writes half

	mu    sync.Mutex
	verbs []string // of the calls: create, write, sync, and what Fails was asked for
}

// Fails counts a call and reports whether it is the one that fails.
func (d *FaultyDisk) Fails(verb string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.verbs = append(d.verbs, verb)
	return len(d.verbs) == d.FailAt
}

// Failed tells which call failed, or "" when there were fewer calls.
func (d *FaultyDisk) Failed() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.FailAt < 1 || len(d.verbs) < d.FailAt {
		return ""
	}
	return d.verbs[d.FailAt-1]
}

// Create makes a segment.
func (d *FaultyDisk) Create(path string) (wal.Segment, error) {
	if d.Fails("create") {
		return nil, ErrDisk
	}
	file, err := d.Make(path)
	return &faultyFile{Segment: file, disk: d}, err
}

type faultyFile struct {
	wal.Segment
	disk *FaultyDisk
}

func (f *faultyFile) Write(p []byte) (int, error) {
	if !f.disk.Fails("write") {
		return f.Segment.Write(p)
	}

	n := 0
	if f.disk.Short {
		n, _ = f.Segment.Write(p[:len(p)/2]) // the failure is told below
	}
	return n, ErrDisk
}

func (f *faultyFile) Sync() error {
	if f.disk.Fails("sync") {
		return ErrDisk
	}
	return f.Segment.Sync()
}
