package snapshot

import (
	"fmt"
	"path/filepath"

	"ninepocket/internal/disk"
)

// WriteOptions are stored with a catalog.
type WriteOptions struct {
	Base             string         // id of the snapshot this one continues, if any
	Quarantine       []byte         // the quarantine report, a JSON object a line
	QuarantineCounts map[string]int // lines of the report by reason
}

// Write stores a catalog as a new snapshot and does not publish it. When the store has a whole
// snapshot of the same content, and so of the same id, Write returns that one, and created is
// false. A crash leaves at worst an unused folder in tmp.
func (d *Store) Write(c *Catalog, options WriteOptions) (m *Manifest, created bool, err error) {
	m, files, err := encode(c, options)
	if err != nil {
		return nil, false, fmt.Errorf("cannot store the snapshot: %w", err)
	}

	unlock, err := d.lock()
	if err != nil {
		return nil, false, err
	}
	defer unlock()

	// Equal content was stored before, and is still whole.
	if old, err := d.Manifest(m.ID); err == nil && d.Verify(m.ID) == nil {
		return old, false, nil
	}

	b, err := encodeChecksummed(m)
	if err != nil {
		return nil, false, err
	}
	err = d.place(m.ID, b, func(folder string) error {
		for _, f := range files {
			if err := disk.Create(d.disk, filepath.Join(folder, f.File), f.data, 0o644); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("cannot store snapshot %q: %w", m.ID, err)
	}

	m, err = d.Manifest(m.ID)
	return m, err == nil, err
}

// place makes a snapshot's folder, lets fill make its files, and gives it its name, all synced. One of
// the same id is damaged, or nobody would place another: it is removed.
func (d *Store) place(id string, manifest []byte, fill func(folder string) error) error {
	stage := d.tmp(id)
	err := inTurn(
		func() error { return d.disk.Remove(stage) },
		func() error { return disk.MkdirAll(d.disk, stage, 0o755) },
		func() error { return fill(stage) },

		// The manifest comes last: a folder with one is complete.
		func() error { return disk.Create(d.disk, filepath.Join(stage, "manifest"), manifest, 0o644) },
		func() error { return d.disk.SyncDir(stage) },
		func() error { return d.disk.Remove(d.Path(id)) },
		func() error { return d.disk.Rename(stage, d.Path(id)) },
	)
	if err != nil {
		_ = d.disk.Remove(stage) // takes room, and does no harm
		return err
	}
	return d.disk.SyncDir(filepath.Dir(d.Path(id)))
}

// put makes the content of a file that is one of many in a folder, which it creates if necessary.
func put(on disk.FS, path string, data []byte) error {
	return inTurn(
		func() error { return disk.MkdirAll(on, filepath.Dir(path), 0o755) },
		func() error { return disk.Replace(on, path+".tmp", path, data, 0o644) },
	)
}

// inTurn takes steps one after the other, up to the first that fails.
func inTurn(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
