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
func (store *Store) Admit(p *keys.Principal, spec access.LimitSpec, now access.Instant) access.Decision {
	if store.Err() != nil {
		return store.refuse(p, &spec, now, 0)
	}

	c, quota, err := store.decide(p, &spec, now, modeCall)
	if err != nil {
		return store.refuse(p, &spec, now, 0)
	}

	decision := access.Decision{
		Quota: access.NewLimitState(spec.Limit, spec.Limit-c.used, c.period.till-c.at, c.at),
	}
	if c.window {
		decision.Minute = access.NewLimitState(c.perMinute, c.perMinute-c.count, min(c.wait, calendar.MinuteMillis),
			c.at)
	}
	switch c.outcome {
	case outcomeAdmitted:
		decision.Reservation = access.Reservation{
			Principal: p, Spec: spec, Now: now, Day: quota.Day, Period: quota.Period, At: c.at,
		}
	case outcomeWindowFull:
		decision.Result = access.RateLimited
		decision.Minute = access.NewLimitState(c.perMinute, 0, max(1, c.wait), c.at)
		decision.RetryAfter = decision.Minute.Wait
	case outcomeQuotaFull:
		decision.Result = access.QuotaExceeded
		decision.Quota = exhaustedLimit(&c)
		decision.RetryAfter = decision.Quota.Wait
	default:
		return store.refuse(p, &spec, now, c.wait)
	}
	return decision
}

// resolve waits until a call is decided: by what this server has of the tenant's rights, or by
// Redis.
func (store *Store) decide(
	p *keys.Principal, spec *access.LimitSpec, now access.Instant, mode admitMode,
) (pendingAdmit, access.QuotaState, error) {
	when := now
	// By the clock of Redis, it may be another day or period, and Redis may lack something of each.
	for range 6 {
		// State: the day or period, what is charged to it, and what of that Redis does not know.
		c := pendingAdmit{now: now}
		entry := store.lockEntry(p, spec.Quota)
		c.admitRequest = store.newRequest(entry, p, spec, when)
		quota := entry.quota
		if missing, ours := store.findMissing(entry.balance(c.period), now); missing != nil {
			entry.mu.Unlock()
			if err := store.fillMissing(entry, missing, ours, p.Tenant, spec.Quota); err != nil {
				return c, quota, err
			}
			continue
		}

		// Decision: most calls of large plans, and those of a window that is known to be full, end
		// here.
		c.setMode(mode, spec)
		if store.admitLocal(entry, &c, spec, when) {
			entry.mu.Unlock()
			return c, quota, nil
		}
		if !store.client.up() {
			entry.mu.Unlock()
			return c, quota, errUnavailable
		}

		// Question: together with all that want the same. A call that waits has a place of its own.
		waiting := &pendingAdmit{admitRequest: c.admitRequest, now: c.now, done: make(chan struct{})}
		entry.waiting = append(entry.waiting, waiting)
		store.sendNext(entry, false, nil)

		// Answer.
		if err := store.await(entry, waiting); err != nil {
			return c, quota, err
		}
		store.metrics.countOutcome(waiting)
		if waiting.outcome != outcomeWrongPeriod {
			return *waiting, quota, nil
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
func (o *admitRequest) setMode(mode admitMode, spec *access.LimitSpec) {
	switch mode {
	case modeCall:
		if !spec.ReserveAtBegin {
			o.cost = spec.Cost
		}
		o.peek = spec.Window == access.NoWindow
	case modePeek:
		o.peek = true
		o.leased = false
	case modeBatch:
		o.cost = spec.Cost
		o.window = false
	}
}

// admitRequest is what a rule asks for. It begins the account of a new day or period. The caller
// holds the seat.
func (store *Store) newRequest(entry *limiterEntry, p *keys.Principal, spec *access.LimitSpec,
	now access.Instant,
) admitRequest {
	quota := store.usageLog.QuotaState(p, spec, now)
	entry.lastPeriod = entry.quotaPeriodOf(p, spec.Quota, &quota)
	entry.quota = quota
	entry.reset = resetOf(p, spec.Quota)
	if entry.balances[entry.lastPeriod.name] == nil {
		// What the journal has is asked before any call of this process is in it.
		store.recovering.Lock()
		recovered := store.unresolvedUnits(p.Tenant, entry.lastPeriod)
		charged := store.usageLog.QuotaState(p, spec, now).Used
		store.recovering.Unlock()
		entry.addBalance(&periodBalance{quotaPeriod: entry.lastPeriod, recovered: recovered, charged: charged})
	}

	return admitRequest{
		subject: subjectOf(p, spec), perMinute: int64(spec.PerMinute), limit: spec.Limit, period: entry.lastPeriod,
		window: spec.Window != access.NoWindow,
		leased: spec.Window == access.KeyWindow && int64(spec.PerMinute) > store.options.maxExact &&
			store.options.Lease > 0,
	}
}

// quotaPeriod is periodOf, for a day or period that mostly is the one of the call before. The
// caller holds the seat.
func (entry *limiterEntry) quotaPeriodOf(p *keys.Principal, kind access.QuotaKind,
	quota *access.QuotaState,
) quotaPeriod {
	same := entry.quota.Day == quota.Day && entry.quota.Period == quota.Period
	if same && entry.reset == resetOf(p, kind) && entry.lastPeriod.name != "" {
		return entry.lastPeriod
	}
	return periodOf(p, kind, quota)
}

// admitLocal decides a call that needs no question to Redis. The caller holds the seat.
func (store *Store) admitLocal(entry *limiterEntry, c *pendingAdmit, spec *access.LimitSpec, when access.Instant) bool {
	if c.peek && spec.Window == access.NoWindow && entry.balance(c.period).synced {
		entry.limiter.resolve(c, outcomeAdmitted, when.Wall, 0, 0)
		return true
	}
	present := c.now
	if c.leased {
		present = store.now() // a unit of a lease is used now, and not when the request came
	}
	if !entry.tryLocal(c, present) {
		return false
	}
	store.metrics.countLocal(c)
	store.markDirty(entry)
	return true
}

// await returns when a call is decided, or has waited for as long as one may.
func (store *Store) await(entry *limiterEntry, c *pendingAdmit) error {
	store.metrics.waiting.Add(1)
	defer store.metrics.waiting.Add(-1)
	if store.options.pacer.wait(store.options.Timeout, c.done, nil) == 0 {
		return nil
	}

	entry.mu.Lock()
	defer entry.mu.Unlock()
	if c.outcome != outcomeUndecided {
		return nil // in the last moment
	}
	c.abandoned = true
	store.metrics.timeouts.Add(1)
	return errTimeout
}

// nextCall sends what a share wants to ask now, and wakes those whose calls are decided. It unlocks
// the seat. What cannot be sent is sent again when Redis is back.
func (store *Store) sendNext(entry *limiterEntry, flush bool, decided []*pendingAdmit) {
	call := entry.nextCall(store.now(), flush)
	if flush || decided != nil {
		store.markDirty(entry)
	}
	entry.mu.Unlock()

	for _, c := range decided {
		close(c.done)
	}
	if call != nil {
		store.client.send(&call.command, func(out scriptResult, err error) { store.onResult(entry, call, out, err, 0) })
	}
}

// onResult takes the answer of an ask, and asks for those that came meanwhile. Before shut, a
// monotonic time, nobody knows what was granted by others.
func (store *Store) onResult(entry *limiterEntry, call *scriptCall, out scriptResult, err error, cooldownUntil int64) {
	var result admitResult
	if err == nil {
		result, err = call.readResult(out)
	}

	entry.mu.Lock()
	if entry.inFlight != call {
		entry.mu.Unlock()
		return // a repetition was faster
	}
	decided := []*pendingAdmit{}
	now := store.now()
	switch {
	case errors.Is(err, errScript):
		decided = append(decided, entry.failInFlight()...)
	case err != nil:
		call.unanswered = true // it goes again with all others when Redis is found again, or else by settle
	default:
		if now.Mono < cooldownUntil {
			entry.startCooldown(&result, now, cooldownUntil-now.Mono)
		}
		decided = append(decided, entry.apply(result, now)...)
		if call.request.leased {
			store.metrics.leases.Add(1)
		}
	}
	store.sendNext(entry, false, decided)

	store.reportLost(&result)
	if errors.Is(err, errScript) {
		store.reportBroken(err)
	}
}

// exhaustedLimit is an allowance that has nothing left, though units that are held may come back.
func exhaustedLimit(c *pendingAdmit) access.LimitState {
	limit := access.NewLimitState(c.limit, 0, c.period.till-c.at, c.at)
	limit.Wait = max(1, limit.Wait)
	return limit
}

// markFull answers a call that cannot be metered for a while, in milliseconds; 0 = nobody knows.
func (store *Store) refuse(p *keys.Principal, spec *access.LimitSpec, now access.Instant, wait int64) access.Decision {
	store.metrics.results[resultUnavailable].Add(1)
	retry := cmp.Or((max(0, wait)+999)/1000, access.UnavailableRetry)

	entry := store.lockEntry(p, spec.Quota)
	defer entry.mu.Unlock()
	decision := access.Decision{Result: access.Unavailable, RetryAfter: retry}
	if bal := entry.current; bal != nil {
		left := spec.Limit - bal.claimedByOthers - bal.charged
		decision.Quota = access.NewLimitState(spec.Limit, left, bal.till-now.Wall, now.Wall)
	}
	return decision
}
