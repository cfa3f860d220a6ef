package limiter

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/internal/redistest"
)

// TestEmptiedRedisWithoutAServer empties Redis when one of its servers is gone for good, and
// another server was idle for long. The ledger enters their charges of a day and of credits, once.
func TestEmptiedRedisWithoutAServer(t *testing.T) {
	t.Parallel()
	r := redistest.Start(t)
	age(t, r, "np")
	var servers []*server
	var asked atomic.Int64
	ledger := func(o *Options) {
		o.ChargesByServer = func(
			_ context.Context, tenant string, kind access.QuotaKind, from, till int64,
		) (map[string]int64, error) {
			asked.Add(1)
			if now := servers[0].now().Wall; tenant != "one" || now < from || now >= till {
				t.Errorf("%s from %d till %d", tenant, from, till)
			}
			if kind == access.PeriodCredits {
				return map[string]int64{servers[0].options.ServerID: 2, "": 1}, nil
			}
			return map[string]int64{servers[0].options.ServerID: 3, servers[1].options.ServerID: 4}, nil
		}
	}
	for range 2 {
		servers = append(servers, startServer(t, r.URL(), "np", ledger))
	}
	live := newTenants(t, keys.Live, keys.Plan{PerMinute: 300, PerDay: 10}, "one").principal(t, "one")
	preview := newTenants(t, keys.Preview, keys.Plan{PerMinute: 300, Credits: 5}, "one").principal(t, "one")
	for i, s := range servers {
		for range 3 + i {
			if !s.do(live, access.CardsGet) {
				t.Fatal("refused")
			}
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the ledger was asked %d times by servers on data that are older than the day", n)
	}
	servers[0].Close()
	r.Try("FLUSHALL")
	age(t, r, "np")
	eventually(t, "the other server is back", func() bool { return servers[1].client.up() })

	// The day began after those data, as far as anybody can see: they are made younger.
	next := startServer(t, r.URL(), "np", ledger)
	for _, s := range []*server{servers[1], next} {
		state := s.client.state.Load()
		state.datasetSince = s.now().Wall
	}
	t.Run("many at once", func(t *testing.T) {
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				usage, err := next.Usage(live, access.SpecFor(live, access.UsageGet), next.now())
				if err != nil || usage.Used != 7 || usage.Remaining() != 3 {
					t.Errorf("%+v (%v)", usage, err)
				}
			})
		}
		group.Wait()
		if n := asked.Load(); n != 1 {
			t.Errorf("the ledger was asked %d times", n)
		}
	})
	for p, want := range map[*keys.Principal]int{live: 3, preview: 2} {
		op := access.CardsGet
		if p == preview {
			op = access.ProductsList
		}
		admitted := 0
		for range 12 {
			if next.do(p, op) {
				admitted++
			}
		}
		if admitted != want {
			t.Errorf("%s: %d calls are admitted, want %d", p.Surface, admitted, want)
		}
	}
	usage, err := servers[1].Usage(live, access.SpecFor(live, access.UsageGet), next.now())
	if err != nil || usage.Used != 10 {
		t.Errorf("at a server that was there: %+v (%v)", usage, err)
	}
}

// TestEmptiedRedisWithoutADatabase has no source of earlier charges. Calls continue, and the
// charges are requested again later, not for each call.
func TestEmptiedRedisWithoutADatabase(t *testing.T) {
	t.Parallel()
	r, prefix := commonRedis(t)
	age(t, r, prefix)
	var asked atomic.Int64
	s := startServer(t, r.URL(), prefix, func(o *Options) {
		o.ChargesByServer = func(context.Context, string, access.QuotaKind, int64, int64) (map[string]int64, error) {
			asked.Add(1)
			return nil, errors.New("away")
		}
	})
	s.client.state.Load().datasetSince = s.now().Wall
	p := newTenants(t, keys.Live, keys.Plan{PerMinute: 300, PerDay: 100}, "one").principal(t, "one")
	began := s.now().Mono

	for range 20 {
		if !s.do(p, access.CardsGet) {
			t.Error("refused")
		}
	}
	limit := 1 + (s.now().Mono-began)/fillInterval
	if n := asked.Load(); n < 1 || n > limit {
		t.Errorf("the database was asked %d times, want 1 to %d", n, limit)
	}
}
