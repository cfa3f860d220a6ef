package access

import (
	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// usage is a tenant's logged usage: its charges, its stored replies and its ledger rows. It decides
// nothing and knows no limit. The mutex of the tenant's state guards it.
type usage struct {
	// A new day or period begins when its first call ends, not at admission. The log has that
	// order, so replaying it leads to the same usage.
	day         calendar.Day
	dayUsed     int64
	previousDay periodUsage // of calls, not of the calendar

	period         calendar.Period
	creditsUsed    int64
	previousPeriod periodUsage

	resets  resets // the latest of the recorded calls
	endedAt int64  // store time of the latest admission whose call has ended

	replies     replyStore
	rows        map[rowName]*Counts // Memory: all; LocalStore: since the last checkpoint
	lastRowName rowName             // of the ledger row of the previous call
	lastRow     *Counts             // the same row; nil after a checkpoint took the rows

	lastAdmission timePair
	seq           uint64 // last log record applied
	dirty         bool   // changed since the last checkpoint
}

// periodUsage is how much was used of a day, or of the period that begins at an instant.
type periodUsage struct{ id, used int64 }

// resets are the times of an operator's resets, in Unix milliseconds: earlier calls do not count. One
// is of days, the other of credits.
type resets struct{ day, credits int64 }

func resetsOf(p *keys.Principal) (out resets) {
	out.day, out.credits = p.Resets()
	return out
}

// timePair is a store time, and the wall time that went with it, in milliseconds.
type timePair struct{ store, wall int64 }

// later returns the later of two times. If the wall clock was set between two with the same store
// time, the higher wall time counts: then less time seems to pass until the next start, never more.
func (now timePair) later(other timePair) timePair {
	if other.store > now.store || other.store == now.store && other.wall > now.wall {
		return other
	}
	return now
}

// charge adds the cost of a finished call. Nothing else charges, neither for calls just made nor for
// calls replayed from the log.
func (u *usage) charge(e *entry) {
	when := timePair{store: e.at, wall: e.wall}
	u.advance(e.day, e.period, e.resets, when)
	u.count(e, 1)
	u.endedAt = max(u.endedAt, e.at)
	u.lastAdmission = u.lastAdmission.later(when)
}

// undo undoes charge for a call that was not recorded after all.
func (u *usage) undo(e *entry) { u.count(e, -1) }

// count adds a call n times, 1 or -1.
func (u *usage) count(e *entry, n int64) {
	// A call that ends after its day or period is charged only in the ledger.
	switch {
	case e.quota == DayQuota && e.day == u.day:
		u.dayUsed += n * e.charged
	case e.quota == PeriodCredits && e.period.Start == u.period.Start:
		u.creditsUsed += n * e.charged
	}

	row := u.rowOf(rowName{key: e.key, day: e.day, op: e.op})
	row.Calls += n
	row.Charged += n * e.charged
	u.dirty = true
}

// plausible reports whether a stored day or period may be the latest one at a wall time. One that
// starts more than a day ahead was stored by a wrong clock (decision 1754).
func plausible(start, wall int64) bool { return start <= wall+calendar.DayMillis }

// dayAt returns the day on which a call at a time counts, and the units used on it. A clock that is
// set back does not bring an earlier day back. If the clock was far ahead, the tenant returns to today
// with what it has used today.
func (u *usage) dayAt(now timePair) (day calendar.Day, used int64) {
	day = calendar.DayOf(now.wall)
	if day < u.day && plausible(u.day.Start(), now.wall) {
		day = u.day
	}
	return day, u.usedOn(day, now)
}

// usedOn returns the units used on a day that the tenant is on, advances to, or returns to.
func (u *usage) usedOn(day calendar.Day, now timePair) int64 {
	switch {
	case day > u.day || day < u.day && u.idleSince(day.Start(), now):
		return 0
	case u.stale(day.Start(), now):
		return 0 // the stored units were used a day before, whatever the clock showed then
	case day < u.day && u.previousDay.id == int64(day):
		return u.dayUsed + u.previousDay.used
	}
	return u.dayUsed
}

// idleSince reports whether nothing was admitted since the wall time from. It goes by the store's own
// time: which day the wall clock showed at the last admission does not matter.
func (u *usage) idleSince(from int64, now timePair) bool {
	return now.store-u.endedAt > now.wall-from
}

// stale reports whether the stored units of a day or period were used at least a day before its start,
// because the clock was ahead then.
func (u *usage) stale(start int64, now timePair) bool {
	return now.wall >= start && u.idleSince(start-calendar.DayMillis, now)
}

// creditsAt is dayAt for credits; period is the one around now by the wall clock.
func (u *usage) creditsAt(period calendar.Period, now timePair) (current calendar.Period, used int64) {
	switch {
	case period.Start > u.period.Start, period.Start == u.period.Start && u.stale(period.Start, now):
		return period, 0
	case period.Start == u.period.Start:
		return period, u.creditsUsed
	case plausible(u.period.Start, now.wall):
		return u.period, u.creditsUsed
	case u.idleSince(period.Start, now):
		return period, 0
	case u.previousPeriod.id == period.Start:
		return period, u.creditsUsed + u.previousPeriod.used
	}
	return period, u.creditsUsed
}

// advance begins the day and period of a call, if they are new. now is the time of its admission.
func (u *usage) advance(day calendar.Day, period calendar.Period, requested resets, now timePair) {
	if requested.day > u.resets.day {
		u.resets.day = requested.day
		u.day = day
		u.dayUsed = 0
		u.previousDay = periodUsage{}
	}

	if requested.credits > u.resets.credits {
		u.resets.credits = requested.credits
		u.period = period
		u.creditsUsed = 0
		u.previousPeriod = periodUsage{}
	}

	// A call that ends after its day or period does not bring it back.
	used := u.usedOn(day, now)
	if day == u.day {
		u.dayUsed = used
	}

	if day > u.day || !plausible(u.day.Start(), now.wall) {
		previous := periodUsage{id: int64(u.day), used: u.dayUsed}
		if day < u.day {
			previous = periodUsage{} // of a wrong clock; the units that count are in used
		}
		u.day = day
		u.dayUsed = used
		u.previousDay = previous
	}

	if period != (calendar.Period{}) {
		u.advancePeriod(period, now)
	}
}

// advancePeriod begins a period. One with the current period's start and another end changes the end
// only.
func (u *usage) advancePeriod(period calendar.Period, now timePair) {
	if period.Start < u.period.Start && plausible(u.period.Start, now.wall) {
		return
	}

	_, used := u.creditsAt(period, now)
	switch {
	case period.Start > u.period.Start:
		u.previousPeriod = periodUsage{id: u.period.Start, used: u.creditsUsed}
	case period.Start < u.period.Start:
		u.previousPeriod = periodUsage{}
	}
	u.period = period
	u.creditsUsed = used
}

// addRows adds the counts of ledger rows, some of which may be there already.
func (u *usage) addRows(rows map[rowName]*Counts) {
	for name, counts := range rows {
		row := u.rowOf(name)
		row.Calls += counts.Calls
		row.Charged += counts.Charged
	}
}

// rowOf returns the ledger row of a name, mostly the one of the previous call.
func (u *usage) rowOf(name rowName) *Counts {
	if u.lastRow != nil && u.lastRowName == name {
		return u.lastRow
	}

	row := u.rows[name]
	if row == nil {
		row = &Counts{}
		u.rows[name] = row
	}
	u.lastRowName = name
	u.lastRow = row
	return row
}
