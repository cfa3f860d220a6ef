package access

import (
	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// reserved is what admissions hold of a tenant's limits: the calls of the last minute, and the
// units that calls in flight have reserved. Its account guards it.
type reservedUnits struct {
	window      window // preview: shared by the tenant's keys
	usageWindow window
	dayUnits    periodReserved // of a day's quota
	creditUnits periodReserved // of a period's credits
}

// periodReserved is the units that calls in flight hold of one day or period.
type periodReserved struct {
	id    int64 // the day, or the start of the period
	units int64
}

// reserved returns the units of a day or period. Of another one than the latest, none are left.
func (pr *periodReserved) reserved(when int64) int64 {
	if pr.id != when {
		return 0
	}
	return pr.units
}

// add changes the units of a day or period, which becomes the latest.
func (pr *periodReserved) add(when, units int64) {
	*pr = periodReserved{id: when, units: pr.reserved(when) + units}
}

// reserve holds a rule's cost for a call of a day or period.
func (ru *reservedUnits) reserve(spec *LimitSpec, day calendar.Day, period calendar.Period) {
	switch spec.Quota {
	case NoQuota:
	case DayQuota:
		ru.dayUnits.add(int64(day), spec.Cost)
	case PeriodCredits:
		ru.creditUnits.add(period.Start, spec.Cost)
	}
}

// release gives reserved units back. When units of a later day or period were reserved since, they
// are gone already.
func (ru *reservedUnits) release(spec *LimitSpec, day calendar.Day, period calendar.Period) {
	switch {
	case spec.Quota == DayQuota && ru.dayUnits.reserved(int64(day)) > 0:
		ru.dayUnits.add(int64(day), -spec.Cost)
	case spec.Quota == PeriodCredits && ru.creditUnits.reserved(period.Start) > 0:
		ru.creditUnits.add(period.Start, -spec.Cost)
	}
}

// windowOf returns the window that calls of a key pass, or nil.
func (ru *reservedUnits) windowOf(key *keyState, which Window) *window {
	switch which {
	case KeyWindow:
		return &key.window
	case TenantWindow:
		return &ru.window
	case UsageWindow:
		return &ru.usageWindow
	default:
		return nil
	}
}

// quotaState is an allowance at one moment. When that moment is in a new day or period, what was
// used and held in the one before is not counted any more.
type quotaState struct {
	day      calendar.Day
	period   calendar.Period
	used     int64
	reserved int64
	limit    int64
	end      int64 // Unix milliseconds when the allowance is whole again
	now      timePair
}

// stand reads an allowance without changing anything, so that a refused call leaves no trace.
func (a *tenantState) stand(p *keys.Principal, spec *LimitSpec, now timePair) (st quotaState) {
	st.limit = spec.Limit
	st.now = now

	// What an operator reset is whole, and a day ahead of the clock is over.
	var dayUsed int64
	st.day = calendar.DayOf(now.wall)
	if resetsOf(p).day <= a.resets.day {
		st.day, dayUsed = a.dayAt(now)
	}

	// Of a day or period that nobody was admitted in, nothing is used and nothing held.
	switch spec.Quota {
	case NoQuota:
	case DayQuota:
		st.end = (st.day + 1).Start()
		st.used = dayUsed
		st.reserved = a.dayUnits.reserved(int64(st.day))
	case PeriodCredits:
		st.period, st.used = a.periodAt(p, now)
		st.end = st.period.End
		st.reserved = a.creditUnits.reserved(st.period.Start)
	}
	return st
}

// periodAt returns the principal's period around a moment, and what is used of it.
func (a *tenantState) periodAt(p *keys.Principal, now timePair) (calendar.Period, int64) {
	period := p.PeriodAt(now.wall)
	if resetsOf(p).credits > a.resets.credits {
		return period, 0
	}
	return a.creditsAt(period, now)
}

// full reports whether no unit can be reserved.
func (st *quotaState) full(cost int64) bool { return st.used+st.reserved+cost > st.limit }

// limitState shows the standing; exhausted ones have nothing remaining even while reserved units
// may come back.
func (st *quotaState) limitState(exhausted bool) LimitState {
	limit := LimitState{
		Limit: st.limit, Remaining: max(0, st.limit-st.used),
		Wait: secondsUp(st.end - st.now.wall), Reset: secondsUp(st.end),
	}
	if exhausted {
		limit.Remaining = 0
		limit.Wait = max(1, limit.Wait)
	}
	return limit
}
