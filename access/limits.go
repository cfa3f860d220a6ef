package access

import (
	"fmt"
	"sync/atomic"
	"time"

	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// limits decides which calls go on, by minute windows and by units of allowance that calls in
// flight reserve. It reads from the journal what calls have cost. The journal records each finished
// call before that call returns.
type limits struct {
	*usageLog
	maxRecords int   // bound of a tenant's idempotency records
	waitingMax int64 // bound of the bytes of replies that no checkpoint has
	claims     atomic.Uint64
}

// stateRef is where a store keeps a principal's state.
type stateRef struct {
	limits  *limits
	account *tenantState
	key     *keyState
}

func newLimits(j *usageLog, repliesMax int) *limits {
	if repliesMax <= 0 {
		repliesMax = DefaultMaxIdempotencyRecords
	}
	return &limits{usageLog: j, maxRecords: repliesMax, waitingMax: maxWaiting}
}

// stateRef returns the state of a principal, through the shortcut it carries when that leads here.
func (l *limits) slot(p *keys.Principal) *stateRef {
	if known := p.Slot.Load(); known != nil {
		if slot, ok := (*known).(*stateRef); ok && slot.limits == l {
			return slot
		}
	}

	// A new reading of the keys file made a new principal for the same key.
	a := l.account(p.Tenant)
	a.mu.Lock()
	key := a.key(p.KeyID)
	a.mu.Unlock()

	made := &stateRef{limits: l, account: a, key: key}
	known := any(made)
	p.Slot.Store(&known) // calls that race here store the same
	return made
}

// Admit implements [Store].
func (l *limits) Admit(p *keys.Principal, rule LimitSpec, now Instant) (decision Decision) {
	if l.Err() != nil {
		return l.unavailable(p, &rule, now)
	}

	slot := l.slot(p)
	at := l.time(now)
	a := slot.account
	a.mu.Lock()
	defer a.mu.Unlock()

	// Both limits are looked at before anything is taken of either.
	w := a.windowOf(slot.key, rule.Window)
	fits := true
	var remaining, wait int64
	if w != nil {
		w.resize(rule.PerMinute, at)
		fits, remaining, wait = w.peek(at)
	}

	st := a.stand(p, &rule, l.moment(now))

	// A deferred call reserves in Begin: the replay of a kept reply is free.
	reserve := rule.Cost > 0 && !rule.ReserveAtBegin
	full := reserve && st.full(rule.Cost)

	// A refused call takes nothing and leaves no trace.
	if fits && !full {
		if w != nil {
			remaining, wait = w.take(at)
		}
		if reserve {
			a.reserve(&rule, st.day, st.period)
		}
		a.last = a.last.later(timePair{store: at, wall: now.Wall})
		decision.Ticket = Reservation{Principal: p, Rule: rule, Now: now, Day: st.day, Period: st.period, At: at}
	}

	// The figures are those after this call, when it was admitted.
	if w != nil {
		if fits {
			// Buckets free a unit up to 0.1 s after the minute; a caller that was admitted is told
			// the minute.
			wait = min(wait, calendar.MinuteMillis)
		}
		decision.Minute = NewLimitState(int64(rule.PerMinute), remaining, wait, now.Wall)
	}
	decision.Quota = st.limitState(fits && full)

	switch {
	case !fits:
		decision.Result = RateLimited
		decision.RetryAfter = decision.Minute.Wait
	case full:
		decision.Result = QuotaExceeded
		decision.RetryAfter = decision.Quota.Wait
	}
	return decision
}

// unavailable refuses a call that cannot be metered. What is left is known all the same: it is in
// memory.
func (l *limits) unavailable(p *keys.Principal, rule *LimitSpec, now Instant) Decision {
	a := l.slot(p).account
	a.mu.Lock()
	defer a.mu.Unlock()

	st := a.stand(p, rule, l.moment(now))
	return Decision{
		Result: Unavailable, RetryAfter: UnavailableRetry, Quota: st.limitState(false),
	}
}

// Finish implements [Store].
func (l *limits) Finish(t Reservation, success bool) (Charge, error) {
	if sampled() {
		defer l.metrics.times.Since(timeFinish, time.Now())
	}

	down := l.Err()
	if down == nil && success && t.Rule.ReserveAtBegin {
		return Charge{}, fmt.Errorf("cannot finish %q as a success: %w: it needs Commit",
			string(t.Rule.Operation), ErrReservation)
	}

	charged := int64(0)
	if success {
		charged = t.Rule.Cost
	}

	a := l.slot(t.Principal).account
	a.mu.Lock()
	// The unit of a deferred call was reserved by Begin: Commit and Abort release it.
	if t.Rule.Cost > 0 && !t.Rule.ReserveAtBegin {
		a.release(&t.Rule, t.Day, t.Period)
	}
	// Of a call that nobody can record, too: what it reserved must be there when metering is.
	if down != nil {
		a.mu.Unlock()
		return Charge{}, down
	}

	e := ticketEntry(&t, charged)
	receipt, seq := l.enter(a, &t, &e)
	a.mu.Unlock()

	// The account is free while the disk works: other calls of the tenant go into the same write.
	if err := l.awaitUndo(a, &e, seq, t.Rule.Durable && charged > 0); err != nil {
		return Charge{}, err
	}
	return receipt, nil
}

// ticketEntry is what the journal records of a finished ticket.
func ticketEntry(t *Reservation, charged int64) entry {
	return entry{
		tenant: t.Principal.Tenant, key: t.Principal.KeyID, op: t.Rule.Operation,
		window: t.Rule.Window, allowance: t.Rule.Quota, charged: charged,
		at: t.At, wall: t.Now.Wall, day: t.Day, period: t.Period, resets: resetsOf(t.Principal),
	}
}

// enter records a finished call in its account, which the caller holds.
func (l *limits) enter(a *tenantState, t *Reservation, e *entry) (Charge, uint64) {
	seq := l.record(a, e)
	st := a.stand(t.Principal, &t.Rule, timePair{store: t.At, wall: t.Now.Wall})
	return Charge{Charged: e.charged, Quota: st.limitState(false)}, seq
}

// Usage implements [Store].
func (l *limits) Usage(p *keys.Principal, rule LimitSpec, now Instant) (Usage, error) {
	// What was charged is in memory, also while the log is down.
	if l.closed.Load() {
		return Usage{}, ErrClosed
	}

	slot := l.slot(p)
	a := slot.account
	a.mu.Lock()
	st := a.stand(p, &rule, l.moment(now))
	minute := l.minuteNow(slot, p, now)
	a.mu.Unlock()

	usage := Usage{
		Tenant: p.Tenant, Period: st.period, Limit: st.limit, Used: st.used,
		Remaining: max(0, st.limit-st.used), PerMinute: p.Plan.PerMinute, Minute: minute,
	}
	if rule.Quota == DayQuota {
		usage.Period = calendar.Period{Start: st.day.Start(), End: (st.day + 1).Start()}
	}
	return usage, nil
}

// Stats implements [Store]. It takes each account for a moment.
func (l *limits) Stats() StoreStats {
	times := l.metrics.times
	stats := StoreStats{Begin: times.Row(timeBegin), Commit: times.Row(timeCommit), Finish: times.Row(timeFinish)}

	for _, a := range l.all("") {
		a.mu.Lock()
		stats.Replies += a.replies.count + len(a.replies.pending)
		a.mu.Unlock()
	}
	stats.ReplyBytes = l.waiting.Load()

	if l.dir != nil {
		stats.Durable = true
		stats.Stats = l.dir.Stats()
	}
	return stats
}

// minuteNow is what a live key may still do in the minute, without taking any of it. The caller
// holds the account.
func (l *limits) minuteNow(slot *stateRef, p *keys.Principal, now Instant) LimitState {
	if p.Surface == keys.Preview {
		return LimitState{}
	}

	at := l.time(now)
	w := slot.account.windowOf(slot.key, KeyWindow)
	w.resize(p.Plan.PerMinute, at)
	_, remaining, wait := w.peek(at)
	return NewLimitState(int64(p.Plan.PerMinute), remaining, min(wait, calendar.MinuteMillis), now.Wall)
}
