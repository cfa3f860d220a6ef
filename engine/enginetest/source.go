// Package enginetest is the conformance suite of [engine.Source].
package enginetest

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"ninepocket/engine"
	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
)

// Store is a source with the means to fill it.
type Store struct {
	engine.Source
	// Add stores a catalog without publishing it and returns its id.
	Add func(c *snapshot.Catalog) string
	// Publish makes a stored snapshot the current one.
	Publish func(id string)
	// Damage changes a byte of a stored snapshot's section; it is nil if the store cannot be
	// damaged.
	Damage func(id, section string)
}

// TestSource checks the behaviour on which an engine relies. open returns a new empty store.
func TestSource(t *testing.T, open func(t *testing.T) Store) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Store){
		"current": testCurrent, "manifest": testManifest, "missing": testMissing, "published": testPublished,
		"damage":     testDamage,
		"concurrent": testConcurrent,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// day returns a catalog for a test, different for each n and later than the previous.
func day(n int) *snapshot.Catalog {
	world := fixture.Random(uint64(n+1), fixture.Size{Sets: 2, Cards: 8, Sealed: 1, Days: 5})
	c := world.Catalog()
	c.SnapshotAt += int64(n) * int64(time.Millisecond)
	return c
}

func testCurrent(t *testing.T, s Store) {
	t.Helper()
	if _, err := s.Current(); !errors.Is(err, snapshot.ErrNoCurrent) {
		t.Errorf("an empty store: %v, want ErrNoCurrent", err)
	}

	a := s.Add(day(0))
	b := s.Add(day(1))
	if _, err := s.Current(); !errors.Is(err, snapshot.ErrNoCurrent) {
		t.Errorf("a store that published nothing: %v, want ErrNoCurrent", err)
	}

	last := snapshot.Current{}
	// A return to the first is a release, too.
	for _, id := range []string{a, b, a} {
		s.Publish(id)
		cur, err := s.Current()
		if err != nil || cur.ID != id || cur.Epoch <= last.Epoch || cur.Previous != last.ID {
			t.Errorf("after publishing %q over %+v: %+v, %v", id, last, cur, err)
		}
		last = cur
	}
}

func testManifest(t *testing.T, s Store) {
	t.Helper()
	c := day(0)
	id := s.Add(c)
	m, err := s.Manifest(id)
	if err != nil {
		t.Fatal(err)
	}

	loaded, err := s.Load(t.Context(), id, nil)
	if err != nil {
		t.Fatal(err)
	}

	if m.ID != id || loaded.ID != id || m.SnapshotAt.UnixMilli() != loaded.SnapshotAt {
		t.Errorf("the manifest of %q is of %q at %v, the catalog %q", id, m.ID, m.SnapshotAt, loaded.ID)
	}

	if m.Counts.Cards != loaded.Cards.ID.Len() || m.Counts.Lanes != len(loaded.Lanes.Variant) ||
		m.Counts.Sets != loaded.Sets.ID.Len() {
		t.Errorf("the manifest counts %+v of a catalog with %d cards", m.Counts, loaded.Cards.ID.Len())
	}

	var raw int64
	for _, section := range m.Sections {
		raw += section.Raw
	}

	if raw < int64(8*len(loaded.Lanes.Cents)) {
		t.Errorf("the manifest says that the sections decode to %d bytes", raw)
	}

	if !slices.Equal(loaded.Lanes.Cents, c.Lanes.Cents) || !slices.Equal(loaded.Movers.Up, c.Movers.Up) ||
		!slices.Equal(loaded.History.Points, c.History.Points) {
		t.Error("the loaded catalog differs from the stored catalog")
	}
}

func testMissing(t *testing.T, s Store) {
	t.Helper()
	s.Add(day(0))

	for _, id := range []string{"", "x", "../x", "20260315T000000Z-0000000000000000"} {
		if _, err := s.Manifest(id); !errors.Is(err, snapshot.ErrNotFound) {
			t.Errorf("manifest of %q: %v, want ErrNotFound", id, err)
		}
		if _, err := s.Load(t.Context(), id, nil); !errors.Is(err, snapshot.ErrNotFound) {
			t.Errorf("load of %q: %v, want ErrNotFound", id, err)
		}
	}
}

// testPublished checks that Published lists the released snapshots, and not the added ones.
func testPublished(t *testing.T, s Store) {
	t.Helper()
	want := func(ids ...string) {
		t.Helper()
		if got, err := s.Published(); err != nil || !slices.Equal(got, ids) {
			t.Errorf("published are %v, %v; want %v", got, err, ids)
		}
	}

	a := s.Add(day(0))
	b := s.Add(day(1))
	want()
	s.Publish(a)
	want(a)
	s.Publish(b)
	want(b, a)

	// Back to the first: each is listed once. The newest one was never published.
	s.Publish(a)
	s.Add(day(2))
	want(a, b)
}

func testDamage(t *testing.T, s Store) {
	t.Helper()
	if s.Damage == nil {
		t.Skip("skipped: the store cannot be damaged")
	}

	a := s.Add(day(0))
	b := s.Add(day(1))
	s.Damage(a, "cards")
	s.Damage(b, "manifest")
	if _, err := s.Load(t.Context(), a, nil); !errors.Is(err, snapshot.ErrDamaged) {
		t.Errorf("a damaged section: %v", err)
	}
	if _, err := s.Manifest(a); err != nil {
		t.Errorf("the manifest of a damaged section: %v", err)
	}
	if _, err := s.Manifest(b); !errors.Is(err, snapshot.ErrDamaged) {
		t.Errorf("a damaged manifest: %v", err)
	}
	if _, err := s.Load(t.Context(), b, nil); !errors.Is(err, snapshot.ErrDamaged) {
		t.Errorf("a load by a damaged manifest: %v", err)
	}
}

// testConcurrent reads from many goroutines while another publishes; the race detector watches.
func testConcurrent(t *testing.T, s Store) {
	t.Helper()
	ids := []string{s.Add(day(0)), s.Add(day(1))}
	s.Publish(ids[0])
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 20 {
				cur, err := s.Current()
				if err != nil {
					t.Error(err)
					return
				}
				if c, err := s.Load(t.Context(), cur.ID, nil); err != nil || c.ID != cur.ID {
					t.Errorf("loading %q: %v", cur.ID, err)
				}
			}
		})
	}

	for k := range 10 {
		s.Publish(ids[(k+1)%2])
	}

	readers.Wait()
}
