package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ninepocket/engine"
	"ninepocket/internal/synth"
	"ninepocket/loader"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// TestSwapCost measures a swap through a real store directory: the time from publish to live, and
// memory. It checks neither; docs/dev/BENCHMARKS.md has the figures. NINEPOCKET_SWAP=40000,300000
// names the sizes.
func TestSwapCost(t *testing.T) {
	sizes := os.Getenv("NINEPOCKET_SWAP")
	if sizes == "" {
		t.Skip("skipped: the cost of a swap is measured with NINEPOCKET_SWAP=40000,300000")
	}

	for size := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(size, func(t *testing.T) { swapCost(t, n) })
	}
}

func swapCost(t *testing.T, cards int) {
	store := snapshot.OpenStore(filepath.Join(t.TempDir(), "store"))
	ids := storeDays(t, store, cards, 2)
	m, err := store.Manifest(ids[1])
	if err != nil {
		t.Fatal(err)
	}

	var raw int64
	for _, s := range m.Sections {
		raw += s.Raw
	}
	t.Logf("%d cards, %d lanes: %s stored, %s decoded", m.Counts.Cards, m.Counts.Lanes, mib(m.Bytes()), mib(raw))

	publish := func(id string) time.Time {
		if _, err := store.Publish(id, snapshot.PublishOptions{
			Now:   time.Now(),
			Check: func(*snapshot.Catalog) error { return nil },
		}); err != nil {
			t.Fatal(err)
		}
		// The memory of publishing is not that of the swap.
		runtime.GC()
		return time.Now()
	}
	empty := live()
	eng := engine.New(store, engine.Options{
		Site:          wire.URLs{URL: "http://localhost", ProductPrefix: "prd"},
		RetiredBudget: 1 << 40,
	})
	publish(ids[0])
	if err := eng.Open(time.Now()); err != nil {
		t.Fatal(err)
	}

	one := live()
	began := time.Now()
	if _, err := eng.View().Smoke(); err != nil {
		t.Error(err)
	}
	t.Logf("smoke queries: %v", time.Since(began).Round(100*time.Microsecond))
	t.Logf("first View: %s live, Size says %s", mib(one-empty), mib(eng.View().Size()))

	load := func(what string, percent int) {
		defer debug.SetGCPercent(debug.SetGCPercent(percent))
		before := live()
		resetPeak()
		stop := watchHeap()
		if err := eng.Retry(time.Now()); err != nil {
			t.Fatal(err)
		}
		peak, total := stop()
		after := live()
		s := eng.Stats().LastLoad
		t.Logf("%s: live heap %s, at most %s while loading, then %s; heap in use at most %s, RSS at most %s; "+
			"read %v, index %v, fragments %v",
			what, mib(before), mib(peak), mib(after), mib(total), mib(peakRSS()),
			s.Read.Round(time.Millisecond), s.Index.Round(time.Millisecond), s.Fragments.Round(time.Millisecond))
	}
	publish(ids[1])
	// With a collector that runs all the time, the peak is the memory that loading really needs.
	load("swap, GOGC=5", 5)

	eng = engine.New(store, engine.Options{Site: wire.URLs{URL: "http://localhost", ProductPrefix: "prd"}})
	publish(ids[0])
	if err := eng.Open(time.Now()); err != nil {
		t.Fatal(err)
	}
	publish(ids[1])
	load("swap, GOGC=100", 100)

	// From the return of publish to the first instant at which the engine serves the snapshot,
	// over ten releases.
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() { eng.Follow(ctx) })
	var fastest, slowest time.Duration
	for k := range 10 {
		id := ids[k%2]
		began := publish(id)
		for eng.View().ID != id {
			time.Sleep(time.Millisecond)
		}
		took := time.Since(began)
		if k == 0 || took < fastest {
			fastest = took
		}
		slowest = max(slowest, took)
	}

	cancel()
	following.Wait()
	t.Logf("publish to live: %v to %v over 10 publications; load %v", fastest.Round(time.Millisecond),
		slowest.Round(time.Millisecond),
		eng.Stats().LastLoad.Total.Round(time.Millisecond))
}

// storeDays stores the first days of a synthetic catalog, each built on the previous one.
func storeDays(t *testing.T, store *snapshot.Store, cards, days int) (ids []string) {
	t.Helper()
	var base *snapshot.Catalog
	for day := range days {
		raw := filepath.Join(t.TempDir(), fmt.Sprint("day", day))
		if err := synth.Write(raw, synth.Options{Cards: cards, Day: day}); err != nil {
			t.Fatal(err)
		}

		built, err := loader.Build(t.Context(), loader.Options{
			Sources: []loader.Input{{Kind: "native", Path: raw}},
			Base:    base,
		})
		if err != nil {
			t.Fatal(err)
		}

		m, _, err := store.Write(built.Catalog, snapshot.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.ID)
		base = built.Catalog
		_ = os.RemoveAll(raw)
	}
	return ids
}

func mib(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }

func read(name string) int64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}

// live returns the reachable heap.
func live() int64 {
	runtime.GC()
	// The second collection sweeps the objects that the first only marked.
	runtime.GC()
	return read("/gc/heap/live:bytes")
}

// watchHeap samples the heap until stop is called, which returns the largest live and the largest
// used heap.
func watchHeap() (stop func() (live, used int64)) {
	done := make(chan struct{})
	var wait sync.WaitGroup

	var top, used int64
	wait.Go(func() {
		for {
			top = max(top, read("/gc/heap/live:bytes"))
			used = max(used, read("/memory/classes/heap/objects:bytes"))
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	return func() (int64, int64) {
		close(done)
		wait.Wait()
		return top, used
	}
}

// resetPeak resets the peak RSS in the kernel, where that is possible (Linux).
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// peakRSS returns the peak RSS since resetPeak, 0 where it is unknown.
func peakRSS() int64 {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n << 10
		}
	}
	return 0
}
