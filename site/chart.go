package site

import (
	"cmp"
	"slices"
	"strconv"

	"ninepocket/snapshot"
	"ninepocket/wire"
)

// Ranges are the ranges of a price chart in days; all of snapshot.StatWindows are among them, where the figures beside
// the chart are those of the API's statistics.
var Ranges = [...]int{7, 30, 90, 365}

// DefaultRange is the range of a chart that nobody chose.
const DefaultRange = wire.DefaultDays

// chartHeight is the height of a chart in its own units; a day is one unit wide.
const chartHeight = 200

// longestGap is how many days a line bridges between two observations, as long as a change looks back for its base
// (decision 20); beyond it the price is not known and the line is broken.
const longestGap = 7

// byCents orders observations by their prices.
func byCents(a, b snapshot.Point) int { return cmp.Compare(a.Cents, b.Cents) }

// axis divides the range of prices of a chart around low and high: from base, which is never below zero, in two to
// five steps of 1, 2 or 5 times a power of ten.
func axis(low, high int64) (base, step int64, steps int) {
	if low == high { // a flat line stands in the middle
		margin := max(high/10, 1)
		low = max(low-margin, 0)
		high += margin
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

// A pen draws a history as path data. A run is a part of the line without a gap. Steps are relative, a few characters
// each, and a level stretch is one step.
type pen struct {
	line, area, dots []byte // in line, each run starts with M

	x, y   int // where the pen is
	day    snapshot.Day
	level  int // how far the line has run on from there without rise or fall, not written yet
	startX int // where the run begins
	start  int // and where it does in line
}

// paths makes the path data of a history: the line, the area below it, and a dot for each observation that stands
// alone and for the last one.
func paths(points []snapshot.Point, from snapshot.Day, base, top int64) (line, area, dots string) {
	var pen pen

	for i, point := range points {
		x := int(point.Day - from)
		y := chartHeight - int((float64(point.Cents-base)/float64(top-base))*chartHeight+0.5)
		switch {
		case i == 0:
			pen.beginRun(x, y)
		case point.Day-pen.day > longestGap:
			pen.endRun(false)
			pen.beginRun(x, y)
		default:
			pen.lineTo(x, y)
		}
		pen.day = point.Day
	}
	pen.endRun(true)
	return string(pen.line), string(pen.area), string(pen.dots)
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

// flush writes the level stretch.
func (p *pen) flush() {
	if p.level > 0 {
		p.line = strconv.AppendInt(append(p.line, 'h'), int64(p.level), 10)
		p.level = 0
	}
}

// endRun closes the area below the run, and makes a dot where the line would not be seen or is the newest.
func (p *pen) endRun(last bool) {
	p.flush()
	if p.x == p.startX || last { // a run of one observation has no line
		p.dots = append(appendPair(append(p.dots, 'M'), p.x, p.y), "h0"...) // round caps make a dot of nothing
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

// tabled are the observations that the table of a chart lists, newest first: each one up to 30 days, else the last one
// of each week, because a year of rows is more than anybody reads.
func tabled(points []snapshot.Point, days int) []snapshot.Point {
	var rows []snapshot.Point
	for _, point := range slices.Backward(points) {
		if n := len(rows); days <= 30 || n == 0 || point.Day/7 != rows[n-1].Day/7 {
			rows = append(rows, point)
		}
	}
	return rows
}
