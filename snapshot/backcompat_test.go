package snapshot_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
)

// TestOldFormats loads one snapshot of each format so far and compares it with its dump from the
// time of writing. The files of a format are written once, with -update, and never again.
func TestOldFormats(t *testing.T) {
	for format := 1; format <= snapshot.Format; format++ {
		name := fmt.Sprintf("format-%d", format)
		t.Run(name, func(t *testing.T) { loadsOldFormat(t, name, format) })
	}
}

func loadsOldFormat(t *testing.T, name string, format int) {
	root := filepath.Join("testdata", "backcompat", name)
	if _, err := os.Stat(root); err != nil && *update && format == snapshot.Format {
		d := openDir(root)
		m := write(t, d, fixture.Random(11, fixture.Size{Sets: 3, Cards: 8, Sealed: 2, Days: 60}).Catalog())
		if _, err := d.Publish(m.ID, snapshot.PublishOptions{Now: noon, Check: anything}); err != nil {
			t.Fatal(err)
		}

		for _, name := range []string{"LOCK", "tmp", "PUBLICATIONS"} {
			if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
				t.Fatal(err)
			}
		}
	}

	d := snapshot.OpenStore(root)
	cur, err := d.Current()
	if err != nil {
		t.Fatal(err)
	}
	if m, err := d.Manifest(cur.ID); err != nil || m.Format != format {
		t.Fatalf("it is of format %+v, %v", m, err)
	}
	if err := d.Verify(cur.ID); err != nil {
		t.Fatal(err)
	}

	c, err := d.Load(context.Background(), cur.ID, nil)
	if err != nil {
		t.Fatal(err)
	}

	golden(t, filepath.Join("backcompat", name+".txt"), dump(c))
}
