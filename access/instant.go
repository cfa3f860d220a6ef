package access

import (
	"fmt"
	"sync/atomic"
	"time"
)

const (
	minuteMillis = int64(60_000)
	dayMillis    = int64(86_400_000)
)

// Instant is one moment as the server sees it, in milliseconds on two clocks. One Instant is taken
// per request and passed to every call of that request.
type Instant struct {
	Mono int64 // monotonic milliseconds since the start of the process's Clock; measures spans
	Wall int64 // Unix milliseconds; decides days, periods and expiry, and seldom steps, either way
}

// Clock turns times into Instants of one process: the one notion of time for limits, quotas, keys
// and cursors. Its wall time is the monotonic clock counted on from when it was started, so that a
// wall clock that jumps moves nothing; [Clock.Follow] takes over what is no glitch. Make one at
// start and share it: copies are the same clock.
type Clock struct {
	origin time.Time
	offset *atomic.Int64 // wall - monotonic, in milliseconds
}

// StartClock returns a Clock whose monotonic zero is now. Pass time.Now().
func StartClock(now time.Time) Clock {
	clock := Clock{origin: now, offset: new(atomic.Int64)}
	clock.offset.Store(now.UnixMilli())
	return clock
}

// At returns a time on both clocks. It is exact when the time carries a monotonic reading.
func (clock Clock) At(when time.Time) Instant {
	mono := when.Sub(clock.origin).Milliseconds()
	return Instant{Mono: mono, Wall: mono + clock.offset.Load()}
}

// Time returns the wall time of the instant, in UTC.
func (now Instant) Time() time.Time { return time.UnixMilli(now.Wall).UTC() }

// Day is a UTC date as the number of days since 1970-01-01.
type Day int32

// DayOf returns the UTC date of a Unix time in milliseconds.
func DayOf(wallMillis int64) Day { return Day(floorDiv(wallMillis, dayMillis)) }

// ParseDay reads a date as YYYY-MM-DD.
func ParseDay(s string) (Day, error) {
	date, err := time.ParseInLocation(time.DateOnly, s, time.UTC)
	if err != nil {
		return 0, fmt.Errorf("cannot read date %q: %w", s, errNotADate)
	}
	return DayOf(date.UnixMilli()), nil
}

// Start returns the first instant of the day in Unix milliseconds.
func (day Day) Start() int64 { return int64(day) * dayMillis }

// String returns the date as YYYY-MM-DD.
func (day Day) String() string { return time.UnixMilli(day.Start()).UTC().Format(time.DateOnly) }

// Period is a span of time [Start, End) in Unix milliseconds.
type Period struct{ Start, End int64 }

func (span Period) has(wall int64) bool { return wall >= span.Start && wall < span.End }

// monthOf returns the UTC calendar month around wall.
func monthOf(wall int64) Period {
	when := time.UnixMilli(wall).UTC()
	first := time.Date(when.Year(), when.Month(), 1, 0, 0, 0, 0, time.UTC)
	return Period{Start: first.UnixMilli(), End: first.AddDate(0, 1, 0).UnixMilli()}
}

// around returns the period of the same length that holds wall, counted on from this one.
func (span Period) around(wall int64) Period {
	length := span.End - span.Start
	n := floorDiv(wall-span.Start, length)
	return Period{Start: span.Start + n*length, End: span.Start + (n+1)*length}
}

// secondsUp returns the whole seconds that cover ms, never negative.
func secondsUp(ms int64) int64 { return max(0, (ms+999)/1000) }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}
