package access

import (
	"cmp"
	"fmt"
	"sync/atomic"
	"time"

	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// limits decides which calls are admitted, by minute windows and by the units that calls in flight
// reserve. It reads from the usage log what calls have cost. That log records each finished call
// before the call returns.
type limits struct {
	*usageLog
	maxRecords  int   // bound of a tenant's idempotency records
	maxUnsaved  int64 // bound of the bytes of replies that no checkpoint has
	lastClaimID atomic.Uint64
}

// stateRef points to a principal's state in a store.
type stateRef struct {
	limits *limits
	tenant *tenantState
	key    *keyState
}

func newLimits(ul *usageLog, maxRecords int) *limits {
	maxRecords = cmp.Or(maxRecords, DefaultMaxIdempotencyRecords)
	return &limits{usageLog: ul, maxRecords: maxRecords, maxUnsaved: maxUnsavedBytes}
}

// stateOf returns the state of a principal, from the principal's cache if that is of this store.
func (l *limits) stateOf(p *keys.Principal) *stateRef {
	if ref, ok := p.StoreRef.Load().(*stateRef); ok && ref.limits == l {
		return ref
	}

	// A reload of the keys file made a new principal for the same key.
	a := l.tenantOf(p.KeyID, p.Tenant)
	a.mu.Lock()
	key := a.key(p.KeyID)
	a.mu.Unlock()

	made := &stateRef{limits: l, tenant: a, key: key}
	p.StoreRef.Store(made) // concurrent calls store the same
	return made
}

// Admit implements [Store].
func (l *limits) Admit(p *keys.Principal, spec LimitSpec, now Instant) (decision Decision) {
	ref := l.stateOf(p)
	at := l.storeTime(now)
	a := ref.tenant
	a.mu.Lock()
	defer a.mu.Unlock()

	// A call that cannot be metered is refused. Its quota is shown all the same: it is in memory.
	quota := a.quotaState(p, &spec, l.times(now))
	if l.Err() != nil {
		return Decision{
			Result: Unavailable, RetryAfter: UnavailableRetry, Quota: quota.limitState(false, now.Wall),
		}
	}

	// Both limits are checked before anything is taken from either.
	w := a.windowOf(ref.key, spec.Window)
	fits := true
	var remaining, wait int64
	if w != nil {
		w.resize(spec.PerMinute, at)
		fits, remaining, wait = w.peek(at)
	}

	// A call with ReserveAtBegin reserves in Begin: a replayed reply is free.
	reserve := spec.Cost > 0 && !spec.ReserveAtBegin
	full := reserve && quota.full(spec.Cost)

	// A refused call takes nothing and leaves no trace.
	if fits && !full {
		if w != nil {
			remaining, wait = w.take(at)
		}
		if reserve {
			a.reserve(&spec, quota.Day, quota.Period)
		}
		a.lastAdmission = a.lastAdmission.later(timePair{store: at, wall: now.Wall})
		decision.Reservation = Reservation{
			Principal: p, Spec: spec, Now: now, Day: quota.Day, Period: quota.Period, At: at,
		}
	}

	// The limits are shown after this call, if it was admitted.
	if w != nil {
		if fits {
			// A bucket frees a unit up to 0.1 s late; an admitted call still reports 60 s at most.
			wait = min(wait, calendar.MinuteMillis)
		}
		decision.Minute = NewLimitState(int64(spec.PerMinute), remaining, wait, now.Wall)
	}
	decision.Quota = quota.limitState(fits && full, now.Wall)

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
	// Units reserved by Begin are released by Commit and Abort.
	if res.Spec.Cost > 0 && !res.Spec.ReserveAtBegin {
		a.release(&res.Spec, res.Day, res.Period)
	}
	// A call that cannot be recorded is released too: its units must be free when metering is back.
	if down != nil {
		a.mu.Unlock()
		return Charge{}, down
	}

	e := newEntry(&res, charged)
	charge, seq := l.recordCall(a, &res, &e)
	a.mu.Unlock()

	// The mutex is released during the disk write, so the tenant's other calls join the write.
	if err := l.awaitUndo(a, &e, seq, res.Spec.Durable && charged > 0); err != nil {
		return Charge{}, err
	}
	return charge, nil
}

// newEntry returns the log entry of a finished call.
func newEntry(res *Reservation, charged int64) entry {
	window := res.Spec.Window
	if window == SuggestWindow {
		window = NoWindow
	}
	return entry{
		tenant: res.Principal.Tenant, key: res.Principal.KeyID, op: res.Spec.Operation,
		window: window, quota: res.Spec.Quota, charged: charged,
		at: res.At, wall: res.Now.Wall, day: res.Day, period: res.Period, resets: resetsOf(res.Principal),
	}
}

// recordCall records a finished call and returns its charge. The caller holds the tenant's mutex.
func (l *limits) recordCall(a *tenantState, res *Reservation, e *entry) (Charge, uint64) {
	seq := l.record(a, e)
	return Charge{Charged: e.charged, Quota: a.quotaAfter(res)}, seq
}

// quotaAfter returns the quota of a finished call.
func (a *tenantState) quotaAfter(res *Reservation) LimitState {
	quota := a.quotaState(res.Principal, &res.Spec, timePair{store: res.At, wall: res.Now.Wall})
	return quota.limitState(false, res.Now.Wall)
}

// Usage implements [Store].
func (l *limits) Usage(p *keys.Principal, spec LimitSpec, now Instant) (Usage, error) {
	// Charges are in memory, even while the log is down.
	if l.closed.Load() {
		return Usage{}, ErrClosed
	}

	ref := l.stateOf(p)
	ref.tenant.mu.Lock()
	defer ref.tenant.mu.Unlock()
	quota := ref.tenant.quotaState(p, &spec, l.times(now))
	usage := Usage{Period: quota.Period, Limit: quota.limit, Used: quota.Used, Minute: l.minuteNow(ref, p, now)}
	if spec.Quota == DayQuota {
		usage.Period = calendar.Period{Start: quota.Day.Start(), End: (quota.Day + 1).Start()}
	}
	return usage, nil
}

// minuteNow returns the minute limit of a live key, and takes nothing from it. The caller holds the
// tenant's mutex.
func (l *limits) minuteNow(ref *stateRef, p *keys.Principal, now Instant) LimitState {
	if p.Surface == keys.Preview {
		return LimitState{}
	}

	at := l.storeTime(now)
	ref.key.window.resize(p.Plan.PerMinute, at)
	_, remaining, wait := ref.key.window.peek(at)
	return NewLimitState(int64(p.Plan.PerMinute), remaining, min(wait, calendar.MinuteMillis), now.Wall)
}

// Stats implements [Store]. It locks each tenant's state for a moment.
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
