package engine

import (
	"slices"
	"sync"

	"ninepocket/cardvocab"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// DisplayLanes calls each for every variant of a card that has a display lane, in variant order
// (decision 19). A variant other than "" restricts it to that variant.
func (v *View) DisplayLanes(card int, variant string, each func(lane int, code string)) {
	c := v.Catalog
	for lane, to := c.Lanes.Of.Range(card); lane < to; lane++ {
		if c.Lanes.Flags[lane]&snapshot.LaneDisplay == 0 {
			continue
		}

		if code := c.Variants.At(int(c.Lanes.Variant[lane])); variant == "" || cardvocab.SameVariant(code, variant) {
			each(lane, code)
		}
	}
}

// series is one variant's points while a history is being encoded.
type series struct {
	template wire.PointTemplate
	points   []snapshot.Point
	next     int // in points
	alike    int // points from next on that differ in their dates and digits alone, 0 if not counted
	at       int // where the day's point begins in the day's text; -1 without a point
}

var seriesPool = sync.Pool{New: func() any { return new([]series) }}

// AppendHistory appends the body of price history (decision 20). It has the points of a window,
// which has as many dates as days says and ends at the snapshot's date. They ascend by date and are
// then in variant order. A variant other than "" restricts them to that variant. A lane has
// snapshot.HistoryDays dates, so earlier days have no points.
func (v *View) AppendHistory(dst []byte, card, days int, variant string) []byte {
	dst = wire.AppendHistoryHead(dst, v.Catalog, card, days, &v.site)

	// Points are decoded into memory that the next history reuses.
	pooled, _ := seriesPool.Get().(*[]series)
	all := (*pooled)[:0]

	dates := v.historyDates.last(days)
	date := v.Catalog.Date()
	from := snapshot.WindowStart(date, len(dates))
	v.DisplayLanes(card, variant, func(lane int, code string) {
		// The slice grows without clearing, so that an earlier series' memory is reused.
		all = slices.Grow(all, 1)[:len(all)+1]
		s := &all[len(all)-1]
		s.template.Reset(code)
		*s = series{
			template: s.template, points: v.Catalog.History.AppendPoints(s.points[:0], lane, from, date),
		}
	})

	before := len(dst)
	dst = appendMerged(dst, all, dates, from)
	if len(dst) > before {
		dst = dst[:len(dst)-1] // the comma behind the last point
	}
	*pooled = all
	seriesPool.Put(pooled)
	return append(dst, ']', '}')
}

// appendMerged appends the points of several series, day by day, each with a comma. dates are the days of the
// window as text; the first of them is from.
//
// In a run of days whose texts have the same form, each day is a copy of the first with other dates and digits.
// That takes less than half the time of encoding each point.
func appendMerged(dst []byte, all []series, dates [][10]byte, from snapshot.Day) []byte {
	for day := 0; day < len(dates); {
		start := len(dst)
		run := len(dates) - day
		for i := range all {
			s := &all[i]
			alike, has := s.runFrom(from + snapshot.Day(day))
			run = min(run, alike)
			s.at = -1
			if has {
				s.at = len(dst) - start
				dst = s.template.Append(dst, &dates[day], s.points[s.next].Cents)
			}
		}

		step := len(dst) - start
		dst = appendCopies(dst, start, run-1)
		for i := range all {
			if s := &all[i]; s.at >= 0 {
				s.template.Repeat(dst[start+step:], s.at, step, dates[day+1:], s.points[s.next+1:s.next+run])
				s.next += run
				s.alike -= run
			}
		}
		day += run
	}
	return dst
}

// runFrom reports whether the series has a point of a day, and for how many days from this one on it has points
// of the same form, or none.
func (s *series) runFrom(day snapshot.Day) (days int, has bool) {
	rest := s.points[s.next:]
	if len(rest) == 0 {
		return snapshot.HistoryDays, false
	}
	if rest[0].Day > day {
		return int(rest[0].Day - day), false
	}

	// A series with a long run is not counted again when another one has a short run.
	if s.alike == 0 {
		s.alike = wire.AlikePoints(rest)
	}
	return s.alike, true
}

// appendCopies appends n copies of the text behind start. Each pass doubles what it copies.
func appendCopies(dst []byte, start, n int) []byte {
	end := len(dst) + n*(len(dst)-start)
	dst = slices.Grow(dst, end-len(dst))
	for len(dst) < end {
		dst = append(dst, dst[start:min(len(dst), start+end-len(dst))]...)
	}
	return dst
}

// AppendDates appends the dates of a window, which AppendHistory describes, as the elements of an
// array.
func (v *View) AppendDates(dst []byte, days int) []byte {
	for i, date := range v.historyDates.last(days) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), date[:]...), '"')
	}
	return dst
}

// eachSeries calls each for every variant of a card that has points from a day on, with these points,
// which are valid until it returns. A variant other than "" restricts it to that variant.
func (v *View) eachSeries(card int, from snapshot.Day, variant string, each func(string, []snapshot.Point)) {
	pooled, _ := seriesPool.Get().(*[]series)
	*pooled = slices.Grow((*pooled)[:0], 1)[:1]
	points := &(*pooled)[0].points

	date := v.Catalog.Date()
	v.DisplayLanes(card, variant, func(lane int, code string) {
		*points = v.Catalog.History.AppendPoints((*points)[:0], lane, from, date)
		if len(*points) > 0 {
			each(code, *points)
		}
	})
	seriesPool.Put(pooled)
}

// AppendHistoryColumns appends the points of AppendHistory as an object. Each variant that has any is
// an array with the price of each date of the window, null where there is none.
func (v *View) AppendHistoryColumns(dst []byte, card, days int, variant string) []byte {
	dates := len(v.historyDates.last(days))
	from := snapshot.WindowStart(v.Catalog.Date(), dates)
	dst = wire.AppendColumnsHead(dst, v.Catalog, card)
	v.eachSeries(card, from, variant, func(code string, points []snapshot.Point) {
		dst = wire.AppendColumn(wire.AppendComma(dst), code, points, from, dates)
	})
	return append(dst, ']', '}')
}

// AppendHistoryRows appends the points of AppendHistory as rows of wire.HistoryHeader, by variant and
// then date.
func (v *View) AppendHistoryRows(dst []byte, card, days int, variant string) []byte {
	before := len(dst)
	id := v.Catalog.Cards.ID.At(card)
	dates := v.historyDates.last(days)
	from := snapshot.WindowStart(v.Catalog.Date(), len(dates))
	v.eachSeries(card, from, variant, func(code string, points []snapshot.Point) {
		for _, point := range points {
			dst = wire.AppendPointRow(dst, id, code, &dates[point.Day-from], point.Cents)
		}
	})

	if len(dst) == before {
		return wire.AppendBareRow(dst, wire.HistoryHeader, id, wire.BareRow)
	}
	return dst
}

// historyDates are the days of a lane's history as text, the newest last. Every history needs them,
// so they are encoded once for each View.
type historyDates [snapshot.HistoryDays][10]byte

// last returns the newest dates: as many as days says, or all.
func (d *historyDates) last(days int) [][10]byte { return d[len(d)-min(max(days, 0), len(d)):] }

// StatsQuery selects price statistics.
type StatsQuery struct {
	Card    int
	Variant string // "" for all
	Window  int    // index into snapshot.StatWindows
	Name    string // the window as the client named it
	// MaxDays is the plan's history range in days: a window does not reach further (decision 14).
	MaxDays int
}

// AppendStats appends the body of price statistics: one snapshot.PriceSummary for each variant. A
// window is the last N dates (decision 20).
func (v *View) AppendStats(dst []byte, query StatsQuery) []byte {
	c := v.Catalog
	asked := snapshot.StatWindows[query.Window]
	days := min(asked, query.MaxDays)
	from := snapshot.WindowStart(c.Date(), days)

	// The head has the catalog's form of the variant, not the client's.
	restricted := query.Variant
	v.DisplayLanes(query.Card, query.Variant, func(_ int, code string) {
		if query.Variant != "" {
			restricted = code
		}
	})

	dst = wire.AppendStatsHead(dst, c, wire.Stats{
		Card: query.Card, Variant: restricted, Window: query.Name, From: from.Start(), To: c.SnapshotAt,
	})

	v.DisplayLanes(query.Card, query.Variant, func(lane int, code string) {
		sum, ok := c.Stats.Of(lane, query.Window)
		if days < asked {
			// The plan's range shortens the window, so the stored statistics do not apply.
			points := c.History.AppendPoints(nil, lane, from, c.Date())
			ok = len(points) > 0
			if ok {
				sum = snapshot.Summarize(points)
			}
		}

		if ok {
			dst = wire.AppendSummary(wire.AppendComma(dst), code, sum)
		}
	})

	return append(dst, ']', '}', '}')
}
