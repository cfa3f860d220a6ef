package snapshot_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
)

var noon = time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)

// storeOf is a store with the worlds of some seeds written, none published.
func storeOf(t testing.TB, seeds ...uint64) (d *snapshot.Store, ids []string) {
	t.Helper()
	d = openDir(filepath.Join(t.TempDir(), "store"))
	for _, seed := range seeds {
		ids = append(ids, write(t, d, fixture.Random(seed, tiny).Catalog()).ID)
	}
	return d, ids
}

func TestPublish(t *testing.T) {
	d, ids := storeOf(t, 1, 2)
	if _, err := d.Current(); !errors.Is(err, snapshot.ErrNoCurrent) {
		t.Fatalf("before the first publication: %v", err)
	}

	publish := func(id string, at time.Time, want snapshot.Current) {
		t.Helper()
		got, err := d.Publish(id, snapshot.PublishOptions{Now: at, Check: func(c *snapshot.Catalog) error {
			if c.ID != id {
				t.Errorf("the check sees catalog %q, not %q", c.ID, id)
			}
			return nil
		}})
		if err != nil || got != want {
			t.Fatalf("publishing gave %+v, %v; want %+v", got, err, want)
		}
		if cur, err := d.Current(); err != nil || cur != want {
			t.Fatalf("current is %+v, %v; want %+v", cur, err, want)
		}
	}

	publish(ids[0], noon, snapshot.Current{Epoch: 1, ID: ids[0], PublishedAt: noon})
	publish(ids[1], noon.Add(1), snapshot.Current{Epoch: 2, ID: ids[1], PublishedAt: noon.Add(1), Previous: ids[0]})
	// To publish it again is no new release.
	publish(ids[1], noon.Add(9), snapshot.Current{Epoch: 2, ID: ids[1], PublishedAt: noon.Add(1), Previous: ids[0]})

	// Back to the first is a new one.
	zoned := noon.Add(2).In(time.FixedZone("", 7200))
	publish(ids[0], zoned, snapshot.Current{Epoch: 3, ID: ids[0], PublishedAt: noon.Add(2), Previous: ids[1]})
}

func TestPublishRefuses(t *testing.T) {
	d, ids := storeOf(t, 1, 2)
	was, err := d.Publish(ids[0], snapshot.PublishOptions{Now: noon, Check: anything})
	if err != nil {
		t.Fatal(err)
	}

	f := func(id string, check func(*snapshot.Catalog) error, want error) {
		t.Helper()
		if _, err := d.Publish(id, snapshot.PublishOptions{Now: noon.Add(1), Check: check}); !errors.Is(err, want) {
			t.Errorf("publishing %q: want %v, got %v", id, want, err)
		}
		if cur, err := d.Current(); err != nil || cur != was {
			t.Errorf("current has become %+v, %v", cur, err)
		}
	}

	refusal := errors.New("a third of the cards is gone")
	f(ids[1], func(*snapshot.Catalog) error { return refusal }, refusal)
	f("20260314T200530Z-0000000000000000", anything, snapshot.ErrNotFound)
	path := filepath.Join(d.Path(ids[1]), "quarantine.jsonl")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}

	never := func(*snapshot.Catalog) error { t.Error("a damaged snapshot is checked"); return nil }
	f(ids[1], never, snapshot.ErrDamaged)
}

func TestPublishOverDamagedCurrent(t *testing.T) {
	for _, content := range []string{
		"", "x", string(sealed([]byte("{}\n"))),
		string(sealed([]byte(`{"epoch":3,"id":"../../x"}` + "\n"))),
	} {
		d, ids := storeOf(t, 1, 2)
		first, err := d.Publish(ids[0], snapshot.PublishOptions{Now: noon, Check: anything})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d.Root(), "CURRENT"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}

		_, err = d.Current()
		if got := damagedSection(t, err); got != "CURRENT" {
			t.Errorf("section %q is named", got)
		}

		cur, err := d.Publish(ids[1], snapshot.PublishOptions{Now: noon, Check: anything})
		if err != nil || cur.ID != ids[1] || cur.Epoch <= first.Epoch {
			t.Errorf("published over %q: %+v, %v", content, cur, err)
		}
	}
}

// TestWritersAtOnce has writers of one store, each with a separate Store as a process would
// have, publish at once while readers load the current snapshot.
func TestWritersAtOnce(t *testing.T) {
	const writers, rounds = 4, 4
	root := filepath.Join(t.TempDir(), "store")
	var writing, reading sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		reading.Go(func() {
			d := openDir(root)
			var last uint64
			for {
				select {
				case <-done:
					return
				default:
				}

				cur, err := d.Current()
				if errors.Is(err, snapshot.ErrNoCurrent) {
					continue
				}

				if err != nil || cur.Epoch < last {
					t.Errorf("current is %+v, %v after epoch %d", cur, err, last)
					return
				}

				last = cur.Epoch
				if _, err := d.Load(context.Background(), cur.ID, nil); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}

	for writer := range writers {
		writing.Go(func() {
			d := openDir(root)
			for round := range rounds {
				// Two writers each write the same catalogs, so that they meet on one id.
				m, _, err := d.Write(fixture.Random(uint64(10*(writer/2)+round), tiny).Catalog(), quarantine)
				if err == nil {
					_, err = d.Publish(m.ID, snapshot.PublishOptions{Now: noon, Check: anything})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}

	writing.Wait()
	close(done)
	reading.Wait()
	d := openDir(root)
	all, err := d.List()
	if err != nil || len(all) != writers/2*rounds {
		t.Errorf("the store holds %d snapshots, %v", len(all), err)
	}

	for _, m := range all {
		if err := d.Verify(m.ID); err != nil {
			t.Error(err)
		}
	}

	cur, err := d.Current()
	if err != nil || cur.Epoch < writers/2*rounds || cur.Epoch > writers*rounds {
		t.Errorf("after %d publications current is %+v, %v", writers*rounds, cur, err)
	}
}
