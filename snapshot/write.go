package snapshot

import (
	"fmt"
	"path/filepath"
)

// WriteOptions say what to store beside a catalog.
type WriteOptions struct {
	Base             string         // id of the snapshot this one continues, if any
	Quarantine       []byte         // the quarantine report, a JSON object a line
	QuarantineCounts map[string]int // lines of the report by reason
}

// Write stores a catalog as a new snapshot and does not publish it. When the store has a whole
// snapshot of the same content, and so of the same id, Write returns that one, and created is
// false. A crash leaves at worst an unused folder in tmp.
func (d *Dir) Write(c *Catalog, options WriteOptions) (m *Manifest, created bool, err error) {
	m, files, err := encode(c, options)
	if err != nil {
		return nil, false, fmt.Errorf("cannot store the snapshot: %w", err)
	}

	unlock, err := d.lock()
	if err != nil {
		return nil, false, err
	}
	defer unlock()

	final := d.Path(m.ID)
	// Equal content was stored before, and is still whole.
	if old, err := d.Manifest(m.ID); err == nil && d.Verify(m.ID) == nil {
		return old, false, nil
	}

	stage := d.tmp(m.ID)
	if err := d.stage(stage, m, files); err != nil {
		_ = d.disk.remove(stage)
		return nil, false, fmt.Errorf("cannot store snapshot %q: %w", m.ID, err)
	}

	// A snapshot of the same id is damaged, or it would have been returned above: remove it.
	if err := d.disk.remove(final); err != nil {
		return nil, false, fmt.Errorf("cannot replace damaged snapshot %q: %w", m.ID, err)
	}
	if err := d.disk.rename(stage, final); err != nil {
		return nil, false, fmt.Errorf("cannot store snapshot %q: %w", m.ID, err)
	}
	if err := d.disk.syncDir(filepath.Dir(final)); err != nil {
		return nil, false, fmt.Errorf("cannot store snapshot %q: %w", m.ID, err)
	}

	m, err = d.Manifest(m.ID)
	return m, err == nil, err
}

// stage writes every file of a snapshot and then its manifest into a fresh folder, all synced.
func (d *Dir) stage(folder string, m *Manifest, files []file) error {
	if err := d.disk.remove(folder); err != nil {
		return err
	}
	if err := d.disk.mkdir(folder); err != nil {
		return err
	}

	for _, f := range files {
		if err := writeSynced(d.disk, filepath.Join(folder, f.File), f.data); err != nil {
			return err
		}
	}

	// The manifest comes last: a folder with one is complete.
	b, err := sealJSON(m)
	if err != nil {
		return err
	}
	if err := writeSynced(d.disk, filepath.Join(folder, "manifest"), b); err != nil {
		return err
	}

	return d.disk.syncDir(folder)
}
