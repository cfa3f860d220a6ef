package snapshot_test

import (
	"os"
	"path/filepath"
	"testing"

	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
)

// TestOldFormats loads one snapshot of each format there ever was and compares it with what it said when it was
// written. The files of a format are written once, with -update, and never again.
func TestOldFormats(t *testing.T) {
	root := filepath.Join("testdata", "backcompat", "format-1")
	if *update {
		if _, err := os.Stat(root); err == nil {
			t.Fatal("a published format does not change; write a new one beside it")
		}
		d := openDir(root)
		m := write(t, d, fixture.Random(11, fixture.Size{Sets: 3, Cards: 8, Sealed: 2, Days: 30}).Catalog())
		if _, err := d.Publish(m.ID, snapshot.Publishing{Now: noon, Check: anything}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"LOCK", "tmp"} {
			if err := os.Remove(filepath.Join(root, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	d := snapshot.OpenDir(root)
	cur, err := d.Current()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Verify(cur.ID); err != nil {
		t.Fatal(err)
	}
	c, err := d.Load(cur.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("backcompat", "format-1.txt"), dump(c))
}
