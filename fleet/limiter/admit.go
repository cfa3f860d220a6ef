package limiter

import (
	"cmp"
	"errors"
	"fmt"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// An admission takes these steps, from top to bottom: read the local state, decide by it where that
// is possible, else call Redis, and decide by its answer.

// Admit implements [access.Store]. If it must call Redis, it waits for each script call no
// longer than the timeout, and for missing charges twice that.
func (store *Store) Admit(p *keys.Principal, spec access.LimitSpec, now access.Instant) access.Decision {
	if store.Err() != nil {
		return store.refuse(p, &spec, now, 0)
	}

	d, err := store.decide(p, &spec, now, modeCall)
	if err != nil {
		return store.refuse(p, &spec, now, 0)
	}

	decision := access.Decision{
		Quota: access.NewLimitState(spec.Limit, spec.Limit-d.used, d.period.till-d.at, d.at),
	}
	if d.window {
		decision.Minute = d.minute()
	}
	switch d.outcome {
	case outcomeAdmitted:
		decision.Reservation = access.Reservation{
			Principal: p, Spec: spec, Now: now, Day: d.quota.Day, Period: d.quota.Period, At: d.at,
		}
	case outcomeWindowFull:
		decision.Result = access.RateLimited
		decision.Minute = access.NewLimitState(d.perMinute, 0, max(1, d.wait), d.at)
		decision.RetryAfter = decision.Minute.Wait
	case outcomeQuotaFull:
		decision.Result = access.QuotaExceeded
		decision.Quota = d.exhaustedQuota()
		decision.RetryAfter = decision.Quota.Wait
	default:
		return store.refuse(p, &spec, now, d.wait)
	}
	return decision
}

// decide waits until an admission is decided, by the state of this server or by Redis.
func (store *Store) decide(
	p *keys.Principal, spec *access.LimitSpec, now access.Instant, mode admitMode,
) (admitDecision, error) {
	when := now
	// By the clock of Redis it may be another day or period, and Redis may lack charges of each.
	for range 6 {
		// State is the day or period, its charges, and the part of these that Redis lacks.
		var d admitDecision
		entry := store.lockEntry(p, spec.Quota)
		d.admitRequest = store.newRequest(entry, p, spec, when, mode)
		d.quota = entry.quota
		if missing, ours := store.findMissing(entry.balance(d.period), now); missing != nil {
			entry.mu.Unlock()
			if err := store.fillMissing(entry, missing, ours, p.Tenant, spec.Quota); err != nil {
				return d, err
			}
			continue
		}

		// Local decision: most calls of large plans, and those of a window known to be full, end here.
		if store.admitLocal(entry, &d, spec, now, when) {
			entry.mu.Unlock()
			return d, nil
		}
		if !store.client.up() {
			entry.mu.Unlock()
			return d, errUnavailable
		}

		// Script call: together with all waiting admissions that have an equal request.
		waiting := &pendingAdmit{admitDecision: d, done: make(chan struct{})}
		entry.waiting = append(entry.waiting, waiting)
		store.sendNext(entry, false, nil)

		// Answer.
		if err := store.await(entry, waiting); err != nil {
			return d, err
		}
		store.metrics.countOutcome(waiting.outcome)
		if waiting.outcome != outcomeWrongPeriod {
			return waiting.admitDecision, nil
		}
		when.Wall = waiting.at
	}
	return admitDecision{}, fmt.Errorf("%w: the clock of Redis is in another day", access.ErrUnavailable)
}

// admitMode is what an admission is for.
type admitMode uint8

const (
	modeCall    admitMode = iota // a call: takes from its window and its quota
	modePeek                     // reads the state of both limits and takes nothing
	modeReserve                  // the quota of a batch, taken when it begins; its call passed the window
)

// newRequest brings the entry to the current day or period, and returns what the admission asks of
// Redis. A new day or period gets a balance with the charges of the usage log. The caller holds the
// entry's lock.
func (store *Store) newRequest(
	entry *limiterEntry, p *keys.Principal, spec *access.LimitSpec, now access.Instant, mode admitMode,
) admitRequest {
	quota := store.usageLog.QuotaState(p, spec, now)
	entry.lastPeriod = entry.quotaPeriodOf(p, spec.Quota, &quota)
	entry.quota = quota
	entry.reset = resetOf(p, spec.Quota)
	if entry.balances[entry.lastPeriod.name] == nil {
		// The usage log is read before it has any call of this process.
		store.recovering.Lock()
		recovered := store.unresolvedUnits(p.Tenant, entry.lastPeriod)
		charged := store.usageLog.QuotaState(p, spec, now).Used
		store.recovering.Unlock()
		entry.addBalance(&periodBalance{quotaPeriod: entry.lastPeriod, recovered: recovered, charged: charged})
	}

	request := admitRequest{
		subject: subjectOf(p, spec), perMinute: int64(spec.PerMinute), limit: spec.Limit, period: entry.lastPeriod,
		window: spec.Window != access.NoWindow && mode != modeReserve,
		// A call without a window reads the state of its quota alone, and only if that is not known.
		peek: mode == modePeek || mode == modeCall && spec.Window == access.NoWindow && spec.Cost == 0,
		leased: (spec.Window == access.KeyWindow || spec.Window == access.SuggestWindow) &&
			int64(spec.PerMinute) > store.options.maxExact &&
			store.options.Lease > 0 && mode != modePeek,
	}
	if mode == modeReserve || mode == modeCall && !spec.ReserveAtBegin {
		request.cost = spec.Cost
	}
	return request
}

// quotaPeriodOf is periodOf with a cache for the day or period of the previous call, which is mostly
// the same. The caller holds the entry's lock.
func (entry *limiterEntry) quotaPeriodOf(p *keys.Principal, kind access.QuotaKind,
	quota *access.QuotaState,
) quotaPeriod {
	same := entry.quota.Day == quota.Day && entry.quota.Period == quota.Period
	if same && entry.reset == resetOf(p, kind) && entry.lastPeriod.name != "" {
		return entry.lastPeriod
	}
	return periodOf(p, kind, quota)
}

// admitLocal decides an admission without Redis, if it can. The caller holds the entry's lock.
func (store *Store) admitLocal(
	entry *limiterEntry, d *admitDecision, spec *access.LimitSpec, now, when access.Instant,
) bool {
	if d.peek && spec.Window == access.NoWindow && entry.balance(d.period).synced {
		entry.limiter.resolve(d, outcomeAdmitted, when.Wall, 0, 0)
		return true
	}
	if d.leased {
		now = store.now() // a leased call is used now, not when the request arrived
	}
	if !entry.tryLocal(d, now) {
		return false
	}

	if d.outcome != outcomeAdmitted {
		store.metrics.refusedLocally.Add(1)
	}
	store.metrics.countOutcome(d.outcome)
	store.markDirty(entry)
	return true
}

// await returns when an admission is decided, or when its timeout is over.
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

// sendNext sends the limiter's next script call, and wakes the callers of decided admissions. It
// unlocks the entry. With flush it also repeats an unanswered call, or writes charges that Redis
// lacks without a waiting admission. A call that cannot be sent is sent again when Redis is back.
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

// onResult applies the answer of a script call, or its error, wakes the callers that it decides, and
// sends the next call for admissions that arrived meanwhile. It ignores an answer whose call is no
// longer in flight. Until cooldownUntil, a monotonic time or 0, Redis may lack grants of other servers,
// and the windows are closed.
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
		call.unanswered = true // it is sent again after a reconnect, or else by syncLoop
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

// minute is the state of the minute limit after the decision.
func (d *admitDecision) minute() access.LimitState {
	return access.NewLimitState(d.perMinute, d.perMinute-d.count, min(d.wait, calendar.MinuteMillis), d.at)
}

// exhaustedQuota is the state of a quota that has nothing left, though reserved units may come back.
func (d *admitDecision) exhaustedQuota() access.LimitState {
	quota := access.NewLimitState(d.limit, 0, d.period.till-d.at, d.at)
	quota.Wait = max(1, quota.Wait)
	return quota
}

// refuse answers a call that cannot be metered for wait milliseconds; 0 = unknown.
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
