package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"ninepocket/internal/disk"
)

// MaxDeltas is how many deltas a store has: so many publications back clients are told what changed.
const MaxDeltas = 30

// deltasDir is the folder of the deltas, a file for each publication, named by its epoch.
const deltasDir = "changes"

// deltaName matches the names of these files, which ascend with the epoch.
var deltaName = regexp.MustCompile(`^\d{12}$`)

// Deltas are the deltas of a store.
type Deltas struct {
	folder string
	disk   disk.FS
}

// DeltasOf returns the deltas of a store.
func DeltasOf(store *Store) Deltas { return Deltas{filepath.Join(store.root, deltasDir), store.disk} }

// Compare returns the delta between two stored snapshots.
func Compare(ctx context.Context, store *Store, from, to string) (*Delta, error) {
	before, err := store.Load(ctx, from, nil)
	if err != nil {
		return nil, err
	}
	after, err := store.Load(ctx, to, nil)
	if err != nil {
		return nil, err
	}
	return NewDelta(before, after)
}

// Add stores a delta as that of its epoch. Nobody but the one writer of publications may call it.
func (deltas Deltas) Add(delta *Delta) error {
	err := disk.MkdirAll(deltas.disk, deltas.folder, 0o755)
	var b []byte
	if err == nil {
		b, err = delta.Encode()
	}
	if err == nil {
		path := filepath.Join(deltas.folder, fmt.Sprintf("%012d", delta.Epoch))
		err = disk.Replace(deltas.disk, path+".tmp", path, b, 0o644)
	}
	return err
}

// All returns the deltas that are whole, newest first, and what is wrong with others.
func (deltas Deltas) All() (all []*Delta, problems error) {
	names, err := deltas.names()
	for _, name := range slices.Backward(names) {
		b, readErr := disk.ReadFile(deltas.disk, filepath.Join(deltas.folder, name))
		var delta *Delta
		if readErr == nil {
			delta, readErr = ParseDelta(b)
		}
		if readErr != nil {
			err = errors.Join(err, fmt.Errorf("%s/%s: %w", deltasDir, name, readErr))
			continue
		}
		all = append(all, delta)
	}
	return all, err
}

// names returns the names of the deltas, ascending by epoch.
func (deltas Deltas) names() (names []string, err error) {
	entries, err := deltas.disk.List(deltas.folder)
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

// prune removes all deltas but the newest up to an epoch. Later ones are of a history that is over: they would
// count as the newest for ever. What cannot be removed only takes room.
func (deltas Deltas) prune(epoch uint64) {
	names, _ := deltas.names()
	for i, name := range names {
		made, _ := strconv.ParseUint(name, 10, 64)
		if made > epoch || i+MaxDeltas < len(names) {
			_ = deltas.disk.Remove(filepath.Join(deltas.folder, name))
		}
	}
}

// recordDelta stores what a publication changes, before it happens: who sees it has the delta too. A delta
// of a publication that never happened harms nobody. An error does not matter to the publication: clients
// have to take the bulk again, and are told so.
func recordDelta(store *Store, cur *Current, base *StoredSnapshot, next *Catalog, warn func(string)) {
	if !ValidID(cur.Previous) || cur.Previous == cur.ID {
		return
	}

	// Guards have read what was current.
	var err error
	if base == nil {
		base, err = store.read(context.Background(), cur.Previous, false, nil)
	}

	var delta *Delta
	if err == nil {
		delta, err = NewDelta(base.Catalog, next)
	}
	if err == nil {
		delta.Epoch = cur.Epoch
		err = DeltasOf(store).Add(delta)
	}
	if err != nil && warn != nil {
		warn("clients are not told what changed, and have to take the bulk again: " + err.Error())
	}
}
