package site

import (
	"html/template"
	"strconv"

	"ninepocket/snapshot"
	"ninepocket/wire"
)

// Ranges are the ranges of a price chart in days; the first windows of snapshot.StatWindows are among them, and so
// agree with the API's statistics.
var Ranges = [...]int{7, 30, 90, 365}

// DefaultRange is the range of a chart that nobody chose.
const DefaultRange = 90

// Size of a chart in its own units: a day is one unit wide, and prices fill the height.
const chartHeight = 200

// longestGap is how many days a line bridges between two observations, as long as a change looks back for its base
// (decision 20); beyond it the price is not known and the line is broken.
const longestGap = 7

// chart is a price history as inline SVG without text: labels stand beside it in HTML, so that they keep their size
// on a narrow screen. Coordinates are whole numbers of a viewBox that is stretched to the page.
type chart struct {
	ViewBox     string
	Line, Area  string   // path data: digits and commands alone
	Dots        string   // observations that stand alone, and the last one
	Grid        string   // lines at the steps of the axis
	Axis        []string // labels of the price axis, from the top
	From, To    string   // first and last day of the range
	Low, High   extreme  // of the range
	Average     string   // rounded as the API's mean
	First, Last string   // prices at the ends of what was observed
	Change      change   // between those
	Points      int      // observations
	Rows        template.HTML
	Weekly      bool // the table has a row a week
}

// extreme is the lowest or highest price, with the first day of it.
type extreme struct{ Price, Day string }

// chartOf draws the points of the days dates that end at last; nil without any.
func chartOf(points []snapshot.Point, last snapshot.Day, days int) *chart {
	if len(points) == 0 {
		return nil
	}
	from := snapshot.WindowStart(last, days)
	sum := snapshot.Summarize(points)
	c := &chart{
		ViewBox: "0 0 " + strconv.Itoa(days-1) + " " + strconv.Itoa(chartHeight),
		From:    date(from), To: date(last), Average: dollars(sum.Mean), Points: sum.Points,
		First: dollars(sum.First), Last: dollars(sum.Last), Change: changeOf(sum.First, sum.Last),
	}
	for _, p := range points {
		if p.Cents == sum.Min && c.Low.Price == "" {
			c.Low = extreme{dollars(p.Cents), date(p.Day)}
		}
		if p.Cents == sum.Max && c.High.Price == "" {
			c.High = extreme{dollars(p.Cents), date(p.Day)}
		}
	}
	base, step, steps := axis(sum.Min, sum.Max)
	grid := make([]byte, 0, 64)
	for i := range steps + 1 {
		c.Axis = append(c.Axis, dollars(base+int64(steps-i)*step))
		grid = appendPair(append(grid, 'M'), 0, chartHeight*i/steps)
		grid = strconv.AppendInt(append(grid, 'h'), int64(days-1), 10)
	}
	c.Grid = string(grid)
	c.draw(points, from, base, base+int64(steps)*step)
	c.tabulate(points, days)
	return c
}

// axis divides the range of prices of a chart around low and high: from base, which is never below zero, in two to
// five steps of 1, 2 or 5 times a power of ten.
func axis(low, high int64) (base, step int64, steps int) {
	if low == high { // a flat line stands in the middle
		margin := max(high/10, 1)
		low, high = max(low-margin, 0), high+margin
	}
	for power := int64(1); ; power *= 10 {
		for _, factor := range []int64{1, 2, 5} {
			if step = power * factor; high-low <= 4*step {
				base = low - low%step
				return base, step, max(int((high-base+step-1)/step), 2)
			}
		}
	}
}

// draw makes the path data. Points are joined by relative steps, which are a few characters each; a gap begins anew.
func (c *chart) draw(points []snapshot.Point, from snapshot.Day, base, top int64) {
	y := func(cents int64) int {
		return chartHeight - int((float64(cents-base)/float64(top-base))*chartHeight+0.5)
	}
	line := make([]byte, 0, 8*len(points)+32)
	area := make([]byte, 0, 8*len(points)+64)
	var dots []byte
	both := func(b ...byte) {
		line, area = append(line, b...), append(area, b...)
	}
	var number [32]byte
	level, x, lastY, startX := 0, 0, 0, 0 // level is how far the line has run on without rise or fall
	flush := func() {
		if level > 0 {
			both(strconv.AppendInt(append(number[:0], 'h'), int64(level), 10)...)
			level = 0
		}
	}
	end := func() {
		flush()
		if x == startX {
			dots = append(appendPair(append(dots, 'M'), x, lastY), "h0"...) // round caps make a dot of nothing
		}
		area = strconv.AppendInt(append(area, 'V'), chartHeight, 10)
		area = append(strconv.AppendInt(append(area, 'H'), int64(startX), 10), 'z')
	}
	for i, p := range points {
		py := y(p.Cents)
		switch px := int(p.Day - from); {
		case i == 0 || p.Day-points[i-1].Day > longestGap:
			if i > 0 {
				end()
			}
			startX, x = px, px
			both(appendPair(append(number[:0], 'M'), px, py)...)
		case py == lastY:
			level += px - x
			x = px
		default:
			flush()
			both(appendPair(append(number[:0], 'l'), px-x, py-lastY)...)
			x = px
		}
		lastY = py
	}
	alone := x == startX
	end()
	if !alone {
		dots = append(appendPair(append(dots, 'M'), x, lastY), "h0"...)
	}
	c.Line, c.Area, c.Dots = string(line), string(area), string(dots)
}

func appendPair(dst []byte, x, y int) []byte {
	dst = strconv.AppendInt(dst, int64(x), 10)
	if y >= 0 {
		dst = append(dst, ' ')
	}
	return strconv.AppendInt(dst, int64(y), 10) // a minus sign separates by itself
}

// tabulate writes the rows of the table beside the chart, newest first: every observation up to 30 days, else the last
// one of each week. They hold digits and punctuation of our own alone, so they are HTML as they stand.
func (c *chart) tabulate(points []snapshot.Point, days int) {
	c.Weekly = days > 30
	rows := make([]byte, 0, 64*min(len(points), 60))
	week := snapshot.Day(-1)
	for i := len(points) - 1; i >= 0; i-- {
		p := points[i]
		if c.Weekly && p.Day/7 == week {
			continue
		}
		week = p.Day / 7
		rows = append(rows, "<tr><td>"...)
		rows = wire.AppendDay(rows, p.Day)
		rows = append(rows, "<td>"...)
		rows = appendDollars(rows, p.Cents)
	}
	c.Rows = template.HTML(rows) //nolint:gosec // digits, dates and dollar signs
}
