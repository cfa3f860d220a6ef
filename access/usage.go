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
	day       calendar.Day
	dayUsed   int64
	dayBefore periodUsage // the day before that, as the calls had it

	period       calendar.Period
	creditsUsed  int64
	periodBefore periodUsage

	resets resets // the latest that a call saw
	ended  int64  // store time of the latest admission that ended

	replies replyStore
	rows    map[rowName]*Counts // memory: all; embedded: since the last checkpoint
	name    rowName             // of the ledger row that was last counted in
	row     *Counts             // the same row; nil after a checkpoint took the rows

	last  timePair // of the latest admission
	seq   uint64   // last log record applied
	dirty bool     // changed since the last checkpoint
}

// periodUsage is what was used of one day, or of the period that begins at an instant.
type periodUsage struct{ of, used int64 }

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
func (b *usage) charge(e *entry) {
	when := timePair{store: e.at, wall: e.wall}
	b.advance(e.day, e.period, e.resets, when)
	b.count(e, 1)
	b.ended = max(b.ended, e.at)
	b.last = b.last.later(when)
}

// undo takes out what charge entered of a call that was not recorded after all.
func (b *usage) undo(e *entry) { b.count(e, -1) }

// count adds n times a call: once, or once less.
func (b *usage) count(e *entry, n int64) {
	// A call that ends after its day or period is charged in the ledger alone.
	switch {
	case e.allowance == DayQuota && e.day == b.day:
		b.dayUsed += n * e.charged
	case e.allowance == PeriodCredits && e.period.Start == b.period.Start:
		b.creditsUsed += n * e.charged
	}

	row := b.rowOf(rowName{key: e.key, day: e.day, op: e.op})
	row.Calls += n
	row.Charged += n * e.charged
	b.dirty = true
}

// plausible reports whether the start of a day or period may be the latest one at a wall time. What
// lies more than a day ahead was stored by a clock that was wrong (decision 1754).
func plausible(start, wall int64) bool { return start <= wall+calendar.DayMillis }

// dayAt returns the day on which a call at a moment counts, and what is used of it. A clock that was
// set back does not bring a day back, but one that was far ahead does not keep it: the account
// returns to today and keeps what it has used today.
func (b *usage) dayAt(now timePair) (day calendar.Day, used int64) {
	day = calendar.DayOf(now.wall)
	if day < b.day && plausible(b.day.Start(), now.wall) {
		day = b.day
	}
	return day, b.usedOn(day, now)
}

// usedOn returns what is used of a day that the account is on, moves on to, or returns to.
func (b *usage) usedOn(day calendar.Day, now timePair) int64 {
	switch {
	case day > b.day || day < b.day && b.idleSince(day.Start(), now):
		return 0
	case b.stale(day.Start(), now):
		return 0 // what there is was used a day before, whatever the clock said then
	case day < b.day && b.dayBefore.of == int64(day):
		return b.dayUsed + b.dayBefore.used
	}
	return b.dayUsed
}

// idleSince reports whether nothing was admitted since the wall time from, as the store's own time
// counts: which day the wall clock showed at the last admission does not matter.
func (b *usage) idleSince(from int64, now timePair) bool {
	return now.store-b.ended > now.wall-from
}

// stale reports whether what is stored of a day or period that began at start was used at least a day
// before that, by a clock that was ahead then.
func (b *usage) stale(start int64, now timePair) bool {
	return now.wall >= start && b.idleSince(start-calendar.DayMillis, now)
}

// creditsAt is dayAt of credit periods, for a period that the clock gives.
func (b *usage) creditsAt(period calendar.Period, now timePair) (current calendar.Period, used int64) {
	switch {
	case period.Start > b.period.Start, period.Start == b.period.Start && b.stale(period.Start, now):
		return period, 0
	case period.Start == b.period.Start:
		return period, b.creditsUsed
	case plausible(b.period.Start, now.wall):
		return b.period, b.creditsUsed
	case b.idleSince(period.Start, now):
		return period, 0
	case b.periodBefore.of == period.Start:
		return period, b.creditsUsed + b.periodBefore.used
	}
	return period, b.creditsUsed
}

// advance moves on to the day and period of a call that was admitted at a moment.
func (b *usage) advance(day calendar.Day, period calendar.Period, asked resets, now timePair) {
	if asked.day > b.resets.day {
		b.resets.day = asked.day
		b.day = day
		b.dayUsed = 0
		b.dayBefore = periodUsage{}
	}

	if asked.credits > b.resets.credits {
		b.resets.credits = asked.credits
		b.period = period
		b.creditsUsed = 0
		b.periodBefore = periodUsage{}
	}

	// A call that ends after its day or period brings neither back.
	used := b.usedOn(day, now)
	if day == b.day {
		b.dayUsed = used
	}

	if day > b.day || !plausible(b.day.Start(), now.wall) {
		before := periodUsage{of: int64(b.day), used: b.dayUsed}
		if day < b.day {
			// That day was a wrong clock's: what counts of it is in used already.
			before = periodUsage{}
		}
		b.day = day
		b.dayUsed = used
		b.dayBefore = before
	}

	if period != (calendar.Period{}) {
		b.advancePeriod(period, now)
	}
}

// advancePeriod moves on to a period. One that starts together with the book's but ends elsewhere
// changes the end only.
func (b *usage) advancePeriod(period calendar.Period, now timePair) {
	if period.Start < b.period.Start && plausible(b.period.Start, now.wall) {
		return
	}

	_, used := b.creditsAt(period, now)
	switch {
	case period.Start > b.period.Start:
		b.periodBefore = periodUsage{of: b.period.Start, used: b.creditsUsed}
	case period.Start < b.period.Start:
		b.periodBefore = periodUsage{}
	}
	b.period = period
	b.creditsUsed = used
}

// rowOf is the ledger row of a name, mostly the one of the call before.
func (b *usage) rowOf(name rowName) *Counts {
	if b.row != nil && b.name == name {
		return b.row
	}

	row := b.rows[name]
	if row == nil {
		row = &Counts{}
		b.rows[name] = row
	}
	b.name = name
	b.row = row
	return row
}
