package limiter

import (
	"sync/atomic"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/internal/redistest"
)

// BenchmarkAdmit is a whole call, admitted and charged, over loopback: granted one by one and out of
// leases.
func BenchmarkAdmit(b *testing.B) {
	redistest.Need(b)
	for _, c := range []struct {
		name      string
		perMinute int
		acks      Acks
		callers   int
	}{
		{"exact/alone", 1000, AcksNone, 1},
		{"exact/replica/alone", 1000, AcksReplica, 1},
		{"exact/64", 1000, AcksNone, 32},
		{"exact/replica/64", 1000, AcksReplica, 32},
		{"leased", 10_000_000, AcksNone, 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := redistest.Start(b)
			if c.acks == AcksReplica {
				replica := redistest.Start(b, "--replicaof", "127.0.0.1 "+r.Port())
				replica.Until("it follows", func() bool {
					return readInfo(r.Try("INFO", "replication"))["connected_slaves"] == "1"
				})
			}
			age(b, r, "np")
			s := startServer(b, r.URL(), "np", func(o *Options) { o.Acks = c.acks; o.Timeout = 10 * time.Second })

			// As many tenants as nobody is refused.
			var all []string
			for i := range 1 + b.N/900 {
				all = append(all, "t"+number(int64(i)))
			}
			if c.perMinute > maxExact {
				all = all[:1]
			}
			ts := newTenants(b, keys.Live, keys.Plan{PerMinute: c.perMinute, PerDay: 1 << 40}, all...)
			var callers []*keys.Principal
			for _, name := range all {
				callers = append(callers, ts.principal(b, name))
			}

			var next, refused atomic.Int64
			b.ReportAllocs()
			b.SetParallelism(c.callers)
			b.ResetTimer()
			one := func() {
				if !s.do(callers[int(next.Add(1))%len(callers)], access.CardsGet) {
					refused.Add(1)
				}
			}
			if c.callers == 1 {
				for range b.N {
					one()
				}
			} else {
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						one()
					}
				})
			}
			b.StopTimer()
			if n := refused.Load(); n > 0 {
				b.Errorf("%d of %d calls were refused", n, b.N)
			}
		})
	}
}
