package access

import (
	"os"
	"testing"
	"time"

	"ninepocket/access/keys"
)

// preparing is a journal with a preview key, for what is decided elsewhere.
func preparing(t *testing.T, dir string) (*LocalStore, Reservation) {
	t.Helper()
	now := Instant{Wall: testTime.UnixMilli()}
	options := LocalOptions{Now: now, CheckpointEvery: time.Hour}
	store, err := OpenLocal(dir, options.Unsynced(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })

	file := keys.NewFile()
	if _, _, err := file.Create(keys.NewKey{Tenant: "org", Surface: keys.Preview, Plan: "preview"},
		testTime); err != nil {
		t.Fatal(err)
	}
	p := principalOf(file, file.Keys[0], keys.DefaultPlans())
	p.KeyID = "key_of_org"
	spec := SpecFor(p, PricesBatch)
	standing := store.QuotaState(p, &spec, now)
	return store,
		Reservation{Principal: p, Spec: spec, Now: now, Day: standing.Day, Period: standing.Period, At: now.Wall}
}

// TestPrepared takes a batch through kills and checkpoints: it is charged once it is settled so, and
// never twice.
func TestPrepared(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, ticket := preparing(t, dir)
	killed := func() {
		t.Helper()
		copied := t.TempDir()
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		dir = copied
		store, _ = preparing(t, dir)
	}
	reserves := func(open int, used int64) {
		t.Helper()
		standing := store.QuotaState(ticket.Principal, &ticket.Spec, ticket.Now)
		if n := len(store.Unsettled()); n != open || standing.Used != used {
			t.Fatalf("%d batches are open and %d units used, want %d and %d", n, standing.Used, open, used)
		}
	}

	for _, claim := range []string{"a", "b", "c"} {
		if _, err := store.Prepare(ticket, claim, "record of "+claim); err != nil {
			t.Fatal(err)
		}
	}
	reserves(3, 0)
	killed()
	reserves(3, 0)

	// A checkpoint drops the log that they stand in; another one drops the next.
	for range 2 {
		if err := store.SaveCheckpoint(); err != nil {
			t.Fatal(err)
		}
	}
	killed()
	reserves(3, 0)

	open := store.Unsettled()
	if open[0].Claim != "a" || open[0].RecordKey != "record of a" || open[0].Tenant != "org" ||
		open[0].Period != ticket.Period {
		t.Fatalf("%+v", open[0])
	}
	for i, charged := range []bool{true, false} {
		for range 2 { // the second time says nothing
			if err := store.Settle(open[i], charged); err != nil {
				t.Fatal(err)
			}
		}
	}
	reserves(1, 1)
	killed()
	reserves(1, 1)
	if err := store.SaveCheckpoint(); err != nil {
		t.Fatal(err)
	}
	killed()
	reserves(1, 1)

	rows, err := store.Ledger("org", 0)
	if err != nil || len(rows) != 1 || rows[0].Counts != (Counts{Calls: 2, Charged: 1}) {
		t.Errorf("%+v (%v)", rows, err)
	}
}

// TestRecord enters calls that another limiter has granted.
func TestRecord(t *testing.T) {
	t.Parallel()
	store, ticket := preparing(t, t.TempDir())
	for _, charged := range []int64{1, 0, 1} {
		if err := store.Record(ticket, charged); err != nil {
			t.Fatal(err)
		}
	}
	if used := store.QuotaState(ticket.Principal, &ticket.Spec, ticket.Now).Used; used != 2 {
		t.Errorf("%d used, want 2", used)
	}

	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := store.Record(ticket, 1); err == nil {
		t.Error("a closed journal records")
	}
	if _, err := store.Prepare(ticket, "a", "r"); err == nil {
		t.Error("a closed journal prepares")
	}
}
