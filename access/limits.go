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
	maxRecords  int   // bound of a tenant's idempotency records
	maxUnsaved  int64 // bound of the bytes of replies that no checkpoint has
	lastClaimID atomic.Uint64
}

// stateRef is where a store keeps a principal's state.
type stateRef struct {
	limits *limits
	tenant *tenantState
	key    *keyState
}

func newLimits(ul *usageLog, repliesMax int) *limits {
	if repliesMax <= 0 {
		repliesMax = DefaultMaxIdempotencyRecords
	}
	return &limits{usageLog: ul, maxRecords: repliesMax, maxUnsaved: maxUnsavedBytes}
}

// stateRef returns the state of a principal, through the shortcut it carries when that leads here.
func (l *limits) stateOf(p *keys.Principal) *stateRef {
	if known := p.StoreRef.Load(); known != nil {
		if ref, ok := (*known).(*stateRef); ok && ref.limits == l {
			return ref
		}
	}

	// A new reading of the keys file made a new principal for the same key.
	a := l.tenant(p.Tenant)
	a.mu.Lock()
	key := a.key(p.KeyID)
	a.mu.Unlock()

	made := &stateRef{limits: l, tenant: a, key: key}
	known := any(made)
	p.StoreRef.Store(&known) // calls that race here store the same
	return made
}

// Admit implements [Store].
func (l *limits) Admit(p *keys.Principal, spec LimitSpec, now Instant) (decision Decision) {
	if l.Err() != nil {
		return l.unavailable(p, &spec, now)
	}

	ref := l.stateOf(p)
	at := l.storeTime(now)
	a := ref.tenant
	a.mu.Lock()
	defer a.mu.Unlock()

	// Both limits are looked at before anything is taken of either.
	w := a.windowOf(ref.key, spec.Window)
	fits := true
	var remaining, wait int64
	if w != nil {
		w.resize(spec.PerMinute, at)
		fits, remaining, wait = w.peek(at)
	}

	st := a.stand(p, &spec, l.times(now))

	// A deferred call reserves in Begin: the replay of a kept reply is free.
	reserve := spec.Cost > 0 && !spec.ReserveAtBegin
	full := reserve && st.full(spec.Cost)

	// A refused call takes nothing and leaves no trace.
	if fits && !full {
		if w != nil {
			remaining, wait = w.take(at)
		}
		if reserve {
			a.reserve(&spec, st.day, st.period)
		}
		a.lastAdmission = a.lastAdmission.later(timePair{store: at, wall: now.Wall})
		decision.Reservation = Reservation{Principal: p, Spec: spec, Now: now, Day: st.day, Period: st.period, At: at}
	}

	// The figures are those after this call, when it was admitted.
	if w != nil {
		if fits {
			// Buckets free a unit up to 0.1 s after the minute; a caller that was admitted is told
			// the minute.
			wait = min(wait, calendar.MinuteMillis)
		}
		decision.Minute = NewLimitState(int64(spec.PerMinute), remaining, wait, now.Wall)
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
func (l *limits) unavailable(p *keys.Principal, spec *LimitSpec, now Instant) Decision {
	a := l.stateOf(p).tenant
	a.mu.Lock()
	defer a.mu.Unlock()

	st := a.stand(p, spec, l.times(now))
	return Decision{
		Result: Unavailable, RetryAfter: UnavailableRetry, Quota: st.limitState(false),
	}
}

// Finish implements [Store].
func (l *limits) Finish(res Reservation, success bool) (Charge, error) {
	if sampled() {
		defer l.metrics.times.Since(timeFinish, time.Now())
	}

	down := l.Err()
	if down == nil && success && res.Spec.ReserveAtBegin {
		return Charge{}, fmt.Errorf("cannot finish %q as a success: %w: it needs Commit",
			string(res.Spec.Operation), ErrReservation)
	}

	charged := int64(0)
	if success {
		charged = res.Spec.Cost
	}

	a := l.stateOf(res.Principal).tenant
	a.mu.Lock()
	// The unit of a deferred call was reserved by Begin: Commit and Abort release it.
	if res.Spec.Cost > 0 && !res.Spec.ReserveAtBegin {
		a.release(&res.Spec, res.Day, res.Period)
	}
	// Of a call that nobody can record, too: what it reserved must be there when metering is.
	if down != nil {
		a.mu.Unlock()
		return Charge{}, down
	}

	e := newEntry(&res, charged)
	charge, seq := l.recordCall(a, &res, &e)
	a.mu.Unlock()

	// The account is free while the disk works: other calls of the tenant go into the same write.
	if err := l.awaitUndo(a, &e, seq, res.Spec.Durable && charged > 0); err != nil {
		return Charge{}, err
	}
	return charge, nil
}

// newEntry is what the journal records of a finished ticket.
func newEntry(res *Reservation, charged int64) entry {
	return entry{
		tenant: res.Principal.Tenant, key: res.Principal.KeyID, op: res.Spec.Operation,
		window: res.Spec.Window, quota: res.Spec.Quota, charged: charged,
		at: res.At, wall: res.Now.Wall, day: res.Day, period: res.Period, resets: resetsOf(res.Principal),
	}
}

// recordCall records a finished call in its account, which the caller holds.
func (l *limits) recordCall(a *tenantState, res *Reservation, e *entry) (Charge, uint64) {
	seq := l.record(a, e)
	st := a.stand(res.Principal, &res.Spec, timePair{store: res.At, wall: res.Now.Wall})
	return Charge{Charged: e.charged, Quota: st.limitState(false)}, seq
}

// Usage implements [Store].
func (l *limits) Usage(p *keys.Principal, spec LimitSpec, now Instant) (Usage, error) {
	// What was charged is in memory, also while the log is down.
	if l.closed.Load() {
		return Usage{}, ErrClosed
	}

	ref := l.stateOf(p)
	a := ref.tenant
	a.mu.Lock()
	st := a.stand(p, &spec, l.times(now))
	minute := l.minuteNow(ref, p, now)
	a.mu.Unlock()

	usage := Usage{
		Tenant: p.Tenant, Period: st.period, Limit: st.limit, Used: st.used,
		Remaining: max(0, st.limit-st.used), PerMinute: p.Plan.PerMinute, Minute: minute,
	}
	if spec.Quota == DayQuota {
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
	stats.ReplyBytes = l.unsavedBytes.Load()

	if l.dir != nil {
		stats.Durable = true
		stats.Stats = l.dir.Stats()
	}
	return stats
}

// minuteNow is what a live key may still do in the minute, without taking any of it. The caller
// holds the account.
func (l *limits) minuteNow(ref *stateRef, p *keys.Principal, now Instant) LimitState {
	if p.Surface == keys.Preview {
		return LimitState{}
	}

	at := l.storeTime(now)
	w := ref.tenant.windowOf(ref.key, KeyWindow)
	w.resize(p.Plan.PerMinute, at)
	_, remaining, wait := w.peek(at)
	return NewLimitState(int64(p.Plan.PerMinute), remaining, min(wait, calendar.MinuteMillis), now.Wall)
}
