package mirror

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ninepocket/internal/fixture"
	"ninepocket/internal/s3test"
	"ninepocket/snapshot"
)

// day is when the first snapshot of a test is published.
var day = time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)

// world is an operator with a store, and a bucket.
type world struct {
	*testing.T
	store  *s3test.Store
	bucket *Bucket
	dir    *snapshot.Store
	key    *Key
	pushes int
}

func newWorld(t *testing.T, store *s3test.Store) *world {
	t.Helper()
	w := &world{T: t, store: store, dir: snapshot.OpenStore(t.TempDir()), key: newKey(t, "ops-2026")}
	w.bucket = openAt(t, store)
	return w
}

// openAt opens a folder of the store, with a short timeout.
func openAt(t *testing.T, store *s3test.Store) *Bucket {
	t.Helper()
	location, err := ParseLocation(store.Place("prod"))
	if err != nil {
		t.Fatal(err)
	}
	b := Open(location)
	b.timeout = 20 * time.Second
	return b
}

func newKey(t *testing.T, id string) *Key {
	t.Helper()
	key, err := CreateKey(filepath.Join(t.TempDir(), id), id)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// build writes a snapshot of a seed into the operator's store.
func (w *world) build(seed uint64) string {
	w.Helper()
	m, _, err := w.dir.Write(fixture.Random(seed, fixture.Small).Catalog(), snapshot.WriteOptions{
		Quarantine: []byte("{}\n"), QuarantineCounts: map[string]int{"odd": 1},
	})
	if err != nil {
		w.Fatal(err)
	}
	return m.ID
}

// pushing are the conditions of the next push: one an hour.
func (w *world) pushing() PushOptions {
	w.pushes++
	return PushOptions{Now: day.Add(time.Duration(w.pushes) * time.Hour), Key: w.key}
}

func (w *world) push(id string) PushResult {
	w.Helper()
	done, err := w.bucket.Push(w.Context(), w.dir, id, w.pushing())
	if err != nil {
		w.Fatal(err)
	}
	return done
}

// server is a new server that trusts the operator's key.
func (w *world) server() *Follower {
	w.Helper()
	return w.restarted(w.TempDir(), w.key.Publisher())
}

func (w *world) restarted(folder string, publishers ...Publisher) *Follower {
	return NewFollower(openAt(w.T, w.store), snapshot.OpenStore(folder), FollowerOptions{Publishers: publishers})
}

// pulls wants a pull to end with a snapshot at an epoch, whose catalog loads.
func (w *world) pulls(c *Follower, id string, epoch uint64) PullResult {
	w.Helper()
	done, err := c.Pull(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	w.contains(c, id, epoch)
	return done
}

// contains wants a server to serve a snapshot at an epoch.
func (w *world) contains(c *Follower, id string, epoch uint64) {
	w.Helper()
	cur, err := c.dir.Current()
	if err != nil || cur.ID != id || cur.Epoch != epoch {
		w.Fatalf("%s at epoch %d is served (%v), want %s at %d", cur.ID, cur.Epoch, err, id, epoch)
	}
	catalog, err := c.dir.Load(w.Context(), id, nil)
	if err != nil || catalog.ID != id {
		w.Fatalf("snapshot %s does not load: %v", id, err)
	}
}

// refuses wants a pull to fail with an error that holds a text, and to leave what is served.
func (w *world) refuses(c *Follower, want error, text string) {
	w.Helper()
	before, errBefore := c.dir.Current()
	_, err := c.Pull(w.Context())
	if err == nil || want != nil && !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
		w.Errorf("pull: %v, want %v, with %q", err, want, text)
	}
	if after, errAfter := c.dir.Current(); after != before || (errAfter == nil) != (errBefore == nil) {
		w.Errorf("%+v is served after a refused pull, %+v before", after, before)
	}
}

// bytesOf are the served sections of a snapshot.
func bytesOf(t *testing.T, dir *snapshot.Store, id string) (n int64) {
	t.Helper()
	m, err := dir.Manifest(id)
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range distinctSections(m) {
		n += section.Bytes
	}
	return n
}

// lifecycle is what an operator and a server do with a store in a week.
func lifecycle(t *testing.T, store *s3test.Store) {
	t.Helper()
	w := newWorld(t, store)
	server := w.server()
	w.refuses(server, ErrNoPublication, "nothing is published there")

	first := w.build(1)
	done := w.push(first)
	if !done.Changed || done.Epoch != 1 || done.Sent != bytesOf(t, w.dir, first) || done.Reused != 0 {
		t.Errorf("the first push: %+v", done)
	}
	if again := w.push(first); again.Changed || again.Epoch != 1 {
		t.Errorf("the same push again: %+v", again)
	}
	pulled := w.pulls(server, first, 1)
	if pulled.By != "ops-2026" || pulled.Downloaded != done.Sent {
		t.Errorf("pulled %+v, want %d bytes of ops-2026", pulled, done.Sent)
	}
	if again, err := server.Pull(t.Context()); err != nil || again.Changed {
		t.Errorf("a pull of what is unchanged: %+v, %v", again, err)
	}

	// Sections that both have are neither sent nor fetched again.
	second := w.build(2)
	o := w.pushing()
	o.Lead = time.Minute
	done, err := w.bucket.Push(t.Context(), w.dir, second, o)
	if err != nil || done.Reused == 0 || done.Sent+done.Reused != bytesOf(t, w.dir, second) {
		t.Errorf("the second push: %+v, %v", done, err)
	}
	pulled = w.pulls(server, second, 2)
	if pulled.Downloaded != done.Sent {
		t.Errorf("%d bytes were downloaded, %d are new", pulled.Downloaded, done.Sent)
	}
	cur, _ := server.dir.Current()
	want := o.Now.Add(time.Minute)
	if !cur.ActivateAt.Equal(want) || !cur.PreviousUntil.Equal(want) || cur.Previous != first {
		t.Errorf("the pointer of the server is %+v, want it to activate at %s", cur, want)
	}

	// Going back is a release of its own, and moves no section.
	done = w.push(first)
	if done.Epoch != 3 || done.Sent != 0 || done.Previous != second {
		t.Errorf("the push of an earlier snapshot: %+v", done)
	}
	pulled = w.pulls(server, first, 3)
	if pulled.Downloaded != 0 {
		t.Errorf("%d bytes were downloaded to go back", pulled.Downloaded)
	}
	if ids, err := server.dir.Published(); err != nil || len(ids) != 2 || ids[0] != first || ids[1] != second {
		t.Errorf("published: %v, %v", ids, err)
	}

	// A server that begins now needs no history.
	late := w.server()
	w.pulls(late, first, 3)
	same(t, w.dir, late.dir, first)
}

// same wants two stores to have the same bytes of a snapshot.
func same(t *testing.T, a, b *snapshot.Store, id string) {
	t.Helper()
	m, err := a.Manifest(id)
	if err != nil {
		t.Fatal(err)
	}
	files := []string{"manifest"}
	for _, section := range m.ServingSections() {
		files = append(files, section.File)
	}

	for _, file := range files {
		want, err := os.ReadFile(filepath.Join(a.Path(id), file))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(b.Path(id), file))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs: %v", file, err)
		}
	}
}

func TestLifecycle(t *testing.T) { lifecycle(t, s3test.Start(t).Store) }

func TestLifecycleOfARealStore(t *testing.T) { lifecycle(t, s3test.Versity(t)) }
