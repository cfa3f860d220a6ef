package main

import (
	"strings"
	"testing"

	"ninepocket/internal/feedtest"
	"ninepocket/snapshot"
)

// TestDailyOfEqualContent wants a day that was built once more without the archived days, whose refused rows
// are in the report of the first build alone, to be nothing new (d44, d50).
func TestDailyOfEqualContent(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 4, 5)
	file := h.configures("")
	h.days(exitOK, file)
	bad := in(0, "prices", func(body string) string {
		const row = `{"productId":1,"subTypeName":"Normal","marketPrice":-1},`
		return strings.Replace(body, `"results":[`, `"results":[`+row, 1)
	})
	h.evening(1, feedtest.Faults{Change: bad})
	h.pulls(exitOK)
	h.evening(2, feedtest.Faults{})
	_, stderr := h.days(exitOK, file)
	says(t, stderr, "filled from archived days: "+dayName(1))
	h.hasAllPrices()

	before, err := snapshot.OpenStore(h.store).Current()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		out, _ := h.days(exitOK, file)
		says(t, out, "nothing is new: "+before.ID+" is already served")
		out, _ = h.days(exitOK, file, "--json")
		says(t, out, `"new": false`, `"published": false`, `"id": "`+before.ID+`"`)
	}
	if cur, err := snapshot.OpenStore(h.store).Current(); err != nil || cur != before {
		t.Errorf("%+v is published after %+v (%v)", cur, before, err)
	}
	if built, err := snapshot.OpenStore(h.store).List(); err != nil || len(built) != 3 {
		t.Errorf("%d snapshots are in the store, want those of two days and the one that repeats: %v", len(built), err)
	}

	// The next day is one.
	h.evening(3, feedtest.Faults{})
	h.days(exitOK, file)
	h.hasAllPrices()
}
