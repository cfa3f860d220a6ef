package meter

import (
	"fmt"
	"maps"
	"slices"

	"ninepocket/access"
)

// simServer is a server around the real shares: what Store does with goroutines, as events.
type simServer struct {
	w        *world
	id       int
	life     int // goes up with each kill
	disk     int // goes up with each disk that is lost
	up       bool
	paused   int64 // true time until which it stands still
	cut      int64 // until then, no answer arrives
	mute     int64 // until then, nothing that it sends arrives
	rate     float64
	step     int64 // of the wall clock
	stopped  int64 // that the monotonic clock stood still
	run      int   // of Redis, as it knows
	pending  int   // shares that have to be asserted again
	shares   map[string]*share
	then     map[*call]func(*call)
	number   int
	flying   map[string]bool
	inFlight map[int]string // calls between their admission and their answer, by number

	// What a kill leaves.
	journal  map[string]int64
	prepared map[string]*simBatch

	unsure     map[string]*simBatch
	lastServed int64
}

// simBatch is a batch in a journal.
type simBatch struct {
	key, record, claim string
	adopted            bool
}

func newSimServer(w *world, id int) *simServer {
	s := &simServer{
		w: w, id: id, rate: 1 + (w.Float64()-0.5)*1e-3, journal: map[string]int64{}, prepared: map[string]*simBatch{},
		lastServed: w.now,
	}
	s.begin()
	return s
}

// begin starts a process.
func (s *simServer) begin() {
	s.up = true
	s.run = s.w.run
	s.pending = 0
	s.shares = map[string]*share{}
	s.then = map[*call]func(*call){}
	s.flying = map[string]bool{}
	s.inFlight = map[int]string{}
	s.unsure = map[string]*simBatch{}
	for _, claim := range slices.Sorted(maps.Keys(s.prepared)) {
		b := s.prepared[claim]
		b.adopted = true
		s.unsure[claim] = b
	}
	s.later(100_000, s.tick)
}

// later does something on this server, in this life of it, when it does not stand still.
func (s *simServer) later(d int64, do func()) {
	life := s.life
	var try func()
	try = func() {
		switch {
		case s.life != life:
		case s.paused > s.w.now:
			s.w.after(s.paused-s.w.now, try)
		default:
			do()
		}
	}
	s.w.after(d, try)
}

// instant is the server's clocks: each has a rate of its own, and the wall clock is stepped.
func (s *simServer) instant() access.Instant {
	passed := func(d int64) int64 { return int64(float64(d) * s.rate) }
	since := s.w.now - simEpoch
	return access.Instant{
		Mono: passed(since-s.stopped) / 1000, Wall: (simEpoch + passed(since) + s.step) / 1000,
	}
}

// kill ends the process; its journal stays, unless the disk is lost with it.
func (s *simServer) kill(disk bool) {
	if !s.up {
		return
	}
	w := s.w
	w.notes.kills++
	for _, tenant := range s.inFlight {
		w.inAir[tenant]++
	}
	s.up = false
	s.life++

	// What is on the disk stays, and what is in Redis.
	if w.flaws.forget {
		s.journal = map[string]int64{}
	}
	if disk {
		for _, b := range s.prepared {
			w.key(b.key).unbilled = true // what its last seconds cost is lost with it
		}
		s.disk++
		s.journal = map[string]int64{}
		s.prepared = map[string]*simBatch{}
	}
	w.after(w.Int64N(5_000_000), s.begin)
}

// pause stops the process for a while, and now and then the machine with its monotonic clock.
func (s *simServer) pause(d int64) {
	if s.paused > s.w.now {
		return
	}
	s.paused = s.w.now + d
	if s.w.IntN(3) == 0 {
		s.stopped += d
	}
}

func (s *simServer) names(tenant string) names {
	return names{
		prefix: "np", tenant: tenant, incarnation: fmt.Sprintf("i%dd%d", s.id, s.disk), life: fmt.Sprint("l", s.life),
	}
}

func (s *simServer) share(tenant string) *share {
	sh := s.shares[tenant]
	if sh == nil {
		sh = newShare(s.names(tenant), s.w.ttl, s.instant(), func(span) *account {
			acc := &account{charged: s.journal[tenant]}
			for _, b := range s.prepared {
				if b.adopted && tenant == "org" {
					acc.adopted++
				}
			}
			return acc
		})
		s.shares[tenant] = sh
	}
	return sh
}

// clients makes calls for ever: some seldom, some in bursts.
func (s *simServer) clients() {
	w := s.w
	n := 1
	if w.IntN(30) == 0 && !w.quiet {
		n = 1 + w.IntN(int(2*w.perMinute))
	}

	for range n {
		if s.up && s.paused <= w.now {
			if w.IntN(6) == 0 {
				s.batch(fmt.Sprintf("%d-%d", w.now/40_000_000, w.IntN(8)))
			} else {
				s.call()
			}
		}
	}
	if w.quiet {
		w.after(w.Int64N(10_000_000), s.clients)
		return
	}
	mean := min(60e6/float64(w.perMinute)*float64(len(w.servers))/2, 3e6)
	w.after(int64(w.ExpFloat64()*mean), s.clients)
}

// ask is how a call gets its right. then is called with its fate; undecided means that nobody knows.
func (s *simServer) ask(tenant string, o order, then func(*call)) {
	w := s.w
	o.perMinute = w.perMinute
	o.limit = w.limit
	o.span = span{name: "d1", from: 0, till: 1 << 42}

	sh := s.share(tenant)
	c := &call{order: o, now: s.instant()}
	s.then[c] = then
	sh.join(c, c.now)
	if c.fate != undecided {
		s.decided(tenant, c)
		return
	}
	if s.pending > 0 {
		c.gone = true
		s.decided(tenant, c)
		return
	}
	s.later(w.patience, func() {
		if c.fate == undecided && s.then[c] != nil {
			c.gone = true
			s.decided(tenant, c)
		}
	})
	s.send(tenant, sh.ask(s.instant(), false))
}

// decided goes on with a call.
func (s *simServer) decided(tenant string, c *call) {
	w := s.w
	then := s.then[c]
	delete(s.then, c)

	switch c.fate {
	case admitted:
		w.notes.admitted++
		if c.window {
			at := c.at * 1000 // as Redis counts
			if c.leased {
				at = w.now
			}
			w.admissions[tenant+c.subject] = append(w.admissions[tenant+c.subject], at)
		}
	case undecided:
		w.notes.unavailable++
	default:
		w.notes.refused++
	}
	if c.fate != undecided && c.fate != closed {
		s.lastServed = w.now
	}
	then(c)
}

// send sends an ask until it is answered.
func (s *simServer) send(tenant string, a *ask) {
	if a == nil {
		return
	}
	sh := s.share(tenant)
	var try func()
	try = func() {
		if sh.under != a {
			return
		}
		s.reconnect()
		s.transmit(&a.command, func(out reply) { s.answered(tenant, a, out) })
		s.later(s.w.retry, try)
	}
	try()
}

// transmit sends a command once, or twice, or not at all.
func (s *simServer) transmit(c *command, answer func(reply)) {
	w := s.w
	run := s.run
	life := s.life
	arrive := func() {
		w.deliver(c, run, func(out reply) {
			if w.now < s.cut && !w.calm || w.sometimes(40) || s.life != life {
				return
			}
			s.later(0, func() { answer(out) })
		})
	}

	if w.now < s.mute && !w.calm || w.sometimes(50) {
		return
	}
	w.after(w.delay(), arrive)
	if w.sometimes(80) {
		w.after(5*w.delay(), arrive)
	}
}

// reconnect notices that Redis is another, and says again what this server has.
func (s *simServer) reconnect() {
	if s.run == s.w.run || s.w.down {
		return
	}
	s.run = s.w.run
	s.pending = 0

	for _, tenant := range slices.Sorted(maps.Keys(s.shares)) {
		sh := s.shares[tenant]
		under := sh.under
		a := sh.reassert(s.instant())
		if a == nil {
			continue
		}
		s.pending++
		if under == nil {
			s.send(tenant, a)
		}
	}
}

func (s *simServer) answered(tenant string, a *ask, out reply) {
	sh := s.share(tenant)
	if sh.under != a {
		return
	}
	w := s.w
	g := grant{
		status: out.at(0), at: out.at(1), granted: out.at(2), count: out.at(3), wait: out.at(4), others: out.at(5),
		stored: out.at(6),
	}

	if w.flaws.receipt {
		a.sent = s.instant()
	}
	if w.flaws.late {
		a.calls = append(a.calls, sh.waiting...)
		sh.waiting = nil
	}
	if g.status == statusLost {
		w.notes.lost++
	}
	s.pending = max(0, s.pending-1)
	decided := sh.answer(g, s.instant())
	if w.flaws.blind {
		a.account.last = 0
	}
	next := sh.ask(s.instant(), false)
	for _, c := range decided {
		s.decided(tenant, c)
	}
	s.send(tenant, next)
}

// tick settles what nobody waits for.
func (s *simServer) tick() {
	s.reconnect()
	for _, tenant := range slices.Sorted(maps.Keys(s.shares)) {
		s.send(tenant, s.shares[tenant].ask(s.instant(), true))
	}
	for _, claim := range slices.Sorted(maps.Keys(s.unsure)) {
		s.resolve(s.unsure[claim])
	}
	s.later(250_000, s.tick)
}

// fly notes a call that is admitted and not answered, until it lands.
func (s *simServer) fly(tenant string) (land func()) {
	s.number++
	number := s.number
	s.inFlight[number] = tenant
	return func() { delete(s.inFlight, number) }
}

// call makes a live call: it is charged before it is answered.
func (s *simServer) call() {
	w := s.w
	o := order{subject: fmt.Sprint("k", w.IntN(2)), cost: 1, window: true, leased: w.leased}
	s.ask("live", o, func(c *call) {
		if c.fate != admitted {
			return
		}

		land := s.fly("live")
		ok := w.IntN(5) > 0
		s.later(50+w.Int64N(3000), func() {
			s.share("live").finish(c.charge, 1, ok)
			if !ok {
				land()
				return
			}
			s.journal["live"]++
			w.charged["live"]++
			s.later(w.Int64N(500), func() {
				w.answered["live"]++
				land()
			})
		})
	})
}
