package limiter

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
)

// entryCount counts limiters.
func (s *server) entryCount() (n int) {
	s.limiters.each(func(limiterKey, *limiterEntry) { n++ })
	return n
}

// later is an Instant so long after now.
func (s *server) later(d time.Duration) access.Instant {
	now := s.now()
	return access.Instant{Mono: now.Mono + d.Milliseconds(), Wall: now.Wall + d.Milliseconds()}
}

// TestSweep evicts unused limiters, and no other ones: their charges still count.
func TestSweep(t *testing.T) {
	t.Parallel()
	r, prefix := commonRedis(t)
	age(t, r, prefix)
	s := startServer(t, r.URL(), prefix, nil)
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprint("tenant", i))
	}
	ts := newTenants(t, keys.Live, keys.Plan{PerMinute: 6, PerDay: 4}, names...)
	for _, name := range names {
		if !s.do(ts.principal(t, name), access.CardsGet) {
			t.Fatal("refused")
		}
	}
	decision := s.admit(ts.principal(t, names[0]), access.CardsGet)

	s.sweep(s.later(2 * time.Minute))
	if n := s.entryCount(); n != len(names) {
		t.Errorf("%d shares after two minutes, of %d", n, len(names))
	}
	s.sweep(s.later(4 * time.Minute))
	if n := s.entryCount(); n != 1 {
		t.Errorf("%d shares, want that of the call in flight", n)
	}
	if charge, err := s.Finish(decision.Reservation, true); err != nil || charge.Charged != 1 {
		t.Errorf("%+v (%v)", charge, err)
	}
	for i, name := range names {
		p := ts.principal(t, name)
		admitted := 0
		for range 6 {
			if s.do(p, access.CardsGet) {
				admitted++
			}
		}
		want := 3
		if i == 0 {
			want = 2 // two are charged already
		}
		if admitted != want {
			t.Errorf("%s: %d more calls are admitted, want %d", name, admitted, want)
		}
	}
	if s.lost.Load() != 0 {
		t.Errorf("%d tenants lost something", s.lost.Load())
	}
}

// TestSweepUnderCalls evicts limiters repeatedly while two servers use them: no unit is
// granted twice, none is lost.
func TestSweepUnderCalls(t *testing.T) {
	t.Parallel()
	r, prefix := commonRedis(t)
	age(t, r, prefix)
	servers := []*server{startServer(t, r.URL(), prefix, nil), startServer(t, r.URL(), prefix, nil)}
	const limit = 600
	for name, plan := range map[string]keys.Plan{
		"exact": {PerMinute: 1000, PerDay: limit}, "leased": {PerMinute: 5000, PerDay: limit},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTenants(t, keys.Live, plan, name).principal(t, name)
			done := make(chan struct{})
			swept := make(chan struct{})
			go func() {
				defer close(swept)
				for {
					select {
					case <-done:
						return
					default:
						for _, s := range servers {
							s.sweep(s.later(time.Hour))
						}
					}
				}
			}()

			var charged atomic.Int64
			var group sync.WaitGroup
			for _, s := range servers {
				group.Go(func() {
					for i := 0; charged.Load() < limit && i < 20*limit; i++ {
						// While a server rests, its limiter is evicted: at times for certain, on a busy machine too.
						rest := rand.N(200 * time.Microsecond)
						if i%50 == 49 {
							rest = 10 * time.Millisecond
						}
						time.Sleep(rest)
						if i%50 == 49 {
							s.sweep(s.later(time.Hour)) // the other goroutine may not have had a turn
						}
						decision := s.admit(p, access.CardsGet)
						if decision.Result != access.Admitted {
							continue // what failed comes back soon
						}
						charge, err := s.Finish(decision.Reservation, i%100 < 99)
						if err != nil {
							t.Error(err)
						}
						charged.Add(charge.Charged)
					}
				})
			}
			group.Wait()
			close(done)
			<-swept
			if n := servers[0].entrySeq.Load(); name == "exact" && n < 5 {
				t.Errorf("%d shares were made: none was let go", n)
			}
			if charged.Load() > limit || servers[0].do(p, access.CardsGet) {
				t.Errorf("%d charged of %d a day", charged.Load(), limit)
			}
			eventually(t, "the day is used up", func() bool {
				if servers[1].do(p, access.CardsGet) {
					charged.Add(1)
				}
				return charged.Load() == limit
			})
		})
	}
}

// TestLeasedUnits reads the number of leased calls, while they may be used.
func TestLeasedUnits(t *testing.T) {
	t.Parallel()
	r, prefix := commonRedis(t)
	age(t, r, prefix)
	s := startServer(t, r.URL(), prefix, func(o *Options) { o.Lease = time.Hour })
	p := newTenants(t, keys.Live, keys.Plan{PerMinute: 5000, PerDay: 100_000}, "one").principal(t, "one")
	if !s.do(p, access.CardsGet) {
		t.Fatal("refused")
	}
	if n := s.LimiterStats().Leased; n != 16 { // of 17: one is used
		t.Errorf("%d units are taken ahead", n)
	}
}
