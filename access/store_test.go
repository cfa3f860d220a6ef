package access_test

import (
	"os"
	"strconv"
	"testing"

	"ninepocket/access"
	"ninepocket/access/accesstest"
	"ninepocket/access/keys"
	"ninepocket/internal/disk/disktest"
	"ninepocket/internal/testsweep"
)

func memoryHarness() accesstest.Harness {
	return accesstest.Harness{Open: func(t testing.TB, _ access.Instant) access.Store {
		store := access.NewMemory(access.MemoryOptions{MaxIdempotencyRecords: accesstest.MaxIdempotencyRecords})
		t.Cleanup(func() { store.Close() })
		return store
	}}
}

func embeddedHarness(mapped bool) accesstest.Harness {
	dirs := map[access.Store]string{}
	open := func(t testing.TB, dir string, now access.Instant) access.Store {
		options := access.LocalOptions{Now: now, MaxIdempotencyRecords: accesstest.MaxIdempotencyRecords}
		store, err := access.OpenLocal(dir, options.Unsynced(mapped))
		if err != nil {
			t.Fatal(err)
		}

		dirs[store] = dir
		t.Cleanup(func() { store.Close() })
		return store
	}

	return accesstest.Harness{
		Open: func(t testing.TB, now access.Instant) access.Store { return open(t, t.TempDir(), now) },
		Reopen: func(t testing.TB, store access.Store, kill bool, now access.Instant) access.Store {
			if kill {
				store.(*access.LocalStore).Kill()
			} else if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, dirs[store], now)
		},
	}
}

// oneClock makes a harness of one clock of another one: its stores fail a test whose clocks go apart.
func oneClock(h accesstest.Harness) accesstest.Harness {
	open := h.Open
	reopen := h.Reopen
	h.OneClock = true
	h.Open = func(t testing.TB, now access.Instant) access.Store {
		return &clocked{Store: open(t, now), t: t, apart: now.Wall - now.Mono}
	}
	if reopen == nil {
		return h
	}

	h.Reopen = func(t testing.TB, store access.Store, kill bool, now access.Instant) access.Store {
		before := store.(*clocked)
		return &clocked{Store: reopen(t, before.Store, kill, now), t: t, apart: before.apart}
	}
	return h
}

// clocked fails the test if the distance of a caller's two clocks changed.
type clocked struct {
	access.Store
	t     testing.TB
	apart int64
}

func (c *clocked) look(now access.Instant) {
	if now.Wall-now.Mono != c.apart {
		c.t.Errorf("the clocks went apart by %d ms", now.Wall-now.Mono-c.apart)
	}
}

func (c *clocked) Admit(p *keys.Principal, spec access.LimitSpec, now access.Instant) access.Decision {
	c.look(now)
	return c.Store.Admit(p, spec, now)
}

func (c *clocked) Begin(
	ticket access.Reservation, key string, body access.BodyHash, now access.Instant,
) (access.Claim, error) {
	c.look(now)
	return c.Store.Begin(ticket, key, body, now)
}

func (c *clocked) Usage(p *keys.Principal, spec access.LimitSpec, now access.Instant) (access.Usage, error) {
	c.look(now)
	return c.Store.Usage(p, spec, now)
}

// modelSteps is how many operations one of rapid's hundred checks runs. NINEPOCKET_MODEL_STEPS=5000
// makes a million in two of the tests together.
func modelSteps(t *testing.T) int {
	text := os.Getenv("NINEPOCKET_MODEL_STEPS")
	if text == "" {
		return 500 / testsweep.Stride(16)
	}

	steps, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

func TestModel(t *testing.T) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) { t.Parallel(); accesstest.Model(t, memoryHarness(), modelSteps(t)) })
	t.Run("one clock", func(t *testing.T) {
		t.Parallel()
		accesstest.Model(t, oneClock(embeddedHarness(false)), modelSteps(t)/2)
	})

	for name, mapped := range disktest.Kinds(t) {
		t.Run("embedded, "+name, func(t *testing.T) {
			t.Parallel()
			accesstest.Model(t, embeddedHarness(mapped), modelSteps(t))
		})
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) { t.Parallel(); accesstest.Conform(t, memoryHarness()) })
	t.Run("one clock", func(t *testing.T) {
		t.Parallel()
		accesstest.Conform(t, oneClock(embeddedHarness(false)))
	})

	for name, mapped := range disktest.Kinds(t) {
		t.Run("embedded, "+name, func(t *testing.T) { t.Parallel(); accesstest.Conform(t, embeddedHarness(mapped)) })
	}
}
