package meter

import (
	"cmp"
	"errors"
	"fmt"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// The way of an admission, from top to bottom: what there is, what can be decided by it, what is asked of
// Redis, and what its answer decides.

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
		decision.Minute = access.NewPolicy(c.perMinute, c.perMinute-c.count, min(c.wait, calendar.MinuteMillis), c.at)
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

// decide waits until a call is decided: by what this server has of the tenant's rights, or by Redis.
func (store *Store) decide(
	p *keys.Principal, rule *access.Rule, now access.Instant, why purpose,
) (call, access.Standing, error) {
	when := now
	// By the clock of Redis, it may be another day or period, and Redis may lack something of each.
	for range 6 {
		// State: the day or period, what is charged to it, and what of that Redis does not know.
		c := call{now: now}
		st := store.locked(p, rule.Allowance)
		c.order = store.order(st, p, rule, when)
		standing := st.standing
		if lack, ours := store.lacks(st.account(c.span), now); lack != nil {
			st.mu.Unlock()
			if err := store.fill(st, lack, ours, p.Tenant, rule.Allowance); err != nil {
				return c, standing, err
			}
			continue
		}

		// Decision: most calls of large plans, and those of a window that is known to be full, end here.
		c.fit(why, rule)
		if store.decidedAtOnce(st, &c, rule, when) {
			st.mu.Unlock()
			return c, standing, nil
		}
		if !store.link.up() {
			st.mu.Unlock()
			return c, standing, errAway
		}

		// Question: together with all that want the same. A call that waits has a place of its own.
		waiting := &call{order: c.order, now: c.now, done: make(chan struct{})}
		st.waiting = append(st.waiting, waiting)
		store.ask(st, false, nil)

		// Answer.
		if err := store.await(st, waiting); err != nil {
			return c, standing, err
		}
		store.meters.decided(waiting)
		if waiting.fate != otherSpan {
			return *waiting, standing, nil
		}
		when.Wall = waiting.at
	}
	return call{}, access.Standing{}, fmt.Errorf("%w: the clock of Redis is in another day", access.ErrUnavailable)
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

// order is what a rule asks for. It begins the account of a new day or period. The caller holds the seat.
func (store *Store) order(st *seat, p *keys.Principal, rule *access.Rule, now access.Instant) order {
	standing := store.journal.Standing(p, rule, now)
	st.named = st.span(p, rule.Allowance, &standing)
	st.standing = standing
	st.reset = resetOf(p, rule.Allowance)
	if st.accounts[st.named.name] == nil {
		// What the journal has is asked before any call of this process is in it.
		store.adopting.Lock()
		adopted := store.unsettled(p.Tenant, st.named)
		charged := store.journal.Standing(p, rule, now).Used
		store.adopting.Unlock()
		st.enter(&account{span: st.named, adopted: adopted, charged: charged})
	}

	return order{
		subject: subjectOf(p, rule), perMinute: int64(rule.PerMinute), limit: rule.Limit, span: st.named,
		window: rule.Window != access.NoWindow,
		leased: rule.Window == access.KeyWindow && int64(rule.PerMinute) > store.options.exact &&
			store.options.Lease > 0,
	}
}

// span is spanOf, for a day or period that mostly is the one of the call before. The caller holds the
// seat.
func (st *seat) span(p *keys.Principal, allowance access.Allowance, standing *access.Standing) span {
	same := st.standing.Day == standing.Day && st.standing.Period == standing.Period
	if same && st.reset == resetOf(p, allowance) && st.named.name != "" {
		return st.named
	}
	return spanOf(p, allowance, standing)
}

// decidedAtOnce decides a call that needs no question to Redis. The caller holds the seat.
func (store *Store) decidedAtOnce(st *seat, c *call, rule *access.Rule, when access.Instant) bool {
	if c.question && rule.Window == access.NoWindow && st.account(c.span).known {
		st.share.decide(c, admitted, when.Wall, 0, 0)
		return true
	}
	present := c.now
	if c.leased {
		present = store.now() // a unit of a lease is used now, and not when the request came
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
	store.meters.waiting.Add(1)
	defer store.meters.waiting.Add(-1)
	if store.options.pacer.wait(store.options.Timeout, c.done, nil) == 0 {
		return nil
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

// ask sends what a share wants to ask now, and wakes those whose calls are decided. It unlocks the seat.
// What cannot be sent is sent again when Redis is back.
func (store *Store) ask(st *seat, settle bool, decided []*call) {
	a := st.ask(store.now(), settle)
	if settle || decided != nil {
		store.stir(st)
	}
	st.mu.Unlock()

	for _, c := range decided {
		close(c.done)
	}
	if a != nil {
		store.link.send(&a.command, func(out reply, err error) { store.answered(st, a, out, err, 0) })
	}
}

// answered takes the answer of an ask, and asks for those that came meanwhile. Before shut, a monotonic
// time, nobody knows what was granted by others.
func (store *Store) answered(st *seat, a *ask, out reply, err error, shut int64) {
	var g grant
	if err == nil {
		g, err = a.readGrant(out)
	}

	st.mu.Lock()
	if st.under != a {
		st.mu.Unlock()
		return // a repetition was faster
	}
	decided := []*call{}
	now := store.now()
	switch {
	case errors.Is(err, errScript):
		decided = append(decided, st.broken()...)
	case err != nil:
		a.refused = true // it goes again with all others when Redis is found again, or else by settle
	default:
		if now.Mono < shut {
			st.close(&g, now, shut-now.Mono)
		}
		decided = append(decided, st.answer(g, now)...)
		if a.order.leased {
			store.meters.leases.Add(1)
		}
	}
	store.ask(st, false, decided)

	store.tellLost(&g)
	if errors.Is(err, errScript) {
		store.tellBroken(err)
	}
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
	retry := cmp.Or((max(0, wait)+999)/1000, access.UnavailableRetry)

	st := store.locked(p, rule.Allowance)
	defer st.mu.Unlock()
	decision := access.Decision{Verdict: access.Unavailable, RetryAfter: retry}
	if acc := st.current; acc != nil {
		left := rule.Limit - acc.others - acc.charged
		decision.Allowance = access.NewPolicy(rule.Limit, left, acc.till-now.Wall, now.Wall)
	}
	return decision
}
