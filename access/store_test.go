package access_test

import (
	"os"
	"strconv"
	"testing"

	"ninepocket/access"
	"ninepocket/access/accesstest"
	"ninepocket/internal/depth"
	"ninepocket/internal/wal/waltest"
)

func memoryHarness() accesstest.Harness {
	return accesstest.Harness{Open: func(t testing.TB, _ access.Instant) access.Store {
		store := access.NewMemory(access.MemoryOptions{RepliesMax: accesstest.RepliesMax})
		t.Cleanup(func() { store.Close() })
		return store
	}}
}

func embeddedHarness(create waltest.Create) accesstest.Harness {
	dirs := map[access.Store]string{}
	open := func(t testing.TB, dir string, now access.Instant) access.Store {
		options := access.EmbeddedOptions{Now: now, RepliesMax: accesstest.RepliesMax}
		store, err := access.OpenEmbedded(dir, options.Unsynced(create))
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
				store.(*access.Embedded).Kill()
			} else if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, dirs[store], now)
		},
	}
}

// modelSteps is how many operations one of rapid's hundred checks runs. NINEPOCKET_MODEL_STEPS=5000
// makes a million in two of the tests together.
func modelSteps(t *testing.T) int {
	text := os.Getenv("NINEPOCKET_MODEL_STEPS")
	if text == "" {
		return 500 / depth.Every(4)
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

	for name, create := range waltest.Kinds(t) {
		t.Run("embedded, "+name, func(t *testing.T) {
			t.Parallel()
			accesstest.Model(t, embeddedHarness(create), modelSteps(t))
		})
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) { t.Parallel(); accesstest.Conform(t, memoryHarness()) })
	for name, create := range waltest.Kinds(t) {
		t.Run("embedded, "+name, func(t *testing.T) { t.Parallel(); accesstest.Conform(t, embeddedHarness(create)) })
	}
}
