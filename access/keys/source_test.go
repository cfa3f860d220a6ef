package keys

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// sourceOf is a source of keys that a test changes.
type sourceOf struct {
	file    *File
	changed bool
	err     error
}

func (s *sourceOf) Read(context.Context) (*File, bool, error) {
	changed := s.changed
	s.changed = false
	return s.file, changed, s.err
}

func (s *sourceOf) String() string { return "a source" }

// TestRingOfASource takes over what a source has, and keeps the last good keys while it has nothing
// good.
func TestRingOfASource(t *testing.T) {
	t.Parallel()
	source := &sourceOf{file: NewFile(), changed: true}
	_, first := mustCreate(t, source.file, NewKey{Tenant: "acme", Surface: Live, Plan: "pro"})
	ring, err := RingFrom(source, DefaultPlans())
	if err != nil {
		t.Fatal(err)
	}

	look := func(wantChanged bool, wantErr string, keys int) {
		t.Helper()
		before := ring.Stats().Reloads
		err := ring.Reload()
		changed := ring.Stats().Reloads != before
		if changed != wantChanged || fmt.Sprint(err) != wantErr || (err == nil) != (ring.ReloadError() == nil) {
			t.Errorf("changed %t, %v, trouble %v, want %t, %s", changed, err, ring.ReloadError(), wantChanged, wantErr)
		}
		if _, err := ring.FindCached([]byte(first), testTime.UnixMilli(), nil); err != nil || ring.Len() != keys {
			t.Errorf("the first key of %d is not taken: %v, want %d", ring.Len(), err, keys)
		}
	}
	look(false, "<nil>", 1)
	mustCreate(t, source.file, NewKey{Tenant: "acme", Surface: Live, Plan: "pro"})
	source.changed = true
	look(true, "<nil>", 2)

	source.err = errors.New("away")
	look(false, "away", 2)
	source.err = nil
	look(false, "<nil>", 2)

	// An unusable source stays an error until it changes.
	twice := source.file.Keys[0]
	source.file.Keys = append(source.file.Keys, twice)
	source.changed = true
	const wrong = "cannot read keys from a source: key 2: id or hash occurs twice"
	look(false, wrong, 2)
	look(false, wrong, 2)
	source.file.Keys = source.file.Keys[:2]
	look(true, "<nil>", 2)
}
