package limiter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/access/state"
	"ninepocket/internal/disk/disktest"
)

// simServer is a server of a simulation: the real Store over a real usage log, with clients. It waits for
// events.
type simServer struct {
	w                 *world
	id                int
	restarts          int // number of kills
	lostDisks         int // number of lost disks
	up                bool
	pausedUntil       int64 // true time until which it is paused
	answersLostUntil  int64 // until then, no answer arrives
	requestsLostUntil int64 // until then, no request arrives
	rate              float64
	step              int64 // of the wall clock
	stopped           int64 // duration for which the monotonic clock stood still

	dir      string
	usageLog *access.LocalStore
	store    *Store
	routines []*routine
	number   int
	inFlight map[int]string // calls between their admission and their answer, by number

	lastServed int64
}

func newSimServer(w *world, id int) *simServer {
	s := &simServer{w: w, id: id, rate: 1 + (w.Float64()-0.5)*1e-3, lastServed: w.now, dir: simDir(w)}
	s.begin()
	return s
}

// simDir makes a state directory.
func simDir(w *world) string {
	dir, err := os.MkdirTemp(w.home, "state")
	if err != nil {
		w.t.Fatal(err)
	}
	return dir
}

// serverID identifies the disk.
func (s *simServer) serverID() string { return fmt.Sprintf("i%dd%d", s.id, s.lostDisks) }

// open opens the usage log.
func (s *simServer) open() {
	var err error
	s.usageLog, err = access.OpenLocal(s.dir, access.LocalOptions{
		Now: s.instant(), Seams: state.Seams{Inline: true, Disk: disktest.Unsynced(false)},
	})
	if err != nil {
		s.w.t.Fatal(err)
	}
}

// begin starts a process.
func (s *simServer) begin() {
	w := s.w
	s.open()
	if w.flaws.losesPrepared {
		for _, batch := range s.usageLog.Unsettled() {
			if err := s.usageLog.Settle(batch, false); err != nil {
				w.t.Fatal(err)
			}
		}
	}

	s.inFlight = map[int]string{}
	options := Options{
		UsageLog: s.usageLog, ServerID: s.serverID(), Now: s.instant, Acks: AcksNone, Prefix: "np",
		Timeout: time.Duration(w.callTimeout) * time.Microsecond, Lease: time.Duration(w.ttl) * time.Millisecond,
		exchange: time.Duration(w.retry) * time.Microsecond, ChargesByServer: w.recorded,
		simOptions: simOptions{
			pacer: s, dialer: simDialer{s}, sessionID: fmt.Sprintf("s%dl%d", s.id, s.restarts),
			maxExact: maxExact,
		},
	}
	if w.leased {
		options.maxExact = 1
	}
	s.start(func() {
		store, err := Open(context.Background(), options)
		if err != nil {
			w.t.Fatal(err)
		}
		s.store = store
		s.up = true
		if w.resets.on {
			s.export()
		}
	})
}

// sleep calls a function after some microseconds, unless the server was killed since. A paused server calls
// it later.
func (s *simServer) sleep(d int64, do func()) {
	restarts := s.restarts
	var try func()
	try = func() {
		switch {
		case s.restarts != restarts:
		case s.pausedUntil > s.w.now:
			s.w.after(s.pausedUntil-s.w.now, try)
		default:
			do()
		}
	}
	s.w.after(d, try)
}

// later implements [pacer].
func (s *simServer) later(d time.Duration, do func()) { s.sleep(d.Microseconds(), do) }

// instant reads the server's clocks: each has its own rate, and the wall clock is stepped.
func (s *simServer) instant() access.Instant {
	passed := func(d int64) int64 { return int64(float64(d) * s.rate) }
	since := s.w.now - simEpoch
	return access.Instant{
		Mono: passed(since-s.stopped) / 1000, Wall: (simEpoch + passed(since) + s.step) / 1000,
	}
}

// kill ends the process; its usage log stays, unless the disk is lost with it.
func (s *simServer) kill(withDisk bool) {
	if !s.up {
		return
	}
	w := s.w
	w.events.kills++
	for _, tenant := range s.inFlight {
		w.maybeCharged[tenant]++
	}
	s.halt()

	// Without a lost disk, the data on it stay, and those in Redis in any case.
	if withDisk || w.flaws.losesUsageLog {
		s.open()
		for _, batch := range s.usageLog.Unsettled() {
			w.key(w.records[batch.RecordKey]).unbilled = true // what its last seconds cost is lost with it
		}
		w.bill(s)
		if err := s.usageLog.Close(); err != nil {
			w.t.Fatal(err)
		}
		s.dir = simDir(w)
	}
	if withDisk {
		s.lostDisks++
	}
	w.after(w.Int64N(5_000_000), s.begin)
}

// halt ends the process.
func (s *simServer) halt() {
	if s.w.resets.on {
		s.ends()
	}
	s.up = false
	s.restarts++
	if s.store != nil {
		s.w.events.lost += int(s.store.metrics.tenantsWithLoss.Load())
	}
	s.store = nil
	for _, r := range s.routines {
		r.stop()
	}
	s.routines = nil

	// An inline usage log has written all calls that were answered.
	if err := s.usageLog.Close(); err != nil {
		s.w.t.Fatal(err)
	}
}

// pause stops the process for a while, and sometimes the machine with its monotonic clock.
func (s *simServer) pause(d int64) {
	if s.pausedUntil > s.w.now {
		return
	}
	s.pausedUntil = s.w.now + d
	if s.w.IntN(3) == 0 {
		s.stopped += d
	}
}

// clients makes calls for ever: some seldom, some in bursts.
func (s *simServer) clients() {
	w := s.w
	n := 1
	if w.IntN(30) == 0 && !w.slow {
		n = 1 + w.IntN(int(2*w.perMinute))
	}

	for range n {
		if s.up && s.pausedUntil <= w.now {
			if w.IntN(6) == 0 {
				life := int64(40_000_000)
				if w.resets.on {
					life = 200_000_000 // which outlasts the minute after Redis was emptied
				}
				key := fmt.Sprintf("%d-%d", w.now/life, w.IntN(8))
				s.start(func() { s.batch(key) })
			} else {
				s.start(s.call)
			}
		}
	}
	if w.slow {
		w.after(w.Int64N(10_000_000), s.clients)
		return
	}
	mean := min(60e6/float64(w.perMinute)*float64(len(w.servers))/2, 3e6)
	w.after(int64(w.ExpFloat64()*mean), s.clients)
}

// admit admits a call, and records its result.
func (s *simServer) admit(p *keys.Principal, op access.Operation) (access.Decision, bool) {
	w := s.w
	spec := access.SpecFor(p, op)
	decision := s.store.Admit(p, spec, s.instant())

	switch decision.Result {
	case access.Admitted:
		w.events.admitted++
		at := decision.Reservation.At * 1000 // as Redis counts
		if w.leased && spec.Window == access.KeyWindow {
			at = w.now
		}
		window := p.Tenant + subjectOf(p, &spec)
		w.admissions[window] = append(w.admissions[window], at)
	case access.Unavailable:
		w.events.unavailable++
		return decision, false
	default:
		w.events.refused++
	}
	s.lastServed = w.now
	return decision, decision.Result == access.Admitted
}

// trackInFlight records a call that is admitted and not answered, until done.
func (s *simServer) trackInFlight(tenant string) (done func()) {
	s.number++
	number := s.number
	s.inFlight[number] = tenant
	return func() { delete(s.inFlight, number) }
}

// call makes a live call: it is charged before it is answered.
func (s *simServer) call() {
	w := s.w
	decision, ok := s.admit(w.live[w.IntN(len(w.live))], access.CardsGet)
	if !ok {
		return
	}

	end := s.trackInFlight("live")
	success := w.IntN(5) > 0
	s.rest(50 + w.Int64N(3000))
	charge, err := s.store.Finish(decision.Reservation, success)
	if err != nil {
		w.t.Errorf("seed %d: a call is not recorded: %v", w.seed, err)
	}
	s.rest(w.Int64N(500))
	w.answered["live"] += int(charge.Charged)
	end()
}

// batch makes a batch with an idempotency key.
func (s *simServer) batch(key string) {
	w := s.w
	p := w.payer(key)
	decision, ok := s.admit(p, access.PricesBatch)
	if !ok {
		return
	}
	res := decision.Reservation
	claim, err := s.store.Begin(res, key, access.BodyHash{1}, s.instant())
	if err == nil && claim.Result == access.Replay {
		w.events.replays++
		w.record(key, string(claim.Reply))
	}
	if err != nil || claim.Result != access.Fresh {
		_, _ = s.store.Finish(res, false)
		return
	}

	end := s.trackInFlight("org")
	defer end()
	s.rest(50 + w.Int64N(3000))
	if w.IntN(5) == 0 {
		_, _ = s.store.Abort(res, claim)
		return
	}

	w.events.batches++
	k := w.key(key)
	k.void = true
	s.number++
	text := fmt.Sprintf("answer %s of %d", s.store.options.sessionID, s.number)
	_, err = s.store.Commit(res, claim, []byte(text))
	if err != nil {
		w.events.voids++
		w.maybeCharged["org"]++ // its caller was answered 503, and it may be charged all the same
		return
	}
	k.void = false
	k.by = s
	k.byRestarts = s.restarts
	s.rest(w.Int64N(500))
	w.record(key, text)
	w.answered["org"]++
}

// simDialer connects a server to the simulated Redis.
type simDialer struct{ s *simServer }

func (d simDialer) String() string { return "simulated" }

var errSimulated = errors.New("no answer")

func (d simDialer) dial(context.Context) (wire, string, error) {
	one := &simWire{s: d.s, run: d.s.w.run}
	return one, fmt.Sprint("run", one.run), one.probe()
}

// simWire is the connections to one process of Redis.
type simWire struct {
	s      *simServer
	run    int
	closed bool
}

func (c *simWire) close() { c.closed = c.s.w.resets.on }

// probe is a call without commands.
func (c *simWire) probe() error {
	_, err := c.exchange(context.Background(), 0, "", nil)
	return err
}

func (c *simWire) heartbeat(context.Context) error { return c.probe() }

func (c *simWire) loadDataset(context.Context) (dataset string, clock int64, err error) {
	w := c.s.w
	if err := c.probe(); err != nil {
		return "", 0, err
	}
	if c.run != w.run {
		return "", 0, errSimulated
	}
	return w.dataset(), (w.now + w.skew) / 1000, nil
}

// exchange sends commands: they arrive or not, at once or late, and their answers do likewise.
func (c *simWire) exchange(_ context.Context, _ int, dataset string, all []*queuedCommand) ([]answer, error) {
	s := c.s
	w := s.w
	restarts := s.restarts
	var answers []answer
	var failed error
	done := make(chan struct{})
	arrive := func() {
		w.deliver(all, c.run, dataset, func(out []answer, err error) {
			if c.closed || w.now < s.answersLostUntil && !w.healed || w.sometimes(150) || s.restarts != restarts {
				return
			}
			answers = out
			failed = err
			close(done)
		})
	}
	if (w.now >= s.requestsLostUntil || w.healed) && !w.sometimes(200) {
		w.after(w.delay(), arrive)
	}

	if s.wait(s.w.exchangeTimeout(), done, nil) < 0 {
		failed = errSimulated
	}
	if failed != nil {
		for _, one := range all {
			if one.script == scriptRestore && w.emptiedAt > 0 {
				w.lacks(tenantOf(one.command), nil)
			}
		}
		return nil, failed
	}
	s.spoil(all)
	return answers, nil
}

// spoil plants mistakes in the script call in flight when an answer arrives.
func (s *simServer) spoil(all []*queuedCommand) {
	if s.store == nil {
		return
	}
	for _, entry := range s.store.limiters.sorted() {
		for _, one := range all {
			if entry.inFlight == nil || one.command != &entry.inFlight.command {
				continue
			}

			if s.w.flaws.leaseFromAnswer {
				entry.inFlight.sent = s.instant()
			}
			if s.w.flaws.usesLateGrant {
				entry.inFlight.pending = append(entry.inFlight.pending, entry.waiting...)
				entry.waiting = nil
			}
		}
	}
}
