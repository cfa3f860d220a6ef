package access

// book is what the journal keeps of a tenant: what was charged, what was answered, and the ledger's
// rows. It decides nothing and knows of no limit. Its account guards it.
type book struct {
	day     Day // of the latest admission; never goes back
	dayUsed int64

	period      Period // of the latest admission; never goes back
	creditsUsed int64

	replies replies
	rows    map[rowName]*Counts // memory: all; embedded: since the last checkpoint
	name    rowName             // of the ledger row that was last counted in
	row     *Counts             // the same row; nil after a checkpoint took the rows

	last  moment // of the latest admission
	seq   uint64 // last log record applied
	dirty bool   // changed since the last checkpoint
}

// moment is a store time, and the wall time that went with it, in milliseconds.
type moment struct{ store, wall int64 }

// later returns the later of two moments. Of two with the same store time, between which the wall
// clock was set, the one with the higher wall time counts: then less time seems to pass until the
// next start, never more.
func (m moment) later(other moment) moment {
	if other.store > m.store || other.store == m.store && other.wall > m.wall {
		return other
	}
	return m
}

// charge enters what a finished call cost. It is the one place that charges, for calls just made
// and for calls read back from the log.
func (b *book) charge(e *entry) {
	b.rollDay(e.day)
	b.rollPeriod(e.period)

	// A call that ends after its day or period is charged in the ledger alone.
	switch {
	case e.allowance == DayQuota && e.day == b.day:
		b.dayUsed += e.charged
	case e.allowance == PeriodCredits && e.period.Start == b.period.Start:
		b.creditsUsed += e.charged
	}

	row := b.rowOf(rowName{key: e.key, day: e.day, op: e.op})
	row.Calls++
	row.Charged += e.charged

	b.last = b.last.later(moment{store: e.at, wall: e.wall})
	b.dirty = true
}

// rollDay moves on to a later day.
func (b *book) rollDay(day Day) {
	if day > b.day {
		b.day = day
		b.dayUsed = 0
	}
}

// rollPeriod moves on to a period that starts later. One that starts together with the book's but
// ends elsewhere changes the end only.
func (b *book) rollPeriod(p Period) {
	if p.Start > b.period.Start {
		b.creditsUsed = 0
	}
	if p.Start >= b.period.Start && p != (Period{}) {
		b.period = p
	}
}

// rowOf is the ledger row of a name, mostly the one of the call before.
func (b *book) rowOf(name rowName) *Counts {
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
