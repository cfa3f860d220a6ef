package access_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/internal/wal"
)

// statsWorld is a gate over a store, with a live and a preview key.
func statsWorld(t *testing.T, store access.Store) (g *access.Gate, live, preview *access.Principal) {
	t.Helper()
	file := access.NewKeyFile()
	var keys [2]string
	for k, kind := range []access.Kind{access.Live, access.Preview} {
		tenant := "t" + string(rune('a'+k))
		_, raw, err := file.Create(access.NewKey{Tenant: tenant, Kind: kind, Plan: "unlimited"}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		keys[k] = raw
	}

	ring, err := access.FixedKeyRing(file, access.DefaultPlans())
	if err != nil {
		t.Fatal(err)
	}

	g = access.NewGate(ring, store)
	live, err = g.Authenticate([]byte(keys[0]), access.Instant{})
	if err != nil {
		t.Fatal(err)
	}
	preview, err = g.Authenticate([]byte(keys[1]), access.Instant{})
	if err != nil {
		t.Fatal(err)
	}
	return g, live, preview
}

func TestStoreStats(t *testing.T) {
	t.Parallel()
	clock := access.StartClock(time.Now())
	now := func() access.Instant { return clock.At(time.Now()) }
	embedded, err := access.OpenEmbedded(t.TempDir(), access.EmbeddedOptions{Now: now(), CheckpointEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer embedded.Close()

	memory := access.NewMemory(access.MemoryOptions{})
	for name, store := range map[string]access.Store{"memory": memory, "embedded": embedded} {
		t.Run(name, func(t *testing.T) {
			g, live, preview := statsWorld(t, store)
			before := store.Stats()

			const calls = 4000
			for range calls {
				d := g.Admit(live, access.CardsGet, now())
				if _, err := g.Finish(d.Ticket, true); err != nil {
					t.Fatal(err)
				}
			}

			for k := range 3 {
				d := g.Admit(preview, access.PricesBatch, now())
				key := "key" + string(rune('0'+k))
				claim, err := g.Begin(context.Background(), d.Ticket, key, access.BodyHash{1}, now())
				if err == nil {
					_, err = g.Commit(d.Ticket, claim, []byte("reply"))
				}
				if err != nil {
					t.Fatal(err)
				}
			}

			// One call in sixteen is timed, by chance: 250 of 4,000, with a deviation of 15.
			s := store.Stats()
			if n := s.Finish.Count(); n < calls/access.FinishSample/2 || n > calls/access.FinishSample*2 {
				t.Errorf("%d of %d calls of Finish are timed", n, calls)
			}
			if s.Begin.Count() != 3 || s.Commit.Count() != 3 || s.Commit.Sum <= 0 {
				t.Errorf("%d begins and %d commits are timed", s.Begin.Count(), s.Commit.Count())
			}
			if s.Replies != 3 || s.ReplyBytes < 3*5 {
				t.Errorf("%d records of %d bytes", s.Replies, s.ReplyBytes)
			}
			if s.Durable != (name == "embedded") {
				t.Errorf("durable is %t", s.Durable)
			}
			if !s.Durable {
				return
			}

			if s.Sync.Count() <= before.Sync.Count() || s.LogWritten < calls*20 || s.LogBytes < int64(s.LogWritten) {
				t.Errorf("%d fsyncs, %d bytes written, %d in the segment", s.Sync.Count(), s.LogWritten, s.LogBytes)
			}
			if s.Checkpoint.Count() != 1 || time.Since(s.CheckpointAt) > time.Hour {
				t.Errorf("%d checkpoints, the last at %v", s.Checkpoint.Count(), s.CheckpointAt)
			}

			if err := embedded.SaveCheckpoint(); err != nil {
				t.Fatal(err)
			}
			s = store.Stats()
			if s.Checkpoint.Count() != 2 || s.LogBytes > 1000 || s.SyncErrors+s.CheckpointFails != 0 {
				t.Errorf("after a checkpoint %+v", s)
			}
		})
	}
}

// failingSync is a log segment whose disk goes away.
type failingSync struct {
	wal.Segment
	broken *atomic.Bool
}

func (f failingSync) Sync() error {
	if f.broken.Load() {
		return os.ErrClosed
	}
	return f.Segment.Sync()
}

func TestFailuresAreCounted(t *testing.T) {
	t.Parallel()
	clock := access.StartClock(time.Now())
	var broken atomic.Bool
	options := access.EmbeddedOptions{Now: clock.At(time.Now()), CheckpointEvery: time.Hour}
	options = options.WithSegments(func(path string) (wal.Segment, error) {
		f, err := wal.WriteSegment(path)
		return failingSync{f, &broken}, err
	})

	store, err := access.OpenEmbedded(t.TempDir(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	g, live, _ := statsWorld(t, store)
	d := g.Admit(live, access.CardsGet, clock.At(time.Now()))
	if _, err := g.Finish(d.Ticket, true); err != nil {
		t.Fatal(err)
	}

	broken.Store(true)
	if store.SaveCheckpoint() == nil {
		t.Fatal("a checkpoint without a log")
	}
	if s := store.Stats(); s.SyncErrors != 1 || s.CheckpointFails != 1 || s.Checkpoint.Count() != 2 {
		t.Errorf("%d fsyncs and %d of %d checkpoints failed", s.SyncErrors, s.CheckpointFails, s.Checkpoint.Count())
	}
}

func TestRingStats(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	err := access.UpdateKeys(dir, func(f *access.KeyFile) error {
		_, _, err := f.Create(access.NewKey{Tenant: "t", Kind: access.Live, Plan: "free"}, time.Now())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	ring, err := access.OpenKeyRing(dir, access.DefaultPlans())
	if err != nil {
		t.Fatal(err)
	}
	if s := ring.Stats(); s != (access.RingStats{Keys: 1, Reloads: 1}) {
		t.Errorf("%+v", s)
	}
	if err := os.WriteFile(filepath.Join(dir, "keys.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ring.Reload(); err == nil {
		t.Fatal("a broken keys file is read")
	}
	if s := ring.Stats(); s != (access.RingStats{Keys: 1, Reloads: 1, Failures: 1}) {
		t.Errorf("%+v", s)
	}
}
