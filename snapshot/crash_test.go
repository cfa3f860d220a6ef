package snapshot_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ninepocket/internal/depth"
	"ninepocket/internal/fixture"
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
	errCut    = errors.New("the power was cut")
	crashed   = fixture.Random(7, tiny).Catalog()
	published = fixture.Random(8, tiny).Catalog()
)

// record runs Write and Publish of a catalog on a store and returns what it did to the disk, with
// paths relative to the store's parent, and how many of the operations belong to Write.
func record(t testing.TB, d *snapshot.Dir, c *snapshot.Catalog) (ops []snapshot.DiskOp, writing int, id string) {
	t.Helper()
	parent := filepath.Dir(d.Root())
	relative := func(path string) string {
		if path == "" {
			return ""
		}

		rel, err := filepath.Rel(parent, path)
		if err != nil {
			t.Fatal(err)
		}

		return rel
	}

	seen := d.WithDisk(func(o snapshot.DiskOp) error {
		o.Path = relative(o.Path)
		o.To = relative(o.To)
		ops = append(ops, o)
		return nil
	})

	id = write(t, seen, c).ID
	writing = len(ops)
	if _, err := seen.Publish(id, snapshot.Publishing{Now: noon, Check: anything}); err != nil {
		t.Fatal(err)
	}

	return ops, writing, id
}

// published is a store with one published snapshot.
func publishedStore(t testing.TB) (d *snapshot.Dir, id string) {
	t.Helper()
	d = openDir(filepath.Join(t.TempDir(), "store"))
	id = write(t, d, published).ID
	if _, err := d.Publish(id, snapshot.Publishing{Now: noon, Check: anything}); err != nil {
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
	fresh := func() *snapshot.Dir {
		root := t.TempDir()
		if err := os.CopyFS(root, os.DirFS(whole.Root())); err != nil {
			t.Fatal(err)
		}
		return openDir(root)
	}

	ops, _, _ := record(t, fresh(), crashed)
	for k, failing := range ops {
		d := fresh()
		n := 0
		broken := d.WithDisk(func(snapshot.DiskOp) error {
			n++
			if n == k+1 {
				return errCut
			}
			return nil
		})

		m, _, err := broken.Write(crashed, quarantine)
		if err == nil {
			_, err = broken.Publish(m.ID, snapshot.Publishing{Now: noon, Check: anything})
		}
		if !errors.Is(err, errCut) {
			t.Fatalf("step %d (%s) failed and nobody says so: %v", k, failing, err)
		}

		cur, err := d.Current()
		if err != nil {
			t.Fatalf("after step %d (%s) failed: %v", k, failing, err)
		}

		if lastSync := k == len(ops)-1; (cur.ID == old) == lastSync {
			t.Errorf("after step %d (%s) failed %q is current", k, failing, cur.ID)
		}

		if err := d.Verify(cur.ID); err != nil {
			t.Errorf("after step %d (%s) failed: %v", k, failing, err)
		}

		id := write(t, d, crashed).ID
		if cur, err := d.Publish(id, snapshot.Publishing{Now: noon, Check: anything}); err != nil || cur.Epoch != 2 {
			t.Errorf("publishing after step %d (%s) had failed: %+v, %v", k, failing, cur, err)
		}
	}
}

// powerCuts is a publication whose power is cut after each of its operations.
type powerCuts struct {
	parent  string // the directory above the store before the publication, and what it did
	ops     []snapshot.DiskOp
	writing int
	old, id string
	known   map[string]string // outcomes by state
}

// newPowerCuts records the first or the second publication of a store.
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

	p.ops, p.writing, p.id = record(t, d, crashed)
	return p
}

// outcome is what a power cut did after k operations: "" when all is well.
func (p *powerCuts) outcome(t testing.TB, key state, files map[string][]byte, k int) string {
	t.Helper()
	wrote := k >= p.writing
	published := k == len(p.ops)
	known := fmt.Sprintf("%x %t %t", key, wrote, published)
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

	if err := lay(root, files); err != nil {
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

// run cuts the power after each operation and returns what went wrong. The disk does not do the
// operation number lie, -1 for none; then only what Publish does is looked at, up to the first
// thing that breaks.
func (p *powerCuts) run(t testing.TB, lie int) (states int, broken []string) {
	t.Helper()
	dice := rand.New(rand.NewPCG(1, uint64(lie)))
	model := modelOf(p.parent)
	for k, o := range p.ops {
		if k != lie {
			model.do(o)
		}

		if lie >= 0 && k < p.writing {
			continue
		}

		for key, files := range model.cuts(dice) {
			states++
			if what := p.outcome(t, key, files, k+1); what != "" {
				broken = append(broken, fmt.Sprintf("after step %d (%s): %s", k, o, what))
			}
		}

		if lie >= 0 && len(broken) > 0 {
			break
		}
	}

	return states, broken
}

func TestPowerCuts(t *testing.T) {
	t.Parallel()
	for _, second := range []bool{false, true} {
		states, broken := newPowerCuts(t, second).run(t, -1)
		for _, b := range broken {
			t.Error(b)
		}

		// Most operations are on files that nobody can see yet, and a file is synced before the
		// next one is begun.
		if states <= 40 {
			t.Errorf("only %d states were seen", states)
		}
	}
}

// TestEverySyncIsNeeded takes the syncs of a publication away one at a time: each time some power
// cut breaks the store. So the model would find a sync that is missing, and there is none too many.
func TestEverySyncIsNeeded(t *testing.T) {
	t.Parallel()
	p := newPowerCuts(t, true)
	syncs := 0
	for k, o := range p.ops {
		if o.Op != "sync" && o.Op != "syncdir" {
			continue
		}

		syncs++
		if syncs%depth.Every(3) != 0 {
			continue
		}

		if _, broken := p.run(t, k); len(broken) == 0 {
			t.Errorf("step %d (%s) may be left out and no power cut breaks anything", k, o)
		}
	}
}
