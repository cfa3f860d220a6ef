package operate

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/loader/source"
	"ninepocket/snapshot"
	"ninepocket/snapshot/diff"
	"ninepocket/snapshot/guard"
	"ninepocket/wire"
)

// Terms are the settings for publishing snapshots of a store.
type Terms struct {
	Store         string
	Guards        guard.Limits
	Overrides     []snapshot.Override
	ProductPrefix string // of the server: product ids are part of a View
	RetainCount   int    // how many of the newest snapshots are retained, 0 for all
	By            string // the publishing user
	Now           func() time.Time
	// Override writes the command that publishes a refused snapshot despite the guards.
	Override func(refused *snapshot.RefusedError) string
	// OnWarning receives messages for an operator about a release that continues; may be nil.
	OnWarning func(text string)

	compared *diff.Diff // with what was current; nil if nobody compared
}

// Publish makes a snapshot the current one, as snapshot.Store.Publish does, and stores the events of it.
func (t *Terms) Publish(id string) (snapshot.Current, error) {
	var current, next *snapshot.StoredSnapshot // nil where nothing changes
	judge := func(a, b *snapshot.StoredSnapshot) []snapshot.GuardResult {
		current = a
		next = b
		return t.runGuards(a, b)
	}

	// The guards and the record get the time of publishing: a build may have taken an hour.
	cur, err := snapshot.OpenStore(t.Store).Publish(id, snapshot.PublishOptions{
		Now: t.Now(), Check: Servable(t.ProductPrefix, t.OnWarning), Judge: judge,
		Overrides: t.Overrides, By: t.By, OnWarning: t.OnWarning,
		Retention: snapshot.Retention{RetainCount: t.RetainCount, MinAge: cursor.Lifetime},
	})

	if refused, ok := errors.AsType[*snapshot.RefusedError](err); ok {
		t.recordRefusal(refused)
	} else if cur.ID == id && next != nil {
		t.recordPublication(&cur, current, next)
	}
	return cur, err
}

// BuildLimits are the limits by which a build judges days: an overridden guard has none.
func (t *Terms) BuildLimits() guard.Limits {
	limits := guard.Limits{}
	maps.Copy(limits, t.Guards)
	for _, override := range t.Overrides {
		limits[override.Guard] = math.Inf(1)
	}
	return limits
}

// runGuards lets the guards compare a snapshot with the current one.
func (t *Terms) runGuards(current, next *snapshot.StoredSnapshot) []snapshot.GuardResult {
	return guard.Judge(current, next, guard.Options{
		Limits: t.Guards, Now: t.Now(), Duplicates: source.Duplicates, Store: t.Store,
	})
}

// Servable returns a check of a snapshot before publishing. The engine makes its View of the
// snapshot as read back from disk, and the View answers typical requests.
// Cards that are not found by their names are passed to onWarning, which may be nil.
func Servable(prefix string, onWarning func(text string)) func(*snapshot.Catalog) error {
	return func(catalog *snapshot.Catalog) error {
		v, err := engine.NewView(catalog, wire.URLs{ProductPrefix: prefix})
		if err != nil {
			return err
		}
		notFound, err := v.Smoke()
		for _, card := range notFound {
			if onWarning != nil {
				onWarning(card + ": is it a typing error of the source?")
			}
		}
		return err
	}
}

// GuardResults returns the guard results of a snapshot's last release, else those of now.
func (t *Terms) GuardResults(ctx context.Context, next *snapshot.StoredSnapshot) []snapshot.GuardResult {
	store := snapshot.OpenStore(t.Store)
	past, _ := store.Publications()
	// A snapshot may have been published more than once: the last time counts.
	for _, pub := range slices.Backward(past) {
		if pub.ID == next.Manifest.ID && pub.Action == snapshot.ActionPublish && pub.Guards != nil {
			return pub.Guards
		}
	}

	// Compared with the snapshot that it replaced, or would replace. Without one, some guards have
	// no result.
	var current *snapshot.StoredSnapshot
	if cur, err := store.Current(); err == nil {
		// A published snapshot is compared with the previous one.
		other := cur.ID
		if other == next.Manifest.ID {
			other = cur.Previous
		}
		if st, err := store.LoadStored(ctx, other); err == nil {
			current = st
		}
	}
	return t.runGuards(current, next)
}
