package limiter

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/calendar"
	"ninepocket/internal/redistest"
)

// TestEveryKthReplyLost loses answers with their connections. A double grant is counted once, and
// an unseen grant is returned.
func TestEveryKthReplyLost(t *testing.T) {
	t.Parallel()
	r, prefix := commonRedis(t)
	age(t, r, prefix)
	front := newProxy(t, r.Address())
	s := startServer(t, front.url(), prefix, nil)
	p := newTenants(t, keys.Live, keys.Plan{PerMinute: 300, PerDay: 10_000}, "kth").principal(t, "kth")
	front.change(func(p *proxy) { p.everyKth = 53 }) // more than a connection needs to come up

	// As many as may be, and more calls than that.
	var charged atomic.Int64
	eventually(t, "a third is charged", func() bool {
		spread([]*server{s}, 40, func(s *server, _ int) {
			if s.do(p, access.CardsGet) {
				charged.Add(1)
			}
		})
		lost := false
		front.change(func(p *proxy) { lost = p.losses > 0 })
		return lost && charged.Load() >= 100
	})
	front.change(func(p *proxy) { p.everyKth = 0 })
	spread([]*server{s}, 400, func(s *server, _ int) {
		if s.do(p, access.CardsGet) {
			charged.Add(1)
		}
	})
	if n := charged.Load(); n > 300 {
		t.Errorf("%d charged of 300 a minute", n)
	}
	day := "d" + strconv.Itoa(int(calendar.DayOf(s.now().Wall)))
	eventually(t, "all that is claimed is charged", func() bool {
		claimed := r.Try("HGET", prefix+":{kth}:q:"+day, "t")
		return claimed == strconv.FormatInt(charged.Load(), 10)
	})
}

// TestNoReplicasWritesNothing has a Redis refuse: nothing is granted, nothing is written, and it
// passes.
func TestNoReplicasWritesNothing(t *testing.T) {
	t.Parallel()
	r := redistest.Start(t)
	age(t, r, "np")
	// As long as a call that is refused waits for better times.
	s := startServer(t, r.URL(), "np", func(o *Options) { o.Timeout = 3 * time.Second })
	p := newTenants(t, keys.Live, keys.Plan{PerMinute: 300, PerDay: 10_000}, "one").principal(t, "one")
	for _, refusal := range [][2]string{{"min-replicas-to-write", "1"}, {"maxmemory", "1"}} {
		eventually(t, "a call is granted", func() bool { return s.do(p, access.CardsGet) })

		before := r.Try("LLEN", "np:{one}:w:"+p.KeyID)
		r.Try("CONFIG", "SET", refusal[0], refusal[1])
		for range 5 {
			decision := s.admit(p, access.CardsGet)
			if decision.Result != access.Unavailable || decision.RetryAfter < 1 {
				t.Fatalf("%s: %+v", refusal[0], decision)
			}
		}
		if after := r.Try("LLEN", "np:{one}:w:"+p.KeyID); after != before {
			t.Errorf("%s: %s admissions are stored, there were %s", refusal[0], after, before)
		}
		if s.Unavailable() == nil || s.Err() != nil {
			t.Errorf("%s: away %v, own fault %v", refusal[0], s.Unavailable(), s.Err())
		}
		r.Try("CONFIG", "SET", refusal[0], "0")
		eventually(t, "rights can be had again", func() bool { return s.Unavailable() == nil })
	}
}

// TestEmptiedRedis empties Redis during a call. All windows are closed for a minute, charges stay,
// and no tenant is forgotten, even if a new report takes long.
func TestEmptiedRedis(t *testing.T) {
	t.Parallel()
	r := redistest.Start(t)
	age(t, r, "np")
	s := startServer(t, r.URL(), "np", func(o *Options) {
		o.Report = func(err error) {
			if _, lost := errors.AsType[*LostError](err); lost {
				time.Sleep(50 * time.Millisecond) // what is asked meanwhile is refused, and not lost
			}
		}
	})
	ts := newTenants(t, keys.Live, keys.Plan{PerMinute: 300, PerDay: 10}, "one", "two")
	p := ts.principal(t, "one")
	for range 8 {
		if !s.do(p, access.CardsGet) || !s.do(ts.principal(t, "two"), access.CardsGet) {
			t.Fatal("refused")
		}
	}
	r.Try("FLUSHALL")
	eventually(t, "it is seen", func() bool {
		return s.admit(p, access.CardsGet).Result == access.Unavailable && s.Unavailable() != nil
	})
	other := startServer(t, r.URL(), "np", nil)
	if decision := other.admit(p, access.CardsGet); decision.Result != access.Unavailable {
		t.Errorf("another server: %+v", decision)
	}

	// Later.
	eventually(t, "the claims are there again", func() bool {
		s.client.state.Load().cooldownUntil.Store(0) // each time: it may have connected again
		usage, err := s.Usage(p, access.SpecFor(p, access.UsageGet), s.now())
		return err == nil && usage.Used == 8
	})
	day := "d" + strconv.Itoa(int(calendar.DayOf(s.now().Wall)))
	for _, tenant := range []string{"one", "two"} {
		if claimed := r.Try("HGET", "np:{"+tenant+"}:q:"+day, "t"); claimed != "8" {
			t.Errorf("%s: claimed %q, charged 8", tenant, claimed)
		}
	}
}

// TestGrantOfAnEmptiedRedis empties Redis during the first call of a tenant at a server. A grant of
// an empty window is not used, because another server may have just granted the whole window.
func TestGrantOfAnEmptiedRedis(t *testing.T) {
	t.Parallel()
	for name, perMinute := range map[string]int{"exact": 30, "leased": 3000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := redistest.Start(t)
			age(t, r, "np")
			s := startServer(t, r.URL(), "np", nil)
			p := newTenants(t, keys.Live, keys.Plan{PerMinute: perMinute, PerDay: 10}, "one").principal(t, "one")
			r.Try("FLUSHALL")
			if decision := s.admit(p, access.CardsGet); decision.Result != access.Unavailable {
				t.Errorf("granted: %+v", decision)
			}

			// A minute later all of the day is there.
			usage := access.Usage{}
			eventually(t, "what was granted goes back", func() bool {
				s.client.state.Load().cooldownUntil.Store(0)
				var err error
				usage, err = s.Usage(p, access.SpecFor(p, access.UsageGet), s.now())
				return err == nil && usage.Used == 0
			})
			if usage.Remaining() != 10 {
				t.Errorf("%+v", usage)
			}
		})
	}
}

// TestReadyWhileRedisIsUnavailable stops and kills Redis: calls are refused soon, the server
// reports no fault, and recovers by itself.
func TestReadyWhileRedisIsUnavailable(t *testing.T) {
	t.Parallel()
	r := redistest.Start(t)
	age(t, r, "np")
	s := startServer(t, r.URL(), "np", func(o *Options) {
		o.Timeout = 100 * time.Millisecond
		o.exchange = exchangeTimeout
	})
	p := newTenants(t, keys.Live, keys.Plan{PerMinute: 300, PerDay: 10_000}, "one").principal(t, "one")
	eventually(t, "a call is granted", func() bool { return s.do(p, access.CardsGet) })

	// One that stands still.
	r.Signal(syscall.SIGSTOP)
	for range 3 {
		if decision := s.admit(p, access.CardsGet); decision.Result != access.Unavailable {
			t.Errorf("stopped: %+v", decision)
		}
	}
	eventually(t, "it is taken for away", func() bool { return s.Unavailable() != nil })
	r.Signal(syscall.SIGCONT)
	eventually(t, "a call is granted again", func() bool { return s.do(p, access.CardsGet) })

	// One that is gone.
	r.Kill()
	eventually(t, "it is taken for away", func() bool {
		return s.admit(p, access.CardsGet).Result == access.Unavailable && s.Unavailable() != nil
	})
	began := time.Now()
	for range 1000 {
		if decision := s.admit(p, access.CardsGet); decision.Result != access.Unavailable || decision.RetryAfter != 5 {
			t.Fatalf("away: %+v", decision)
		}
	}
	if took := time.Since(began); took > 50*time.Second { // with waiting it would be 100 s
		t.Errorf("a thousand refusals took %s", took)
	}
	if err := s.Err(); err != nil {
		t.Errorf("the server is not ready: %v", err)
	}
	r.Restart()
	age(t, r, "np")
	eventually(t, "a call is granted again", func() bool {
		r.Try("DEL", "np:{one}:z") // it lost all: the minute is over here
		entry := s.entry(p, access.DayQuota)
		entry.mu.Lock()
		entry.cooldownUntil = 0
		entry.mu.Unlock()
		return s.do(p, access.CardsGet)
	})
}

// TestPreparedResolves ends a server after each step of a batch: the next process finds the
// outcome.
func TestPreparedResolves(t *testing.T) {
	t.Parallel()
	r, prefix := commonRedis(t)
	age(t, r, prefix)
	for name, c := range map[string]struct {
		commit, settle bool
		charged        int64
	}{
		"prepared":  {false, false, 0},
		"committed": {true, false, 1},
		"settled":   {true, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newTenants(t, keys.Preview, keys.Plan{PerMinute: 900, Credits: 5}, name).principal(t, name)
			s := startServer(t, r.URL(), prefix, nil)
			call := s.admit(p, access.PricesBatch)
			claim, err := s.Begin(call.Reservation, "k", access.BodyHash{1}, s.now())
			if err != nil || claim.Result != access.Fresh {
				t.Fatal(claim, err)
			}

			// As Commit does, as far as it comes.
			rk := s.redisKeys(name)
			f := s.findOwned(&call.Reservation, &claim)
			batch, err := s.usageLog.Prepare(call.Reservation, f.claim, f.record)
			if err != nil {
				t.Fatal(err)
			}
			if c.commit {
				packed, err := access.PackReply([]byte("the answer"))
				if err != nil {
					t.Fatal(err)
				}
				reply := string(packed)
				args := []string{f.claim, number(call.Reservation.At), reply, number(access.ReplyMillis)}
				keys := []string{f.record, rk.times()}
				out, err := s.Store.do(&command{script: scriptCommit, keys: keys, args: args}, 20*time.Second)
				if err != nil || out.intAt(0) != 1 {
					t.Fatal(out, err)
				}
			}
			if c.settle {
				if err := s.usageLog.Settle(batch, true); err != nil {
					t.Fatal(err)
				}
			}

			next := &server{t: t, clock: s.clock, dir: killed(t, s.Store, s.dir)}
			next.open(r.URL(), prefix, s.options.ServerID, nil)
			eventually(t, "it is decided", func() bool { return len(next.usageLog.Unsettled()) == 0 })
			rows, err := next.Ledger(name, 0)
			sum := int64(0)
			for _, row := range rows {
				sum += row.Charged
			}
			if err != nil || sum != c.charged {
				t.Errorf("%d charged, want %d: %+v (%v)", sum, c.charged, rows, err)
			}
			usage, err := next.Usage(p, access.SpecFor(p, access.UsageGet), next.now())
			if err != nil || usage.Used != c.charged {
				t.Errorf("%d used, want %d (%v)", usage.Used, c.charged, err)
			}

			// The same key again: the reply, or a fresh claim.
			call = next.admit(p, access.PricesBatch)
			again, err := next.Begin(call.Reservation, "k", access.BodyHash{1}, next.now())
			want := access.Fresh
			if c.charged == 1 {
				want = access.Replay
			}
			if err != nil || again.Result != want {
				t.Errorf("then: %+v (%v)", again, err)
			}
		})
	}
}

// TestMessages provokes the messages for an operator about an unusable Redis.
func TestMessages(t *testing.T) {
	t.Parallel()
	r := redistest.Start(t)
	front := newProxy(t, r.Address())
	now := func() access.Instant { return access.StartClock(time.Now()).At(time.Now()) }
	check := func(want string, options Options) {
		t.Helper()
		options.URL = front.url()
		options.exchange = 20 * time.Second
		if options.Now == nil {
			options.Now = now
		}
		var text string
		found, err := Inspect(t.Context(), options)
		for _, one := range found.Findings {
			if !strings.HasSuffix(one.Text, "docs/FLEET.md)") && !strings.HasPrefix(one.Text, "it refuses a test") {
				text += one.Text
			}
		}
		if err != nil || text != want {
			t.Errorf("%q (%v), want %q", text, err, want)
		}
	}

	check("", Options{Acks: AcksNone})
	check(`acks = "replica" needs a replica, it has 0: add one, or run one Redis with appendfsync always and `+
		`acks = "aof"`, Options{Acks: AcksReplica})
	check(`acks = "replica" needs 2 replicas, it has 0: add one, or run one Redis with appendfsync always and `+
		`acks = "aof"`, Options{Acks: AcksReplica, Replicas: 2})
	check(`acks = "aof" needs appendonly yes and appendfsync always`, Options{Acks: AcksAOF})

	clock := func() access.Instant {
		at := now()
		at.Wall -= 60_000
		return at
	}
	found, err := Inspect(t.Context(), Options{
		URL: front.url(), Now: clock, Acks: AcksNone, exchange: 20 * time.Second,
	})
	if err != nil || len(found.Findings) < 1 {
		t.Fatalf("%+v (%v)", found, err)
	}
	seconds := 0.0
	text := "its clock is %f s ahead of this machine: windows and days go by it, run chrony on both"
	if _, err := fmt.Sscanf(found.Findings[0].Text, text, &seconds); err != nil || seconds < 30 || seconds > 60.1 {
		t.Errorf("%+v (%v)", found, err)
	}

	// An answer that takes six seconds is no clock that is wrong.
	asked := false
	check("", Options{Acks: AcksNone, Now: func() access.Instant {
		at := now()
		at.Wall -= 3000
		if asked {
			at.Wall += 6000
		}
		asked = true
		return at
	}})

	version := strings.TrimSpace(readInfo(r.Try("INFO", "server"))["redis_version"])
	front.change(func(p *proxy) {
		p.from = []byte("redis_version:" + version)
		p.to = []byte("redis_version:6" + version[1:])
	})
	check("it is version 6"+version[1:]+", 7.0 is needed", Options{Acks: AcksNone})
	front.change(func(p *proxy) { p.from = nil })

	r.Try("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	check("it evicts keys (maxmemory-policy allkeys-lru): set noeviction, or quotas start again when memory is full",
		Options{Acks: AcksNone})
	_, err = Open(t.Context(), Options{URL: front.url(), Acks: AcksNone, Now: now, exchange: 20 * time.Second})
	if want := "cannot meter with redis at 127.0.0.1:" + front.port() + ": it evicts keys"; err == nil ||
		!strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	r.Try("CONFIG", "SET", "maxmemory-policy", "noeviction")
	r.Try("REPLICAOF", "127.0.0.1", "1")
	check("it is a replica itself: give the primary, or redis+sentinel://", Options{Acks: AcksNone})
}

// TestJournalFails has a server whose own log fails: it refuses all, says that it is not ready, and takes
// nothing from Redis.
func TestJournalFails(t *testing.T) {
	t.Parallel()
	r, prefix := commonRedis(t)
	age(t, r, prefix)
	s := startServer(t, r.URL(), prefix, nil)
	p := newTenants(t, keys.Live, keys.Plan{PerMinute: 300, PerDay: 10}, "one").principal(t, "one")
	reserved := s.admit(p, access.CardsGet)
	if err := s.usageLog.Close(); err != nil {
		t.Fatal(err)
	}

	if charge, err := s.Finish(reserved.Reservation, true); err == nil || charge.Charged != 0 {
		t.Errorf("charged without a record: %+v", charge)
	}
	if decision := s.admit(p, access.CardsGet); decision.Result != access.Unavailable || s.Err() == nil {
		t.Errorf("%+v, fault %v", decision, s.Err())
	}
	day := "d" + strconv.Itoa(int(calendar.DayOf(s.now().Wall)))
	eventually(t, "the unit goes back", func() bool { return r.Try("HGET", prefix+":{one}:q:"+day, "t") == "0" })
	if n := granted(r, prefix, "one", p.KeyID); n != 1 {
		t.Errorf("%d admissions are stored, one was made", n)
	}
}

// TestNewRedisIsReported starts a server on a new Redis, which is no fault. If Redis then dies in its
// first minute, that is reported, too.
func TestNewRedisIsReported(t *testing.T) {
	t.Parallel()
	r := redistest.Start(t)
	var said reports
	isNew := make(chan bool, 1)
	startServer(t, r.URL(), "np", func(o *Options) {
		o.Report = func(err error) {
			said.add(err)
			select {
			case isNew <- errors.Is(err, ErrNew):
			default:
			}
		}
	})
	if !<-isNew {
		t.Fatalf("a first start is reported as a fault: %v", said.texts)
	}

	r.Kill()
	eventually(t, "the death is reported", func() bool { return said.has("connection refused") || said.has("EOF") })
}
