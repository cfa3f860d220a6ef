package snapshot_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ninepocket/internal/disk/disktest"
	"ninepocket/snapshot"
)

// foreignStore is another store with one snapshot, and a function that reads its sections.
func foreignStore(t *testing.T) (id string, manifest []byte, open func(snapshot.Section) (io.ReadCloser, error)) {
	t.Helper()
	d := openDir(t.TempDir())
	id = write(t, d, crashed).ID
	manifest, err := d.ManifestBytes(id)
	if err != nil {
		t.Fatal(err)
	}
	return id, manifest, func(s snapshot.Section) (io.ReadCloser, error) {
		return os.Open(filepath.Join(d.Path(id), s.File))
	}
}

// TestImportFailsAtEachStep fails each operation of an import and an adoption in turn: the
// released snapshot stays released and whole, and the next attempt succeeds.
func TestImportFailsAtEachStep(t *testing.T) {
	id, manifest, open := foreignStore(t)
	next := snapshot.Current{Epoch: 5, ID: id, PublishedAt: noon, ActivateAt: noon.Add(time.Minute), Previous: "x"}
	follow := func(d *snapshot.Store) error {
		err := d.ImportSnapshot(id, manifest, open)
		if err == nil {
			err = d.PublishFrom(next, "ops", snapshot.Retention{RetainCount: 3})
		}
		return err
	}

	for k := 0; ; k++ {
		d, old := publishedStore(t)
		nth := &disktest.Nth{K: k + 1}
		err := follow(d.WithDisk(unsynced(nth.Rule)))
		if nth.Failed().Op == "" {
			if err != nil || k < 10 {
				t.Fatalf("an import of %d operations ended with %v", k, err)
			}
			break
		}

		cur, currentErr := d.Current()
		switch {
		case currentErr != nil || cur.ID != old && cur != next:
			t.Errorf("after a failure of operation %d the pointer is %+v, %v", k, cur, currentErr)
		case cur.ID == old && d.Verify(old) != nil, cur.ID == id && !d.Has(id):
			t.Errorf("after a failure of operation %d what is current is not whole", k)
		}
		if err := follow(d); err != nil {
			t.Errorf("the attempt after a failure of operation %d: %v", k, err)
		}
		if cur, err := d.Current(); err != nil || cur != next || !d.Has(id) {
			t.Errorf("after the second attempt the pointer is %+v, %v", cur, err)
		}
	}
}

// TestImportRefuses checks that no part of a snapshot is stored if its bytes differ from the written bytes.
func TestImportRefuses(t *testing.T) {
	id, manifest, open := foreignStore(t)
	f := func(what, id string, manifest []byte, open func(snapshot.Section) (io.ReadCloser, error)) {
		t.Helper()
		d := openDir(t.TempDir())
		if err := d.ImportSnapshot(id, manifest, open); !errors.Is(err, snapshot.ErrDamaged) {
			t.Errorf("%s: %v, want damage", what, err)
		}
		if _, err := d.Manifest(id); !errors.Is(err, snapshot.ErrNotFound) {
			t.Errorf("%s: the snapshot is there: %v", what, err)
		}
		if err := d.PublishFrom(snapshot.Current{Epoch: 1, ID: id}, "", snapshot.Retention{}); err == nil {
			t.Errorf("%s: what is not there was adopted", what)
		}
	}

	changed := func(change func([]byte) []byte) func(snapshot.Section) (io.ReadCloser, error) {
		return func(s snapshot.Section) (io.ReadCloser, error) {
			file, err := open(s)
			if err != nil {
				return nil, err
			}
			defer file.Close()
			b, err := io.ReadAll(file)
			path := filepath.Join(t.TempDir(), "section")
			return openWritten(path, change(b), err)
		}
	}
	f("a section that is cut", id, manifest, changed(func(b []byte) []byte { return b[:len(b)-1] }))
	f("a section that is longer", id, manifest, changed(func(b []byte) []byte { return append(b, 0) }))
	f("a section with another byte", id, manifest, changed(func(b []byte) []byte { b[len(b)/2] ^= 1; return b }))
	f("a manifest that is cut", id, manifest[:len(manifest)-1], open)
	f("a manifest of another snapshot", "20260101T000000Z-0123456789abcdef", manifest, open)
}

func openWritten(path string, content []byte, err error) (io.ReadCloser, error) {
	if err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// TestAdoptEpochs adopts later epochs only.
func TestAdoptEpochs(t *testing.T) {
	id, manifest, open := foreignStore(t)
	d, old := publishedStore(t)
	if err := d.ImportSnapshot(id, manifest, open); err != nil {
		t.Fatal(err)
	}
	adopt := func(epoch uint64, id string) error {
		return d.PublishFrom(snapshot.Current{Epoch: epoch, ID: id, PublishedAt: noon}, "ops", snapshot.Retention{})
	}

	if err := errors.Join(adopt(7, id), adopt(7, id)); err != nil {
		t.Fatal(err)
	}
	for _, epoch := range []uint64{1, 6, 7} {
		refused, ok := errors.AsType[*snapshot.StaleEpochError](adopt(epoch, old))
		if !ok || refused.Here.Epoch != 7 || refused.Published.Epoch != epoch {
			t.Errorf("epoch %d with another snapshot after 7: %v", epoch, refused)
		}
	}

	// A return to an earlier snapshot is a rollback: the withdrawn snapshots come last.
	if err := adopt(9, old); err != nil {
		t.Fatal(err)
	}
	past, err := d.Publications()
	if err != nil || past[len(past)-1].Action != snapshot.ActionRollback || past[len(past)-1].By != "ops" {
		t.Errorf("the record of a step back is %+v, %v", past, err)
	}

	// A damaged pointer and no journal leave no epoch to go by.
	for _, name := range []string{"CURRENT", "PUBLICATIONS"} {
		if err := os.WriteFile(filepath.Join(d.Root(), name), []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := adopt(3, id); err != nil {
		t.Error(err)
	}
}
