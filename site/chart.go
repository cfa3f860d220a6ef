package site

import (
	"html/template"
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

// chart is a price history over the days dates that end at last: low, high and average, a drawing, and a table.
// The drawing is inline SVG without text: a viewBox that is stretched to the page, with the labels beside it in HTML,
// so that they keep their size on a narrow screen. points are not empty.
func chart(name string, points []snapshot.Point, last snapshot.Day, days int) template.HTML {
	sum := snapshot.Summarize(points)
	low, high := extremes(points)
	m := make(markup, 0, 4096+16*len(points))
	m.sums(sum, low, high)

	// The labels of the axis, from the top down.
	m.raw("\n<figure class=\"chart\">\n<div class=\"axis\" aria-hidden=\"true\">")
	base, step, steps := axis(sum.Min, sum.Max)
	for i := range steps + 1 {
		m.raw("<span>", dollars(base+int64(steps-i)*step), "</span>")
	}

	// What the drawing is of, for who does not see it.
	from := snapshot.WindowStart(last, days)
	width := strconv.Itoa(days - 1)
	m.raw("</div>\n<svg viewBox=\"0 0 ", width, " ", strconv.Itoa(chartHeight), `" preserveAspectRatio="none"`,
		` role="img" aria-labelledby="chart-title chart-text"><title id="chart-title">Price history of `)
	m.text(name)
	m.raw(", ", date(from), " to ", date(last), `</title><desc id="chart-text">`)
	m.describe(sum, low, high)

	// The drawing itself: the grid, the area below the line, the line, and dots.
	m.raw(`</desc><path class="grid" d="`)
	for i := range steps + 1 {
		m.raw("M0 ", strconv.Itoa(chartHeight*i/steps), "h", width)
	}
	line, area, dots := paths(points, from, base, base+int64(steps)*step)
	m.raw(`"/><path class="area" d="`, area, `"/><path class="line" d="`, line, `"/><path class="dots" d="`, dots)

	m.raw("\"/></svg>\n<figcaption aria-hidden=\"true\"><span>", date(from), "</span><span>", date(last),
		"</span></figcaption>\n</figure>\n")
	m.table(points, days)
	return m.html()
}

// extremes are the first of the lowest points and the first of the highest.
func extremes(points []snapshot.Point) (low, high snapshot.Point) {
	low = points[0]
	high = points[0]
	for _, p := range points {
		if p.Cents < low.Cents {
			low = p
		}
		if p.Cents > high.Cents {
			high = p
		}
	}
	return low, high
}

// sums appends the figures above a chart.
func (m *markup) sums(sum snapshot.Summary, low, high snapshot.Point) {
	m.raw(`<dl class="sums"><div><dt>Low</dt><dd>`, dollars(low.Cents), "<small>", date(low.Day),
		"</small></dd></div><div><dt>High</dt><dd>", dollars(high.Cents), "<small>", date(high.Day),
		"</small></dd></div><div><dt>Average</dt><dd>", dollars(sum.Mean), "</dd></div><div><dt>Change</dt><dd>")
	m.change(sum.First, sum.Last)
	m.raw("</dd></div></dl>")
}

// describe appends a chart in words, for who does not see it.
func (m *markup) describe(sum snapshot.Summary, low, high snapshot.Point) {
	m.raw("From ", dollars(sum.First), " to ", dollars(sum.Last))
	m.raw("; lowest ", dollars(low.Cents), " on ", date(low.Day))
	m.raw(", highest ", dollars(high.Cents), " on ", date(high.Day))
	m.raw(", average ", dollars(sum.Mean), " of ", counted(sum.Points, "observation", "observations"), ".")
}

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
	var p pen

	for i, point := range points {
		x := int(point.Day - from)
		y := chartHeight - int((float64(point.Cents-base)/float64(top-base))*chartHeight+0.5)
		switch {
		case i == 0:
			p.beginRun(x, y)
		case point.Day-p.day > longestGap:
			p.endRun(false)
			p.beginRun(x, y)
		default:
			p.lineTo(x, y)
		}
		p.day = point.Day
	}
	p.endRun(true)
	return string(p.line), string(p.area), string(p.dots)
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

// table appends the history as a table, newest first: every observation up to 30 days, else the last one of each week.
func (m *markup) table(points []snapshot.Point, days int) {
	weekly := days > 30
	caption := "Every observation, newest first"
	if weekly {
		caption = "The last observation of each week, newest first"
	}
	m.raw("<details><summary>As a table</summary>\n<table class=\"narrow\"><caption>", caption,
		`</caption><thead><tr><th scope="col">Day<th scope="col">Price</thead><tbody>`)

	// A year of rows is more than anybody reads.
	week := snapshot.Day(-1)
	for _, p := range slices.Backward(points) {
		if weekly && p.Day/7 == week {
			continue
		}
		week = p.Day / 7

		m.raw("<tr><td>")
		*m = wire.AppendDay(*m, p.Day)
		m.raw("<td>")
		m.dollars(p.Cents)
	}
	m.raw("</tbody></table>\n</details>")
}
