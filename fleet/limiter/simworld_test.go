package limiter

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// event is a function to call at a true time, in microseconds.
type event struct {
	at     int64
	number int
	do     func()
}

type events []event

func (es *events) Len() int { return len(*es) }
func (es *events) Less(i, j int) bool {
	a := &(*es)[i]
	b := &(*es)[j]
	return a.at < b.at || a.at == b.at && a.number < b.number
}
func (es *events) Swap(i, j int) { (*es)[i], (*es)[j] = (*es)[j], (*es)[i] } // air: a swap is one thing
func (es *events) Push(x any)    { *es = append(*es, x.(event)) }
func (es *events) Pop() any {
	last := len(*es) - 1
	e := (*es)[last]
	*es = (*es)[:last]
	return e
}

// flaws are the mistakes that a simulation has to find.
type flaws struct {
	script          func(string) string
	leaseFromAnswer bool // a lease counts from its answer
	losesUsageLog   bool // a killed server loses its usage log
	usesLateGrant   bool // a grant is used by calls that came after it was sent
	losesPrepared   bool // a killed server loses its prepared batches
	resets          bool // and Redis is emptied, the ledger restored
}

// simEpoch is when runs begin, in Unix microseconds.
const simEpoch = int64(1_773_144_000_000_000)

// simDatasetSince is when the data set of Redis was made, in Unix milliseconds: on the same day, so that
// servers ask for earlier charges of others.
const simDatasetSince = simEpoch/1000 - 3_600_000

// world is one run of servers, clients, Redis with a replica, and faults, all from one seed, in one
// goroutine.
type world struct {
	*rand.Rand
	t      testing.TB
	seed   uint64
	flaws  flaws
	acks   bool
	now    int64
	queue  events
	number int
	healed bool // no more faults
	slow   bool // few calls

	// Of Redis.
	redis  *simRedis
	skew   int64 // of its clock
	down   bool
	trap   bool
	run    int // number of fail-overs
	writes []simWrite
	newest int64 // when the replica has all writes

	// Swarm parameters: they differ by seed, for a fault that one setting hides another shows.
	perMinute, limit                int64
	leased                          bool
	ttl                             int64
	tail, maxTail                   int64
	retry, callTimeout, lag         int64
	claimTTL                        int64
	found                           []string
	servers                         []*simServer
	running                         *routine
	home                            string // of the state directories
	live                            []*keys.Principal
	admissions                      map[string][]int64 // true microseconds, by window
	charged, answered, maybeCharged map[string]int     // units, by tenant
	keys                            map[string]*simKey
	records                         map[string]string // keys by their records in Redis
	events                          simEvents
	resets                          // of Redis and the ledger
}

// simEvents count the events of a run, to show that it has tested something.
type simEvents struct {
	admitted, refused, unavailable, kills, failovers, undone, lost, batches, replays, voids int

	emptied, restored int
}

// simWrite is a write of a script, and when the replica has it.
type simWrite struct {
	at   int64
	undo func()
}

// simKey is an idempotency key and the results of its calls.
type simKey struct {
	payer    *keys.Principal // whose rows in the ledger are this key's alone
	charges  int
	reply    string
	answered int
	unbilled bool

	void       bool       // nobody knows whether its reply is stored
	by         *simServer // that stored its reply
	byRestarts int
}

func newWorld(t testing.TB, seed uint64, leased, acks bool, f flaws) *world {
	w := &world{
		Rand: rand.New(rand.NewPCG(seed, 7)), t: t, seed: seed, flaws: f, acks: acks, leased: leased,
		now: simEpoch, admissions: map[string][]int64{}, charged: map[string]int{},
		answered: map[string]int{}, maybeCharged: map[string]int{}, keys: map[string]*simKey{},
		records: map[string]string{}, home: memoryDir(t),
		resets: resets{born: simDatasetSince, ledger: ledger{}, gone: ledger{}, short: map[string]int64{}},
	}
	pick := func(numbers ...int64) int64 { return numbers[w.IntN(len(numbers))] }
	w.perMinute = pick(10, 30, 60)
	w.limit = w.perMinute * (2 + w.Int64N(10))
	w.tail = pick(5, 20, 50)
	w.maxTail = pick(400_000, 3_000_000)
	w.retry = pick(100_000, 1_000_000, 4_000_000)
	w.callTimeout = pick(50_000, 1_000_000)
	w.lag = pick(300, 5_000, 50_000, 500_000)
	w.ttl = pick(50, 500, 2000)
	w.claimTTL = pick(300, 15_000)
	if f.leaseFromAnswer {
		// Its effect shows where answers are slow.
		w.tail = 2
		w.maxTail = 3_000_000
		w.retry = 4_000_000
		w.callTimeout = 1_000_000
		w.ttl = 2000
	}
	plan := &keys.Plan{PerMinute: int(w.perMinute), PerDay: w.limit, Credits: w.limit}
	for _, id := range []string{"k0", "k1"} {
		w.live = append(w.live, &keys.Principal{KeyID: id, Tenant: "live", Surface: keys.Live, Plan: plan})
	}
	w.redis = newSimRedis(t, func() int64 { return w.now + w.skew }, f.script)

	for i := range 2 + w.IntN(3) {
		w.servers = append(w.servers, newSimServer(w, i))
	}
	return w
}

func (w *world) after(d int64, do func()) {
	w.number++
	heap.Push(&w.queue, event{w.now + d, w.number, do})
}

// runUntil processes events for a while.
func (w *world) runUntil(end int64) {
	for len(w.queue) > 0 && w.queue[0].at < end {
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		e.do()
		w.wakeAll()
	}
	w.now = end
}

// delay is how long a message takes.
func (w *world) delay() int64 {
	if !w.healed && w.Int64N(w.tail) == 0 {
		return w.Int64N(w.maxTail)
	}
	return 100 + w.Int64N(1500)
}

// sometimes is true once in n, while something may go wrong.
func (w *world) sometimes(n int) bool { return !w.healed && w.IntN(n) == 0 }

// exchangeTimeout is how long a server waits for an answer.
func (w *world) exchangeTimeout() time.Duration { return time.Duration(w.retry) * time.Microsecond }

// deliver runs commands in Redis, and calls answered when their sender may have the answers.
func (w *world) deliver(all []*queuedCommand, run int, dataset string, answered func([]answer, error)) {
	if w.down || run != w.run {
		return
	}
	lag := w.lag
	if w.healed {
		lag = 300
	}
	wait := int64(0)
	var answers []answer
	for _, s := range all {
		out, undo := w.redis.eval(w.claimed(s.command))
		answers = append(answers, answer{scriptResult: out})
		if undo == nil {
			continue
		}

		w.newest = max(w.newest, w.now+w.Int64N(lag)+50)
		w.writes = append(w.writes, simWrite{at: w.newest, undo: undo})
		if len(w.writes) > 400 {
			w.writes = slices.Clone(w.writes[100:])
		}
		if w.trap {
			w.trap = false
			w.after(w.Int64N(lag), w.failOver)
		}
		if w.acks {
			wait = w.newest - w.now
		}
	}

	var err error
	if dataset != "" && dataset != number(w.born) {
		err = errEmptied
	}
	w.after(wait+w.delay(), func() {
		// A primary that is gone acknowledges nothing any more.
		if run == w.run || !w.acks {
			answered(answers, err)
		}
	})
}

// claimed is a command with the time that claims have in this world.
func (w *world) claimed(c *command) *command {
	out := *c
	out.args = slices.Clone(c.args)
	for i, arg := range out.args {
		if arg == number(claimMillis) && (c.script == scriptBegin || c.script == scriptAbort) {
			out.args[i] = number(w.claimTTL)
		}
	}
	return &out
}

// payer returns the principal that sends the batches of a key.
func (w *world) payer(name string) *keys.Principal {
	k := w.key(name)
	if k.payer == nil {
		plan := &keys.Plan{PerMinute: int(w.perMinute), PerDay: w.limit, Credits: w.limit}
		k.payer = &keys.Principal{
			KeyID: "of " + name, Tenant: "org", Surface: keys.Preview, Plan: plan, Credits: w.limit,
		}
		rk := redisKeys{prefix: "np", tenant: "org"}
		w.records[rk.record(access.PricesBatch, name)] = name
	}
	return k.payer
}

func (w *world) key(name string) *simKey {
	k := w.keys[name]
	if k == nil {
		k = &simKey{}
		w.keys[name] = k
	}
	return k
}

// record records the reply that the caller of a key got.
func (w *world) record(name, text string) {
	k := w.key(name)
	if k.answered > 0 && k.reply != text && !k.unbilled {
		w.found = append(w.found, fmt.Sprintf("I4: key %s was answered %q and %q", name, k.reply, text))
	}
	k.answered++
	k.reply = text
}

// bill counts the charges in the usage log of a server.
func (w *world) bill(s *simServer) {
	rows, err := s.usageLog.Ledger("", 0)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, row := range rows {
		w.charged[row.Tenant] += int(row.Charged)
		if name, batch := strings.CutPrefix(row.Key, "of "); batch {
			w.key(name).charges += int(row.Charged)
		}
	}
}

// failOver makes the replica the primary: writes that it does not have are lost.
func (w *world) failOver() {
	if w.down || w.healed {
		return
	}
	w.events.failovers++
	w.down = true
	for len(w.writes) > 0 && w.writes[len(w.writes)-1].at > w.now {
		w.writes[len(w.writes)-1].undo()
		w.writes = w.writes[:len(w.writes)-1]
		w.events.undone++
	}
	w.newest = 0
	w.run++
	w.skew = w.Int64N(400_001) - 200_000
	w.after(500_000+w.Int64N(2_000_000), func() { w.down = false })
}

// chaos causes a fault now and then.
func (w *world) chaos() {
	if w.healed {
		return
	}

	if w.resets.on && w.IntN(4) == 0 {
		w.reset()
	}
	s := w.servers[w.IntN(len(w.servers))]
	switch w.IntN(8) {
	case 0, 1:
		s.kill(false)
	case 2:
		s.answersLostUntil = w.now + w.Int64N(3_000_000) // what Redis answers does not arrive
	case 3:
		s.requestsLostUntil = w.now + w.Int64N(3_000_000) // nor what it is asked
	case 4:
		s.pause(w.Int64N(4_000_000))
	case 5:
		s.step += w.Int64N(4_000_001) - 2_000_000
	case 6:
		if w.IntN(6) == 0 {
			s.kill(true)
		}
	default:
		w.trap = true // it fails with the next write, when the replica has that, or before
	}
	w.after(int64(w.ExpFloat64()*5e6), w.chaos)
}

// excessAdmissions returns how many admissions are too many in 60 seconds of the clock that counts them.
func (w *world) excessAdmissions() (n int) {
	const skew = 400 // two fail-overs may set the clock by as much, in milliseconds
	for _, times := range w.admissions {
		slices.Sort(times)
		for i := int(w.perMinute); i < len(times); i++ {
			if times[i]/1000-times[i-int(w.perMinute)]/1000 < calendar.MinuteMillis-skew {
				n++
			}
		}
	}
	return n
}

// checkInvariants checks the invariants at the end of a run. Its findings are reported with the seed.
func (w *world) checkInvariants() (found []string) {
	if w.acks {
		found = append(found, w.found...)
	}

	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	if n := w.excessAdmissions(); n > 0 && w.acks {
		say("I1: %d admissions over %d a minute", n, w.perMinute)
	}
	for tenant, charged := range w.charged {
		answered := w.answered[tenant]
		if int64(charged) > w.limit+w.short[tenant] && w.acks {
			say("I2: %d charged of %d", charged, w.limit)
		}
		if answered > charged || charged-answered > w.maybeCharged[tenant] {
			say("I3: %d charged, %d answered, %d in flight at kills", charged, answered, w.maybeCharged[tenant])
		}
	}
	for name, key := range w.keys {
		if w.acks && (key.charges > 1 || key.answered > 0 && key.charges != 1) && !key.unbilled {
			say("I4: key %s has %d charges and was answered %d times", name, key.charges, key.answered)
		}
	}
	return found
}

// simulate runs a world for some seconds, heals it, and returns the findings.
func (w *world) simulate(seconds int64) (found []string) {
	w.after(3_000_000, w.chaos)
	for _, s := range w.servers {
		w.after(w.Int64N(1_000_000), s.clients)
	}
	w.runUntil(w.now + seconds*1_000_000)

	// After the last fault, everything recovers.
	w.healed = true
	w.slow = true // windows that a loss closed open again
	w.runUntil(w.now + 60_000_000)
	w.slow = false
	w.runUntil(w.now + 30_000_000)
	for _, s := range w.servers {
		if s.lastServed < w.now-25_000_000 {
			since := (w.now - s.lastServed) / 1e6
			found = append(found, fmt.Sprintf("I8: server %d has served nobody for %d s", s.id, since))
		}
		if n := len(s.usageLog.Unsettled()); n > 0 {
			found = append(found, fmt.Sprintf("I8: server %d has %d batches that nobody decided", s.id, n))
		}
		w.bill(s)
		s.halt()
	}
	w.redis.lua.Close()
	return append(found, w.checkInvariants()...)
}
