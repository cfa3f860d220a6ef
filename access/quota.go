package access

import (
	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// admissionState is what admissions have taken of a tenant's limits: the calls of the last minute, and
// the units that calls in flight have reserved. The window of a live key is in its keyState. The mutex
// of the tenant's state guards it.
type admissionState struct {
	tenantWindow window         // TenantWindow: minute limit of preview calls, shared by the tenant's keys
	usageWindow  window         // UsageWindow: minute limit of preview GET /v1/usage
	dayUnits     periodReserved // of a day's quota
	creditUnits  periodReserved // of a period's credits
}

// periodReserved is the units that calls in flight have reserved of one day or period.
type periodReserved struct {
	id    int64 // the day, or the start of the period
	units int64
}

// reserved returns the units of a day or period; of any but the latest there are none.
func (pr *periodReserved) reserved(id int64) int64 {
	if pr.id != id {
		return 0
	}
	return pr.units
}

// add changes the units of a day or period, which becomes the latest.
func (pr *periodReserved) add(id, units int64) {
	*pr = periodReserved{id: id, units: units + pr.reserved(id)}
}

// reserve reserves the cost of a call for its day or period.
func (as *admissionState) reserve(spec *LimitSpec, day calendar.Day, period calendar.Period) {
	switch spec.Quota {
	case DayQuota:
		as.dayUnits.add(int64(day), spec.Cost)
	case PeriodCredits:
		as.creditUnits.add(period.Start, spec.Cost)
	}
}

// release gives reserved units back. If units of a later day or period were reserved since, there is
// nothing left to give back.
func (as *admissionState) release(spec *LimitSpec, day calendar.Day, period calendar.Period) {
	switch {
	case spec.Quota == DayQuota && as.dayUnits.reserved(int64(day)) > 0:
		as.dayUnits.add(int64(day), -spec.Cost)
	case spec.Quota == PeriodCredits && as.creditUnits.reserved(period.Start) > 0:
		as.creditUnits.add(period.Start, -spec.Cost)
	}
}

// windowOf returns the window that calls of a key pass, or nil.
func (as *admissionState) windowOf(key *keyState, which Window) *window {
	switch which {
	case KeyWindow:
		return &key.window
	case TenantWindow:
		return &as.tenantWindow
	case UsageWindow:
		return &as.usageWindow
	case SuggestWindow:
		return &key.suggestions
	default:
		return nil
	}
}

// QuotaState is the state of one quota of a tenant at an instant. If the instant is in a new day or
// period, the units used and reserved in the previous one do not count.
type QuotaState struct {
	Day      calendar.Day
	Period   calendar.Period // PeriodCredits only
	Used     int64           // units charged on this server; in a fleet, others may have charged more
	reserved int64
	limit    int64
	resetAt  int64 // when all units are available again, in Unix milliseconds
}

// quotaState reads the state of a quota. It changes nothing, so a refused call leaves no trace.
func (a *tenantState) quotaState(p *keys.Principal, spec *LimitSpec, now timePair) (quota QuotaState) {
	quota.limit = spec.Limit

	// After an operator's reset all units are available, and a day ahead of the clock has ended.
	var dayUsed int64
	quota.Day = calendar.DayOf(now.wall)
	if resetsOf(p).day <= a.resets.day {
		quota.Day, dayUsed = a.dayAt(now)
	}

	// In a day or period without an admission nothing is used or reserved.
	switch spec.Quota {
	case DayQuota:
		quota.resetAt = (quota.Day + 1).Start()
		quota.Used = dayUsed
		quota.reserved = a.dayUnits.reserved(int64(quota.Day))
	case PeriodCredits:
		quota.Period, quota.Used = a.periodAt(p, now)
		quota.resetAt = quota.Period.End
		quota.reserved = a.creditUnits.reserved(quota.Period.Start)
	}
	return quota
}

// periodAt returns the principal's period around a time, and the credits used in it.
func (a *tenantState) periodAt(p *keys.Principal, now timePair) (calendar.Period, int64) {
	period := p.PeriodAt(now.wall)
	if resetsOf(p).credits > a.resets.credits {
		return period, 0
	}
	return a.creditsAt(period, now)
}

// full reports whether a call's cost cannot be reserved.
func (quota *QuotaState) full(cost int64) bool { return quota.Used+quota.reserved+cost > quota.limit }

// limitState returns the state as a limit at a wall time, with the time until the reset as its Wait. An
// exhausted quota has nothing remaining, even while reserved units may come back.
func (quota *QuotaState) limitState(exhausted bool, wall int64) LimitState {
	limit := LimitState{
		Limit: quota.limit, Remaining: max(0, quota.limit-quota.Used),
		Wait: secondsUp(quota.resetAt - wall), Reset: secondsUp(quota.resetAt),
	}
	if exhausted {
		limit.Remaining = 0
		limit.Wait = max(1, limit.Wait)
	}
	return limit
}
