package access

import (
	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// held is what admissions hold of a tenant's limits: the calls of the last minute, and the units
// that calls in flight have reserved. Its account guards it.
type held struct {
	window      window // preview: shared by the tenant's keys
	usageWindow window
	units       reserved // of a day's quota
	credits     reserved // of a period's credits
}

// reserved is the units that calls in flight hold of one day or period.
type reserved struct {
	of    int64 // the day, or the start of the period
	units int64
}

// held returns the units of a day or period. Of another one than the latest, none are left.
func (res *reserved) held(when int64) int64 {
	if res.of != when {
		return 0
	}
	return res.units
}

// add changes the units of a day or period, which becomes the latest.
func (res *reserved) add(when, units int64) {
	*res = reserved{of: when, units: res.held(when) + units}
}

// reserve holds a rule's cost for a call of a day or period.
func (h *held) reserve(rule *Rule, day calendar.Day, period calendar.Period) {
	switch rule.Allowance {
	case NoAllowance:
	case DayQuota:
		h.units.add(int64(day), rule.Cost)
	case PeriodCredits:
		h.credits.add(period.Start, rule.Cost)
	}
}

// release gives reserved units back. When units of a later day or period were reserved since, they
// are gone already.
func (h *held) release(rule *Rule, day calendar.Day, period calendar.Period) {
	switch {
	case rule.Allowance == DayQuota && h.units.held(int64(day)) > 0:
		h.units.add(int64(day), -rule.Cost)
	case rule.Allowance == PeriodCredits && h.credits.held(period.Start) > 0:
		h.credits.add(period.Start, -rule.Cost)
	}
}

// windowOf returns the window that calls of a key pass, or nil.
func (h *held) windowOf(key *keyState, which Window) *window {
	switch which {
	case KeyWindow:
		return &key.window
	case TenantWindow:
		return &h.window
	case UsageWindow:
		return &h.usageWindow
	default:
		return nil
	}
}

// standing is an allowance at one moment. When that moment is in a new day or period, what was used
// and held in the one before is not counted any more.
type standing struct {
	day    calendar.Day
	period calendar.Period
	used   int64
	held   int64
	limit  int64
	end    int64 // Unix milliseconds when the allowance is whole again
	now    moment
}

// stand reads an allowance without changing anything, so that a refused call leaves no trace.
func (a *account) stand(p *keys.Principal, rule *Rule, now moment) (st standing) {
	st.limit = rule.Limit
	st.now = now

	// What an operator reset is whole, and a day ahead of the clock is over.
	var dayUsed int64
	st.day = calendar.DayOf(now.wall)
	if resetsOf(p).day <= a.resets.day {
		st.day, dayUsed = a.dayAt(now)
	}

	// Of a day or period that nobody was admitted in, nothing is used and nothing held.
	switch rule.Allowance {
	case NoAllowance:
	case DayQuota:
		st.end = (st.day + 1).Start()
		st.used = dayUsed
		st.held = a.units.held(int64(st.day))
	case PeriodCredits:
		st.period, st.used = a.periodAt(p, now)
		st.end = st.period.End
		st.held = a.credits.held(st.period.Start)
	}
	return st
}

// periodAt returns the principal's period around a moment, and what is used of it.
func (a *account) periodAt(p *keys.Principal, now moment) (calendar.Period, int64) {
	period := p.PeriodAt(now.wall)
	if resetsOf(p).credits > a.resets.credits {
		return period, 0
	}
	return a.creditsAt(period, now)
}

// full reports whether no unit can be reserved.
func (st *standing) full(cost int64) bool { return st.used+st.held+cost > st.limit }

// policy shows the standing; exhausted ones have nothing remaining even while reserved units may
// come back.
func (st *standing) policy(exhausted bool) Policy {
	policy := Policy{
		Limit: st.limit, Remaining: max(0, st.limit-st.used),
		Wait: secondsUp(st.end - st.now.wall), Reset: secondsUp(st.end),
	}
	if exhausted {
		policy.Remaining = 0
		policy.Wait = max(1, policy.Wait)
	}
	return policy
}
