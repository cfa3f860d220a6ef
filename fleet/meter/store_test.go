package meter

import (
	"os"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/access/accesstest"
	"ninepocket/internal/depth"
	"ninepocket/internal/redistest"
)

// memoryDir is a directory whose fsync costs nothing where there is such a file system: these tests cut
// no power.
func memoryDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "meter") //nolint:usetesting // that is on a disk
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// openJournal opens the journal of a directory.
func openJournal(t testing.TB, dir string, now access.Instant) *access.Embedded {
	t.Helper()
	journal, err := access.OpenEmbedded(dir, access.EmbeddedOptions{Now: now, CheckpointEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return journal
}

// harness makes stores over one redis-server, whose scripts go by the time that the test gives.
func harness() accesstest.Harness {
	type home struct{ dir, prefix string }
	homes := map[access.Store]home{}
	open := func(t testing.TB, at home, now access.Instant) access.Store {
		r, _ := commonRedis(t)
		store, err := Open(t.Context(), Options{
			URL: r.URL(), Prefix: at.prefix, Journal: openJournal(t, at.dir, now), Incarnation: "0000000000000001",
			Now: func() access.Instant { return now }, Acks: AcksNone, Timeout: 20 * time.Second,
			Lease: 500 * time.Millisecond, RepliesMax: accesstest.RepliesMax, given: true,
			exchange: 20 * time.Second, commit: 20 * time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		homes[store] = at
		t.Cleanup(func() { store.Close() })
		return store
	}

	return accesstest.Harness{
		OneClock: true,
		Open: func(t testing.TB, now access.Instant) access.Store {
			r, prefix := commonRedis(t)
			age(t, r, prefix)
			return open(t, home{dir: memoryDir(t), prefix: prefix}, now)
		},
		Reopen: func(t testing.TB, store access.Store, kill bool, now access.Instant) access.Store {
			at := homes[store]
			if kill {
				at.dir = killed(t, store.(*Store), at.dir)
			} else if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, at, now)
		},
	}
}

// killed ends a store as the death of its process would: what its directory had then is in a copy.
func killed(t testing.TB, store *Store, dir string) string {
	t.Helper()
	store.end()
	to := memoryDir(t)
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestConformance(t *testing.T) {
	t.Parallel()
	redistest.Need(t)
	accesstest.Conform(t, harness())
}

func TestModel(t *testing.T) {
	t.Parallel()
	redistest.Need(t)
	accesstest.Model(t, harness(), 200/depth.Every(3))
}
