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
const DefaultRange = 90

// chartHeight is the height of a chart in its own units; a day is one unit wide.
const chartHeight = 200

// longestGap is how many days a line bridges between two observations, as long as a change looks back for its base
// (decision 20); beyond it the price is not known and the line is broken.
const longestGap = 7

// chart is a price history over the days dates that end at last: low, high and average, a drawing, and a table.
// The drawing is inline SVG without text: a viewBox that is stretched to the page, with the labels beside it in HTML,
// so that they keep their size on a narrow screen. points are not empty.
func chart(name string, points []snapshot.Point, last snapshot.Day, days int) template.HTML {
	from := snapshot.WindowStart(last, days)
	sum := snapshot.Summarize(points)
	low, high := points[0], points[0] // with the first day of each
	for _, p := range points {
		if p.Cents < low.Cents {
			low = p
		}
		if p.Cents > high.Cents {
			high = p
		}
	}
	m := make(markup, 0, 4096+16*len(points))
	m.sums(sum, low, high)
	m.raw("\n<figure class=\"chart\">\n<div class=\"axis\" aria-hidden=\"true\">")
	base, step, steps := axis(sum.Min, sum.Max)
	for i := range steps + 1 {
		m.raw("<span>")
		m.dollars(base + int64(steps-i)*step)
		m.raw("</span>")
	}
	m.raw("</div>\n<svg viewBox=\"0 0 ")
	m.int(days - 1)
	m.raw(" ")
	m.int(chartHeight)
	m.raw(`" preserveAspectRatio="none" role="img" aria-labelledby="chart-title chart-text"><title id="chart-title">Price history of `)
	m.text(name)
	m.raw(", ")
	m.raw(date(from))
	m.raw(" to ")
	m.raw(date(last))
	m.raw(`</title><desc id="chart-text">`)
	m.describe(sum, low, high)
	m.raw(`</desc><path class="grid" d="`)
	for i := range steps + 1 {
		m.raw("M0 ")
		m.int(chartHeight * i / steps)
		m.raw("h")
		m.int(days - 1)
	}
	line, area, dots := paths(points, from, base, base+int64(steps)*step)
	m.raw(`"/><path class="area" d="`)
	m.raw(area)
	m.raw(`"/><path class="line" d="`)
	m.raw(line)
	m.raw(`"/><path class="dots" d="`)
	m.raw(dots)
	m.raw("\"/></svg>\n<figcaption aria-hidden=\"true\"><span>")
	m.raw(date(from))
	m.raw("</span><span>")
	m.raw(date(last))
	m.raw("</span></figcaption>\n</figure>\n")
	m.table(points, days)
	return m.html()
}

// sums appends the figures above a chart.
func (m *markup) sums(sum snapshot.Summary, low, high snapshot.Point) {
	m.raw(`<dl class="sums"><div><dt>Low</dt><dd>`)
	m.dollars(low.Cents)
	m.raw("<small>")
	m.raw(date(low.Day))
	m.raw("</small></dd></div><div><dt>High</dt><dd>")
	m.dollars(high.Cents)
	m.raw("<small>")
	m.raw(date(high.Day))
	m.raw("</small></dd></div><div><dt>Average</dt><dd>")
	m.dollars(sum.Mean)
	m.raw("</dd></div><div><dt>Change</dt><dd>")
	m.change(sum.First, sum.Last)
	m.raw("</dd></div></dl>")
}

// describe appends a chart in words, for who does not see it.
func (m *markup) describe(sum snapshot.Summary, low, high snapshot.Point) {
	m.raw("From ")
	m.dollars(sum.First)
	m.raw(" to ")
	m.dollars(sum.Last)
	m.raw("; lowest ")
	m.dollars(low.Cents)
	m.raw(" on ")
	m.raw(date(low.Day))
	m.raw(", highest ")
	m.dollars(high.Cents)
	m.raw(" on ")
	m.raw(date(high.Day))
	m.raw(", average ")
	m.dollars(sum.Mean)
	m.raw(" of ")
	m.raw(counted(sum.Points, "observation", "observations"))
	m.raw(".")
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

// paths makes the path data of a history: the line, the area below it, and a dot for each observation that stands
// alone and for the last one. Steps are relative, a few characters each, and a level run is one step.
func paths(points []snapshot.Point, from snapshot.Day, base, top int64) (line, area, dots string) {
	y := func(cents int64) int {
		return chartHeight - int((float64(cents-base)/float64(top-base))*chartHeight+0.5)
	}
	var d, dot []byte // d is the line from its beginning, in which each run starts with M
	var filled []byte
	level, x, lastY, startX, start := 0, 0, 0, 0, 0 // level is how far the line has run on without rise or fall
	flush := func() {
		if level > 0 {
			d = strconv.AppendInt(append(d, 'h'), int64(level), 10)
			level = 0
		}
	}
	end := func(final bool) {
		flush()
		if x == startX || final {
			dot = append(appendPair(append(dot, 'M'), x, lastY), "h0"...) // round caps make a dot of nothing
		}
		filled = strconv.AppendInt(append(append(filled, d[start:]...), 'V'), chartHeight, 10)
		filled = append(strconv.AppendInt(append(filled, 'H'), int64(startX), 10), 'z')
	}
	begun, before := false, snapshot.Day(0)
	for _, p := range points {
		px, py := int(p.Day-from), y(p.Cents)
		switch {
		case !begun || p.Day-before > longestGap:
			if begun {
				end(false)
			}
			startX, start = px, len(d)
			d = appendPair(append(d, 'M'), px, py)
		case py == lastY:
			level += px - x
		default:
			flush()
			d = appendPair(append(d, 'l'), px-x, py-lastY)
		}
		x, lastY, begun, before = px, py, true, p.Day
	}
	end(true)
	return string(d), string(filled), string(dot)
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
	m.raw("<details><summary>As a table</summary>\n<table class=\"narrow\"><caption>")
	weekly := days > 30
	if weekly {
		m.raw("The last observation of each week, newest first")
	} else {
		m.raw("Every observation, newest first")
	}
	m.raw(`</caption><thead><tr><th scope="col">Day<th scope="col">Price</thead><tbody>`)
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
