package limiter

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/internal/redistest"
)

// processTime is the time that this process has computed.
func processTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// redisCPU is the time that a Redis has computed.
func redisCPU(b *testing.B, r *redistest.Process) time.Duration {
	b.Helper()
	info := readInfo(r.Try("INFO", "cpu"))
	sum := time.Duration(0)
	for _, name := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, err := strconv.ParseFloat(strings.TrimSpace(info[name]), 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(seconds * float64(time.Second))
	}
	return sum
}

// many are keys of n tenants on a plan.
func many(b *testing.B, n, perMinute int) (all []*keys.Principal) {
	b.Helper()
	var names []string
	for i := range n {
		names = append(names, "t"+number(int64(i)))
	}
	ts := newTenants(b, keys.Live, keys.Plan{PerMinute: perMinute, PerDay: 1 << 40}, names...)
	for _, name := range names {
		all = append(all, ts.principal(b, name))
	}
	return all
}

// follow starts a replica.
func follow(b *testing.B, r *redistest.Process) {
	b.Helper()
	replica := redistest.Start(b, "--replicaof", "127.0.0.1 "+r.Port())
	replica.Until("it follows", func() bool {
		return strings.Contains(r.Try("INFO", "replication"), "state=online")
	})
}

// BenchmarkAdmitTime measures the wait of calls for their grant, at 500 calls a second. Each is
// granted alone and stored by a replica.
func BenchmarkAdmitTime(b *testing.B) {
	redistest.Need(b)
	r := redistest.Start(b)
	follow(b, r)
	age(b, r, "np")
	s := startServer(b, r.URL(), "np", func(o *Options) { o.Acks = AcksReplica })
	callers := many(b, 1+b.N/900, 1000)

	times := make([]time.Duration, b.N)
	var group sync.WaitGroup
	s.do(callers[0], access.CardsGet) // a replica says within a second that it is there
	b.ResetTimer()
	for i := range b.N {
		time.Sleep(2 * time.Millisecond)
		group.Go(func() {
			p := callers[i%len(callers)]
			spec := access.SpecFor(p, access.CardsGet)
			began := time.Now()
			decision := s.Admit(p, spec, s.now())
			times[i] = time.Since(began)
			if decision.Result != access.Admitted {
				b.Errorf("%+v", decision)
				return
			}
			if _, err := s.Finish(decision.Reservation, true); err != nil {
				b.Error(err)
			}
		})
	}
	group.Wait()

	slices.Sort(times)
	for _, of := range []int{50, 99} {
		b.ReportMetric(float64(times[(len(times)-1)*of/100].Microseconds()), "p"+strconv.Itoa(of)+"-µs")
	}
}

// BenchmarkCost measures the CPU time of a call, here and in Redis with two replicas. It measures
// an admission alone, and a whole call with its record in the usage log, with one server and with
// three.
func BenchmarkCost(b *testing.B) {
	redistest.Need(b)
	for _, c := range []struct {
		name      string
		perMinute int
		whole     bool
		acks      Acks
		servers   int
	}{
		{"exact/no_replica", 1000, false, AcksNone, 1},
		{"exact/admit", 1000, false, AcksReplica, 1},
		{"exact/whole", 1000, true, AcksReplica, 1},
		{"exact/whole/three", 1000, true, AcksReplica, 3},
		{"leased/admit", 10_000_000, false, AcksReplica, 1},
		{"leased/whole", 10_000_000, true, AcksReplica, 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := redistest.Start(b)
			if c.acks == AcksReplica {
				follow(b, r)
				follow(b, r)
			}
			age(b, r, "np")
			var all []*server
			for range c.servers {
				all = append(all, startServer(b, r.URL(), "np", func(o *Options) { o.Acks = c.acks }))
			}
			s := all[0]
			tenants := 1 + b.N/900
			workers := 64
			if c.perMinute > maxExact {
				tenants = 1
				workers = 1
			}
			callers := many(b, tenants, c.perMinute)
			if c.perMinute > maxExact {
				warm(b, s, callers[0])
			}

			spec := access.SpecFor(callers[0], access.CardsGet)
			taken := func() (n uint64) {
				for _, one := range all {
					n += one.LimiterStats().Commands
				}
				return n
			}
			takes := taken()
			here := processTime(b)
			there := redisCPU(b, r)
			var next, refused atomic.Int64
			var group sync.WaitGroup
			b.ResetTimer()
			for range workers {
				group.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						s := all[int(i)%len(all)]
						decision := s.Admit(callers[int(i)/len(all)%len(callers)], spec, s.now())
						if decision.Result != access.Admitted {
							refused.Add(1)
						} else if c.whole {
							_, _ = s.Finish(decision.Reservation, true)
						}
					}
				})
			}
			group.Wait()
			b.StopTimer()
			here = processTime(b) - here
			there = redisCPU(b, r) - there
			takes = taken() - takes
			if n := refused.Load(); n > int64(b.N)/100 {
				b.Errorf("%d of %d calls were refused", n, b.N)
			}
			b.ReportMetric(here.Seconds()*1e6/float64(b.N), "cpu-µs/call")
			b.ReportMetric(there.Seconds()*1e6/float64(max(1, takes)), "redis-µs/take")
			b.ReportMetric(float64(takes)/float64(b.N), "takes/call")
		})
	}
}

// BenchmarkLeasedLimiter is the part of a call that a lease adds: the limiter decides and finishes it,
// without the clock, the usage log and the lookup of the limiter.
func BenchmarkLeasedLimiter(b *testing.B) {
	const units = 1 << 40
	now := access.Instant{Mono: 1, Wall: 1}
	of := quotaPeriod{name: "d1", till: 1 << 50}
	o := admitRequest{subject: "k", perMinute: units, limit: units, cost: 1, window: true, leased: true, period: of}
	lim := newLimiter(redisKeys{prefix: "np", tenant: "t", serverID: "i", sessionID: "l"}, 1<<40, now)
	lim.admitOrQueue(&pendingAdmit{admitDecision: admitDecision{admitRequest: o}}, now)
	call := lim.nextCall(now, false)
	lim.apply(admitResult{granted: units, stored: call.seq, at: 1}, now)

	b.ReportAllocs()
	for b.Loop() {
		d := admitDecision{admitRequest: o}
		if !lim.tryLocal(&d, now) || d.outcome != outcomeAdmitted {
			b.Fatal("it is not admitted")
		}
		lim.finish(lim.current, 1, true)
	}
}

// warm makes leases large: they follow the use of the previous lease.
func warm(b *testing.B, s *server, p *keys.Principal) {
	b.Helper()
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		s.do(p, access.CardsGet)
	}
}
