package snapshot_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
)

// TestDeltaOfUnshownPrices plants differences in prices that may not be shown: no delta has a row for them.
func TestDeltaOfUnshownPrices(t *testing.T) {
	before := fixture.Random(7, fixture.Small)
	planted := fixture.Lane{
		Variant: "planted", Condition: snapshot.Damaged, Cents: snapshot.NoCents, SourceAsOf: snapshot.NoTime,
		CollectedAt: snapshot.NoTime, Seen: before.Date(),
	}
	before.Cards[0].Lanes = append(before.Cards[0].Lanes, planted)
	after := before.Clone()
	after.At += 1000
	lanes := after.Cards[0].Lanes
	lanes[len(lanes)-1].Points = []snapshot.Point{{Day: before.Date(), Cents: 4242}}
	after.Cards[1].Lanes = append(after.Cards[1].Lanes, planted)

	delta, err := snapshot.NewDelta(before.Catalog(), after.Catalog(), 1)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := delta.Rows(func() {})
	if err != nil || len(rows) > 0 {
		t.Errorf("%v, %v", rows, err)
	}
}

// TestDeltas checks that a store has the deltas of its last 30 releases, as written, and none of a history
// that has ended.
func TestDeltas(t *testing.T) {
	d, ids := storeOf(t, 1, 2)
	deltas := snapshot.DeltasOf(d)
	publish := func(n int) {
		t.Helper()
		if _, err := d.Publish(ids[n%2], snapshot.PublishOptions{Now: noon, Check: anything}); err != nil {
			t.Fatal(err)
		}
	}

	for n := range 40 {
		publish(n)
		all, err := deltas.All()
		if err != nil || len(all) != min(n, snapshot.MaxDeltas) {
			t.Fatalf("after %d publications: %d deltas, %v", n+1, len(all), err)
		}
		for i, delta := range all {
			want := [2]string{ids[(n-i+1)%2], ids[(n-i)%2]}
			if delta.Epoch != uint64(n+1-i) || [2]string{delta.From, delta.To} != want {
				t.Fatalf("delta %d of epoch %d leads from %s to %s", i, delta.Epoch, delta.From, delta.To)
			}
		}
	}

	// Each row of one direction is a row of the other, with the other's value.
	all, _ := deltas.All()
	there, err := all[0].Rows(func() {})
	if err != nil {
		t.Fatal(err)
	}
	back, err := all[1].Rows(func() {})
	if err != nil || len(there) != len(back) || len(there) == 0 {
		t.Fatalf("%d rows there, %d back: %v", len(there), len(back), err)
	}
	for _, row := range there {
		k := slices.IndexFunc(back, func(other snapshot.DeltaRow) bool { return other.RowKey == row.RowKey })
		if k < 0 || back[k].Was == row.Was {
			t.Errorf("%+v is no row of the way back", row)
		}
	}

	// Without CURRENT and journal, epochs start from the beginning.
	for _, name := range []string{"CURRENT", "PUBLICATIONS"} {
		if err := os.Remove(filepath.Join(d.Root(), name)); err != nil {
			t.Fatal(err)
		}
	}
	publish(0)
	publish(1)
	if all, err := deltas.All(); err != nil || len(all) != 1 || all[0].Epoch != 2 {
		t.Errorf("%d deltas, %v", len(all), err)
	}
}

// TestDamagedDeltas changes each byte of a delta: every change is damage, and no row is read.
func TestDamagedDeltas(t *testing.T) {
	whole, err := snapshot.NewDelta(fixture.Random(1, tiny).Catalog(), fixture.Random(2, tiny).Catalog(), 1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := whole.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		bad := slices.Clone(b)
		bad[i] ^= 1
		if _, err := snapshot.ParseDelta(bad); !errors.Is(err, snapshot.ErrDamaged) {
			t.Fatalf("byte %d: %v", i, err)
		}
	}

	// A valid checksum line does not make other bytes rows.
	for i := range whole.Packed {
		bad := *whole
		bad.Packed = slices.Clone(whole.Packed)
		bad.Packed[i] ^= 1 << (i % 8)
		rows, _ := bad.Rows(func() {})
		for _, row := range rows {
			_ = fmt.Sprint(row.Condition.Code()) // in bounds
		}
	}
	newer := *whole
	newer.Format++
	b, err = newer.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := snapshot.ParseDelta(b); !errors.Is(err, snapshot.ErrNewerFormat) {
		t.Errorf("a newer format: %v", err)
	}
}
