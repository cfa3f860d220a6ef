package api

import (
	"testing"
	"time"

	"ninepocket/engine/cursor"
)

// TestTagsTurn wants the validator of a page to change before the cursor in it expires, and no other's.
func TestTagsTurn(t *testing.T) {
	view := testView(t)
	tag := func(at time.Time, more bool) uint64 {
		r := &Request{View: view, Operation: searchOperation(), Now: at}
		var out Reply
		r.tagPage(&out, more)
		return out.Tag
	}

	at := time.UnixMilli(1_800_000_000_000)
	if tag(at, true) != tag(at.Add(time.Minute), true) {
		t.Error("the validator of a page changes within a minute")
	}
	if tag(at, true) == tag(at.Add(cursor.Lifetime/2), true) {
		t.Error("a page is not modified although its cursor is half dead")
	}
	if tag(at, false) != tag(at.Add(24*time.Hour), false) {
		t.Error("the validator of a last page changes with time")
	}
}
