package limiter

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/internal/redistest"
)

// tenants are keys of tenants on all servers.
type tenants struct {
	file  *keys.File
	plans keys.Plans
	ring  *keys.Ring
	raw   map[string]string
}

// newTenants has tenants with a key each, on a plan of their own.
func newTenants(t testing.TB, kind keys.Surface, plan keys.Plan, names ...string) *tenants {
	t.Helper()
	ts := &tenants{file: keys.NewFile(), plans: keys.DefaultPlans(), raw: map[string]string{}}
	ts.plans.Set("tested", plan)
	for _, name := range names {
		_, raw, err := ts.file.Create(keys.NewKey{Tenant: name, Surface: kind, Plan: "tested"}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		ts.raw[name] = raw
	}

	ring, err := keys.FixedRing(ts.file, ts.plans)
	if err != nil {
		t.Fatal(err)
	}
	ts.ring = ring
	return ts
}

func (ts *tenants) principal(t testing.TB, name string) *keys.Principal {
	t.Helper()
	p, err := ts.ring.FindCached([]byte(ts.raw[name]), access.StartClock(time.Now()).At(time.Now()).Wall, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// server is a store over a real clock.
type server struct {
	*Store
	t       testing.TB
	clock   access.Clock
	dir     string
	lost    atomic.Int64
	reports atomic.Pointer[string] // of the last loss
}

var serverIDs atomic.Int64

// startServer opens a store; change completes its options.
func startServer(t testing.TB, url, prefix string, change func(*Options)) *server {
	t.Helper()
	s := &server{t: t, clock: access.StartClock(time.Now()), dir: memoryDir(t)}
	return s.open(url, prefix, fmt.Sprintf("%016x", serverIDs.Add(1)), change)
}

func (s *server) open(url, prefix, serverID string, change func(*Options)) *server {
	s.t.Helper()
	options := Options{
		URL: url, Prefix: prefix, UsageLog: openUsageLog(s.t, s.dir, s.now()), ServerID: serverID, Now: s.now,
		Acks: AcksNone, Timeout: 20 * time.Second, Lease: 500 * time.Millisecond,
		exchange: 20 * time.Second, commit: 20 * time.Second, // a machine that is busy is none that is away
		Report: func(err error) {
			if lost, is := errors.AsType[*LostError](err); is {
				s.lost.Add(int64(lost.Tenants))
				text := err.Error()
				s.reports.Store(&text)
			}
		},
	}
	if change != nil {
		change(&options)
	}

	store, err := Open(s.t.Context(), options)
	if err != nil {
		s.t.Fatal(err)
	}
	s.Store = store
	s.t.Cleanup(func() { store.Close() })
	return s
}

func (s *server) now() access.Instant { return s.clock.At(time.Now()) }

// admit makes a call.
func (s *server) admit(p *keys.Principal, op access.Operation) access.Decision {
	return s.Admit(p, access.SpecFor(p, op), s.now())
}

// do makes a whole call, and reports whether it was admitted and charged.
func (s *server) do(p *keys.Principal, op access.Operation) bool {
	decision := s.admit(p, op)
	if decision.Result != access.Admitted {
		return false
	}
	_, err := s.Finish(decision.Reservation, true)
	return err == nil
}

// eventually waits for something that has to happen.
func eventually(t testing.TB, what string, ready func() bool) {
	t.Helper()
	deadline := time.Now().Add(90 * time.Second)
	for !ready() {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// spread runs a function n times on each server, a few at a time.
func spread(servers []*server, n int, do func(s *server, i int)) {
	var group sync.WaitGroup
	for _, s := range servers {
		for worker := range 4 {
			group.Go(func() {
				for i := worker; i < n; i += 4 {
					do(s, i)
				}
			})
		}
	}
	group.Wait()
}

// TestTwoServersOneRedis holds limits, replays, conflicts and waiting over two servers.
func TestTwoServersOneRedis(t *testing.T) {
	t.Parallel()
	r, prefix := commonRedis(t)
	age(t, r, prefix)
	servers := []*server{startServer(t, r.URL(), prefix, nil), startServer(t, r.URL(), prefix, nil)}

	t.Run("the minute", func(t *testing.T) {
		p := newTenants(t, keys.Live, keys.Plan{PerMinute: 20, PerDay: 1000}, "minute").principal(t, "minute")
		var admitted atomic.Int64
		spread(servers, 40, func(s *server, _ int) {
			if s.do(p, access.CardsGet) {
				admitted.Add(1)
			}
		})
		if admitted.Load() != 20 {
			t.Errorf("%d admitted of 20 a minute", admitted.Load())
		}
		decision := servers[0].admit(p, access.CardsGet)
		if decision.Result != access.RateLimited || decision.RetryAfter < 1 {
			t.Errorf("then: %+v", decision)
		}
	})
	t.Run("the day", func(t *testing.T) {
		p := newTenants(t, keys.Live, keys.Plan{PerMinute: 900, PerDay: 30}, "day").principal(t, "day")
		var charged atomic.Int64
		spread(servers, 60, func(s *server, i int) {
			decision := s.admit(p, access.CardsGet)
			if decision.Result != access.Admitted {
				return
			}
			charge, err := s.Finish(decision.Reservation, i%3 > 0)
			if err != nil {
				t.Error(err)
			}
			charged.Add(charge.Charged)
		})
		// Failed calls come back, on the other server too.
		eventually(t, "the quota is used up", func() bool {
			if servers[1].do(p, access.CardsGet) {
				charged.Add(1)
			}
			return charged.Load() >= 30
		})
		if servers[0].do(p, access.CardsGet) || charged.Load() != 30 {
			t.Errorf("%d charged of 30", charged.Load())
		}
		usage, err := servers[0].Usage(p, access.SpecFor(p, access.UsageGet), servers[0].now())
		if err != nil || usage.Used != 30 {
			t.Errorf("usage %+v (%v)", usage, err)
		}
	})
	t.Run("leases", func(t *testing.T) {
		p := newTenants(t, keys.Live, keys.Plan{PerMinute: 3000, PerDay: 1_000_000}, "leases").principal(t, "leases")
		var admitted atomic.Int64
		spread(servers, 4000, func(s *server, _ int) {
			if s.do(p, access.CardsGet) {
				admitted.Add(1)
			}
		})
		if n := admitted.Load(); n > 3000 || n < 1500 {
			t.Errorf("%d admitted of 3000 a minute", n)
		}
	})
	t.Run("replay, conflict, wait", func(t *testing.T) {
		p := newTenants(t, keys.Preview, keys.Plan{PerMinute: 900, Credits: 5}, "batch").principal(t, "batch")
		a, b := servers[0], servers[1] // air: two of a kind
		first := a.admit(p, access.PricesBatch)
		claim, err := a.Begin(first.Reservation, "k", access.BodyHash{1}, a.now())
		if err != nil || claim.Result != access.Fresh {
			t.Fatal(claim, err)
		}

		second := b.admit(p, access.PricesBatch)
		waiting, err := b.Begin(second.Reservation, "k", access.BodyHash{1}, b.now())
		if err != nil || waiting.Result != access.InProgress {
			t.Fatal(waiting, err)
		}
		if other, err := b.Begin(second.Reservation, "k", access.BodyHash{2}, b.now()); err != nil ||
			other.Result != access.Conflict {
			t.Fatal(other, err)
		}

		if _, err := a.Commit(first.Reservation, claim, []byte("the answer")); err != nil {
			t.Fatal(err)
		}
		<-waiting.Done
		again, err := b.Begin(second.Reservation, "k", access.BodyHash{1}, b.now())
		if err != nil || again.Result != access.Replay || string(again.Reply) != "the answer" {
			t.Fatal(again, err)
		}
		if usage, err := b.Usage(p, access.SpecFor(p, access.UsageGet), b.now()); err != nil || usage.Used != 1 {
			t.Fatal(usage, err)
		}
	})
}

// pair is a primary, a replica behind a network, and a network in front of both.
type pair struct {
	primary, replica *redistest.Process
	front, between   *proxy
}

// startPair starts two processes; front leads to the primary.
func startPair(t testing.TB, args ...string) *pair {
	t.Helper()
	pr := &pair{primary: redistest.Start(t, args...)}
	pr.front = newProxy(t, pr.primary.Address())
	pr.between = newProxy(t, pr.primary.Address())
	pr.replica = redistest.Start(t, append(args, "--replicaof", "127.0.0.1 "+pr.between.port())...)
	pr.replica.Until("it follows", func() bool {
		return strings.Contains(pr.replica.Try("INFO", "replication"), "master_link_status:up") &&
			strings.Contains(pr.primary.Try("INFO", "replication"), "state=online")
	})
	return pr
}

// failOver kills the primary and leads to the replica.
func (pr *pair) failOver() {
	pr.primary.Kill()
	pr.replica.Try("REPLICAOF", "NO", "ONE")
	pr.front.lead(pr.replica.Address())
}

// granted is what the window of a key has in a process.
func granted(r *redistest.Process, prefix, tenant, key string) int64 {
	n, err := strconv.ParseInt(r.Try("LLEN", prefix+":{"+tenant+"}:w:"+key), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// load is calls of many tenants over servers, with what was granted to each.
type load struct {
	*tenants
	names   []string
	granted []atomic.Int64
	refused atomic.Int64
	stop    func()
}

// startLoad begins a load of n tenants, each with a plan that it does not reach.
func startLoad(t *testing.T, servers []*server, n int) *load {
	t.Helper()
	l := &load{granted: make([]atomic.Int64, n)}
	for i := range n {
		l.names = append(l.names, fmt.Sprint("tenant", i))
	}
	l.tenants = newTenants(t, keys.Live, keys.Plan{PerMinute: 1000, PerDay: 1_000_000}, l.names...)

	var next atomic.Int64
	var over atomic.Bool
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			for !over.Load() {
				one := int(next.Add(1)) % n
				if servers[i%len(servers)].do(l.principal(t, l.names[one]), access.CardsGet) {
					l.granted[one].Add(1)
				} else {
					l.refused.Add(1)
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	l.stop = func() {
		over.Store(true)
		group.Wait()
	}
	return l
}

// until waits until as much was granted in all.
func (l *load) until(t *testing.T, sum int64) {
	t.Helper()
	eventually(t, "calls are granted", func() bool {
		all := int64(0)
		for i := range l.granted {
			all += l.granted[i].Load()
		}
		return all >= sum
	})
}

// missing returns how many grants the process does not have, and of how many tenants.
func (l *load) missing(t *testing.T, r *redistest.Process) (grants, of int64) {
	t.Helper()
	for i, name := range l.names {
		if gone := l.granted[i].Load() - granted(r, "np", name, l.principal(t, name).KeyID); gone > 0 {
			grants += gone
			of++
		}
	}
	return grants, of
}

// TestFailoverReplica kills the primary under load: no grant that was acknowledged is lost.
func TestFailoverReplica(t *testing.T) {
	t.Parallel()
	pr := startPair(t)
	pr.between.change(func(p *proxy) { p.delay = 2 * time.Millisecond })
	age(t, pr.primary, "np")
	replica := func(o *Options) { o.Acks = AcksReplica; o.Timeout = 5 * time.Second }
	servers := []*server{startServer(t, pr.front.url(), "np", replica), startServer(t, pr.front.url(), "np", replica)}
	l := startLoad(t, servers, 50)
	l.until(t, 200)
	pr.failOver()
	eventually(t, "calls are refused", func() bool { return l.refused.Load() > 0 })
	l.stop()
	if grants, of := l.missing(t, pr.replica); grants > 0 {
		t.Errorf("%d grants of %d tenants are lost", grants, of)
	}
}

// TestSentinel has a Sentinel find the next primary: what was acknowledged is there.
func TestSentinel(t *testing.T) {
	t.Parallel()
	pr := startPair(t)
	age(t, pr.primary, "np")
	direct := redistest.Start(t, "--replicaof", "127.0.0.1 "+pr.primary.Port())
	watcher := redistest.Sentinel(t, pr.primary, "cards")
	watcher.Until("it knows the replicas", func() bool {
		return strings.Contains(watcher.Try("INFO", "sentinel"), "slaves=2")
	})

	s := startServer(t, "redis+sentinel://"+watcher.Address()+"/cards", "np", func(o *Options) {
		o.Acks = AcksReplica
	})
	l := startLoad(t, []*server{s}, 20)
	l.until(t, 100)
	l.stop()
	for _, r := range []*redistest.Process{direct, pr.replica} {
		r.Until("it has all", func() bool {
			grants, _ := l.missing(t, r)
			return grants == 0
		})
	}
	pr.primary.Kill()
	next := direct
	asked := time.Time{}
	eventually(t, "another is the primary", func() bool {
		// One that is refused, or does not find a replica in time, is asked for again.
		if time.Since(asked) > time.Second {
			watcher.Try("SENTINEL", "FAILOVER", "cards")
			asked = time.Now()
		}
		for _, r := range []*redistest.Process{direct, pr.replica} {
			if strings.Contains(r.Try("INFO", "replication"), "role:master") {
				next = r
				return true
			}
		}
		return false
	})
	if grants, of := l.missing(t, next); grants > 0 {
		t.Errorf("%d grants of %d tenants are lost", grants, of)
	}

	eventually(t, "rights can be had again", func() bool { return s.do(l.principal(t, "tenant0"), access.CardsGet) })
	if s.lost.Load() != 0 {
		t.Errorf("%d tenants lost something", s.lost.Load())
	}
}

// TestLossIsSeen kills a primary that nobody waited for: the servers find every tenant that lost
// something, close their windows, and bill what they had.
func TestLossIsSeen(t *testing.T) {
	t.Parallel()
	pr := startPair(t)
	age(t, pr.primary, "np")
	s := startServer(t, pr.front.url(), "np", nil)
	p := newTenants(t, keys.Live, keys.Plan{PerMinute: 1000, PerDay: 1000}, "before").principal(t, "before")
	if !s.do(p, access.CardsGet) {
		t.Fatal("refused")
	}
	pr.replica.Until("it has the first call", func() bool { return granted(pr.replica, "np", "before", p.KeyID) == 1 })

	// Later grants are nowhere else.
	pr.primary.Try("CLIENT", "KILL", "TYPE", "replica")
	pr.between.change(func(p *proxy) { p.cut = true })
	pr.between.lead(pr.primary.Address())
	l := startLoad(t, []*server{s}, 60)
	l.until(t, 300)
	l.stop()
	failed := time.Now()
	pr.failOver()
	grants, of := l.missing(t, pr.replica)
	if grants == 0 {
		t.Fatal("nothing was lost")
	}

	eventually(t, "all tenants are found", func() bool { return s.lost.Load() >= of })
	eventually(t, "rights can be had again", func() bool { return s.Unavailable() == nil })
	for i, name := range l.names {
		p := l.principal(t, name)
		decision := s.admit(p, access.CardsGet)
		shut := time.Duration(decision.RetryAfter)*time.Second + time.Since(failed) // a minute from the loss on
		if l.granted[i].Load() > 0 && (decision.Result != access.Unavailable || shut < time.Minute) {
			t.Fatalf("%s: %+v after a loss", name, decision)
		}
		usage, err := s.Usage(p, access.SpecFor(p, access.UsageGet), s.now())
		if err != nil || usage.Used != l.granted[i].Load() {
			t.Fatalf("%s: %d used of %d charged (%v)", name, usage.Used, l.granted[i].Load(), err)
		}
	}
	if s.lost.Load() != of {
		t.Errorf("%d tenants found, %d lost something", s.lost.Load(), of)
	}
	want := regexp.MustCompile(`^redis lost acknowledged writes \(\d+ tenants\): their minute windows are closed for ` +
		`60 s, nothing billed is lost$`)
	if said := s.reports.Load(); said == nil || !want.MatchString(*said) {
		t.Errorf("a loss is told as %v", said)
	}
	if !s.do(p, access.CardsGet) {
		t.Error("a tenant that lost nothing is refused")
	}
}

// TestFailoverAOF kills a Redis that syncs its file for each batch: nothing is lost.
func TestFailoverAOF(t *testing.T) {
	t.Parallel()
	r := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	age(t, r, "np")
	s := startServer(t, r.URL(), "np", func(o *Options) { o.Acks = AcksAOF; o.Timeout = time.Second })
	l := startLoad(t, []*server{s}, 20)
	l.until(t, 100)
	r.Kill()
	l.stop()
	r.Restart()
	if grants, of := l.missing(t, r); grants > 0 {
		t.Errorf("%d grants of %d tenants are lost", grants, of)
	}
	eventually(t, "rights can be had again", func() bool { return s.do(l.principal(t, "tenant0"), access.CardsGet) })
}
