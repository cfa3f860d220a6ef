package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"ninepocket/engine"
	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

var (
	site  = wire.URLs{URL: "https://cards.example", Images: "https://cards.example/images/", ProductPrefix: "np"}
	start = time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)
)

// source is a store in memory whose snapshots and pointer a test sets.
type source struct {
	mu       sync.Mutex
	catalogs map[string]*snapshot.Catalog
	broken   map[string]error // the error of loading a snapshot
	past     []string         // ids that were published, the latest last
	current  snapshot.Current
	err      error // the error of a request for the current snapshot
	loads    []string
	asks     int
	raw      int64 // decoded size in manifests
}

func newSource() *source {
	return &source{catalogs: map[string]*snapshot.Catalog{}, broken: map[string]error{}, err: snapshot.ErrNoCurrent}
}

// idOf is the id of the n-th snapshot of a test.
func idOf(n int) string { return fmt.Sprintf("20260315T%06dZ-%016x", n, n) }

// add stores a world's catalog as the n-th snapshot.
func (s *source) add(n int, w *fixture.World) string {
	c := w.Catalog()
	c.ID = idOf(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catalogs[c.ID] = c
	return c.ID
}

// publish moves the pointer.
func (s *source) publish(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = nil
	s.current = snapshot.Current{Epoch: s.current.Epoch + 1, ID: id, Previous: s.current.ID}
	s.past = append(s.past, id)
}

// fail sets the error of loading a snapshot, nil for none.
func (s *source) fail(id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken[id] = err
}

// unreachable sets the error of a request for the current snapshot, until the next release.
func (s *source) unreachable(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// asked is the number of requests for the current snapshot.
func (s *source) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asks
}

// loaded is the number of requests for a snapshot.
func (s *source) loaded(id string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.loads {
		if l == id {
			n++
		}
	}

	return n
}

func (s *source) Current() (snapshot.Current, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asks++
	if s.err != nil {
		return snapshot.Current{}, s.err
	}
	return s.current, nil
}

func (s *source) Load(_ context.Context, id string, _ func()) (*snapshot.Catalog, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads = append(s.loads, id)
	if err := s.broken[id]; err != nil {
		return nil, err
	}
	if c := s.catalogs[id]; c != nil {
		return c, nil
	}

	return nil, snapshot.ErrNotFound
}

func (s *source) Manifest(id string) (*snapshot.Manifest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.catalogs[id] == nil {
		return nil, snapshot.ErrNotFound
	}
	return &snapshot.Manifest{ID: id, Sections: []snapshot.Section{{Name: "cards", Raw: s.raw}}}, nil
}

func (s *source) Published() ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, id := range slices.Backward(s.past) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

var errDamage = &snapshot.DamageError{Section: "cards", Reason: "was eaten"}

// serving is the id of the snapshot that an engine serves, "" for none.
func serving(e *engine.Engine) string {
	if v := e.View(); v != nil {
		return v.ID
	}
	return ""
}

// small is a world of a seed.
func small(seed uint64) *fixture.World {
	return fixture.Random(seed, fixture.Size{Sets: 2, Cards: 6, Sealed: 1, Days: 5})
}

// wantErr checks that an error is another one, or none.
func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) || want == nil && err != nil {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}
