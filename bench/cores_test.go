package bench

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/server"
)

// BenchmarkCores serves requests without system calls on one and on all processors, each with one
// connection. The difference in CPU time a request is what processors cost each other: locks, shared
// cache lines and memory. Calls are of one tenant, or of a tenant for each processor.
func BenchmarkCores(b *testing.B) {
	w := worlds[30_000]()
	all := runtime.GOMAXPROCS(0)
	ring, live := tenantKeys(b, all)

	for _, tenants := range []int{1, all} {
		for _, name := range []string{
			"get_card", "cards_batch_200", "prices_batch_100", "history_365", "search_new",
		} {
			for _, cores := range []int{1, all} {
				b.Run(fmt.Sprintf("tenants=%d/%s/cores=%d", tenants, name, cores), func(b *testing.B) {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
					now := w.options.Clock.At(time.Now())
					store, err := access.OpenLocal(b.TempDir(), access.LocalOptions{Now: now})
					if err != nil {
						b.Fatal(err)
					}
					defer store.Close()
					options := w.options
					options.Gate = access.NewGate(ring, store)
					s, err := server.New(options)
					if err != nil {
						b.Fatal(err)
					}

					conns := make([]*replayConn, cores)
					for i := range conns {
						turns := newTurns(w.operation(b, name), i)
						key := []byte(live[i%tenants])
						for k, r := range turns.requests {
							turns.requests[k].Bytes = bytes.Replace(r.Bytes, []byte(w.keys.Live), key, 1)
						}
						conns[i] = &replayConn{turns: turns, left: (b.N + cores - 1) / cores}
					}
					serveAll(b, s, conns)
				})
			}
		}
	}
}

// tenantKeys makes live keys of n tenants.
func tenantKeys(b *testing.B, n int) (*keys.Ring, []string) {
	b.Helper()
	var live []string
	state := b.TempDir()
	err := keys.Update(state, func(file *keys.File) error {
		for i := range n {
			tenant := fmt.Sprintf("tenant-%d", i)
			_, key, err := file.Create(keys.NewKey{Tenant: tenant, Surface: keys.Live, Plan: benchPlan}, time.Now())
			if err != nil {
				return err
			}
			live = append(live, key)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}

	ring, err := LoadKeys(state)
	if err != nil {
		b.Fatal(err)
	}
	return ring, live
}

// serveAll serves connections side by side. It reports the CPU time of a request, and how long it waited
// for locks.
func serveAll(b *testing.B, s *server.Server, conns []*replayConn) {
	b.Helper()
	waited := []metrics.Sample{{Name: "/sync/mutex/wait/total:seconds"}}
	metrics.Read(waited)
	waitedBefore := waited[0].Value.Float64()
	before, _ := cpuTime(os.Getpid())
	b.ResetTimer()

	var group sync.WaitGroup
	for _, c := range conns {
		group.Go(func() { _ = s.ServeConn(c) }) // good says whether it was served
	}
	group.Wait()
	b.StopTimer()

	after, _ := cpuTime(os.Getpid())
	metrics.Read(waited)
	b.ReportMetric(float64(after-before)/float64(b.N), "cpu-ns/op")
	b.ReportMetric((waited[0].Value.Float64()-waitedBefore)*1e9/float64(b.N), "lock-ns/op")
	for _, c := range conns {
		if c.left > 0 || c.good == 0 {
			b.Fatalf("%d requests of a connection are left, %d were good", c.left, c.good)
		}
	}
}
