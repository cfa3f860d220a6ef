package snapshot_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ninepocket/internal/disk/disktest"
	"ninepocket/snapshot"
)

// publishes makes a snapshot current at an instant.
func publishes(t testing.TB, d *snapshot.Store, id string, at time.Time) snapshot.Current {
	t.Helper()
	cur, err := d.Publish(id, snapshot.PublishOptions{Now: at, Check: anything})
	if err != nil {
		t.Fatal(err)
	}
	return cur
}

func TestRollback(t *testing.T) {
	d, ids := storeOf(t, 1, 2, 3, 4)
	if _, err := d.Rollback("", snapshot.PublishOptions{Now: noon, Check: anything}); !errors.Is(err,
		snapshot.ErrNoPrevious) {
		t.Errorf("rolling back an empty store: %v", err)
	}

	for i, id := range ids[:3] {
		publishes(t, d, id, noon.Add(time.Duration(i)))
	}

	epoch := uint64(3)
	f := func(given, want string) {
		t.Helper()
		cur, err := d.Rollback(given, snapshot.PublishOptions{Now: noon.Add(time.Hour), Check: anything})
		epoch++
		if err != nil || cur.ID != want || cur.Epoch != epoch {
			t.Fatalf("rolling back to %q gave %+v, %v; want %s in epoch %d", given, cur, err, want, epoch)
		}
	}

	f("", ids[1])
	f("", ids[0]) // a second one goes one further back, not forth again
	if _, err := d.Rollback("", snapshot.PublishOptions{Now: noon, Check: anything}); !errors.Is(err,
		snapshot.ErrNoPrevious) {
		t.Errorf("before the first publication: %v", err)
	}

	f(ids[2], ids[2])
	f("", ids[1])
	publishes(t, d, ids[3], noon.Add(2*time.Hour)) // a new day after the rollback
	epoch++
	f("", ids[1]) // the snapshot that it replaced, not the withdrawn one

	refusal := errors.New("cannot be served")
	for given, want := range map[string]error{
		"20260314T200530Z-0000000000000000": snapshot.ErrNotFound, "no-id": snapshot.ErrNotFound, ids[0]: refusal,
	} {
		check := func(*snapshot.Catalog) error { return refusal }
		if _, err := d.Rollback(given, snapshot.PublishOptions{Now: noon, Check: check}); !errors.Is(err, want) {
			t.Errorf("rolling back to %q: want %v, got %v", given, want, err)
		}
	}

	if _, err := d.Rollback(ids[1], snapshot.PublishOptions{Now: noon, Check: anything}); err == nil {
		t.Error("rolled back to the current snapshot")
	}
	if cur, err := d.Current(); err != nil || cur.ID != ids[1] {
		t.Errorf("after refusals current is %+v, %v", cur, err)
	}
}

func TestGuardsAndOverrides(t *testing.T) {
	d, ids := storeOf(t, 1, 2)
	publishes(t, d, ids[0], noon)
	judge := func(current, next *snapshot.StoredSnapshot) []snapshot.GuardResult {
		if current.Manifest.ID != ids[0] || current.Catalog.ID != ids[0] || next.Manifest.ID != ids[1] {
			t.Errorf("judged %s against %s", next.Manifest.ID, current.Manifest.ID)
		}

		return []snapshot.GuardResult{
			{Name: "a", Status: snapshot.Passed},
			{Name: "b", Status: snapshot.Refused, Message: "b is broken"},
			{Name: "c", Status: snapshot.Refused, Message: "c as well"},
		}
	}

	o := snapshot.PublishOptions{Now: noon.Add(1), Check: anything, Judge: judge}
	for _, overrides := range [][]snapshot.Override{
		nil,
		{{Guard: "b", Reason: "planned"}},
		{{Guard: "a", Reason: "planned"}},
	} {
		o.Overrides = overrides
		_, err := d.Publish(ids[1], o)
		refused, ok := errors.AsType[*snapshot.RefusedError](err)
		if !ok || refused.ID != ids[1] || len(refused.Verdicts) != 3 {
			t.Fatalf("with overrides %v: %v", overrides, err)
		}
		if cur, err := d.Current(); err != nil || cur.ID != ids[0] {
			t.Errorf("a refusal made %+v current, %v", cur, err)
		}
	}

	o.Overrides = []snapshot.Override{{Guard: "b", Reason: "planned"}, {Guard: "c", Reason: "planned"}}
	cur, err := d.Publish(ids[1], o)
	if err != nil {
		t.Fatal(err)
	}

	past, err := d.Publications()
	if err != nil {
		t.Fatal(err)
	}

	want := []snapshot.Publication{
		{Current: snapshot.Current{Epoch: 1, ID: ids[0], PublishedAt: noon}, Action: snapshot.ActionPublish},
		{Current: cur, Action: snapshot.ActionPublish, Overrides: o.Overrides, Guards: []snapshot.GuardResult{
			{Name: "a", Status: snapshot.Passed},
			{Name: "b", Status: snapshot.Overridden, Message: "b is broken"},
			{Name: "c", Status: snapshot.Overridden, Message: "c as well"},
		}},
	}

	if diff := cmp.Diff(want, past); diff != "" {
		t.Errorf("publications (-want +got):\n%s", diff)
	}
}

// TestGuardsOverDamage publishes over a current snapshot that does not load: there is nothing to
// compare with.
func TestGuardsOverDamage(t *testing.T) {
	d, ids := storeOf(t, 1, 2)
	publishes(t, d, ids[0], noon)
	if err := os.WriteFile(filepath.Join(d.Path(ids[0]), "cards.msgpack.zst"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}

	judged := false
	judge := func(current, _ *snapshot.StoredSnapshot) []snapshot.GuardResult { judged = current == nil; return nil }
	if _, err := d.Publish(ids[1], snapshot.PublishOptions{Now: noon, Check: anything, Judge: judge}); err != nil ||
		!judged {
		t.Errorf("published: %v; judged against nothing: %t", err, judged)
	}
}

// TestJournalIsNoMust damages and removes the journal: publishing and rolling back to a named
// snapshot still work.
func TestJournalIsNoMust(t *testing.T) {
	for _, content := range []string{"", "x", "-"} {
		d, ids := storeOf(t, 1, 2, 3)
		publishes(t, d, ids[0], noon)
		publishes(t, d, ids[1], noon)
		path := filepath.Join(d.Root(), "PUBLICATIONS")
		err := os.Remove(path)
		if content != "-" {
			err = os.WriteFile(path, []byte(content), 0o600)
		}

		if err != nil {
			t.Fatal(err)
		}

		cur, err := d.Rollback("", snapshot.PublishOptions{Now: noon, Check: anything})
		if err != nil || cur.ID != ids[0] || cur.Epoch != 3 {
			t.Errorf("rolled back to %+v, %v: the pointer alone knows the one before", cur, err)
		}

		if cur := publishes(t, d, ids[2], noon); cur.Epoch != 4 {
			t.Errorf("published %+v", cur)
		}

		if past, err := d.Publications(); err != nil || len(past) != 2 {
			t.Errorf("the new journal has %+v, %v", past, err)
		}
	}
}

// TestDamagedPointerIsKnown damages CURRENT: the journal knows its epoch and its snapshot.
func TestDamagedPointerIsKnown(t *testing.T) {
	d, ids := storeOf(t, 1, 2)
	publishes(t, d, ids[0], noon)
	was := publishes(t, d, ids[1], noon)
	if err := os.WriteFile(filepath.Join(d.Root(), "CURRENT"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	cur, err := d.Publish(ids[1], snapshot.PublishOptions{Now: noon, Check: anything})
	if err != nil || cur.ID != ids[1] || cur.Epoch != was.Epoch+1 {
		t.Errorf("publishing what was current gave %+v, %v", cur, err)
	}
}

// TestPublished checks for each released snapshot, the latest first and the last rolled back
// last. It never lists one that was only built, that guards refused, or whose release a crash
// prevented.
func TestPublished(t *testing.T) {
	d, ids := storeOf(t, 1, 2, 3, 4, 5, 6)
	want := func(what string, want ...string) {
		t.Helper()
		if got, err := d.Published(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", what, got, err, want)
		}
	}

	want("nothing published")
	for i, id := range []string{ids[0], ids[1], ids[2], ids[1]} {
		publishes(t, d, id, noon.Add(time.Duration(i)))
	}

	refuse := func(_, _ *snapshot.StoredSnapshot) []snapshot.GuardResult {
		return []snapshot.GuardResult{{Name: "a", Status: snapshot.Refused}}
	}
	if _, err := d.Publish(ids[4], snapshot.PublishOptions{Now: noon, Check: anything, Judge: refuse}); err == nil {
		t.Error("a refused snapshot is published")
	}

	want("again, and one refused", ids[1], ids[2], ids[0])
	if _, err := d.Rollback(ids[0], snapshot.PublishOptions{Now: noon, Check: anything}); err != nil {
		t.Fatal(err)
	}

	want("rolled back", ids[0], ids[2], ids[1])

	// The state after a crash between the journal and the pointer.
	pointer := filepath.Join(d.Root(), "CURRENT")
	before, err := os.ReadFile(pointer)
	if err != nil {
		t.Fatal(err)
	}

	publishes(t, d, ids[3], noon)
	write := func(name string, content []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(d.Root(), name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	write("CURRENT", before)
	want("crashed", ids[0], ids[2], ids[1])

	// The same snapshot, published again, is withdrawn no more.
	publishes(t, d, ids[1], noon)
	want("published after its rollback", ids[1], ids[0], ids[2])
	write("CURRENT", []byte("x"))
	want("a damaged pointer", ids[1], ids[0], ids[2])
	write("PUBLICATIONS", []byte("x"))
	if got, err := d.Published(); !errors.Is(err, snapshot.ErrDamaged) {
		t.Errorf("with pointer and journal damaged: %v, %v", got, err)
	}

	// The pointer alone knows two, next to a damaged journal or none.
	write("CURRENT", before)
	want("a damaged journal", ids[0], ids[1])
}

// idsOf lists a store, newest first.
func idsOf(t testing.TB, d *snapshot.Store) []string {
	t.Helper()
	all, err := d.List()
	if err != nil {
		t.Fatal(err)
	}

	ids := []string{}
	for _, m := range all {
		ids = append(ids, m.ID)
	}

	return ids
}

// aged is a store whose snapshots were built an hour apart, ids[0] first.
func aged(t testing.TB, n int) (d *snapshot.Store, ids []string) {
	t.Helper()
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = uint64(i + 1)
	}

	d, ids = storeOf(t, seeds...)
	for i, id := range ids {
		at := noon.Add(time.Duration(i) * time.Hour)
		if err := os.Chtimes(filepath.Join(d.Path(id), "manifest"), at, at); err != nil {
			t.Fatal(err)
		}
	}

	return d, ids
}

func TestPrune(t *testing.T) {
	d, ids := aged(t, 8)
	publishes(t, d, ids[0], noon)
	publishes(t, d, ids[1], noon.Add(time.Minute))
	publishes(t, d, ids[2], noon.Add(time.Hour)) // so that ids[1] was current until then
	publishes(t, d, ids[3], noon.Add(2*time.Hour))
	if err := d.Pin(ids[4]); err != nil {
		t.Fatal(err)
	}
	if err := d.Pin(ids[4]); err != nil {
		t.Errorf("holding twice: %v", err)
	}

	left := filepath.Join(d.Root(), "tmp", "left")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}

	done, err := d.Prune(snapshot.Retention{RetainCount: 2, MinAge: 90 * time.Minute},
		noon.Add(2*time.Hour+time.Minute))
	if err != nil {
		t.Fatal(err)
	}

	retained := map[string]string{ids[3]: "current", ids[2]: "previous", ids[1]: "recent", ids[4]: "held"}
	if diff := cmp.Diff(retained, done.Retained); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}

	got := idsOf(t, d)
	want := []string{ids[7], ids[6], ids[4], ids[3], ids[2], ids[1]}
	if !slices.Equal(got, want) {
		t.Errorf("left are %v, want %v", got, want)
	}

	if _, err := os.Stat(left); err == nil {
		t.Error("what a crash left is still there")
	}
	if err := d.Unpin(ids[4]); err != nil {
		t.Fatal(err)
	}
	if err := d.Unpin(ids[4]); !errors.Is(err, snapshot.ErrNotPinned) {
		t.Errorf("giving up a hold twice: %v", err)
	}
	if err := d.Pin("20260314T200530Z-0000000000000000"); !errors.Is(err, snapshot.ErrNotFound) {
		t.Errorf("holding nothing: %v", err)
	}
	if _, err := d.Prune(snapshot.Retention{RetainCount: 1}, noon.Add(30*time.Hour)); err != nil {
		t.Fatal(err)
	}

	got = idsOf(t, d)
	want = []string{ids[7], ids[3], ids[2]}
	if !slices.Equal(got, want) {
		t.Errorf("left are %v, want %v", got, want)
	}

	// A release cleans up by itself.
	if _, err := d.Publish(ids[7],
		snapshot.PublishOptions{
			Now: noon.Add(31 * time.Hour), Check: anything,
			Retention: snapshot.Retention{RetainCount: 1},
		}); err != nil {
		t.Fatal(err)
	}

	got = idsOf(t, d)
	want = []string{ids[7], ids[3]}
	if !slices.Equal(got, want) {
		t.Errorf("left are %v, want %v", got, want)
	}
}

// TestPruneKnowsWhatIsNeeded removes nothing where CURRENT cannot be read.
func TestPruneKnowsWhatIsNeeded(t *testing.T) {
	d, ids := aged(t, 3)
	publishes(t, d, ids[0], noon)
	if err := os.WriteFile(filepath.Join(d.Root(), "CURRENT"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Prune(snapshot.Retention{RetainCount: 1}, noon); !errors.Is(err, snapshot.ErrDamaged) {
		t.Errorf("pruned: %v", err)
	}

	if got := idsOf(t, d); len(got) != 3 {
		t.Errorf("left are %v", got)
	}
}

// TestPowerCutsOfPrune cuts the power during retention: each snapshot is whole or gone, and needed
// snapshots stay.
func TestPowerCutsOfPrune(t *testing.T) {
	t.Parallel()
	d, ids := aged(t, 4)
	publishes(t, d, ids[1], noon)
	publishes(t, d, ids[3], noon)
	dice := rand.New(rand.NewPCG(1, 2))
	states := 0
	steps := eachStep(d, func(before string, files map[string][]byte) {
		states++
		root := t.TempDir()
		if err := disktest.WriteFiles(root, files); err != nil {
			t.Fatal(err)
		}

		d := openDir(filepath.Join(root, "store"))
		left := idsOf(t, d)
		for _, id := range left {
			if err := d.Verify(id); err != nil {
				t.Errorf("before %s: %v", before, err)
			}
		}

		if !slices.Contains(left, ids[1]) || !slices.Contains(left, ids[3]) {
			t.Errorf("before %s only %v are left", before, left)
		}

		if entries, _ := os.ReadDir(filepath.Join(d.Root(), "snapshots")); len(entries) != len(left) {
			t.Errorf("before %s %d folders hold %d snapshots", before, len(entries), len(left))
		}
	}, dice, func(d *snapshot.Store) {
		done, err := d.Prune(snapshot.Retention{RetainCount: 1}, noon.Add(time.Hour))
		if err != nil || len(done.Removed) != 2 {
			t.Fatalf("removed %+v, %v", done, err)
		}
	})

	t.Logf("%d states after %d operations", states, steps)
}

// TestJournalIsBounded publishes more often than the journal's limit.
func TestJournalIsBounded(t *testing.T) {
	d, ids := storeOf(t, 1, 2)
	publishes(t, d, ids[0], noon)
	past, err := d.Publications()
	if err != nil {
		t.Fatal(err)
	}

	// A store that published 490 times before, each time at an epoch below those to come.
	if err := d.Remember(append(slices.Repeat(past, 490), past...)); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		publishes(t, d, ids[(i+1)%2], noon.Add(time.Duration(i+1)))
	}

	past, err = d.Publications()
	if err != nil || len(past) != 500 || past[499].Epoch != 21 || past[479].Epoch != 1 || past[480].Epoch != 2 {
		t.Errorf("%d publications are remembered, %v", len(past), err)
	}
}
