package access_test

import (
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/internal/disk/disktest"
)

// statsWorld is a gate over a store, with a live and a preview key.
func statsWorld(t *testing.T, store access.Store) (g *access.Gate, live, preview *keys.Principal) {
	t.Helper()
	file := keys.NewFile()
	var raws [2]string
	for k, kind := range []keys.Surface{keys.Live, keys.Preview} {
		tenant := "t" + string(rune('a'+k))
		_, raw, err := file.Create(keys.NewKey{Tenant: tenant, Surface: kind, Plan: "unlimited"}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		raws[k] = raw
	}

	ring, err := keys.FixedRing(file, keys.DefaultPlans())
	if err != nil {
		t.Fatal(err)
	}

	g = access.NewGate(ring, store)
	live, err = g.Authenticate([]byte(raws[0]), access.Instant{})
	if err != nil {
		t.Fatal(err)
	}
	preview, err = g.Authenticate([]byte(raws[1]), access.Instant{})
	if err != nil {
		t.Fatal(err)
	}
	return g, live, preview
}

func TestStoreStats(t *testing.T) {
	t.Parallel()
	clock := access.StartClock(time.Now())
	now := func() access.Instant { return clock.At(time.Now()) }
	embedded, err := access.OpenLocal(t.TempDir(), access.LocalOptions{Now: now(), CheckpointEvery: time.Hour})
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
				decision := g.Admit(live, access.CardsGet, now())
				if _, err := g.Finish(decision.Reservation, true); err != nil {
					t.Fatal(err)
				}
			}

			for k := range 3 {
				decision := g.Admit(preview, access.PricesBatch, now())
				key := "key" + string(rune('0'+k))
				claim, err := g.Begin(time.Second, decision.Reservation, key, access.BodyHash{1}, now())
				if err == nil {
					_, err = g.Commit(decision.Reservation, claim, []byte("reply"))
				}
				if err != nil {
					t.Fatal(err)
				}
			}

			// One call in sixteen is timed, by chance: 250 of 4,000, with a deviation of 15.
			stats := store.Stats()
			if n := stats.Finish.Count(); n < calls/access.FinishSample/2 || n > calls/access.FinishSample*2 {
				t.Errorf("%d of %d calls of Finish are timed", n, calls)
			}
			if stats.Begin.Count() != 3 || stats.Commit.Count() != 3 || stats.Commit.Sum <= 0 {
				t.Errorf("%d begins and %d commits are timed", stats.Begin.Count(), stats.Commit.Count())
			}
			if stats.Replies != 3 || stats.ReplyBytes < 3*5 {
				t.Errorf("%d records of %d bytes", stats.Replies, stats.ReplyBytes)
			}
			if stats.Durable != (name == "embedded") {
				t.Errorf("durable is %t", stats.Durable)
			}
			if !stats.Durable {
				return
			}

			if stats.Sync.Count() <= before.Sync.Count() ||
				stats.LogWritten < calls*20 || stats.LogBytes < int64(stats.LogWritten) {
				t.Errorf("%d fsyncs, %d bytes written, %d in the segment",
					stats.Sync.Count(), stats.LogWritten, stats.LogBytes)
			}
			if stats.Checkpoint.Count() != 1 || time.Since(stats.CheckpointAt) > time.Hour {
				t.Errorf("%d checkpoints, the last at %v", stats.Checkpoint.Count(), stats.CheckpointAt)
			}

			if err := embedded.SaveCheckpoint(); err != nil {
				t.Fatal(err)
			}
			stats = store.Stats()
			if stats.Checkpoint.Count() != 2 || stats.LogBytes > 1000 || stats.SyncErrors+stats.CheckpointFails != 0 {
				t.Errorf("after a checkpoint %+v", stats)
			}
		})
	}
}

func TestFailuresAreCounted(t *testing.T) {
	t.Parallel()
	clock := access.StartClock(time.Now())
	var broken atomic.Bool
	options := access.LocalOptions{Now: clock.At(time.Now()), CheckpointEvery: time.Hour}
	options = options.On(disktest.OfKind(false, func(call disktest.Call) (effect disktest.Effect) {
		if broken.Load() && call.Op == "sync" && strings.Contains(call.Path, ".wal") {
			effect.Fail = os.ErrClosed
		}
		return effect
	}))

	store, err := access.OpenLocal(t.TempDir(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	g, live, _ := statsWorld(t, store)
	decision := g.Admit(live, access.CardsGet, clock.At(time.Now()))
	if _, err := g.Finish(decision.Reservation, true); err != nil {
		t.Fatal(err)
	}

	broken.Store(true)
	if store.SaveCheckpoint() == nil {
		t.Fatal("a checkpoint without a log")
	}
	if stats := store.Stats(); stats.SyncErrors != 1 || stats.CheckpointFails != 1 || stats.Checkpoint.Count() != 2 {
		t.Errorf("%d fsyncs and %d of %d checkpoints failed",
			stats.SyncErrors, stats.CheckpointFails, stats.Checkpoint.Count())
	}
}

// TestWaitForTheSameRequest sends a request again while the first one is in work. It waits until that one
// is given up, and then it is the fresh one; but no longer than the caller says.
func TestWaitForTheSameRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := access.StartClock(time.Now())
		now := func() access.Instant { return clock.At(time.Now()) }
		g, _, preview := statsWorld(t, access.NewMemory(access.MemoryOptions{}))
		begin := func() (access.Reservation, access.Claim, error) {
			decision := g.Admit(preview, access.PricesBatch, now())
			claim, err := g.Begin(10*time.Second, decision.Reservation, "key", access.BodyHash{1}, now())
			return decision.Reservation, claim, err
		}
		first, claim, err := begin()
		if err != nil || claim.Result != access.Fresh {
			t.Fatal(claim.Result, err)
		}

		began := time.Now()
		waiting, _, err := begin()
		if !errors.Is(err, access.ErrUnavailable) || time.Since(began) != 10*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if _, err := g.Finish(waiting, false); err != nil {
			t.Error(err)
		}

		began = time.Now()
		go func() {
			time.Sleep(3 * time.Second)
			if _, err := g.Abort(first, claim); err != nil {
				t.Error(err)
			}
		}()
		_, claim, err = begin()
		if err != nil || claim.Result != access.Fresh || time.Since(began) != 3*time.Second {
			t.Errorf("after %s: result %v, %v", time.Since(began), claim.Result, err)
		}
	})
}
