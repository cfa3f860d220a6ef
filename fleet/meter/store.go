package meter

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// unavailableRetry is the Retry-After of a call that cannot be metered, in seconds.
const unavailableRetry = 5

// settleEvery is how often units that failed calls held are given back, and leases that ended settled.
const settleEvery = 100 * time.Millisecond

// Options configure a store. URL, Journal, Incarnation and Now are required.
type Options struct {
	// URL is redis://USER:PASSWORD@HOST:PORT/DB, rediss:// or redis+sentinel://HOST,HOST/NAME.
	URL string
	// Journal records what calls have cost. The store closes it.
	Journal *access.Embedded
	// Incarnation is the name of the journal's state directory.
	Incarnation string
	// Now is the present on the clock that Instants come from.
	Now func() access.Instant

	Acks       Acks
	Replicas   int           // that must have a grant, with AcksReplica; 0 = 1
	Timeout    time.Duration // that a call waits for its right; 0 = 100 ms
	Lease      time.Duration // that units of large plans are taken ahead; 0 = not at all
	Prefix     string        // begins all keys; "" = np
	RepliesMax int           // idempotency records of a tenant; 0 = [access.DefaultRepliesMax]
	// Recorded returns what every server is known to have charged to an allowance of a tenant, by
	// incarnation. It is asked once an allowance that began before the data of Redis did: what is not in
	// there was lost. Nil = nobody knows.
	Recorded func(ctx context.Context, tenant string, allowance access.Allowance, from, till int64) (
		map[string]int64, error)
	// Report is told that rights cannot be had, and nil when they can again; and what was lost, as a
	// [LostError]. Nil = nobody.
	Report func(error)

	given    bool          // tests: scripts go by the latest Instant that was given
	exchange time.Duration // tests: how long a batch may take
	commit   time.Duration // tests: how long a commit may take
}

func (o *Options) setDefaults() {
	o.Replicas = cmp.Or(o.Replicas, 1)
	o.Timeout = cmp.Or(o.Timeout, 100*time.Millisecond)
	o.Prefix = cmp.Or(o.Prefix, "np")
	o.RepliesMax = cmp.Or(o.RepliesMax, access.DefaultRepliesMax)
	o.exchange = cmp.Or(o.exchange, exchangeFor)
	o.commit = cmp.Or(o.commit, commitFor)
	if o.Report == nil {
		o.Report = func(error) {}
	}
}

// Store is an [access.Store] whose rights are in Redis.
type Store struct {
	options Options
	journal *access.Embedded
	link    *link
	meters  *meters
	claims  claims
	offers  offers
	life    string

	seats     seats
	seated    atomic.Uint64
	seen      atomic.Pointer[access.Instant]
	adopting  sync.Mutex  // taken under a seat's
	asserting atomic.Bool // all shares are said again

	toldBroken atomic.Int64 // monotonic: that an answer was of no use; 0 = never

	closed atomic.Bool
	stop   context.CancelFunc
	group  sync.WaitGroup

	mu      sync.Mutex
	restive []*seat // shares that have something to settle
}

var _ access.Store = (*Store)(nil)

// Open returns the store of one server. A Redis that may not be used is a [FindingsError]; one that
// cannot be reached is waited for while calls are refused.
func Open(ctx context.Context, options Options) (*Store, error) {
	options.setDefaults()
	store := &Store{options: options, journal: options.Journal, meters: newMeters(), life: newLife()}
	if options.given {
		store.see(options.Now())
		store.options.Now = func() access.Instant { return *store.seen.Load() }
	}
	store.claims.begin(store.life)
	var err error
	store.link, err = newLink(&store.options, store.meters, store.reassert)
	if err != nil {
		return nil, err
	}

	err = store.link.connect(ctx)
	if wrong, ok := errors.AsType[*FindingsError](err); ok {
		store.link.close()
		return nil, wrong
	}

	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	store.stop = stop
	store.group.Go(func() { store.link.keep(running) })
	for number := range batchers {
		store.group.Go(func() { store.link.batch(running, number) })
	}
	store.group.Go(func() { store.settle(running) })
	store.adopt()
	return store, nil
}

// newLife names a process: no two have the same name.
func newLife() string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return hex.EncodeToString(random[:])
}

// now is the present.
func (store *Store) now() access.Instant { return store.options.Now() }

// see notes an Instant that was given, for tests whose scripts go by them.
func (store *Store) see(now access.Instant) {
	if !store.options.given {
		return
	}
	for {
		last := store.seen.Load()
		seen := now
		if last != nil && last.Mono >= now.Mono || store.seen.CompareAndSwap(last, &seen) {
			return
		}
	}
}

// Admit implements [access.Store]. It waits for Redis, and no longer than the timeout.
func (store *Store) Admit(p *keys.Principal, rule access.Rule, now access.Instant) access.Decision {
	if store.Err() != nil {
		return store.refuse(p, &rule, now, 0)
	}

	c, standing, err := store.decide(p, &rule, now, toCall)
	if err != nil {
		return store.refuse(p, &rule, now, 0)
	}

	decision := access.Decision{
		Allowance: access.NewPolicy(rule.Limit, rule.Limit-c.used, c.span.till-c.at, c.at),
	}
	if c.window {
		decision.Minute = access.NewPolicy(c.perMinute, c.perMinute-c.count, min(c.wait, minuteMillis), c.at)
	}
	switch c.fate {
	case admitted:
		decision.Ticket = access.Ticket{
			Principal: p, Rule: rule, Now: now, Day: standing.Day, Period: standing.Period, At: c.at,
		}
	case windowFull:
		decision.Verdict = access.RateLimited
		decision.Minute = access.NewPolicy(c.perMinute, 0, max(1, c.wait), c.at)
		decision.RetryAfter = decision.Minute.Wait
	case quotaFull:
		decision.Verdict = access.QuotaExceeded
		decision.Allowance = exhausted(&c)
		decision.RetryAfter = decision.Allowance.Wait
	default:
		return store.refuse(p, &rule, now, c.wait)
	}
	return decision
}

// exhausted is an allowance that has nothing left, though units that are held may come back.
func exhausted(c *call) access.Policy {
	policy := access.NewPolicy(c.limit, 0, c.span.till-c.at, c.at)
	policy.Wait = max(1, policy.Wait)
	return policy
}

// refuse answers a call that cannot be metered for a while, in milliseconds; 0 = nobody knows.
func (store *Store) refuse(p *keys.Principal, rule *access.Rule, now access.Instant, wait int64) access.Decision {
	store.meters.results[resultUnavailable].Add(1)
	retry := int64(unavailableRetry)
	if wait > 0 {
		retry = (wait + 999) / 1000
	}

	st := store.locked(p, rule.Allowance)
	defer st.mu.Unlock()
	decision := access.Decision{Verdict: access.Unavailable, RetryAfter: retry}
	if acc := st.current; acc != nil {
		left := rule.Limit - acc.others - acc.charged
		decision.Allowance = access.NewPolicy(rule.Limit, left, acc.till-now.Wall, now.Wall)
	}
	return decision
}

// purpose is what a call wants of its rights.
type purpose uint8

const (
	toCall  purpose = iota // its minute and its unit
	toKnow                 // the figures
	toBatch                // the unit of a batch, whose minute it has
)

// fit completes what a rule asks for by what it is for. A call that passes no window asks for figures,
// and only where none are known.
func (o *order) fit(why purpose, rule *access.Rule) {
	switch why {
	case toCall:
		if !rule.Deferred {
			o.cost = rule.Cost
		}
		o.question = rule.Window == access.NoWindow
	case toKnow:
		o.question = true
		o.leased = false
	case toBatch:
		o.cost = rule.Cost
		o.window = false
	}
}

// decide waits until a call is decided.
func (store *Store) decide(
	p *keys.Principal, rule *access.Rule, now access.Instant, why purpose,
) (call, access.Standing, error) {
	store.see(now)
	when := now
	// By the clock of Redis, it may be another day or period, and Redis may lack something of each.
	for range 6 {
		c := call{now: now}
		st := store.locked(p, rule.Allowance)
		c.order = store.order(st, p, rule, when)
		standing := st.standing
		if lack := store.lacks(st.account(c.span), now); lack != nil {
			st.mu.Unlock()
			if err := store.fill(st, lack, p.Tenant, rule.Allowance); err != nil {
				return c, standing, err
			}
			continue
		}

		c.fit(why, rule)
		if store.decidedAtOnce(st, &c, rule, when) {
			st.mu.Unlock()
			return c, standing, nil
		}
		if !store.link.up() {
			st.mu.Unlock()
			return c, standing, errAway
		}

		// Most calls need none of this: those that wait have a place of their own.
		waiting := &call{order: c.order, now: c.now, done: make(chan struct{})}
		st.waiting = append(st.waiting, waiting)
		a := st.ask(store.now(), false)
		st.mu.Unlock()
		store.send(st, a)
		if err := store.await(st, waiting); err != nil {
			return c, standing, err
		}
		c = *waiting
		store.meters.decided(&c)
		if c.fate != otherSpan {
			return c, standing, nil
		}
		when.Wall = c.at
	}
	return call{}, access.Standing{}, fmt.Errorf("%w: the clock of Redis is in another day", access.ErrUnavailable)
}

// decidedAtOnce decides a call that needs no question to Redis. The caller holds the seat.
func (store *Store) decidedAtOnce(st *seat, c *call, rule *access.Rule, when access.Instant) bool {
	if c.question && rule.Window == access.NoWindow && st.account(c.span).known {
		st.share.decide(c, admitted, when.Wall, 0, 0)
		return true
	}
	present := c.now
	if c.leased && !store.options.given {
		present = store.options.Now() // a unit of a lease is used now, and not when the request came
	}
	if !st.decides(c, present) {
		return false
	}
	store.meters.local(c)
	store.stir(st)
	return true
}

// await returns when a call is decided, or has waited for as long as one may.
func (store *Store) await(st *seat, c *call) error {
	timer := time.NewTimer(store.options.Timeout)
	defer timer.Stop()
	store.meters.waiting.Add(1)
	defer store.meters.waiting.Add(-1)
	select {
	case <-c.done:
		return nil
	case <-timer.C:
	}

	st.mu.Lock()
	defer st.mu.Unlock()
	if c.fate != undecided {
		return nil // in the last moment
	}
	c.gone = true
	store.meters.unknown.Add(1)
	return errLate
}

// send hands an ask to Redis. What cannot be sent is sent again when Redis is back.
func (store *Store) send(st *seat, a *ask) {
	if a == nil {
		return
	}
	store.link.send(&a.command, func(out reply, err error) { store.answered(st, a, out, err, 0) })
}

// answered takes the answer of an ask, and sends the next one. Before shut, a monotonic time, nobody
// knows what was granted by others.
func (store *Store) answered(st *seat, a *ask, out reply, err error, shut int64) {
	st.mu.Lock()
	if st.under != a {
		st.mu.Unlock()
		return // a repetition was faster
	}
	var g grant
	if err == nil {
		g, err = a.readGrant(out)
	}
	if errors.Is(err, errScript) {
		decided := st.broken()
		next := st.ask(store.now(), false)
		st.mu.Unlock()
		store.tellBroken(err)
		wakeAll(decided)
		store.send(st, next)
		return
	}
	if err != nil {
		a.refused = true // it goes again with all others when Redis is found again, or else by settle
		store.stir(st)
		st.mu.Unlock()
		return
	}

	now := store.now()
	if now.Mono < shut {
		st.close(&g, now, shut-now.Mono)
	}
	decided := st.answer(g, now)
	next := st.ask(now, false)
	store.stir(st)
	st.mu.Unlock()

	store.meters.take(a, &g)
	store.tellLost(&g)
	wakeAll(decided)
	store.send(st, next)
}

func wakeAll(decided []*call) {
	for _, c := range decided {
		close(c.done)
	}
}

// stir puts a share on the list of those that have something to settle. The caller holds the seat.
func (store *Store) stir(st *seat) {
	if st.restive || !st.unsettled() {
		return
	}
	st.restive = true
	store.mu.Lock()
	store.restive = append(store.restive, st)
	store.mu.Unlock()
}

// settle gives back what is not wanted any more, until ctx ends.
func (store *Store) settle(ctx context.Context) {
	ticker := time.NewTicker(settleEvery)
	defer ticker.Stop()
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-sweep.C:
			store.sweep(store.now())
		case <-ticker.C:
		}

		if !store.link.up() {
			continue
		}
		store.resolveAll(ctx)
		store.mu.Lock()
		list := store.restive
		store.restive = nil
		store.mu.Unlock()
		for _, st := range list {
			st.mu.Lock()
			st.restive = false
			a := st.ask(store.now(), true)
			store.stir(st)
			st.mu.Unlock()
			store.send(st, a)
		}
	}
}

// reassert says again what this server has, to a Redis that may have lost it, and returns when all
// of it is answered. Before shut, a monotonic time, it grants nothing. Another Redis than before is
// offered the replies that this server had the one before keep.
func (store *Store) reassert(exchange func([]*sending) error, another bool, shut int64) error {
	var all []*sending
	store.seats.each(func(_ seatName, st *seat) {
		st.mu.Lock()
		a := st.reassert(store.now())
		st.mu.Unlock()
		if a != nil {
			all = append(all, &sending{command: &a.command, done: func(out reply, err error) {
				store.answered(st, a, out, err, shut)
			}})
		}
	})

	// What is found out now is told once, and not for each tenant.
	before := store.meters.lost.Load()
	store.asserting.Store(true)
	defer store.asserting.Store(false)
	var err error
	for len(all) > 0 && err == nil {
		n := min(len(all), batchMost)
		err = exchange(all[:n])
		all = all[n:]
	}
	if another && err == nil {
		for part := range slices.Chunk(store.offers.commands(store.now().Wall), offersTogether) {
			err = exchange(part)
			if err != nil {
				break
			}
		}
	}
	if lost := store.meters.lost.Load() - before; lost > 0 {
		store.options.Report(&LostError{Tenants: int(lost)})
	}
	return err
}

// tellBroken reports what is wrong with what a tenant has in Redis, once a minute: its calls go on.
func (store *Store) tellBroken(err error) {
	now := store.now().Mono
	last := store.toldBroken.Load()
	if (last == 0 || now-last >= minuteMillis) && store.toldBroken.CompareAndSwap(last, max(1, now)) {
		store.options.Report(err)
	}
}

// tellLost reports that acknowledged writes are gone.
func (store *Store) tellLost(g *grant) {
	if g.status != statusLost {
		return
	}
	store.meters.lost.Add(1)
	if !store.asserting.Load() {
		store.options.Report(&LostError{Tenants: 1})
	}
}

// Finish implements [access.Store].
func (store *Store) Finish(t access.Ticket, success bool) (access.Receipt, error) {
	if success && t.Rule.Deferred && store.Err() == nil {
		return access.Receipt{}, fmt.Errorf("cannot finish %q as a success: %w: it needs Commit",
			string(t.Rule.Operation), access.ErrTicket)
	}

	charged := int64(0)
	if success {
		charged = t.Rule.Cost
	}
	err := store.Err()
	if err == nil {
		err = store.journal.Record(t, charged)
	}
	held := t.Rule.Cost
	if t.Rule.Deferred {
		held = 0
	}
	return store.ended(&t, held, charged, err)
}

// ended takes a call that is recorded, or cannot be, out of what its share holds.
func (store *Store) ended(t *access.Ticket, held, charged int64, err error) (access.Receipt, error) {
	st := store.locked(t.Principal, t.Rule.Allowance)
	defer st.mu.Unlock()

	of := st.span(t.Principal, t.Rule.Allowance, &access.Standing{Day: t.Day, Period: t.Period})
	acc := st.accounts[of.name]
	if acc == nil {
		acc = &account{span: of} // its day is long over
	}
	st.finish(acc, held, charged > 0 && err == nil)
	store.stir(st)
	if err != nil {
		return access.Receipt{}, err
	}
	left := t.Rule.Limit - acc.others - acc.charged
	return access.Receipt{
		Charged: charged, Allowance: access.NewPolicy(t.Rule.Limit, left, of.till-t.At, t.At),
	}, nil
}

// Usage implements [access.Store]. It asks Redis, where the calls of all servers are.
func (store *Store) Usage(p *keys.Principal, rule access.Rule, now access.Instant) (access.Usage, error) {
	if store.closed.Load() {
		return access.Usage{}, errClosed
	}
	asked := rule
	if p.Kind == keys.Live {
		asked.Window = access.KeyWindow
		asked.PerMinute = p.Plan.PerMinute
	}
	c, standing, err := store.decide(p, &asked, now, toKnow)
	if err != nil {
		return access.Usage{}, err
	}

	usage := access.Usage{
		Tenant: p.Tenant, Period: standing.Period, Limit: rule.Limit, Used: c.used,
		Remaining: max(0, rule.Limit-c.used), PerMinute: p.Plan.PerMinute,
	}
	if rule.Allowance == access.DayQuota {
		usage.Period = calendar.Period{Start: c.span.from, End: c.span.till}
		usage.Minute = access.NewPolicy(c.perMinute, c.perMinute-c.count, min(c.wait, minuteMillis), c.at)
	}
	return usage, nil
}

// Ledger implements [access.Store]: what this server recorded.
func (store *Store) Ledger(tenant string, since calendar.Day) ([]access.LedgerRow, error) {
	if store.closed.Load() {
		return nil, errClosed
	}
	return store.journal.Ledger(tenant, since)
}

// Stats implements [access.Store], with the journal's figures.
func (store *Store) Stats() access.StoreStats { return store.journal.Stats() }

// Err implements [access.Store]. It is what this server cannot help: a Redis that is away keeps no
// server from being ready, or all of them would leave a balancer at once. See [Store.Away].
func (store *Store) Err() error {
	if store.closed.Load() {
		return errClosed
	}
	return store.journal.Err()
}

// Away returns why no rights can be had, or nil.
func (store *Store) Away() error { return store.link.away() }

// Close implements [access.Store].
func (store *Store) Close() error {
	if store.closed.Swap(true) {
		return nil
	}
	store.end()
	return store.journal.Close()
}

// end stops what runs beside calls.
func (store *Store) end() {
	store.stop()
	store.group.Wait()
	store.link.close()
}
