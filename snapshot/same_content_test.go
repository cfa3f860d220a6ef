package snapshot_test

import (
	"testing"

	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
)

// TestSameContent checks that two builds of one catalog are equal, whatever rows they refused and
// references they knew, and that no others are.
func TestSameContent(t *testing.T) {
	d, ids := storeOf(t, 1, 2)
	first, err := d.Manifest(ids[0])
	if err != nil {
		t.Fatal(err)
	}
	same := func(change func(*snapshot.Catalog), options snapshot.WriteOptions) bool {
		t.Helper()
		c := fixture.Random(1, tiny).Catalog()
		change(c)
		m, _, err := d.Write(c, options)
		if err != nil {
			t.Fatal(err)
		}
		return first.SameContent(m)
	}

	refused := snapshot.WriteOptions{Quarantine: []byte("{}\n"), QuarantineCounts: map[string]int{"a": 1}}
	if !same(func(*snapshot.Catalog) {}, refused) {
		t.Error("refused rows make other content")
	}
	gap := func(c *snapshot.Catalog) {
		c.Gaps = snapshot.Gaps{
			Feed: []uint8{0}, Game: []uint8{0}, Day: []snapshot.Day{c.Date()}, Set: []int32{snapshot.NoSet},
		}
		c.Gaps.Group.Append("")
	}
	if !same(gap, quarantine) {
		t.Error("a missing day makes other content")
	}
	if !same(func(c *snapshot.Catalog) { c.Registry.Ref.Append("~"); c.Registry.RefID.Append("x") }, quarantine) {
		t.Error("another reference makes other content")
	}
	if same(func(c *snapshot.Catalog) { c.SnapshotAt++ }, quarantine) {
		t.Error("a later snapshot is the same")
	}
	if other, err := d.Manifest(ids[1]); err != nil || first.SameContent(other) {
		t.Errorf("another catalog is the same: %v", err)
	}
}
