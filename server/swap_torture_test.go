package server

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	runtimemetrics "runtime/metrics"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ninepocket/engine"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// TestSwapTorture publishes into a real store directory again and again while an engine follows it
// and readers ask. No request fails, and every answer is wholly of the snapshot that it names. Once
// the budget for retired Views is full, neither the heap nor the number of goroutines grows.
// NINEPOCKET_TORTURE=1000 sets how many swaps, of a larger catalog and with readers that never
// rest.
func TestSwapTorture(t *testing.T) {
	swaps := 10
	rest := 20 * time.Millisecond
	var days []*edition
	if s := os.Getenv("NINEPOCKET_TORTURE"); s != "" {
		var err error
		swaps, err = strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		rest = 0
		days = []*edition{today(), tomorrow()}
	} else {
		days = []*edition{small(), later()}
	}

	truths := []*truth{readTruth(days[0]), readTruth(days[1])}
	const copies, retired, readers = 3, 2, 4
	store := snapshot.OpenStore(filepath.Join(t.TempDir(), "store"))
	ids, editions := storeCopies(t, store, days, truths, copies)
	budget := days[0].view.Size()*retired + days[0].view.Size()/2
	eng := engine.New(store, engine.Options{
		Site: wire.URLs{URL: baseURL, ProductPrefix: "prd"},
		Poll: 2 * time.Millisecond, RetiredBudget: budget,
	})
	publish := func(id string) {
		if _, err := store.Publish(id, snapshot.PublishOptions{
			Now:   time.Now(),
			Check: func(*snapshot.Catalog) error { return nil },
		}); err != nil {
			t.Fatal(err)
		}
	}

	publish(ids[0])
	if err := eng.Open(time.Now()); err != nil {
		t.Fatal(err)
	}

	w := newWorld(t, setup{noViews: true, options: func(o *Options) { o.Engine = eng }})
	moved := movedCards(t, truths[0], truths[1])
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { eng.Follow(ctx) })
	var asked atomic.Int64
	var asking sync.RWMutex // held by readers while they ask, and against them while the heap is measured
	for n := range readers {
		c, err := w.dial() // one connection each, so that goroutines can be counted
		if err != nil {
			t.Fatal(err)
		}

		send := func(q request) (reply, error) { r, _, err := c.send(q); return r, err }
		running.Go(func() {
			defer c.Close()
			for i := n; ctx.Err() == nil; i++ {
				asking.RLock()
				w.readOne(t, send, editions, moved, i)
				asking.RUnlock()
				asked.Add(1)
				time.Sleep(rest)
			}
		})
	}
	defer running.Wait()
	defer stop()

	// Garbage of other tests of the process may go meanwhile, so that only growth counts.
	var level, highest int64
	var goroutines, peak int
	var filled, again bool
	measure := func() (int64, int) {
		asking.Lock()
		defer asking.Unlock()
		return liveHeap(), runtime.NumGoroutine()
	}

	for k := 1; k <= swaps && !t.Failed(); k++ {
		id := ids[k%len(ids)]
		publish(id)
		for deadline := time.Now().Add(time.Minute); eng.View().ID != id; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("publication %d is not live: %+v", k, eng.Stats())
			}
		}

		// No further View fits.
		switch full := eng.Stats().RetiredBytes+days[0].view.Size() > budget; {
		case !filled && full && k >= len(ids):
			level, goroutines = measure()
			filled = true
		case filled && (k%25 == 0 || k == swaps):
			heap, n := measure()
			room := (eng.View().Size()+eng.Stats().RetiredBytes)/10 + eng.View().Size()/2
			// A finished goroutine may not have gone yet.
			for deadline := time.Now().Add(maxTest); (n > goroutines+2 || heap-level > room) &&
				time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
				heap, n = measure()
			}
			highest = max(highest, heap)
			peak = max(peak, n)
			again = true
		}
	}

	s := eng.Stats()
	t.Logf("%d swaps, %d answers; %.1f MiB live with the budget full, at most %.1f MiB after; %d goroutines, at "+
		"most %d after; last load %v",
		swaps, asked.Load(), float64(level)/(1<<20), float64(highest)/(1<<20), goroutines, peak,
		s.LastLoad.Total.Round(time.Millisecond))
	if !filled || !again {
		t.Fatalf("the budget never filled: %d retired", s.Retired)
	}

	// The current View and the retired ones, and a tenth of them (reliability, 1,000 swaps under load).
	// Pools of the process keep a few buffers of requests more or less: half of what one View is that
	// stays.
	pooled := eng.View().Size() / 2
	if live := eng.View().Size() + s.RetiredBytes; highest-level > live/10+pooled {
		t.Errorf("the live heap grew from %d to %d bytes, of which the engine holds %d", level, highest, live)
	}
	if peak > goroutines+2 { // a timer's or the collector's may come and go
		t.Errorf("%d goroutines became %d", goroutines, peak)
	}
	if s.Swaps != uint64(swaps)+1 || s.Failures != [engine.Reasons]uint64{} || s.RetiredBytes > budget {
		t.Errorf("%d swaps, failures %v, %d bytes retired of %d", s.Swaps, s.Failures, s.RetiredBytes, budget)
	}
}

// storeCopies stores two editions several times, a millisecond apart: snapshots of their own with contents that are
// known. The editions take turns, so that every swap changes prices.
func storeCopies(t *testing.T, store *snapshot.Store, days []*edition, truths []*truth, copies int) (ids []string,
	editions map[string]*truth,
) {
	t.Helper()
	editions = map[string]*truth{}
	for k := range copies {
		for n, day := range days {
			c := *day.view.Catalog
			c.SnapshotAt += int64(k)
			m, _, err := store.Write(&c, snapshot.WriteOptions{})
			if err != nil {
				t.Fatal(err)
			}

			ids = append(ids, m.ID)
			editions[m.ID] = truths[n]
		}
	}
	return ids, editions
}

// liveHeap is the heap that is reachable now.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	s := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	runtimemetrics.Read(s)
	return int64(s[0].Value.Uint64())
}
