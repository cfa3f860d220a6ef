package access

import (
	"ninepocket/access/keys"
	"ninepocket/calendar"
)

// usage is what the journal keeps of a tenant: what was charged, what was answered, and the
// ledger's rows. It decides nothing and knows of no limit. Its account guards it.
type usage struct {
	// Days and periods move on when a call ends, and not when it is admitted: so the log, which is
	// read in that order, leads to the same book.
	day         calendar.Day
	dayUsed     int64
	previousDay periodUsage // the day before that, as the calls had it

	period         calendar.Period
	creditsUsed    int64
	previousPeriod periodUsage

	resets  resets // the latest that a call saw
	endedAt int64  // store time of the latest admission that ended

	replies     replyStore
	rows        map[rowName]*Counts // memory: all; embedded: since the last checkpoint
	lastRowName rowName             // of the ledger row that was last counted in
	lastRow     *Counts             // the same row; nil after a checkpoint took the rows

	lastAdmission timePair // of the latest admission
	seq           uint64   // last log record applied
	dirty         bool     // changed since the last checkpoint
}

// periodUsage is what was used of one day, or of the period that begins at an instant.
type periodUsage struct{ id, used int64 }

// resets are the instants, in Unix milliseconds, before which an operator wants nothing to count any
// more: of days and of credits.
type resets struct{ day, credits int64 }

func resetsOf(p *keys.Principal) (out resets) {
	out.day, out.credits = p.Resets()
	return out
}

// timePair is a store time, and the wall time that went with it, in milliseconds.
type timePair struct{ store, wall int64 }

// later returns the later of two moments. Of two with the same store time, between which the wall
// clock was set, the one with the higher wall time counts: then less time seems to pass until the
// next start, never more.
func (now timePair) later(other timePair) timePair {
	if other.store > now.store || other.store == now.store && other.wall > now.wall {
		return other
	}
	return now
}

// charge enters what a finished call cost. It is the one place that charges, for calls just made
// and for calls read back from the log.
func (u *usage) charge(e *entry) {
	when := timePair{store: e.at, wall: e.wall}
	u.advance(e.day, e.period, e.resets, when)
	u.count(e, 1)
	u.endedAt = max(u.endedAt, e.at)
	u.lastAdmission = u.lastAdmission.later(when)
}

// undo takes out what charge entered of a call that was not recorded after all.
func (u *usage) undo(e *entry) { u.count(e, -1) }

// count adds n times a call: once, or once less.
func (u *usage) count(e *entry, n int64) {
	// A call that ends after its day or period is charged in the ledger alone.
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

// plausible reports whether the start of a day or period may be the latest one at a wall time. What
// lies more than a day ahead was stored by a clock that was wrong (decision 1754).
func plausible(start, wall int64) bool { return start <= wall+calendar.DayMillis }

// dayAt returns the day on which a call at a moment counts, and what is used of it. A clock that was
// set back does not bring a day back, but one that was far ahead does not keep it: the account
// returns to today and keeps what it has used today.
func (u *usage) dayAt(now timePair) (day calendar.Day, used int64) {
	day = calendar.DayOf(now.wall)
	if day < u.day && plausible(u.day.Start(), now.wall) {
		day = u.day
	}
	return day, u.usedOn(day, now)
}

// usedOn returns what is used of a day that the account is on, moves on to, or returns to.
func (u *usage) usedOn(day calendar.Day, now timePair) int64 {
	switch {
	case day > u.day || day < u.day && u.idleSince(day.Start(), now):
		return 0
	case u.stale(day.Start(), now):
		return 0 // what there is was used a day before, whatever the clock said then
	case day < u.day && u.previousDay.id == int64(day):
		return u.dayUsed + u.previousDay.used
	}
	return u.dayUsed
}

// idleSince reports whether nothing was admitted since the wall time from, as the store's own time
// counts: which day the wall clock showed at the last admission does not matter.
func (u *usage) idleSince(from int64, now timePair) bool {
	return now.store-u.endedAt > now.wall-from
}

// stale reports whether what is stored of a day or period that began at start was used at least a day
// before that, by a clock that was ahead then.
func (u *usage) stale(start int64, now timePair) bool {
	return now.wall >= start && u.idleSince(start-calendar.DayMillis, now)
}

// creditsAt is dayAt of credit periods, for a period that the clock gives.
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

// advance moves on to the day and period of a call that was admitted at a moment.
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

	// A call that ends after its day or period brings neither back.
	used := u.usedOn(day, now)
	if day == u.day {
		u.dayUsed = used
	}

	if day > u.day || !plausible(u.day.Start(), now.wall) {
		previous := periodUsage{id: int64(u.day), used: u.dayUsed}
		if day < u.day {
			// That day was a wrong clock's: what counts of it is in used already.
			previous = periodUsage{}
		}
		u.day = day
		u.dayUsed = used
		u.previousDay = previous
	}

	if period != (calendar.Period{}) {
		u.advancePeriod(period, now)
	}
}

// advancePeriod moves on to a period. One that starts together with the book's but ends elsewhere
// changes the end only.
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

// rowOf is the ledger row of a name, mostly the one of the call before.
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
