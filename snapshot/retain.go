package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ninepocket/internal/disk"
)

// Retention defines which snapshots a store keeps. It always keeps the current and the previous
// snapshot, and pinned ones.
type Retention struct {
	// RetainCount is how many of the newest snapshots stay. With 0 or less nothing is removed.
	RetainCount int
	// MinAge keeps a snapshot that was current less than this time ago: a cursor may still lead to
	// it.
	MinAge time.Duration
}

// pinsDir is the folder with an empty file for each pinned snapshot.
const pinsDir = "holds"

// Pin keeps a snapshot in the store until Unpin, for any retention (decision 88). To pin a
// snapshot twice has no further effect.
func (d *Store) Pin(id string) error {
	if _, err := d.Manifest(id); err != nil {
		return fmt.Errorf("cannot hold a snapshot: %w", err)
	}

	unlock, err := d.lock()
	if err != nil {
		return err
	}
	defer unlock()

	if d.isPinned(id) {
		return nil
	}

	folder := filepath.Join(d.root, pinsDir)
	err = inTurn(
		func() error { return disk.MkdirAll(d.disk, folder, 0o755) },
		func() error { return disk.Create(d.disk, filepath.Join(folder, id), nil, 0o644) },
		func() error { return errors.Join(d.disk.SyncDir(folder), d.disk.SyncDir(d.root)) },
	)
	if err != nil {
		return fmt.Errorf("cannot hold snapshot %q: %w", id, err)
	}

	return nil
}

// Unpin gives a snapshot back to retention. It returns ErrNotPinned when nothing pinned it.
func (d *Store) Unpin(id string) error {
	if !ValidID(id) || !d.isPinned(id) {
		return fmt.Errorf("cannot give up the hold of snapshot %q: %w", id, ErrNotPinned)
	}

	unlock, err := d.lock()
	if err != nil {
		return err
	}
	defer unlock()

	folder := filepath.Join(d.root, pinsDir)
	err = d.disk.Remove(filepath.Join(folder, id))
	if err == nil {
		err = d.disk.SyncDir(folder)
	}
	if err != nil {
		return fmt.Errorf("cannot give up the hold of snapshot %q: %w", id, err)
	}

	return nil
}

func (d *Store) isPinned(id string) bool {
	_, err := os.Stat(filepath.Join(d.root, pinsDir, id))
	return err == nil
}

// Pinned are the ids of the pinned snapshots, ascending.
func (d *Store) Pinned() ([]string, error) {
	entries, err := d.disk.List(filepath.Join(d.root, pinsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot list the holds of store %q: %w", d.root, err)
	}

	var ids []string
	for _, e := range entries {
		if ValidID(e.Name()) {
			ids = append(ids, e.Name())
		}
	}

	return ids, nil
}

// PruneResult lists the snapshots that a retention removed, and those that it retained although
// they are not among the newest.
type PruneResult struct {
	Removed []*Manifest
	// Retained maps the id of each retained snapshot to the reason: "current", "previous",
	// "held" or "recent".
	Retained map[string]string
}

// Prune removes the snapshots that r does not keep, and the remains of crashed writers.
func (d *Store) Prune(r Retention, now time.Time) (PruneResult, error) {
	unlock, err := d.lock()
	if err != nil {
		return PruneResult{}, err
	}
	defer unlock()

	return d.prune(r, now)
}

// prune is Prune for a caller that holds the lock.
func (d *Store) prune(r Retention, now time.Time) (PruneResult, error) {
	done := PruneResult{Retained: map[string]string{}}
	all, err := d.List()
	if err != nil {
		return done, fmt.Errorf("cannot prune: %w", err)
	}

	needed, err := d.retained(r, now)
	if err != nil {
		return done, fmt.Errorf("cannot prune: %w", err)
	}

	for i, m := range all {
		// The newest come first, and RetainCount of them stay.
		if r.RetainCount <= 0 || i < r.RetainCount {
			continue
		}

		if why := needed[m.ID]; why != "" {
			done.Retained[m.ID] = why
			continue
		}

		if err := d.removeSnapshot(m.ID); err != nil {
			return done, fmt.Errorf("cannot remove snapshot %q: %w", m.ID, err)
		}

		done.Removed = append(done.Removed, m)
	}

	if err := d.removeTemp(); err != nil {
		return done, fmt.Errorf("cannot clear %q: %w", d.tmp(""), err)
	}

	return done, nil
}

// retained has the ids of the snapshots that r must not remove, for any RetainCount, and the
// reasons.
func (d *Store) retained(r Retention, now time.Time) (map[string]string, error) {
	why := map[string]string{}
	cur, err := d.Current()
	switch {
	case errors.Is(err, ErrNoCurrent):
	case err != nil:
		// It is unknown which snapshots are needed: remove nothing.
		return nil, err
	default:
		// The reasons come from the weakest to the strongest: a later one overwrites an earlier
		// one.
		for id, until := range currentUntil(d.publications(cur), now) {
			if now.Sub(until) < r.MinAge {
				why[id] = "recent"
			}
		}

		why[d.predecessor(cur)] = "previous"
		why[cur.Previous] = "previous"
		why[cur.ID] = "current"
	}

	// A pin is a stronger reason than a cursor, and a weaker reason than the pointer.
	pinned, err := d.Pinned()
	for _, id := range pinned {
		if why[id] == "" || why[id] == "recent" {
			why[id] = "held"
		}
	}

	return why, err
}

// removeSnapshot removes a snapshot. It first moves the folder away, so that after a crash the
// snapshot is whole or gone.
func (d *Store) removeSnapshot(id string) error {
	gone := d.tmp(id + ".gone")
	return inTurn(
		func() error { return d.disk.Remove(gone) },
		func() error { return d.disk.Rename(d.Path(id), gone) },
		func() error { return d.disk.SyncDir(filepath.Dir(d.Path(id))) },
		func() error { return d.disk.Remove(gone) },
	)
}

// removeTemp removes the remains of crashed writers in tmp; the lock is held, so no writer is
// active.
func (d *Store) removeTemp() error {
	entries, err := d.disk.List(d.tmp(""))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	for _, e := range entries {
		if err := d.disk.Remove(d.tmp(e.Name())); err != nil {
			return err
		}
	}

	return nil
}
