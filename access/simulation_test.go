package access

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ninepocket/access/keys"
	"ninepocket/access/state"
	"ninepocket/calendar"
	"ninepocket/internal/disk/disktest"
	"ninepocket/internal/testsweep"
)

// universe is one run of clients, keys, faults of disk and clock, checkpoints, kills and restarts
// around a store, all out of one seed. It is an event loop in one goroutine: the store has none of
// its own, and a seed always gives the same trace.
//
// Its checks are not taken from the code: see judge and end.
type universe struct {
	t      *testing.T
	seed   uint64
	random *rand.Rand
	dir    string
	disk   *disktest.Faults
	store  *LocalStore
	ring   *keys.Ring
	file   *keys.File
	trace  []string

	true  int64 // milliseconds of true time
	mono  int64 // of this process
	wrong int64 // wall clock - true time
	boots int
	born  int64 // true time of the boot

	clients  []*client
	glitches []int64 // true times at which the wall clock, or what a restart knows, was wrong
	bad      bool    // a fault of the disk is on
}

// client is a tenant with one key, and what it knows itself.
type client struct {
	who      *keys.Principal
	id       string
	acked    int64                  // charges that were acknowledged
	doubtful int64                  // answered 503 while the disk failed, and the process was killed in that time
	refused  int64                  // answered 503 since the disk began to fail
	fragile  int64                  // live charges acknowledged since then: written, and perhaps never on disk
	fading   int64                  // calls of any kind acknowledged since the disk began to fail
	fades    int64                  // of these, when a process ended before the disk was good again
	lost     int64                  // of these, when a process ended before the disk was good again
	times    []int64                // true times of calls that were answered
	replies  map[string]storedReply // what was answered to a key, and when
	keys     int
}

const simulatedQuota = 40

func newUniverse(t *testing.T, seed uint64) *universe {
	t.Helper()
	u := &universe{
		t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 17)), dir: t.TempDir(),
		disk: &disktest.Faults{Name: verb},
		file: keys.NewFile(), true: testTime.UnixMilli(),
	}
	u.born = u.true - 1_000_000

	plans := keys.DefaultPlans()
	plans.Set("sim", keys.Plan{PerMinute: 7, PerDay: simulatedQuota, Credits: simulatedQuota})
	for i, kind := range []keys.Surface{keys.Live, keys.Live, keys.Preview, keys.Preview} {
		name := fmt.Sprint("client", i)
		if _, _, err := u.file.Create(keys.NewKey{Tenant: name, Surface: kind, Plan: "sim"}, testTime); err != nil {
			t.Fatal(err)
		}
		u.clients = append(u.clients, &client{id: name, replies: map[string]storedReply{}})
	}
	var err error
	u.ring, err = keys.FixedRing(u.file, plans)
	if err != nil {
		t.Fatal(err)
	}
	for i, cl := range u.clients {
		cl.who = principalOf(u.file, u.file.Keys[i], plans)
	}
	u.open()
	return u
}

func (u *universe) now() Instant { return Instant{Mono: u.mono, Wall: u.true + u.wrong} }

func (u *universe) logf(format string, args ...any) {
	u.trace = append(u.trace, fmt.Sprintf("%d ", u.true)+fmt.Sprintf(format, args...))
}

func (u *universe) failf(format string, args ...any) {
	u.t.Helper()
	u.t.Errorf("seed %d, event %d: %s", u.seed, len(u.trace), fmt.Sprintf(format, args...))
}

// open starts a process on what is stored.
func (u *universe) open() {
	u.t.Helper()
	u.mono = u.random.Int64N(1000)

	disk := disktest.Unsynced(false)
	disk.Set(u.disk.Rule)
	store, err := OpenLocal(u.dir, LocalOptions{
		Now:  u.now(),
		boot: func() Boot { return Boot{ID: fmt.Sprint("boot", u.boots), Up: u.true - u.born} },
		Seams: state.Seams{
			Disk: disk, Inline: true,
			Now: func() time.Time { return time.UnixMilli(u.true) },
		},
	})
	if err != nil {
		u.t.Fatalf("seed %d: cannot start: %v", u.seed, err)
	}
	u.store = store
}

// verbs are the calls to the disk that fail; "committed" is a checkpoint that took place, and whose
// last call failed all the same.
var verbs = []string{"create", "write", "sync", "checkpoint", "committed"}

// event lets one thing happen.
func (u *universe) event() {
	switch n := u.random.IntN(1000); {
	case n < 120:
		u.pass(u.random.Int64N(20_000))
	case n < 140:
		u.pass(u.random.Int64N(8 * 3_600_000))
	case n < 150:
		u.glitch()
	case n < 160 && u.wrong != 0:
		u.logf("the clock is right again")
		u.wrong = 0
		u.glitches = append(u.glitches, u.true)
	case n < 175:
		u.breakDisk()
	case n < 220:
		u.mendDisk()
	case n < 250:
		err := u.store.SaveCheckpoint()
		u.logf("checkpoint: %t", err == nil)
		if err != nil && !u.bad {
			u.failf("a checkpoint on a good disk: %v", err)
		}
	case n < 262:
		u.restart()
	default:
		u.call(u.clients[u.random.IntN(len(u.clients))])
	}
	u.pass(1)

	// The work of a server within 50 ms.
	if !u.bad {
		if err := u.store.dir.Log.Sync(); err != nil {
			u.failf("a good disk: %v", err)
		}
	}
}

func (u *universe) pass(ms int64) {
	u.true += ms
	u.mono += ms
}

// glitch sets the wall clock anywhere, as a bad time service or a resumed machine does.
func (u *universe) glitch() {
	const hour = int64(3_600_000)
	by := []int64{hour, -hour, 24 * hour, -24 * hour, 366 * 24 * hour, 40 * 24 * hour, -3 * 24 * hour}
	u.wrong = by[u.random.IntN(len(by))]
	u.glitches = append(u.glitches, u.true)
	u.logf("the clock is %d h off", u.wrong/hour)
}

func (u *universe) breakDisk() {
	verb := verbs[u.random.IntN(len(verbs))]
	if u.random.IntN(2) == 0 {
		u.disk.Once(verb, syscall.EIO)
	} else {
		u.disk.Set(verb, syscall.ENOSPC)
	}
	u.bad = true
	u.logf("%s fails", verb)
}

func (u *universe) mendDisk() {
	for _, verb := range verbs {
		u.disk.Set(verb, nil)
	}
	if !u.bad {
		return
	}

	// The work of a server's sync within 50 ms of the end.
	u.pass(1000)
	u.bad = false
	if err := u.store.dir.Log.Sync(); err != nil || u.store.Err() != nil {
		u.failf("a second after the disk is good again: %v", errors.Join(err, u.store.Err()))
	}
	for _, cl := range u.clients {
		cl.refused = 0
		cl.fragile = 0
		cl.fading = 0
	}
	u.logf("the disk is good again")
}

// restart ends the process, in order or not, and starts another one after a while; sometimes the
// machine, too.
func (u *universe) restart() {
	kill := u.random.IntN(3) > 0
	if kill {
		u.store.Kill()
	} else {
		_ = u.store.Close() // fails on a bad disk, which loses nothing
	}

	// A call that was refused by a process that died with a bad disk may be charged.
	for _, cl := range u.clients {
		cl.doubtful += cl.refused
		cl.refused = 0
		cl.lost += cl.fragile
		cl.fragile = 0
		cl.fades += cl.fading
		cl.fading = 0
	}
	for _, verb := range verbs {
		u.disk.Set(verb, nil)
	}
	u.bad = false

	u.true += u.random.Int64N([]int64{500, 90_000}[u.random.IntN(2)])
	if u.random.IntN(3) == 0 {
		u.boots++
		u.born = u.true
		if u.wrong != 0 {
			u.glitches = append(u.glitches, u.true) // nothing is left that shows how long it took
		}
	}
	u.logf("restart, killed %t, boot %d", kill, u.boots)
	u.open()
}

// call makes a call of a client and judges the answer.
func (u *universe) call(cl *client) {
	op := CardsGet
	if cl.who.Surface == keys.Preview {
		op = []Operation{ProductsList, PricesBatch, PricesBatch}[u.random.IntN(3)]
	}
	decision := u.store.Admit(cl.who, SpecFor(cl.who, op), u.now())
	u.logf("%s %s: %v", cl.id, op, decision.Result)
	if decision.Result == Unavailable && !u.bad {
		u.failf("%s is refused on a good disk: %v", cl.id, u.store.Err())
	}
	if decision.Result != Admitted {
		return
	}
	if op == PricesBatch {
		u.batch(cl, decision)
		return
	}

	success := u.random.IntN(4) > 0
	charge, err := u.store.Finish(decision.Reservation, success)
	u.judge(cl, charge, err, success)
}

func (u *universe) judge(cl *client, charge Charge, err error, success bool) {
	u.logf("%s: charged %d (%t)", cl.id, charge.Charged, err == nil)

	if err == nil {
		cl.times = append(cl.times, u.true)
		if u.bad && (charge.Charged == 0 || cl.who.Surface == keys.Live) {
			cl.fading++
		}
	}

	switch {
	case err == nil && (charge.Charged == 1) != success:
		u.failf("%s was charged %d", cl.id, charge.Charged)
	case err == nil:
		cl.acked += charge.Charged
		if u.bad && cl.who.Surface == keys.Live {
			cl.fragile += charge.Charged
		}
	case !u.bad:
		u.failf("%s is refused on a good disk: %v", cl.id, err)
	case success:
		cl.refused++
	}
}

func (u *universe) batch(cl *client, decision Decision) {
	if cl.keys == 0 || u.random.IntN(3) > 0 {
		cl.keys++
	}
	key := fmt.Sprint(cl.id, " ", max(1, cl.keys-u.random.IntN(3)))
	claim, err := u.store.Begin(decision.Reservation, key, BodyHash{1}, u.now())
	if err != nil {
		_, _ = u.store.Finish(decision.Reservation, false)
		if !u.bad {
			u.failf("%s: %v", key, err)
		}
		return
	}

	said, answered := cl.replies[key]
	age := u.mono + u.store.offset - said.at
	switch {
	case claim.Result == Replay && (!answered || string(claim.Reply) != string(said.data)):
		if answered || cl.doubtful == 0 {
			u.failf("%s is replayed as %q, was answered %q", key, claim.Reply, said.data)
		}
	case claim.Result == Fresh && answered && age < 600_000:
		u.failf("%s is forgotten after %d ms", key, age)
	}
	if claim.Result != Fresh {
		charge, err := u.store.Finish(decision.Reservation, false)
		u.judge(cl, charge, err, false)
		return
	}

	text := fmt.Sprint("answer ", u.true)
	charge, err := u.store.Commit(decision.Reservation, claim, []byte(text))
	u.judge(cl, charge, err, true)
	if err == nil {
		cl.replies[key] = storedReply{replyMeta: replyMeta{at: decision.Reservation.At}, data: []byte(text)}
	}
}

// end compares the events of the run with the rules for every run.
func (u *universe) end() {
	u.mendDisk()
	u.wrong = 0
	u.glitches = append(u.glitches, u.true)
	if err := u.store.SaveCheckpoint(); err != nil {
		u.failf("the last checkpoint: %v", err)
	}
	u.restart()

	for _, cl := range u.clients {
		rows, err := u.store.Ledger(cl.id, -1<<30)
		if err != nil {
			u.failf("ledger: %v", err)
		}
		var charged int64
		for _, row := range rows {
			charged += row.Charged
		}
		// Nothing acknowledged is lost, and nothing is charged that was not answered.
		if charged < cl.acked-cl.lost || charged > cl.acked+cl.doubtful {
			u.failf("%s was told of %d charges, %d more are in doubt, and the ledger has %d",
				cl.id, cl.acked, cl.doubtful, charged)
		}
		u.spans(cl)
	}

	// The second midnight after any glitch every day's quota is whole, the next month every credit.
	u.pass((u.true/calendar.DayMillis+2)*calendar.DayMillis - u.true)
	for _, cl := range u.clients {
		if cl.who.Surface == keys.Preview {
			u.pass(32 * calendar.DayMillis)
		}
		usage, err := u.store.Usage(cl.who, SpecFor(cl.who, UsageGet), u.now())
		if err != nil || usage.Remaining() != simulatedQuota {
			u.failf("after two midnights %s has %+v (%v)", cl.id, usage, err)
		}
	}
	u.store.Close()
}

// spans wants no more admissions in any minute of true time, and no more charges in all, than the
// plan allows, but for one more window or quota for each glitch.
func (u *universe) spans(cl *client) {
	glitched := func(from, to int64) (n int) {
		for _, at := range u.glitches {
			if at >= from && at <= to {
				n++
			}
		}
		return n
	}

	limit := cl.who.Plan.PerMinute
	for i, from := range cl.times {
		n, _ := slices.BinarySearch(cl.times[i:], from+calendar.MinuteMillis)
		if extra := glitched(from, from+calendar.MinuteMillis); n > limit*(1+extra)+int(cl.fades) {
			u.failf("%s had %d calls within a minute that had %d glitches", cl.id, n, extra)
		}
	}

	if len(cl.times) == 0 {
		return
	}
	first := cl.times[0]
	quotas := u.true/calendar.DayMillis - first/calendar.DayMillis + 1
	if cl.who.Surface == keys.Preview {
		quotas = int64(time.UnixMilli(u.true).Month()-time.UnixMilli(first).Month()+12)%12 + 1
	}
	quotas += int64(glitched(first, u.true))
	if cl.acked > simulatedQuota*quotas {
		u.failf("%s was charged %d times with %d quotas", cl.id, cl.acked, quotas)
	}
}

// simulated runs a seed and returns its trace.
func simulated(t *testing.T, seed uint64, events int) []string {
	t.Helper()
	u := newUniverse(t, seed)
	for range events {
		u.event()
		if t.Failed() {
			break
		}
	}
	if !t.Failed() {
		u.end()
	}
	return u.trace
}

// TestUniverse runs universes, each out of its seed. NINEPOCKET_SEED runs one seed and prints its
// trace; NINEPOCKET_TORTURE runs a hundred times as many.
func TestUniverse(t *testing.T) {
	t.Parallel()
	if text := os.Getenv("NINEPOCKET_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(strings.Join(simulated(t, seed, 1500), "\n"))
		return
	}

	seeds := uint64(15 / testsweep.Stride(5))
	if os.Getenv("NINEPOCKET_TORTURE") != "" {
		seeds *= 250
	}
	for seed := range seeds {
		trace := simulated(t, seed, 1500)
		if t.Failed() {
			t.Fatalf("NINEPOCKET_SEED=%d shows it again", seed)
		}
		if seed%20 == 0 {
			if again := simulated(t, seed, 1500); !slices.Equal(trace, again) {
				t.Fatalf("seed %d gave another trace the second time", seed)
			}
		}
	}
}
