package waltest

import (
	"errors"

	"ninepocket/internal/wal"
)

// ErrDisk is the error of a [FaultyDisk].
var ErrDisk = errors.New("the disk said no")

// FaultyDisk makes segments, and fails the FailAt-th call that is made to it and none after: nobody
// must take the recovery for a repair. One goroutine at a time calls it.
type FaultyDisk struct {
	Make   Create
	FailAt int
	Short  bool // a failing write writes half

	Calls int
	Verbs []string // of the calls: create, write, sync, and what Fails was asked for
}

// Fails counts a call and reports whether it is the one that fails.
func (d *FaultyDisk) Fails(verb string) bool {
	d.Calls++
	d.Verbs = append(d.Verbs, verb)
	return d.Calls == d.FailAt
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
