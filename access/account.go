package access

import "sync"

// account is all that is known of one tenant's calls. Every field is guarded by
// mu, which is held for tens of nanoseconds and never over input or output; the log's buffer lock
// is the only lock taken under it.
type account struct {
	tenant string
	mu     sync.Mutex

	day     Day // of the latest admission; never goes back
	dayUsed int64
	dayHeld int64 // reserved by calls in flight

	period      Period // of the latest admission; never goes back
	creditsUsed int64
	creditsHeld int64

	window      window // preview: shared by the tenant's keys
	usageWindow window
	keys        map[string]*keyState

	replies replies
	rows    map[rowName]*Counts // memory: all; embedded: since the last checkpoint
	name    rowName             // of the row that was last counted in, and
	row     *Counts             // that row; nil after a checkpoint took the rows

	lastAt   int64  // store time of the latest admission, and
	lastWall int64  // its wall time
	seq      uint64 // last log record applied
	dirty    bool   // changed since the last checkpoint
}

// keyState is what is known of one key's calls.
type keyState struct {
	id      string
	window  window
	lastUse int64 // Unix milliseconds of the latest finished call
}

func newAccount(tenant string) *account {
	return &account{
		tenant: tenant, keys: map[string]*keyState{}, rows: map[rowName]*Counts{},
		replies: replies{byName: map[replyName]*reply{}},
	}
}

func (a *account) key(id string) *keyState {
	key := a.keys[id]
	if key == nil {
		key = &keyState{id: id}
		a.keys[id] = key
	}
	return key
}

// windowFor returns the window a rule passes, fitted to its limit, or nil.
func (a *account) windowFor(key *keyState, rule *Rule, at int64) *window {
	var w *window
	switch rule.Window {
	case KeyWindow:
		w = &key.window
	case TenantWindow:
		w = &a.window
	case UsageWindow:
		w = &a.usageWindow
	default:
		return nil
	}
	w.fit(rule.PerMinute, at)
	return w
}

// standing is an allowance at one moment: what a roll to a new day or period
// would leave is already left out.
type standing struct {
	day    Day
	period Period
	used   int64
	held   int64
	limit  int64
	end    int64 // Unix milliseconds when the allowance is whole again
}

// stand reads an allowance without changing anything, so that a refused call
// leaves no trace.
func (a *account) stand(p *Principal, rule *Rule, wall int64) (s standing) {
	s.limit, s.day = rule.Limit, max(a.day, DayOf(wall))
	switch rule.Allowance {
	case NoAllowance:
	case DayQuota:
		s.end = (s.day + 1).Start()
		if s.day == a.day {
			s.used, s.held = a.dayUsed, a.dayHeld
		}
	case PeriodCredits:
		s.period = a.periodAt(p, wall)
		s.end = s.period.End
		if s.period.Start == a.period.Start {
			s.used, s.held = a.creditsUsed, a.creditsHeld
		}
	}
	return s
}

// periodAt returns the principal's period around wall, but never one before the
// account's.
func (a *account) periodAt(p *Principal, wall int64) Period {
	if p.period == (Period{}) && a.period.has(wall) && a.period == monthOf(a.period.Start) {
		return a.period
	}
	if period := p.PeriodAt(wall); period.Start >= a.period.Start {
		return period
	}
	return a.period
}

// full reports whether no unit can be reserved.
func (s *standing) full(cost int64) bool { return s.used+s.held+cost > s.limit }

// policy shows the standing; exhausted ones have nothing remaining even while
// reserved units may come back.
func (s *standing) policy(wall int64, exhausted bool) Policy {
	policy := Policy{Limit: s.limit, Remaining: max(0, s.limit-s.used), Wait: secondsUp(s.end - wall), Reset: secondsUp(s.end)}
	if exhausted {
		policy.Remaining, policy.Wait = 0, max(1, policy.Wait)
	}
	return policy
}

// roll moves the account on to the day and period of an admission.
func (a *account) roll(s *standing) {
	if s.day > a.day {
		a.day, a.dayUsed, a.dayHeld = s.day, 0, 0
	}
	a.rollPeriod(s.period)
}

// rollPeriod moves on to a period that starts later. One that starts together with the
// account's but ends elsewhere changes the end only.
func (a *account) rollPeriod(p Period) {
	if p.Start > a.period.Start {
		a.creditsUsed, a.creditsHeld = 0, 0
	}
	if p.Start >= a.period.Start && p != (Period{}) {
		a.period = p
	}
}

// hold reserves units for a call of a day or period.
func (a *account) hold(rule *Rule) {
	switch rule.Allowance {
	case NoAllowance:
	case DayQuota:
		a.dayHeld += rule.Cost
	case PeriodCredits:
		a.creditsHeld += rule.Cost
	}
}

// release gives reserved units back. When the account moved on to a later day
// or period since, they are gone already.
func (a *account) release(rule *Rule, day Day, period Period) {
	switch {
	case rule.Allowance == DayQuota && day == a.day:
		a.dayHeld -= rule.Cost
	case rule.Allowance == PeriodCredits && period.Start == a.period.Start:
		a.creditsHeld -= rule.Cost
	}
}

// apply enters a finished call: counters, ledger row, last use. It is the one
// place that charges, for calls just made and for calls read back from the log.
func (a *account) apply(e *entry) {
	if e.day > a.day {
		a.day, a.dayUsed, a.dayHeld = e.day, 0, 0
	}
	a.rollPeriod(e.period)
	switch {
	case e.allowance == DayQuota && e.day == a.day:
		a.dayUsed += e.charged
	case e.allowance == PeriodCredits && e.period.Start == a.period.Start:
		a.creditsUsed += e.charged
	}
	row := a.rowOf(rowName{key: e.key, day: e.day, op: e.op})
	row.Calls++
	row.Charged += e.charged
	key := a.key(e.key)
	key.lastUse = max(key.lastUse, e.wall)
	a.seen(e.at, e.wall)
	a.dirty = true
}

// rowOf is the ledger row of a name, mostly the one of the call before.
func (a *account) rowOf(name rowName) *Counts {
	if a.row != nil && a.name == name {
		return a.row
	}
	row := a.rows[name]
	if row == nil {
		row = &Counts{}
		a.rows[name] = row
	}
	a.name, a.row = name, row
	return row
}

// seen notes the latest store time and the wall time that went with it.
func (a *account) seen(at, wall int64) {
	if later(at, wall, a.lastAt, a.lastWall) {
		a.lastAt, a.lastWall = at, wall
	}
}

// later orders pairs of store time and wall time. When the wall clock was set
// within a millisecond the higher one counts: it makes the time to the next start
// look shorter, never longer.
func later(at, wall, lastAt, lastWall int64) bool {
	return at > lastAt || at == lastAt && wall > lastWall
}
