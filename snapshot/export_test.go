package snapshot

import (
	"bytes"
	"context"
	"fmt"
)

// DecodeAround reads every section of a manifest but the i-th, and returns what reads a file as
// that one and the catalog with it, as for serving: fuzzing one section need not read the others
// each time.
func DecodeAround(
	m *Manifest, i int, file func(Section) ([]byte, error),
) (func(s Section, packed []byte) (*Catalog, error), error) {
	rest := Catalog{ID: m.ID, SnapshotAt: m.SnapshotAt.UnixMilli()}
	r := reading{file: file, step: func() {}}
	for j := range sections {
		if j == i {
			continue
		}
		if err := r.section(context.Background(), &rest, m.Format, j, &m.Sections[j]); err != nil {
			return nil, err
		}
	}

	return func(s Section, packed []byte) (*Catalog, error) {
		c := rest // the columns are shared, and only read
		r := reading{file: func(Section) ([]byte, error) { return packed, nil }, step: func() {}}
		if err := r.section(context.Background(), &c, m.Format, i, &s); err != nil {
			return nil, err
		}
		return &c, c.Validate()
	}, nil
}

// CountPoints counts stored points.
func CountPoints(b []byte) int {
	n, _ := countPoints(b, lastDay)
	return n
}

// PointsOK reports whether stored points decode and are in bounds.
func PointsOK(b []byte, last Day) bool {
	_, ok := countPoints(b, last)
	return ok
}

// SectionNames are the sections of the format in order.
func SectionNames() []string {
	var names []string
	for _, s := range sections {
		names = append(names, s.name)
	}
	return names
}

// EncodeSections spells a catalog's sections, not compressed.
func EncodeSections(c *Catalog) ([][]byte, error) {
	var all [][]byte
	for _, s := range sections {
		raw, err := encodeSection(s.columns(c))
		if err != nil {
			return nil, err
		}
		all = append(all, raw)
	}

	return all, nil
}

// DecodeSection reads section i into a catalog.
func DecodeSection(c *Catalog, i int, raw []byte) error {
	return decodeSection(raw, Format, func() {}, sections[i].columns(c))
}

// Remember replaces the store's journal.
func (d *Dir) Remember(past []Publication) error { return d.replace(journalName, journal{past}) }

// DiskOp is one operation on a disk.
type DiskOp struct {
	Op   string // mkdir, create, write, sync, rename, remove or syncdir
	Path string
	To   string // the new name of a rename
	Data []byte // what a write writes
}

func (o DiskOp) String() string {
	if o.Op == "rename" {
		return fmt.Sprintf("%s %s -> %s", o.Op, o.Path, o.To)
	}
	return o.Op + " " + o.Path
}

// WithDisk returns the store on a disk that asks before everything it does; an error makes the
// operation fail. It syncs nothing: tests have no power cuts that are real.
func (d *Dir) WithDisk(ask func(DiskOp) error) *Dir { return &Dir{root: d.root, disk: askingDisk{ask}} }

type askingDisk struct{ ask func(DiskOp) error }

func (a askingDisk) mkdir(path string) error {
	if err := a.ask(DiskOp{Op: "mkdir", Path: path}); err != nil {
		return err
	}
	return osDisk{}.mkdir(path)
}

func (a askingDisk) create(path string) (syncedFile, error) {
	if err := a.ask(DiskOp{Op: "create", Path: path}); err != nil {
		return nil, err
	}
	f, err := osDisk{}.create(path)
	return askingFile{f, path, a.ask}, err
}

func (a askingDisk) rename(from, to string) error {
	if err := a.ask(DiskOp{Op: "rename", Path: from, To: to}); err != nil {
		return err
	}
	return osDisk{}.rename(from, to)
}

func (a askingDisk) remove(path string) error {
	if err := a.ask(DiskOp{Op: "remove", Path: path}); err != nil {
		return err
	}
	return osDisk{}.remove(path)
}

func (a askingDisk) syncDir(path string) error {
	return a.ask(DiskOp{Op: "syncdir", Path: path})
}

type askingFile struct {
	syncedFile
	path string
	ask  func(DiskOp) error
}

func (f askingFile) Write(b []byte) (int, error) {
	if err := f.ask(DiskOp{Op: "write", Path: f.path, Data: bytes.Clone(b)}); err != nil {
		return 0, err
	}
	return f.syncedFile.Write(b)
}

func (f askingFile) Sync() error {
	return f.ask(DiskOp{Op: "sync", Path: f.path})
}
