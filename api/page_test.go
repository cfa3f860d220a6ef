package api

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"ninepocket/engine/cursor"
)

// TestTagsTurn wants the validator of a page to change before the cursor in it expires, and no other's.
func TestTagsTurn(t *testing.T) {
	view := testView(t)
	tag := func(at time.Time, more bool) uint64 {
		r := &Request{View: view, Op: searchOperation(), Now: at}
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

// TestCursorsAreReportedBesideOtherProblems sends cursors that are good, foreign and broken, alone
// and together with a wrong limit. A certain fault of a cursor is named with the rest.
func TestCursorsAreReportedBesideOtherProblems(t *testing.T) {
	view := testView(t)
	service := testService(t, view)
	out, fault := run(service, view, searchOperation(), ask{query: "sort=price_asc&limit=2"})
	if fault != nil {
		t.Fatal(fault)
	}
	var page struct {
		Next string `json:"next_cursor"`
	}
	if err := json.Unmarshal(out.Body, &page); err != nil || page.Next == "" {
		t.Fatalf("no cursor: %v", err)
	}

	const limit = "limit must be between 1 and 50 (got 0)"
	const again = ": leave it out to start again from the first page"
	for query, want := range map[string]string{
		"sort=price_asc&cursor=" + page.Next:                 "",
		"sort=newest&cursor=" + page.Next:                    "cursor was issued for other parameters" + again,
		"sort=price_asc&limit=0&cursor=" + page.Next:         limit,
		"sort=newest&limit=0&cursor=" + page.Next:            limit,
		"sort=newest&limit=0&cursor=x":                       limit + "; cursor is not one that this service issued",
		"limit=0&cursor=" + strings.Repeat("x", 513):         limit + "; cursor must have between 1 and 512",
		"sort=price_asc&limit=0&limit=0&cursor=" + page.Next: "limit is given 2 times",
	} {
		_, fault := run(service, view, searchOperation(), ask{query: query})
		got := ""
		if fault != nil {
			got = fault.Detail
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" || want == limit && got != limit {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}
