package limiter

import (
	"cmp"
	"errors"
	"fmt"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// The way of an admission, from top to bottom: what there is, what can be decided by it, what is
// asked of Redis, and what its answer decides.

// Admit implements [access.Store]. It waits for Redis, and no longer than the timeout.
func (store *Store) Admit(p *keys.Principal, rule access.LimitSpec, now access.Instant) access.Decision {
	if store.Err() != nil {
		return store.refuse(p, &rule, now, 0)
	}

	c, standing, err := store.decide(p, &rule, now, modeCall)
	if err != nil {
		return store.refuse(p, &rule, now, 0)
	}

	decision := access.Decision{
		Quota: access.NewLimitState(rule.Limit, rule.Limit-c.used, c.span.till-c.at, c.at),
	}
	if c.window {
		decision.Minute = access.NewLimitState(c.perMinute, c.perMinute-c.count, min(c.wait, calendar.MinuteMillis),
			c.at)
	}
	switch c.outcome {
	case outcomeAdmitted:
		decision.Ticket = access.Reservation{
			Principal: p, Rule: rule, Now: now, Day: standing.Day, Period: standing.Period, At: c.at,
		}
	case outcomeWindowFull:
		decision.Result = access.RateLimited
		decision.Minute = access.NewLimitState(c.perMinute, 0, max(1, c.wait), c.at)
		decision.RetryAfter = decision.Minute.Wait
	case outcomeQuotaFull:
		decision.Result = access.QuotaExceeded
		decision.Quota = exhausted(&c)
		decision.RetryAfter = decision.Quota.Wait
	default:
		return store.refuse(p, &rule, now, c.wait)
	}
	return decision
}

// decide waits until a call is decided: by what this server has of the tenant's rights, or by
// Redis.
func (store *Store) decide(
	p *keys.Principal, rule *access.LimitSpec, now access.Instant, why admitMode,
) (pendingAdmit, access.QuotaState, error) {
	when := now
	// By the clock of Redis, it may be another day or period, and Redis may lack something of each.
	for range 6 {
		// State: the day or period, what is charged to it, and what of that Redis does not know.
		c := pendingAdmit{now: now}
		st := store.lockEntry(p, rule.Quota)
		c.admitRequest = store.newRequest(st, p, rule, when)
		standing := st.standing
		if lack, ours := store.findMissing(st.balance(c.span), now); lack != nil {
			st.mu.Unlock()
			if err := store.fillMissing(st, lack, ours, p.Tenant, rule.Quota); err != nil {
				return c, standing, err
			}
			continue
		}

		// Decision: most calls of large plans, and those of a window that is known to be full, end
		// here.
		c.setMode(why, rule)
		if store.admitLocal(st, &c, rule, when) {
			st.mu.Unlock()
			return c, standing, nil
		}
		if !store.link.up() {
			st.mu.Unlock()
			return c, standing, errUnavailable
		}

		// Question: together with all that want the same. A call that waits has a place of its own.
		waiting := &pendingAdmit{admitRequest: c.admitRequest, now: c.now, done: make(chan struct{})}
		st.waiting = append(st.waiting, waiting)
		store.ask(st, false, nil)

		// Answer.
		if err := store.await(st, waiting); err != nil {
			return c, standing, err
		}
		store.meters.decided(waiting)
		if waiting.outcome != outcomeWrongPeriod {
			return *waiting, standing, nil
		}
		when.Wall = waiting.at
	}
	return pendingAdmit{}, access.QuotaState{},
		fmt.Errorf("%w: the clock of Redis is in another day", access.ErrUnavailable)
}

// admitMode is what a call wants of its rights.
type admitMode uint8

const (
	modeCall  admitMode = iota // its minute and its unit
	modePeek                   // the figures
	modeBatch                  // the unit of a batch, whose minute it has
)

// setMode completes what a rule asks for by what it is for. A call that passes no window asks for
// figures, and only where none are known.
func (o *admitRequest) setMode(why admitMode, rule *access.LimitSpec) {
	switch why {
	case modeCall:
		if !rule.ReserveAtBegin {
			o.cost = rule.Cost
		}
		o.question = rule.Window == access.NoWindow
	case modePeek:
		o.question = true
		o.leased = false
	case modeBatch:
		o.cost = rule.Cost
		o.window = false
	}
}

// admitRequest is what a rule asks for. It begins the account of a new day or period. The caller
// holds the seat.
func (store *Store) newRequest(st *limiterEntry, p *keys.Principal, rule *access.LimitSpec,
	now access.Instant,
) admitRequest {
	standing := store.journal.QuotaState(p, rule, now)
	st.named = st.span(p, rule.Quota, &standing)
	st.standing = standing
	st.reset = resetOf(p, rule.Quota)
	if st.accounts[st.named.name] == nil {
		// What the journal has is asked before any call of this process is in it.
		store.adopting.Lock()
		adopted := store.unresolvedUnits(p.Tenant, st.named)
		charged := store.journal.QuotaState(p, rule, now).Used
		store.adopting.Unlock()
		st.enter(&periodBalance{quotaPeriod: st.named, recovered: adopted, charged: charged})
	}

	return admitRequest{
		subject: subjectOf(p, rule), perMinute: int64(rule.PerMinute), limit: rule.Limit, span: st.named,
		window: rule.Window != access.NoWindow,
		leased: rule.Window == access.KeyWindow && int64(rule.PerMinute) > store.options.exact &&
			store.options.Lease > 0,
	}
}

// quotaPeriod is periodOf, for a day or period that mostly is the one of the call before. The
// caller holds the seat.
func (st *limiterEntry) span(p *keys.Principal, allowance access.QuotaKind, standing *access.QuotaState) quotaPeriod {
	same := st.standing.Day == standing.Day && st.standing.Period == standing.Period
	if same && st.reset == resetOf(p, allowance) && st.named.name != "" {
		return st.named
	}
	return periodOf(p, allowance, standing)
}

// admitLocal decides a call that needs no question to Redis. The caller holds the seat.
func (store *Store) admitLocal(st *limiterEntry, c *pendingAdmit, rule *access.LimitSpec, when access.Instant) bool {
	if c.question && rule.Window == access.NoWindow && st.balance(c.span).synced {
		st.limiter.decide(c, outcomeAdmitted, when.Wall, 0, 0)
		return true
	}
	present := c.now
	if c.leased {
		present = store.now() // a unit of a lease is used now, and not when the request came
	}
	if !st.tryLocal(c, present) {
		return false
	}
	store.meters.local(c)
	store.markDirty(st)
	return true
}

// await returns when a call is decided, or has waited for as long as one may.
func (store *Store) await(st *limiterEntry, c *pendingAdmit) error {
	store.meters.waiting.Add(1)
	defer store.meters.waiting.Add(-1)
	if store.options.pacer.wait(store.options.Timeout, c.done, nil) == 0 {
		return nil
	}

	st.mu.Lock()
	defer st.mu.Unlock()
	if c.outcome != outcomeUndecided {
		return nil // in the last moment
	}
	c.abandoned = true
	store.meters.unknown.Add(1)
	return errLate
}

// nextCall sends what a share wants to ask now, and wakes those whose calls are decided. It unlocks
// the seat. What cannot be sent is sent again when Redis is back.
func (store *Store) ask(st *limiterEntry, settle bool, decided []*pendingAdmit) {
	a := st.nextCall(store.now(), settle)
	if settle || decided != nil {
		store.markDirty(st)
	}
	st.mu.Unlock()

	for _, c := range decided {
		close(c.done)
	}
	if a != nil {
		store.link.send(&a.command, func(out scriptResult, err error) { store.answered(st, a, out, err, 0) })
	}
}

// answered takes the answer of an ask, and asks for those that came meanwhile. Before shut, a
// monotonic time, nobody knows what was granted by others.
func (store *Store) answered(st *limiterEntry, a *scriptCall, out scriptResult, err error, shut int64) {
	var g admitResult
	if err == nil {
		g, err = a.readResult(out)
	}

	st.mu.Lock()
	if st.inFlight != a {
		st.mu.Unlock()
		return // a repetition was faster
	}
	decided := []*pendingAdmit{}
	now := store.now()
	switch {
	case errors.Is(err, errScript):
		decided = append(decided, st.failInFlight()...)
	case err != nil:
		a.unanswered = true // it goes again with all others when Redis is found again, or else by settle
	default:
		if now.Mono < shut {
			st.startCooldown(&g, now, shut-now.Mono)
		}
		decided = append(decided, st.apply(g, now)...)
		if a.order.leased {
			store.meters.leases.Add(1)
		}
	}
	store.ask(st, false, decided)

	store.reportLost(&g)
	if errors.Is(err, errScript) {
		store.reportBroken(err)
	}
}

// exhausted is an allowance that has nothing left, though units that are held may come back.
func exhausted(c *pendingAdmit) access.LimitState {
	policy := access.NewLimitState(c.limit, 0, c.span.till-c.at, c.at)
	policy.Wait = max(1, policy.Wait)
	return policy
}

// markFull answers a call that cannot be metered for a while, in milliseconds; 0 = nobody knows.
func (store *Store) refuse(p *keys.Principal, rule *access.LimitSpec, now access.Instant, wait int64) access.Decision {
	store.meters.results[resultUnavailable].Add(1)
	retry := cmp.Or((max(0, wait)+999)/1000, access.UnavailableRetry)

	st := store.lockEntry(p, rule.Quota)
	defer st.mu.Unlock()
	decision := access.Decision{Result: access.Unavailable, RetryAfter: retry}
	if acc := st.current; acc != nil {
		left := rule.Limit - acc.claimedByOthers - acc.charged
		decision.Quota = access.NewLimitState(rule.Limit, left, acc.till-now.Wall, now.Wall)
	}
	return decision
}
