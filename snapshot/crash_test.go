package snapshot_test

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ninepocket/internal/disk/disktest"
	"ninepocket/internal/fixture"
	"ninepocket/internal/testsweep"
	"ninepocket/snapshot"
)

var update = flag.Bool("update", false, "write the expected files of data-driven tests anew")

// golden compares text with the file of a name in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

var (
	crashed   = fixture.Random(7, tiny).Catalog()
	published = fixture.Random(8, tiny).Catalog()
)

// unsynced is a disk with a rule that waits for nothing.
func unsynced(rule disktest.Rule) *disktest.Disk {
	d := disktest.New(rule)
	d.Unsynced = true
	return d
}

// record runs Write and Publish of a catalog on a store. It returns the calls to the disk, with
// paths relative to the store's parent, and the number of calls by Write.
func record(t testing.TB, d *snapshot.Store, c *snapshot.Catalog) (calls []disktest.Call, writing int, id string) {
	t.Helper()
	seen := d.WithDisk(unsynced(func(call disktest.Call) disktest.Effect {
		for _, path := range []*string{&call.Path, &call.To} {
			if *path != "" {
				*path, _ = filepath.Rel(filepath.Dir(d.Root()), *path)
			}
		}
		if call.Writes() {
			calls = append(calls, call)
		}
		return disktest.Effect{}
	}))

	id = write(t, seen, c).ID
	writing = len(calls)
	if _, err := seen.Publish(id, snapshot.PublishOptions{Now: noon, Check: anything}); err != nil {
		t.Fatal(err)
	}

	return calls, writing, id
}

// eachStep cuts the power before each call of work to the disk of a store, and after the last call. It
// reports every possible content of the store's parent after a cut, except for tmp, which has no
// readers. It returns the number of calls.
func eachStep(
	d *snapshot.Store, left func(before string, files map[string][]byte), dice *rand.Rand, work func(*snapshot.Store),
) (calls int) {
	disk := unsynced(nil)
	disk.Watch(filepath.Dir(d.Root()))
	cut := func(before string) {
		for _, files := range disk.PowerCuts(dice, "/tmp/") {
			left(before, files)
		}
	}
	disk.Set(func(call disktest.Call) disktest.Effect {
		if call.Writes() {
			calls++
			cut(call.String())
		}
		return disktest.Effect{}
	})

	work(d.WithDisk(disk))
	cut("the end")
	return calls
}

// publishedStore is a store with one published snapshot.
func publishedStore(t testing.TB) (d *snapshot.Store, id string) {
	t.Helper()
	d = openDir(filepath.Join(t.TempDir(), "store"))
	id = write(t, d, published).ID
	if _, err := d.Publish(id, snapshot.PublishOptions{Now: noon, Check: anything}); err != nil {
		t.Fatal(err)
	}
	return d, id
}

// TestOrderOfWrites shows every operation of the first Write and Publish of a store, and of the
// second.
func TestOrderOfWrites(t *testing.T) {
	d := openDir(filepath.Join(t.TempDir(), "store"))
	var b strings.Builder
	for _, c := range []*snapshot.Catalog{published, crashed} {
		ops, writing, id := record(t, d, c)
		for i, o := range ops {
			switch i {
			case 0:
				fmt.Fprintln(&b, "# Write")
			case writing:
				fmt.Fprintln(&b, "# Publish")
			}
			fmt.Fprintln(&b, strings.ReplaceAll(o.String(), id, "ID"))
		}
	}

	golden(t, "order.txt", b.String())
}

// TestFailureAtEachStep fails each operation in turn: the published snapshot stays published and
// whole, and the next attempt succeeds.
func TestFailureAtEachStep(t *testing.T) {
	whole, old := publishedStore(t)
	fresh := func() *snapshot.Store {
		root := t.TempDir()
		if err := os.CopyFS(root, os.DirFS(whole.Root())); err != nil {
			t.Fatal(err)
		}
		return openDir(root)
	}

	ops, _, _ := record(t, fresh(), crashed)
	for k, failing := range ops {
		d := fresh()
		broken := d.WithDisk(unsynced((&disktest.Nth{K: k + 1}).Rule))

		m, _, err := broken.Write(crashed, quarantine)
		var warned string
		if err == nil {
			_, err = broken.Publish(m.ID, snapshot.PublishOptions{
				Now: noon, Check: anything, OnWarning: func(text string) { warned = text },
			})
		}

		// The change is too small for a release.
		ofDelta := strings.Contains(failing.Path, "changes")
		if ofDelta && (err != nil || !strings.Contains(warned, disktest.ErrDisk.Error())) {
			t.Fatalf("step %d (%s) failed: %v, warned of %q", k, failing, err, warned)
		}
		if !ofDelta && !errors.Is(err, disktest.ErrDisk) {
			t.Fatalf("step %d (%s) failed and nobody says so: %v", k, failing, err)
		}

		cur, err := d.Current()
		if err != nil {
			t.Fatalf("after step %d (%s) failed: %v", k, failing, err)
		}

		if published := k == len(ops)-1 || ofDelta; (cur.ID == old) == published {
			t.Errorf("after step %d (%s) failed %q is current", k, failing, cur.ID)
		}

		if err := d.Verify(cur.ID); err != nil {
			t.Errorf("after step %d (%s) failed: %v", k, failing, err)
		}

		id := write(t, d, crashed).ID
		if cur, err := d.Publish(id, snapshot.PublishOptions{Now: noon, Check: anything}); err != nil ||
			cur.Epoch != 2 {
			t.Errorf("publishing after step %d (%s) had failed: %+v, %v", k, failing, cur, err)
		}
	}
}

// powerCuts is a release whose power is cut before each of its calls.
type powerCuts struct {
	parent  string // a copy of the directory above the store before the release
	calls   []disktest.Call
	writing int
	old, id string
	known   map[string]string // outcomes by state
}

// newPowerCuts is the first or the second release of a store.
func newPowerCuts(t testing.TB, second bool) *powerCuts {
	t.Helper()
	d := openDir(filepath.Join(t.TempDir(), "store"))
	p := &powerCuts{known: map[string]string{}}
	if second {
		d, p.old = publishedStore(t)
	}

	p.parent = t.TempDir()
	if err := os.CopyFS(p.parent, os.DirFS(filepath.Dir(d.Root()))); err != nil {
		t.Fatal(err)
	}

	p.calls, p.writing, p.id = record(t, d, crashed)
	return p
}

// outcome is the result of a power cut after k calls: "" when all is well.
func (p *powerCuts) outcome(t testing.TB, files map[string][]byte, k int) string {
	t.Helper()
	wrote := k >= p.writing
	published := k == len(p.calls)
	h := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s %d\n", path, len(files[path]))
		h.Write(files[path])
	}
	known := fmt.Sprintf("%x %t %t", h.Sum(nil), wrote, published)
	what, ok := p.known[known]
	if !ok {
		what = p.broken(t, files, wrote, published)
		p.known[known] = what
	}

	return what
}

func (p *powerCuts) broken(t testing.TB, files map[string][]byte, wrote, published bool) string {
	t.Helper()
	root := t.TempDir()
	defer os.RemoveAll(root)

	if err := disktest.WriteFiles(root, files); err != nil {
		t.Fatal(err)
	}

	d := openDir(filepath.Join(root, "store"))
	cur, err := d.Current()
	switch {
	case errors.Is(err, snapshot.ErrNoCurrent) && p.old == "" && !published:
	case err != nil:
		return err.Error()
	case published && cur.ID != p.id:
		return "the publication was forgotten"
	case cur.ID != p.id && cur.ID != p.old:
		return "nobody published " + cur.ID
	default:
		if err := d.Verify(cur.ID); err != nil {
			return err.Error()
		}
		// A delta is whole, and stored before its release.
		deltas, err := snapshot.DeltasOf(d).All()
		if err != nil {
			return err.Error()
		}
		if published && p.old != "" && len(deltas) != 1 {
			return "nobody knows what changed"
		}
		if past, err := d.Publications(); err != nil || len(past) == 0 || past[len(past)-1].Current != cur {
			return fmt.Sprintf("nobody knows why %s is current: %+v, %v", cur.ID, past, err)
		}
	}

	if wrote {
		if err := d.Verify(p.id); err != nil {
			return "written, but " + err.Error()
		}
	}

	return ""
}

// run cuts the power after each call and returns the faults. The disk lies about the call number lie,
// -1 for none; then only the calls of Publish are checked, up to the first fault.
func (p *powerCuts) run(t testing.TB, lie int) (states int, broken []string) {
	t.Helper()
	parent := t.TempDir()
	if err := os.CopyFS(parent, os.DirFS(p.parent)); err != nil {
		t.Fatal(err)
	}
	dice := rand.New(rand.NewPCG(1, uint64(lie)))
	disk := unsynced(nil)
	disk.Watch(parent)
	done := 0
	cut := func() {
		if lie >= 0 && (done <= p.writing || len(broken) > 0) {
			return
		}
		for _, files := range disk.PowerCuts(dice, "/tmp/") {
			states++
			if what := p.outcome(t, files, done); what != "" {
				broken = append(broken, fmt.Sprintf("after step %d (%s): %s", done-1, p.calls[max(0, done-1)], what))
			}
		}
	}
	disk.Set(func(call disktest.Call) disktest.Effect {
		if !call.Writes() {
			return disktest.Effect{}
		}
		cut()
		done++
		return disktest.Effect{Lie: done-1 == lie}
	})

	d := openDir(filepath.Join(parent, "store")).WithDisk(disk)
	write(t, d, crashed)
	if _, err := d.Publish(p.id, snapshot.PublishOptions{Now: noon, Check: anything}); err != nil {
		t.Fatal(err)
	}
	cut()
	return states, broken
}

func TestPowerCuts(t *testing.T) {
	t.Parallel()
	for _, second := range []bool{false, true} {
		states, broken := newPowerCuts(t, second).run(t, -1)
		for _, b := range broken {
			t.Error(b)
		}

		// Most operations are on files that are not visible yet, and a file is synced before
		// the next file is begun.
		if states <= 40 {
			t.Errorf("only %d states were seen", states)
		}
	}
}

// TestEverySyncIsNeeded removes the syncs of a release one at a time: each time some power cut
// breaks the store. So the model would find a missing sync, and no sync is superfluous.
func TestEverySyncIsNeeded(t *testing.T) {
	t.Parallel()
	p := newPowerCuts(t, true)
	syncs := 0
	for k, call := range p.calls {
		if call.Op != "sync" && call.Op != "syncdir" {
			continue
		}

		syncs++
		if syncs%testsweep.Stride(3) != 0 {
			continue
		}

		if _, broken := p.run(t, k); len(broken) == 0 {
			t.Errorf("step %d (%s) may be left out and no power cut breaks anything", k, call)
		}
	}
}
