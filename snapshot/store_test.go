package snapshot_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
)

// TestLoadEnds: a load whose context ends stops at the next step, at a pace or not, and does not
// call the snapshot damaged.
func TestLoadEnds(t *testing.T) {
	d := snapshot.OpenStore(t.TempDir())
	m := write(t, d, fixture.Random(1, fixture.Small).Catalog())
	ctx, cancel := context.WithCancel(t.Context())
	steps := 0
	_, err := d.Load(ctx, m.ID, func() {
		steps++
		if steps == 3 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || errors.Is(err, snapshot.ErrDamaged) {
		t.Errorf("at a pace: %v, want %v", err, context.Canceled)
	}

	if steps > 20 {
		t.Errorf("%d steps were made, although it was to end at the third", steps)
	}

	if _, err := d.Load(ctx, m.ID, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("all sections at once: %v, want %v", err, context.Canceled)
	}
}

func TestRoundTrip(t *testing.T) {
	sizes := []fixture.Size{
		{},
		{Cards: 1, Days: 1},
		{Sets: 3},
		{Sealed: 2, Days: 3},
		tiny, fixture.Small,
		{Sets: 9, Cards: 120, Sealed: 20},
	}

	for seed, size := range sizes {
		c := fixture.Random(uint64(seed), size).Catalog()
		d := snapshot.OpenStore(t.TempDir())
		m := write(t, d, c)
		got, err := d.Load(context.Background(), m.ID, nil)
		if err != nil {
			t.Fatal(err)
		}

		written := dump(c)
		loaded := dump(got)
		if !reflect.DeepEqual(written, loaded) {
			t.Errorf("size %+v: loaded differs from written (-written +loaded):\n%s", size, cmp.Diff(written, loaded))
		}

		paced, err := d.Load(context.Background(), m.ID, func() {})
		if err != nil {
			t.Fatal(err)
		}

		if slow := dump(paced); !reflect.DeepEqual(loaded, slow) {
			t.Errorf("size %+v: loaded at a pace it differs (-fast +paced):\n%s", size, cmp.Diff(loaded, slow))
		}

		if got.ID != m.ID {
			t.Errorf("loaded catalog has id %q, its manifest %q", got.ID, m.ID)
		}

		if err := d.Verify(m.ID); err != nil {
			t.Error(err)
		}

		again, err := snapshot.EncodeSections(got)
		if err != nil {
			t.Fatal(err)
		}

		first, err := snapshot.EncodeSections(c)
		if err != nil {
			t.Fatal(err)
		}

		if !reflect.DeepEqual(first, again) {
			t.Errorf("size %+v: the loaded catalog is spelt differently", size)
		}
	}
}

// TestLoadBase: a base lacks only the tables that a build computes again, and their files are checked, too.
func TestLoadBase(t *testing.T) {
	c := fixture.Random(1, fixture.Small).Catalog()
	d := openDir(t.TempDir())
	m := write(t, d, c)
	base, err := d.LoadBase(t.Context(), m.ID)
	if err != nil {
		t.Fatal(err)
	}

	rows := func(c *snapshot.Catalog) [2]int {
		return [2]int{len(c.Stats.Lane), len(c.Movers.Up) + len(c.Movers.Down)}
	}
	if written := rows(c); slices.Contains(written[:], 0) || rows(base) != [2]int{} {
		t.Errorf("the base has %d rows of statistics and movers, the snapshot %d", rows(base), written)
	}
	base.Stats = c.Stats
	base.Movers = c.Movers
	if dump(base) != dump(c) {
		t.Errorf("the base differs (-written +base):\n%s", cmp.Diff(dump(c), dump(base)))
	}

	path := filepath.Join(d.Path(m.ID), sectionOf(m, "stats").File)
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	packed[len(packed)/2] ^= 1
	if err := os.WriteFile(path, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = d.LoadBase(t.Context(), m.ID)
	if section := damagedSection(t, err); section != "stats" {
		t.Errorf("section %q is named", section)
	}
}

func TestManifestCounts(t *testing.T) {
	w := fixture.Random(3, fixture.Small)
	d := openDir(t.TempDir())
	m := write(t, d, w.Catalog())
	want := snapshot.Counts{Games: 2, Sets: len(w.Sets), Cards: len(w.Cards), Products: len(w.Sealed), Quarantined: 2}
	for _, c := range w.Cards {
		if c.Product {
			want.Products++
		}
		want.Lanes += len(c.Lanes)
		for _, l := range c.Lanes {
			want.HistoryPoints += len(l.Points)
		}
	}

	for _, s := range w.Sealed {
		want.Lanes += len(s.Lanes)
		for _, l := range s.Lanes {
			want.HistoryPoints += len(l.Points)
		}
	}

	if diff := cmp.Diff(want, m.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(map[string]int{"bad_cents": 2}, m.Quarantine); diff != "" {
		t.Errorf("quarantine (-want +got):\n%s", diff)
	}

	report, err := os.ReadFile(d.QuarantinePath(m.ID))
	if err != nil || !bytes.Equal(report, quarantine.Quarantine) {
		t.Errorf("quarantine report is %q, %v", report, err)
	}

	var files int64
	for _, s := range m.Sections {
		info, err := os.Stat(filepath.Join(d.Path(m.ID), s.File))
		if err != nil {
			t.Fatal(err)
		}
		files += info.Size()
	}

	if m.Bytes() != files {
		t.Errorf("the manifest says %d bytes, the files have %d", m.Bytes(), files)
	}
}

// snapshotFiles reads all files of a snapshot by name.
func snapshotFiles(t testing.TB, d *snapshot.Store, id string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(d.Path(id))
	if err != nil {
		t.Fatal(err)
	}

	all := map[string][]byte{}
	for _, e := range entries {
		all[e.Name()], err = os.ReadFile(filepath.Join(d.Path(id), e.Name()))
		if err != nil {
			t.Fatal(err)
		}
	}

	return all
}

func TestEqualContentHasEqualBytesAndID(t *testing.T) {
	var first map[string][]byte
	var id string
	for range 4 {
		d := openDir(t.TempDir())
		m := write(t, d, fixture.Random(5, fixture.Small).Catalog())
		files := snapshotFiles(t, d, m.ID)
		if first == nil {
			first = files
			id = m.ID
		}

		if m.ID != id || !cmp.Equal(first, files) {
			t.Fatalf("equal content gave ids %q and %q, equal files: %t", id, m.ID, cmp.Equal(first, files))
		}
	}
}

func TestOtherContentHasAnotherID(t *testing.T) {
	d := openDir(t.TempDir())
	w := fixture.Random(5, tiny)
	seen := map[string]string{}
	f := func(what string, c *snapshot.Catalog, o snapshot.WriteOptions) {
		t.Helper()
		m, created, err := d.Write(c, o)
		if err != nil || !created {
			t.Fatalf("%s: created %t, %v", what, created, err)
		}

		if other, ok := seen[m.ID]; ok {
			t.Errorf("%s has the id of %s", what, other)
		}

		seen[m.ID] = what
	}

	f("the world", w.Catalog(), snapshot.WriteOptions{})
	f("with a quarantine report", w.Catalog(), quarantine)
	later := w.Clone()
	later.At += 10
	f("10 ms later", later.Catalog(), snapshot.WriteOptions{})
	renamed := w.Clone()
	renamed.Cards[0].Name += "!"
	f("a card renamed", renamed.Catalog(), snapshot.WriteOptions{})
}

func TestWriteAgain(t *testing.T) {
	d := openDir(t.TempDir())
	c := fixture.Random(1, tiny).Catalog()
	first := write(t, d, c)
	again, created, err := d.Write(c, quarantine)
	if err != nil || created || again.ID != first.ID {
		t.Fatalf("writing again gave id %q, created %t, %v", again.ID, created, err)
	}

	// A damaged snapshot is replaced by a whole one.
	path := filepath.Join(d.Path(first.ID), "cards.msgpack.zst")
	if err := os.WriteFile(path, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}

	_, created, err = d.Write(c, quarantine)
	if err != nil || !created {
		t.Fatalf("writing over a damaged snapshot: created %t, %v", created, err)
	}
	if err := d.Verify(first.ID); err != nil {
		t.Error(err)
	}

	entries, err := os.ReadDir(filepath.Join(d.Root(), "tmp"))
	if err != nil || len(entries) != 0 {
		t.Errorf("tmp holds %v, %v after all writes", entries, err)
	}
}

func TestWriteRefusesWhatIsNotConsistent(t *testing.T) {
	d := openDir(t.TempDir())
	c := fixture.Random(1, tiny).Catalog()
	c.Cards.Game[0] = 9
	if _, _, err := d.Write(c, quarantine); !errors.Is(err, snapshot.ErrDamaged) {
		t.Errorf("writing a catalog with a reference to nowhere: %v", err)
	}
	if all, err := d.List(); err != nil || len(all) != 0 {
		t.Errorf("the store holds %d snapshots, %v", len(all), err)
	}
}

func TestListNewestFirst(t *testing.T) {
	d := openDir(t.TempDir())
	if all, err := d.List(); err != nil || len(all) != 0 {
		t.Errorf("a store that does not exist lists %v, %v", all, err)
	}

	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var want []string
	for i, hours := range []int{2, 0, 3, 1, 3} {
		m := write(t, d, fixture.Random(uint64(i), tiny).Catalog())
		at := start.Add(time.Duration(hours) * time.Hour)
		if err := os.Chtimes(filepath.Join(d.Path(m.ID), "manifest"), at, at); err != nil {
			t.Fatal(err)
		}
		want = append(want, m.ID)
	}

	want = []string{max(want[2], want[4]), min(want[2], want[4]), want[0], want[3], want[1]}
	damaged := write(t, d, fixture.Random(9, tiny).Catalog())
	if err := os.WriteFile(filepath.Join(d.Path(damaged.ID), "manifest"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(d.Root(), "snapshots", "lost+found"), 0o755); err != nil {
		t.Fatal(err)
	}

	all, err := d.List()
	if err != nil {
		t.Fatal(err)
	}

	var got []string
	for _, m := range all {
		got = append(got, m.ID)
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}

	if !all[0].CreatedAt.Equal(start.Add(3 * time.Hour)) {
		t.Errorf("the newest was created at %v", all[0].CreatedAt)
	}
}

func TestNoPathOutsideTheStore(t *testing.T) {
	root := t.TempDir()
	d := openDir(filepath.Join(root, "store"))
	m := write(t, d, fixture.Random(1, tiny).Catalog())
	// A whole snapshot outside of the snapshots folder must not be reachable by any form of its
	// path.
	if err := os.CopyFS(filepath.Join(root, m.ID), os.DirFS(d.Path(m.ID))); err != nil {
		t.Fatal(err)
	}

	for _, id := range []string{
		"", ".", "..", "../..", "../../" + m.ID, "../snapshots/" + m.ID, m.ID + "/", "./" + m.ID, "/" + m.ID,
		m.ID + "/../" + m.ID,
		m.ID + "\x00", m.ID[:len(m.ID)-1], m.ID + "0", m.ID + "\n", "20260314T200530Z-0123456789ABCDEF", `..\` + m.ID,
	} {
		if _, err := d.Manifest(id); !errors.Is(err, snapshot.ErrNotFound) {
			t.Errorf("Manifest(%q): %v", id, err)
		}
		if _, err := d.Load(context.Background(), id, nil); !errors.Is(err, snapshot.ErrNotFound) {
			t.Errorf("Load(%q): %v", id, err)
		}
		if err := d.Verify(id); !errors.Is(err, snapshot.ErrNotFound) {
			t.Errorf("Verify(%q): %v", id, err)
		}

		if _, err := d.Publish(id, snapshot.PublishOptions{Now: time.Now(), Check: anything}); !errors.Is(err,
			snapshot.ErrNotFound) {
			t.Errorf("Publish(%q): %v", id, err)
		}
	}
}
