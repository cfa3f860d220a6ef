package calendar

import (
	"errors"
	"fmt"
	"time"
)

// The lengths of a minute and of a day in milliseconds.
const (
	MinuteMillis = int64(60_000)
	DayMillis    = int64(86_400_000)
)

var errInvalidDate = errors.New("want YYYY-MM-DD")

// Day is a UTC date as the number of days since 1970-01-01.
type Day int32

// DayOf returns the UTC date of a Unix time in milliseconds.
func DayOf(wallMillis int64) Day { return Day(floorDiv(wallMillis, DayMillis)) }

// ParseDay reads a date as YYYY-MM-DD.
func ParseDay(s string) (Day, error) {
	date, err := time.ParseInLocation(time.DateOnly, s, time.UTC)
	if err != nil {
		return 0, fmt.Errorf("cannot read date %q: %w", s, errInvalidDate)
	}
	return DayOf(date.UnixMilli()), nil
}

// Start returns the first instant of the day in Unix milliseconds.
func (day Day) Start() int64 { return int64(day) * DayMillis }

// Time returns the first instant of the day, in UTC.
func (day Day) Time() time.Time { return time.UnixMilli(day.Start()).UTC() }

// String returns the date as YYYY-MM-DD.
func (day Day) String() string { return day.Time().Format(time.DateOnly) }

// Period is a span of time [Start, End) in Unix milliseconds.
type Period struct{ Start, End int64 }

// Month returns the UTC calendar month around wall.
func Month(wall int64) Period {
	when := time.UnixMilli(wall).UTC()
	first := time.Date(when.Year(), when.Month(), 1, 0, 0, 0, 0, time.UTC)
	return Period{Start: first.UnixMilli(), End: first.AddDate(0, 1, 0).UnixMilli()}
}

// Around returns the period of the same length that contains wall; periods follow each other from this one.
func (period Period) Around(wall int64) Period {
	length := period.End - period.Start
	n := floorDiv(wall-period.Start, length)
	return Period{Start: period.Start + n*length, End: period.Start + (n+1)*length}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}
