package snapshot_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
)

// daysOf is a store with a snapshot a day, and the days.
func daysOf(t *testing.T, n int) (d *snapshot.Store, ids []string, days []snapshot.Day) {
	t.Helper()
	d = openDir(filepath.Join(t.TempDir(), "store"))
	for day := range n {
		c := fixture.Random(1, tiny).Catalog()
		c.SnapshotAt += int64(day) * 24 * time.Hour.Milliseconds()
		ids = append(ids, write(t, d, c).ID)
		days = append(days, snapshot.DayOf(c.SnapshotAt))
	}
	return d, ids, days
}

// rollsBack goes back to a snapshot, and checks the days that are discarded then.
func rollsBack(t *testing.T, d *snapshot.Store, id string, discard bool, want ...snapshot.Day) {
	t.Helper()
	o := snapshot.PublishOptions{Now: noon, Check: anything, DiscardDay: discard}
	if _, err := d.Rollback(id, o); err != nil {
		t.Fatal(err)
	}
	discards(t, d, want...)
}

func discards(t *testing.T, d *snapshot.Store, days ...snapshot.Day) {
	t.Helper()
	var want []string
	for _, day := range days {
		want = append(want, day.String())
	}
	cur, err := d.Current()
	if err != nil || cur.Discarded != strings.Join(want, " ") {
		t.Errorf("discarded are %q (%v), want %v", cur.Discarded, err, want)
	}
}

// TestDiscardDay checks that only the pointer knows the days that rollbacks discarded, until a snapshot
// of such a day is served.
func TestDiscardDay(t *testing.T) {
	d, ids, days := daysOf(t, 5)
	for _, id := range ids[:4] {
		publishes(t, d, id, noon)
	}
	rollsBack(t, d, "", true, days[3])
	rollsBack(t, d, "", true, days[2], days[3])
	if err := os.Remove(filepath.Join(d.Root(), "PUBLICATIONS")); err != nil {
		t.Fatal(err)
	}
	publishes(t, d, ids[4], noon)
	discards(t, d, days[2], days[3])
	// The next one goes back without a word of its day.
	rollsBack(t, d, ids[1], false, days[2], days[3])
	publishes(t, d, ids[3], noon)
	discards(t, d, days[2])

	// The journal knows the content of a damaged pointer.
	if err := os.WriteFile(filepath.Join(d.Root(), "CURRENT"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	publishes(t, d, ids[4], noon)
	discards(t, d, days[2])
}

// TestDiscardDayLater discards the day of a rollback that is done, which stays one by all records.
func TestDiscardDayLater(t *testing.T) {
	d, ids, days := daysOf(t, 3)
	o := snapshot.PublishOptions{Now: noon, Check: anything, DiscardDay: true}
	for _, id := range ids {
		publishes(t, d, id, noon)
		if cur, err := d.Rollback(id, o); err == nil {
			t.Errorf("a day that is served is discarded: %+v", cur)
		}
	}

	rollsBack(t, d, "", false)
	for range 2 {
		rollsBack(t, d, ids[1], true, days[2])
	}
	for _, damage := range []func() error{
		func() error { return nil }, func() error { return os.Remove(filepath.Join(d.Root(), "PUBLICATIONS")) },
	} {
		err := damage()
		gone, _ := d.Withdrawn()
		if err != nil || len(gone) != 1 || snapshot.DayOf(gone[0].Of.UnixMilli()) != days[2] {
			t.Errorf("withdrawn are %+v, %v", gone, err)
		}
	}

	// To go forth takes no day off the air.
	if _, err := d.Rollback(ids[2], o); err == nil {
		t.Error("a day is discarded by going to a later one")
	}
	rollsBack(t, d, ids[2], false)
	if _, err := d.Rollback("20260314T200530Z-0000000000000000", o); !errors.Is(err, snapshot.ErrNotFound) {
		t.Errorf("an unknown snapshot: %v", err)
	}
}

// TestDiscardedDayEnds checks that a discarded day is forgotten when no history reaches back to it.
func TestDiscardedDayEnds(t *testing.T) {
	d, ids, days := daysOf(t, 2)
	publishes(t, d, ids[0], noon)
	publishes(t, d, ids[1], noon)
	rollsBack(t, d, "", true, days[1])
	for _, after := range []snapshot.Day{snapshot.HistoryDays - 1, snapshot.HistoryDays} {
		c := fixture.Random(1, tiny).Catalog()
		c.SnapshotAt = (days[1] + after).Start()
		publishes(t, d, write(t, d, c).ID, noon)
		if after == snapshot.HistoryDays {
			days = days[:1]
		}
		discards(t, d, days[1:]...)
	}
}
