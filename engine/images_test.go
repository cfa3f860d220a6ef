package engine_test

import (
	"bytes"
	"errors"
	"testing"

	"ninepocket/engine"
)

// TestImagesAreListedForEachView checks that image_url is set for files that exist when a
// snapshot is activated. It is null for all if the files cannot be listed.
func TestImagesAreListedForEachView(t *testing.T) {
	s := newSource()
	first := s.add(1, small(1))
	second := s.add(2, small(2))
	third := s.add(3, small(3))
	there := false
	fail := false
	lists := 0
	e := engine.New(s, engine.Options{Site: site, Images: func() (func(string) bool, error) {
		lists++
		if fail {
			return nil, errors.New("no folder")
		}
		now := there
		return func(string) bool { return now }, nil
	}})

	shown := func() (n int) {
		v := e.View()
		for card := range v.Catalog.Cards.ID.Len() {
			if bytes.Contains(v.AppendDetail(nil, card), []byte(`"image_url":"`+site.Images)) {
				n++
			}
		}
		return n
	}

	serve := func(id string) {
		t.Helper()
		s.publish(id)
		wantErr(t, "check", e.Check(start), nil)
		if serving(e) != id {
			t.Fatalf("serving %q, want %q", serving(e), id)
		}
	}

	serve(first)
	if n := shown(); n != 0 || lists != 1 {
		t.Errorf("%d cards have an image of an empty folder, listed %d times", n, lists)
	}

	there = true
	if shown() != 0 {
		t.Error("a View changed")
	}

	serve(second)
	if shown() == 0 {
		t.Error("no card has an image")
	}

	fail = true
	serve(third)
	if n := shown(); n != 0 || lists != 3 {
		t.Errorf("%d cards have an image that cannot be listed, listed %d times", n, lists)
	}
}
