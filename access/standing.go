package access

// held is what admissions hold of a tenant's limits: the calls of the last minute, and the units
// that calls in flight have reserved. Its account guards it.
type held struct {
	window      window // preview: shared by the tenant's keys
	usageWindow window

	dayUnits    int64 // reserved by calls in flight, of
	unitsDay    Day   // this day; of another day there are none
	credits     int64 // as dayUnits, of the period that starts at
	creditsFrom int64
}

// reserve holds a rule's cost for a call of a day or period.
func (h *held) reserve(rule *Rule, day Day, period Period) {
	switch rule.Allowance {
	case NoAllowance:
	case DayQuota:
		if h.unitsDay != day {
			h.unitsDay = day
			h.dayUnits = 0
		}
		h.dayUnits += rule.Cost
	case PeriodCredits:
		if h.creditsFrom != period.Start {
			h.creditsFrom = period.Start
			h.credits = 0
		}
		h.credits += rule.Cost
	}
}

// release gives reserved units back. When units of a later day or period were reserved since, they
// are gone already.
func (h *held) release(rule *Rule, day Day, period Period) {
	switch {
	case rule.Allowance == DayQuota && day == h.unitsDay:
		h.dayUnits -= rule.Cost
	case rule.Allowance == PeriodCredits && period.Start == h.creditsFrom:
		h.credits -= rule.Cost
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

// standing is an allowance at one moment: what a roll to a new day or period would leave is already
// left out.
type standing struct {
	day    Day
	period Period
	used   int64
	held   int64
	limit  int64
	end    int64 // Unix milliseconds when the allowance is whole again
}

// stand reads an allowance without changing anything, so that a refused call leaves no trace.
func (a *account) stand(p *Principal, rule *Rule, wall int64) (s standing) {
	s.limit = rule.Limit
	s.day = max(a.day, DayOf(wall)) // a clock that was set back does not bring a day back

	switch rule.Allowance {
	case NoAllowance:
	case DayQuota:
		s.end = (s.day + 1).Start()
		if s.day == a.day {
			s.used = a.dayUsed
		}
		if s.day == a.unitsDay {
			s.held = a.dayUnits
		}
	case PeriodCredits:
		s.period = a.periodAt(p, wall)
		s.end = s.period.End
		if s.period.Start == a.period.Start {
			s.used = a.creditsUsed
		}
		if s.period.Start == a.creditsFrom {
			s.held = a.credits
		}
	}
	return s
}

// periodAt returns the principal's period around wall, but never one before the account's.
func (a *account) periodAt(p *Principal, wall int64) Period {
	if p.period == (Period{}) && a.period.has(wall) && a.period == monthOf(a.period.Start) {
		return a.period // spares working the month out
	}
	if period := p.PeriodAt(wall); period.Start >= a.period.Start {
		return period
	}
	return a.period
}

// full reports whether no unit can be reserved.
func (s *standing) full(cost int64) bool { return s.used+s.held+cost > s.limit }

// policy shows the standing; exhausted ones have nothing remaining even while reserved units may
// come back.
func (s *standing) policy(wall int64, exhausted bool) Policy {
	policy := Policy{
		Limit: s.limit, Remaining: max(0, s.limit-s.used),
		Wait: secondsUp(s.end - wall), Reset: secondsUp(s.end),
	}
	if exhausted {
		policy.Remaining = 0
		policy.Wait = max(1, policy.Wait)
	}
	return policy
}
