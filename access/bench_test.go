package access

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// benchGate is a gate with a key of plan unlimited and a preview key without practical limits.
func benchGate(b *testing.B, store Store) (gate *Gate, liveRaw, previewRaw []byte) {
	b.Helper()
	f := keys.NewFile()
	_, live := mustCreate(b, f, keys.NewKey{Tenant: "bench", Surface: keys.Live, Plan: "unlimited"})
	_, preview := mustCreate(b, f, keys.NewKey{Tenant: "org", Surface: keys.Preview, Plan: "unlimited"})
	for i := range 1000 { // a table of some size
		mustCreate(b, f, keys.NewKey{Tenant: fmt.Sprint("tenant", i), Surface: keys.Live, Plan: "free"})
	}

	plans := keys.DefaultPlans()
	plans.Set("unlimited", keys.Plan{PerMinute: 10_000_000, PerDay: 1 << 53, Credits: 1 << 53})
	ring, err := keys.FixedRing(f, plans)
	if err != nil {
		b.Fatal(err)
	}
	return NewGate(ring, store), []byte(live), []byte(preview)
}

func benchEmbedded(b *testing.B) *LocalStore {
	b.Helper()
	store, err := OpenLocal(b.TempDir(), LocalOptions{Now: instant(testTime)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { store.Close() })
	return store
}

func benchAuthenticate(b *testing.B, gate *Gate, raw []byte) *keys.Principal {
	b.Helper()
	p, err := gate.Authenticate(raw, instant(testTime))
	if err != nil {
		b.Fatal(err)
	}
	return p
}

func BenchmarkAuthenticate(b *testing.B) {
	gate, raw, _ := benchGate(b, NewMemory(MemoryOptions{}))
	now := instant(testTime)
	b.ReportAllocs()

	for b.Loop() {
		if _, err := gate.Authenticate(raw, now); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAdmit is the admission of a known key, with rings and with buckets, and refused. Failed
// calls give the unit back, so that the quota lasts.
func BenchmarkAdmit(b *testing.B) {
	for _, limit := range []int{30, 600, 6_000, 1_000_000} {
		b.Run(fmt.Sprint(limit, "/min"), func(b *testing.B) {
			store := NewMemory(MemoryOptions{})
			gate, raw, _ := benchGate(b, store)
			p := benchAuthenticate(b, gate, raw)
			spec := SpecFor(p, CardsGet)
			spec.PerMinute = limit
			now := instant(testTime)
			step := calendar.MinuteMillis/int64(limit) + 1
			b.ReportAllocs()
			for i := int64(0); b.Loop(); i++ {
				now.Mono += step
				if decision := store.Admit(p, spec, now); decision.Result != Admitted {
					b.Fatal(decision)
				}
			}
		})
	}

	b.Run("refused", func(b *testing.B) {
		store := NewMemory(MemoryOptions{})
		gate, raw, _ := benchGate(b, store)
		p := benchAuthenticate(b, gate, raw)
		spec := SpecFor(p, CardsGet)
		spec.PerMinute = 30
		b.ReportAllocs()
		for b.Loop() {
			store.Admit(p, spec, instant(testTime))
		}
	})
}

// BenchmarkCall is all that access does for a live request: authenticate, admit, finish.
func BenchmarkCall(b *testing.B) {
	run := func(b *testing.B, store Store, parallel bool) {
		gate, raw, _ := benchGate(b, store)
		var clock atomic.Int64
		call := func() {
			now := instant(testTime)
			now.Mono += clock.Add(1) / 100
			p, err := gate.Authenticate(raw, now)
			if err != nil {
				b.Fatal(err)
			}

			decision := gate.Admit(p, CardsGet, now)
			if decision.Result != Admitted {
				b.Fatal(decision)
			}
			if _, err := gate.Finish(decision.Reservation, true); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportAllocs()
		if !parallel {
			for b.Loop() {
				call()
			}
			return
		}

		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				call()
			}
		})
	}

	for name, open := range map[string]func(b *testing.B) Store{
		"memory":   func(*testing.B) Store { return NewMemory(MemoryOptions{}) },
		"embedded": func(b *testing.B) Store { return benchEmbedded(b) },
	} {
		b.Run(name, func(b *testing.B) { run(b, open(b), false) })
		b.Run(name+" parallel", func(b *testing.B) { run(b, open(b), true) })
	}
}

// BenchmarkDurableCharge is preview charges that are on disk before they return.
func BenchmarkDurableCharge(b *testing.B) {
	for _, callers := range []int{1, 64, 256} {
		b.Run(fmt.Sprint(callers, " callers"), func(b *testing.B) {
			store := benchEmbedded(b)
			gate, _, raw := benchGate(b, store)
			p := benchAuthenticate(b, gate, raw)
			benchLatency(b, callers, func(n int64) {
				now := instant(testTime)
				now.Mono += n / 100
				decision := gate.Admit(p, ProductsList, now)
				if _, err := gate.Finish(decision.Reservation, true); err != nil {
					b.Error(err)
				}
			})
		})
	}
}

// BenchmarkIdempotentBatch is begin and commit of a batch with a reply of 22 KB.
func BenchmarkIdempotentBatch(b *testing.B) {
	price := `{"selection":{"kind":"card","product_id":"prd_aaaaaaaaaaaaaaaa","variant":"holofoil",` +
		`"condition":"near_mint"},"status":"fresh","price":{"amount_cents":1234,"currency":"USD"}},`

	reply := bytes.Repeat([]byte(price), 125)
	run := func(b *testing.B, store Store, callers int) {
		gate, _, raw := benchGate(b, store)
		p := benchAuthenticate(b, gate, raw)
		benchLatency(b, callers, func(n int64) {
			now := instant(testTime)
			now.Mono += n * 100 // records leave after ten minutes
			decision := gate.Admit(p, PricesBatch, now)
			claim, err := gate.Begin(time.Second, decision.Reservation, fmt.Sprint("key", n), BodyHash{1}, now)
			if err != nil {
				b.Error(err)
				return
			}
			if _, err := gate.Commit(decision.Reservation, claim, reply); err != nil {
				b.Error(err)
			}
		})
	}

	b.Run("memory 1 caller", func(b *testing.B) { run(b, NewMemory(MemoryOptions{}), 1) })
	for _, callers := range []int{1, 64, 256} {
		b.Run(fmt.Sprint("embedded ", callers, " callers"), func(b *testing.B) { run(b, benchEmbedded(b), callers) })
	}

	replay := func(b *testing.B, store Store, committed func() error) {
		gate, _, raw := benchGate(b, store)
		p := benchAuthenticate(b, gate, raw)
		now := instant(testTime)
		decision := gate.Admit(p, PricesBatch, now)
		claim, _ := gate.Begin(time.Second, decision.Reservation, "key", BodyHash{1}, now)
		if _, err := gate.Commit(decision.Reservation, claim, reply); err != nil {
			b.Fatal(err)
		}
		if err := committed(); err != nil {
			b.Fatal(err)
		}

		b.ReportAllocs()
		b.SetBytes(int64(len(reply)))
		for b.Loop() {
			claim, err := gate.Begin(time.Second, decision.Reservation, "key", BodyHash{1}, now)
			if err != nil || claim.Result != Replay {
				b.Fatal(claim.Result, err)
			}
		}
	}
	b.Run("replay", func(b *testing.B) {
		replay(b, NewMemory(MemoryOptions{}), func() error { return nil })
	})
	b.Run("replay from the checkpoint", func(b *testing.B) {
		store := benchEmbedded(b)
		replay(b, store, store.SaveCheckpoint)
	})
}

// benchLatency runs b.N calls from a number of callers and reports percentiles.
func benchLatency(b *testing.B, callers int, call func(n int64)) {
	took := make([]time.Duration, b.N)
	var next atomic.Int64
	var group sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()

	for range callers {
		group.Go(func() {
			for {
				n := next.Add(1)
				if n > int64(b.N) {
					return
				}
				start := time.Now()
				call(n)
				took[n-1] = time.Since(start)
			}
		})
	}
	group.Wait()
	b.StopTimer()

	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}
