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

// Retention says which snapshots a store keeps. It always keeps the current one, the one before it,
// and pinned ones.
type Retention struct {
	// Keep is how many of the newest snapshots stay. With 0 or less nothing is removed.
	Keep int
	// Recent keeps a snapshot that was current less than this time ago: a cursor may still lead to
	// it.
	Recent time.Duration
}

// holds is the folder with an empty file for each held snapshot.
const holds = "holds"

// Hold keeps a snapshot in the store until Unhold, whatever the retention (decision 88). To hold a
// snapshot twice is the same as once.
func (d *Dir) Hold(id string) error {
	if _, err := d.Manifest(id); err != nil {
		return fmt.Errorf("cannot hold a snapshot: %w", err)
	}

	unlock, err := d.lock()
	if err != nil {
		return err
	}
	defer unlock()

	if d.held(id) {
		return nil
	}

	folder := filepath.Join(d.root, holds)
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

// Unhold gives a snapshot back to retention. It returns ErrNotHeld when nothing held it.
func (d *Dir) Unhold(id string) error {
	if !ValidID(id) || !d.held(id) {
		return fmt.Errorf("cannot give up the hold of snapshot %q: %w", id, ErrNotHeld)
	}

	unlock, err := d.lock()
	if err != nil {
		return err
	}
	defer unlock()

	folder := filepath.Join(d.root, holds)
	err = d.disk.Remove(filepath.Join(folder, id))
	if err == nil {
		err = d.disk.SyncDir(folder)
	}
	if err != nil {
		return fmt.Errorf("cannot give up the hold of snapshot %q: %w", id, err)
	}

	return nil
}

func (d *Dir) held(id string) bool {
	_, err := os.Stat(filepath.Join(d.root, holds, id))
	return err == nil
}

// Held are the ids of the pinned snapshots, ascending.
func (d *Dir) Held() ([]string, error) {
	entries, err := d.disk.List(filepath.Join(d.root, holds))
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

// Pruned says what a retention removed, and what it kept although it is not among the newest.
type Pruned struct {
	Removed []*Manifest
	// Kept maps the id of each snapshot that was kept to the reason: "current", "previous", "held"
	// or "recent".
	Kept map[string]string
}

// Prune removes the snapshots that r does not keep, and what crashed writers left behind.
func (d *Dir) Prune(r Retention, now time.Time) (Pruned, error) {
	unlock, err := d.lock()
	if err != nil {
		return Pruned{}, err
	}
	defer unlock()

	return d.prune(r, now)
}

// prune is Prune for who holds the lock.
func (d *Dir) prune(r Retention, now time.Time) (Pruned, error) {
	done := Pruned{Kept: map[string]string{}}
	all, err := d.List()
	if err != nil {
		return done, fmt.Errorf("cannot prune: %w", err)
	}

	needed, err := d.needed(r, now)
	if err != nil {
		return done, fmt.Errorf("cannot prune: %w", err)
	}

	for i, m := range all {
		// The newest come first, and Keep of them stay.
		if r.Keep <= 0 || i < r.Keep {
			continue
		}

		if why := needed[m.ID]; why != "" {
			done.Kept[m.ID] = why
			continue
		}

		if err := d.drop(m.ID); err != nil {
			return done, fmt.Errorf("cannot remove snapshot %q: %w", m.ID, err)
		}

		done.Removed = append(done.Removed, m)
	}

	if err := d.sweep(); err != nil {
		return done, fmt.Errorf("cannot clear %q: %w", d.tmp(""), err)
	}

	return done, nil
}

// needed has the ids of the snapshots that r must not remove, whatever Keep says, and the reasons.
func (d *Dir) needed(r Retention, now time.Time) (map[string]string, error) {
	why := map[string]string{}
	cur, err := d.Current()
	switch {
	case errors.Is(err, ErrNoCurrent):
	case err != nil:
		// Nobody knows which snapshots are needed: remove nothing.
		return nil, err
	default:
		// The reasons come from the weakest to the strongest: a later one overwrites an earlier
		// one.
		for id, until := range lastCurrent(d.publications(cur), now) {
			if now.Sub(until) < r.Recent {
				why[id] = "recent"
			}
		}

		why[d.replaced(cur)] = "previous"
		why[cur.Previous] = "previous"
		why[cur.ID] = "current"
	}

	// A hold is a stronger reason than a cursor, and a weaker one than the pointer.
	held, err := d.Held()
	for _, id := range held {
		if why[id] == "" || why[id] == "recent" {
			why[id] = "held"
		}
	}

	return why, err
}

// drop removes a snapshot. It first moves the folder away, so that after a crash the snapshot is
// whole or gone.
func (d *Dir) drop(id string) error {
	gone := d.tmp(id + ".gone")
	return inTurn(
		func() error { return d.disk.Remove(gone) },
		func() error { return d.disk.Rename(d.Path(id), gone) },
		func() error { return d.disk.SyncDir(filepath.Dir(d.Path(id))) },
		func() error { return d.disk.Remove(gone) },
	)
}

// sweep removes what crashed writers left in tmp; the lock is held, so nobody is writing there.
func (d *Dir) sweep() error {
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
