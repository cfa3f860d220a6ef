package site

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"ninepocket/snapshot"
	"ninepocket/wire"
)

// Ranges are the ranges of a price chart in days. They include all of snapshot.StatWindows; for
// these, the figures next to the chart equal the API's statistics.
var Ranges = [...]int{7, 30, 90, 180, 365}

// DefaultRange is the range of a chart without a requested range.
const DefaultRange = wire.DefaultDays

// chartHeight is the height of a chart in the coordinates of its SVG; a day has the width 1.
const chartHeight = 200

// sparkDays is the range of the small chart next to the price.
const sparkDays = 30

// maxGap is the largest number of days between two observations that a solid line connects. It is
// as long as a change looks back for its base (decision 20). Over a longer gap the price is
// unknown, and the line is dashed.
const maxGap = 7

// byCents orders observations by their prices.
func byCents(a, b snapshot.Point) int { return cmp.Compare(a.Cents, b.Cents) }

// axis returns the price axis of a chart that includes low and high. It begins at base, which is
// never negative, and has two to five steps of 1, 2 or 5 times a power of ten. It begins at zero
// unless the prices are so close together that changes would be invisible; then the page says so.
func axis(low, high int64) (base, step int64, steps int) {
	switch {
	case low == high: // a flat line is in the middle
		margin := max(high/10, 1)
		low = max(low-margin, 0)
		high += margin
	case 3*(high-low) >= high:
		low = 0
	}

	for power := int64(1); ; power *= 10 {
		for _, factor := range []int64{1, 2, 5} {
			step = power * factor
			if high-low <= 4*step {
				base = low - low%step
				return base, step, max(int((high-base+step-1)/step), 2)
			}
		}
	}
}

// logUnit is a power of ten of a price. On such an axis each step is ten times the previous step.
const logUnit = 1_000_000

// logarithms returns a history as logUnits of its prices.
func logarithms(points []snapshot.Point) []snapshot.Point {
	logs := slices.Clone(points)
	for i := range logs {
		logs[i].Cents = int64(math.Log10(float64(max(logs[i].Cents, 1))) * logUnit)
	}
	return logs
}

// logAxis returns the axis of such a chart that includes low and high, in logUnits.
func logAxis(low, high int64) (base int64, steps int) {
	first := int(math.Floor(math.Log10(float64(max(low, 1)))))
	last := int(math.Ceil(math.Log10(float64(max(high, 1)))))
	return int64(first) * logUnit, max(last-first, 1)
}

// powerOfTen returns the cents at a place of such an axis.
func powerOfTen(place int64) int64 { return int64(math.Pow10(int(place / logUnit))) }

// A pen draws a history as path data. A run is a part of the line without a gap. Steps are
// relative, so that they are short, and a level part of the line is one step.
type pen struct {
	line, area, dots, gaps []byte // in line, each run starts with M

	x, y   int // position of the pen
	day    snapshot.Day
	level  int // length of the level part that is not written yet
	startX int // x of the first point of the run
	start  int // and its offset in line
}

// drawing is the path data of a history: the line, the dashed lines over its gaps, the area below
// it, and a dot for the last observation and each isolated observation.
type drawing struct{ line, gaps, area, dots string }

// drawSeries draws a history.
func drawSeries(points []snapshot.Point, from snapshot.Day, base, top int64) drawing {
	var pen pen

	for i, point := range points {
		x := int(point.Day - from)
		y := chartHeight - int((float64(point.Cents-base)/float64(top-base))*chartHeight+0.5)
		switch {
		case i == 0:
			pen.beginRun(x, y)
		case point.Day-pen.day > maxGap:
			pen.endRun(false)
			pen.gaps = appendPair(append(pen.gaps, 'M'), pen.x, pen.y)
			pen.gaps = appendPair(append(pen.gaps, 'l'), x-pen.x, y-pen.y)
			pen.beginRun(x, y)
		default:
			pen.lineTo(x, y)
		}
		pen.day = point.Day
	}
	pen.endRun(true)
	return drawing{string(pen.line), string(pen.gaps), string(pen.area), string(pen.dots)}
}

// sparkOf draws the small chart next to a price, from the lowest price to the highest.
func sparkOf(points []snapshot.Point, last snapshot.Day) drawing {
	low := slices.MinFunc(points, byCents).Cents
	high := slices.MaxFunc(points, byCents).Cents
	if low == high {
		low--
		high++
	}
	return drawSeries(points, snapshot.WindowStart(last, sparkDays), low, high)
}

// appendSeries appends a history for the script: each observation as the days and the cents since
// the previous one. One day and zero cents are left out. "0,45000;;3,-5" has three observations.
func appendSeries(dst []byte, points []snapshot.Point, from snapshot.Day) []byte {
	day := from - 1
	cents := int64(0)

	for i, point := range points {
		if i > 0 {
			dst = append(dst, ';')
		}
		if gap := point.Day - day; gap != 1 {
			dst = strconv.AppendInt(dst, int64(gap), 10)
		}
		if point.Cents != cents {
			dst = strconv.AppendInt(append(dst, ','), point.Cents-cents, 10)
		}
		day = point.Day
		cents = point.Cents
	}
	return dst
}

// dateTicks is the number of dates below a chart.
const dateTicks = 4

// ticks returns evenly spaced dates for the axis of a chart; the first and the last have a year.
func ticks(from, last snapshot.Day) (dates [dateTicks]string) {
	for i := range dates {
		day := from + (last-from)*snapshot.Day(i)/(dateTicks-1)
		layout := "2 Jan"
		if i == 0 || i == dateTicks-1 {
			layout = "2 Jan 2006"
		}
		dates[i] = day.Time().Format(layout)
	}
	return dates
}

func (p *pen) beginRun(x, y int) {
	p.startX = x
	p.start = len(p.line)
	p.line = appendPair(append(p.line, 'M'), x, y)
	p.x = x
	p.y = y
}

func (p *pen) lineTo(x, y int) {
	if y == p.y {
		p.level += x - p.x
	} else {
		p.flush()
		p.line = appendPair(append(p.line, 'l'), x-p.x, y-p.y)
	}
	p.x = x
	p.y = y
}

// flush writes the level part of the line.
func (p *pen) flush() {
	if p.level > 0 {
		p.line = strconv.AppendInt(append(p.line, 'h'), int64(p.level), 10)
		p.level = 0
	}
}

// endRun closes the area below the run. It draws a dot if the run is a single point, which has no
// visible line, or the last run.
func (p *pen) endRun(last bool) {
	p.flush()
	if p.x == p.startX || last { // one observation makes no line
		p.dots = append(appendPair(append(p.dots, 'M'), p.x, p.y), "h0"...) // with round caps, this is a dot
	}

	p.area = append(p.area, p.line[p.start:]...)
	p.area = strconv.AppendInt(append(p.area, 'V'), chartHeight, 10)
	p.area = append(strconv.AppendInt(append(p.area, 'H'), int64(p.startX), 10), 'z')
}

func appendPair(dst []byte, x, y int) []byte {
	dst = strconv.AppendInt(dst, int64(x), 10)
	if y >= 0 {
		dst = append(dst, ' ')
	}
	return strconv.AppendInt(dst, int64(y), 10) // a minus sign separates by itself
}

// tableRows returns the observations for the table of a chart, newest first. Up to 30 days all
// are shown, beyond that the last of each week, because nobody reads a year of rows.
func tableRows(points []snapshot.Point, days int) []snapshot.Point {
	var rows []snapshot.Point
	for _, point := range slices.Backward(points) {
		if n := len(rows); days <= 30 || n == 0 || point.Day/7 != rows[n-1].Day/7 {
			rows = append(rows, point)
		}
	}
	return rows
}
