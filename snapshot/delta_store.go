package snapshot

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"ninepocket/internal/disk"
)

// MaxDeltas is the number of deltas in a store, and so the number of releases whose changes clients can get.
const MaxDeltas = 30

// deltasDir is the folder of the deltas, a file for each release, named by its epoch.
const deltasDir = "changes"

// Deltas are the deltas of a store.
type Deltas struct{ store *Store }

// DeltasOf returns the deltas of a store.
func DeltasOf(store *Store) Deltas { return Deltas{store} }

// deltaName is the name of a delta. Names ascend with the epoch.
func deltaName(epoch uint64) string { return fmt.Sprintf("%012d", epoch) }

func (deltas Deltas) file(name string) string {
	return filepath.Join(deltas.store.root, deltasDir, name)
}

// Record records the changes of a release before it happens, so that every reader of the release has the
// delta, too. A delta of a release that never happened does no harm. An error does not stop the release:
// clients have to take the bulk again, and get a message.
func (deltas Deltas) Record(ctx context.Context, cur *Current, record func(*Delta) error, warn func(string)) {
	if !ValidID(cur.Previous) || cur.Previous == cur.ID {
		return // nothing changed
	}

	before, err := deltas.store.Load(ctx, cur.Previous, nil)
	var after *Catalog
	if err == nil {
		after, err = deltas.store.Load(ctx, cur.ID, nil)
	}
	var delta *Delta
	if err == nil {
		delta, err = NewDelta(before, after, cur.Epoch)
	}
	if err == nil {
		err = record(delta)
	}
	if err != nil && warn != nil {
		warn("changes are not recorded: clients have to download the bulk files again: " + err.Error())
	}
}

// Add stores a delta under its epoch. Only the writer of releases may call it.
func (deltas Deltas) Add(delta *Delta) error {
	b, err := delta.Encode()
	if err != nil {
		return err
	}
	return put(deltas.store.disk, deltas.file(deltaName(delta.Epoch)), b)
}

// All returns the intact deltas, newest first, and the errors of the others.
func (deltas Deltas) All() (all []*Delta, problems error) {
	for _, name := range slices.Backward(deltas.names()) {
		b, err := disk.ReadFile(deltas.store.disk, deltas.file(name))
		var delta *Delta
		if err == nil {
			delta, err = ParseDelta(b)
		}
		if err == nil {
			all = append(all, delta)
		} else {
			problems = errors.Join(problems, fmt.Errorf("%s/%s: %w", deltasDir, name, err))
		}
	}
	return all, problems
}

// names returns the names of the deltas, ascending by epoch. A folder that cannot be read has none.
func (deltas Deltas) names() (names []string) {
	entries, _ := deltas.store.disk.List(filepath.Join(deltas.store.root, deltasDir))
	for _, entry := range entries {
		// A crash may leave a longer one.
		if name := entry.Name(); len(name) == len(deltaName(0)) {
			names = append(names, name)
		}
	}
	return names
}

// prune removes all deltas but the newest up to an epoch. Later deltas belong to a history that has ended:
// they would always count as the newest. A delta that cannot be removed only takes room.
func (deltas Deltas) prune(epoch uint64) {
	names := deltas.names()
	for i, name := range names {
		if name > deltaName(epoch) || i+MaxDeltas < len(names) {
			_ = deltas.store.disk.Remove(deltas.file(name))
		}
	}
}
