package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"

	"ninepocket/internal/disk"
)

// MaxDeltas is how many deltas a store has: so many publications back clients are told what changed.
const MaxDeltas = 30

// deltasDir is the folder of the deltas, a file for each publication, named by its epoch.
const deltasDir = "changes"

// deltaName matches the names of these files, which ascend with the epoch.
var deltaName = regexp.MustCompile(`^\d{12}$`)

// Compare returns the delta between two stored snapshots.
func (d *Store) Compare(ctx context.Context, from, to string) (*Delta, error) {
	before, err := d.Load(ctx, from, nil)
	if err != nil {
		return nil, err
	}
	after, err := d.Load(ctx, to, nil)
	if err != nil {
		return nil, err
	}
	return NewDelta(before, after)
}

// AddDelta stores a delta as that of its epoch. Nobody but the one writer of publications may call it.
func (d *Store) AddDelta(delta *Delta) error {
	folder := filepath.Join(d.root, deltasDir)
	err := disk.MkdirAll(d.disk, folder, 0o755)
	var b []byte
	if err == nil {
		b, err = delta.Encode()
	}
	if err == nil {
		path := filepath.Join(folder, fmt.Sprintf("%012d", delta.Epoch))
		err = disk.Replace(d.disk, path+".tmp", path, b, 0o644)
	}
	return err
}

// Deltas returns the deltas that are whole, newest first, and what is wrong with others.
func (d *Store) Deltas() (all []*Delta, problems error) {
	names, err := d.deltaNames()
	for i := len(names) - 1; i >= 0; i-- {
		b, readErr := disk.ReadFile(d.disk, filepath.Join(d.root, deltasDir, names[i]))
		var delta *Delta
		if readErr == nil {
			delta, readErr = ParseDelta(b)
		}
		if readErr != nil {
			err = errors.Join(err, fmt.Errorf("%s/%s: %w", deltasDir, names[i], readErr))
			continue
		}
		all = append(all, delta)
	}
	return all, err
}

// deltaNames returns the names of the deltas, ascending by epoch.
func (d *Store) deltaNames() (names []string, err error) {
	entries, err := d.disk.List(filepath.Join(d.root, deltasDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range entries {
		if deltaName.MatchString(entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	return names, err
}

// recordDelta stores what a publication changes, before it happens: who sees it has the delta too. A delta
// of a publication that never happened harms nobody. An error does not matter to the publication: clients
// have to take the bulk again, and are told so.
func (d *Store) recordDelta(cur *Current, base *StoredSnapshot, next *Catalog, warn func(string)) {
	if !ValidID(cur.Previous) || cur.Previous == cur.ID {
		return
	}

	// Guards have read what was current.
	var before *Catalog
	var err error
	if base != nil {
		before = base.Catalog
	} else {
		before, err = d.Load(context.Background(), cur.Previous, nil)
	}

	var delta *Delta
	if err == nil {
		delta, err = NewDelta(before, next)
	}
	if err == nil {
		delta.Epoch = cur.Epoch
		err = d.AddDelta(delta)
	}
	if err != nil && warn != nil {
		warn("clients are not told what changed, and have to take the bulk again: " + err.Error())
	}
}

// pruneDeltas removes all deltas but the newest up to an epoch. Later ones are of a history that is over: they
// would count as the newest for ever. What cannot be removed only takes room.
func (d *Store) pruneDeltas(epoch uint64) {
	names, _ := d.deltaNames()
	for i, name := range names {
		made, _ := strconv.ParseUint(name, 10, 64)
		later := made > epoch
		if !later && i+MaxDeltas >= len(names) {
			continue
		}
		_ = d.disk.Remove(filepath.Join(d.root, deltasDir, name))
	}
}
