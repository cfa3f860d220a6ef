package mcp

import (
	"math"
	"slices"

	"ninepocket/snapshot"
	"ninepocket/wire"
)

// How many points a history has over all its series; the specification bounds the detailed one.
const (
	maxPoints     = 60
	concisePoints = 30
)

// longestWindow is the longest window of a history in days (specification, Limits).
const longestWindow = 365

var priceOn = nullable(object("date", schemaDate, "price_cents", schemaInteger))

var getPriceHistory = tool{
	name:  "catalog_get_price_history",
	title: "Get price history",
	about: "Daily market-price history of one card, thinned to at most 60 points over all variants (30 when concise), plus a trend " +
		"summary per variant computed from every day in the window. Variants are never mixed.",
	fields: []field{
		{name: "id", about: "Card id or slug.", kind: aText, lo: 1, hi: 200, required: true},
		{name: "days", about: "Days back from the snapshot's date.", kind: anInteger, lo: 1, hi: longestWindow, preset: 90},
		{name: "variant", about: `Only this variant, e.g. "holofoil" or "Reverse Holofoil"; default all tracked variants.`, kind: aText, lo: 1, hi: 64},
		formatField,
	},
	output: object(
		"id", schemaString, "name", schemaString, "game", nullString, "game_name", nullString, "url", nullString,
		"currency", schemaUSD, "days", schemaInteger, "price_updated_at", nullable(schemaTime), "downsampled", schemaBool,
		"series", array(object(
			"variant", schemaString,
			"summary", object(
				"trend", oneOf("rising", "falling", "flat", "insufficient_data"),
				"first", priceOn, "last", priceOn, "min", priceOn, "max", priceOn,
				"average_price_cents", nullInteger, "change_cents", nullInteger, "change_percent", nullNumber,
				"volatility_percent", nullNumber, "data_points", schemaInteger,
			),
			"points", arrayTo(maxPoints, object("date", schemaDate, "market_price_cents", schemaInteger)),
		)),
	),
	run: (*call).getPriceHistory,
}

// line is one variant's history within the window.
type line struct {
	variant   string
	points    []snapshot.Point
	sum       snapshot.Summary
	low, high snapshot.Point
	spread    float64 // volatility in percent, NaN when it has none
}

func (c *call) getPriceHistory() refusal {
	ref := c.args.text("id")
	card, ok := c.View.Index.Card(ref)
	if !ok {
		return c.noSuchCard(ref)
	}
	asked := int(c.args.number("days"))
	days := asked
	if c.Limits.HistoryDays > 0 {
		days = min(asked, c.Limits.HistoryDays)
	}
	lines := c.lines(card, days)
	had := 0
	for i := range lines {
		had += len(lines[i].points)
	}
	room := concisePoints
	if c.detailed {
		room = maxPoints
	}
	shown, dropped := fit(lines, room)
	left := 0
	for i := range shown {
		left += len(shown[i].points)
	}
	c.sayCard(card)
	c.say(" | ", c.View.Site().URL, "/cards/", c.c.Cards.Slug.At(card), " | ", c.c.Cards.ID.At(card), "\n")
	c.sayWindow(days, asked, left, had)
	c.jsonHistory(card, days, left < had)
	for i := range shown {
		c.comma(i)
		c.line(&shown[i])
	}
	c.json = append(c.json, `]}`...)
	c.sayMissing(card, lines, dropped)
	return ""
}

// lines are the histories of a card's variants that have any point in the window.
func (c *call) lines(card, days int) []line {
	date := c.c.Date()
	from := snapshot.WindowStart(date, days)
	var lines []line
	c.View.DisplayLanes(card, c.args.text("variant"), func(lane int, code string) {
		points := c.c.History.AppendPoints(nil, lane, from, date)
		if len(points) == 0 {
			return
		}
		low, high := extremes(points)
		lines = append(lines, line{
			variant: code, points: points, sum: snapshot.Summarize(points), low: points[low], high: points[high], spread: spread(points),
		})
	})
	return lines
}

// fit thins lines to room points. Where a series would get fewer than four, its extremes are not forced in; where it
// would get fewer than two, the cheapest series are dropped.
func fit(lines []line, room int) (shown []line, dropped []string) {
	shown = slices.Clone(lines)
	for len(shown) > room/2 {
		cheapest := 0
		for i := range shown {
			if shown[i].sum.Last < shown[cheapest].sum.Last {
				cheapest = i
			}
		}
		dropped = append(dropped, shown[cheapest].variant)
		shown = slices.Delete(shown, cheapest, cheapest+1)
	}
	lengths := make([]int, len(shown))
	for i := range shown {
		lengths[i] = len(shown[i].points)
	}
	shares := share(lengths, room)
	for i := range shown {
		shown[i].points = thin(shown[i].points, shares[i])
	}
	return shown, dropped
}

// spread is the standard deviation of prices around their mean in percent of the mean: 0 for a price that never moved.
func spread(points []snapshot.Point) float64 {
	if len(points) < 2 {
		return math.NaN()
	}
	n := float64(len(points))
	var mean, square float64
	for _, p := range points {
		mean += float64(p.Cents) / n
	}
	for _, p := range points {
		d := float64(p.Cents) - mean
		square += d * d / n
	}
	if mean == 0 {
		return math.NaN()
	}
	return 100 * math.Sqrt(square) / mean
}

// trend is what a change from first to last is called: from ±3 % on it is rising or falling.
func trend(s *snapshot.Summary) string {
	const percent = 3
	switch {
	case s.Points < 2:
		return "insufficient_data"
	case s.First == s.Last:
		return "flat"
	case s.First == 0:
		return "rising"
	}
	// The threshold is compared as printed, rounded to hundredths of a percent.
	units, _, negative := wire.Percent(s.Last-s.First, s.First)
	switch {
	case units < percent:
		return "flat"
	case negative:
		return "falling"
	}
	return "rising"
}

func (c *call) jsonHistory(card, days int, thinned bool) {
	c.json = append(c.json, `{"id":"`...)
	c.json = append(c.json, c.c.Cards.ID.Bytes(card)...)
	c.json = append(c.json, `","name":`...)
	c.json = wire.AppendString(c.json, c.c.Cards.Name.At(card))
	c.json = wire.AppendGame(c.json, c.c, c.c.Cards.Game[card])
	c.json = c.View.Site().AppendCardURL(c.json, c.c, card)
	c.jsonInt(`,"currency":"USD","days":`, days)
	c.json = append(c.json, `,"price_updated_at":`...)
	if cents, at := wire.DisplayPrice(c.c, card); cents >= 0 {
		c.json = wire.AppendSeconds(c.json, at)
	} else {
		c.json = append(c.json, "null"...)
	}
	if thinned {
		c.json = append(c.json, `,"downsampled":true,"series":[`...)
	} else {
		c.json = append(c.json, `,"downsampled":false,"series":[`...)
	}
}

// sayWindow says which days the history is of and whether points are left out.
func (c *call) sayWindow(days, asked, left, had int) {
	c.sayCount(days, "day")
	c.say(" to ")
	c.sayDay(c.c.Date())
	c.say(", USD")
	if days < asked {
		c.say(" (your plan's history reaches back no further)")
	}
	if left < had {
		c.say(", thinned to ")
		c.sayInt(left)
		c.say(" of ")
		c.sayCount(had, "point")
		c.say("; the summary is of all of them")
	}
	c.say("\n")
}

// line writes one variant's history.
func (c *call) line(l *line) {
	c.json = append(c.json, `{"variant":`...)
	c.json = wire.AppendString(c.json, l.variant)
	c.json = append(c.json, `,"summary":{"trend":"`...)
	c.json = append(c.json, trend(&l.sum)...)
	c.json = append(c.json, '"')
	c.jsonDated(`,"first":`, l.sum.FirstDay, l.sum.First)
	c.jsonDated(`,"last":`, l.sum.LastDay, l.sum.Last)
	c.jsonDated(`,"min":`, l.low.Day, l.low.Cents)
	c.jsonDated(`,"max":`, l.high.Day, l.high.Cents)
	c.json = append(c.json, `,"average_price_cents":`...)
	c.json = wire.AppendCents(c.json, l.sum.Mean)
	c.json = wire.AppendChange(c.json, "change_cents", "change_percent", l.sum.First, l.sum.Last)
	c.json = append(c.json, `,"volatility_percent":`...)
	c.json = appendHundredths(c.json, l.spread)
	c.jsonInt(`,"data_points":`, l.sum.Points)
	c.json = append(c.json, `},"points":[`...)
	for k, p := range l.points {
		c.comma(k)
		c.json = append(c.json, `{"date":"`...)
		c.json = wire.AppendDay(c.json, p.Day)
		c.json = append(c.json, `","market_price_cents":`...)
		c.json = wire.AppendCents(c.json, p.Cents)
		c.json = append(c.json, '}')
	}
	c.json = append(c.json, `]}`...)
	c.sayLine(l)
}

func (c *call) jsonDated(name string, day snapshot.Day, cents int64) {
	c.json = append(c.json, name...)
	c.json = wire.AppendDated(c.json, day, cents)
}

// appendHundredths appends a number with at most two decimals, null for none.
func appendHundredths(dst []byte, v float64) []byte {
	if math.IsNaN(v) || v > 1e12 {
		return append(dst, "null"...)
	}
	return wire.AppendPercent(dst, int64(math.Round(v*100)), 10_000)
}

func (c *call) sayLine(l *line) {
	s := &l.sum
	c.say(l.variant, ": ", trend(s))
	if s.Points > 1 {
		c.say(" | change ")
		c.sayChange(s.First, s.Last)
	}
	c.sayDated(" | first ", s.FirstDay, s.First)
	c.sayDated(" | last ", s.LastDay, s.Last)
	c.sayDated(" | min ", l.low.Day, l.low.Cents)
	c.sayDated(" | max ", l.high.Day, l.high.Cents)
	c.say(" | average ")
	c.sayMoney(s.Mean)
	if !math.IsNaN(l.spread) {
		c.say(" | volatility ")
		c.text = appendHundredths(c.text, l.spread)
		c.say("%")
	}
	c.say(" | ")
	c.sayCount(s.Points, "data point")
	c.say("\n ")
	for k, p := range l.points {
		if k > 0 {
			c.say(" |")
		}
		c.sayDated(" ", p.Day, p.Cents)
	}
	c.say("\n")
}

func (c *call) sayDated(label string, day snapshot.Day, cents int64) {
	c.say(label)
	c.sayMoney(cents)
	c.say(" on ")
	c.sayDay(day)
}

// sayMissing says which variants are not shown, and why.
func (c *call) sayMissing(card int, lines []line, dropped []string) {
	if len(dropped) > 0 {
		c.say("Left out to stay within the points, cheapest first: ")
		for k, variant := range dropped {
			if k > 0 {
				c.say(", ")
			}
			c.say(variant)
		}
		c.say(". Ask for one with variant.\n")
	}
	asked := c.args.text("variant")
	tracked, silent := 0, 0
	c.View.DisplayLanes(card, asked, func(_ int, code string) {
		tracked++
		if !slices.ContainsFunc(lines, func(l line) bool { return l.variant == code }) {
			silent++
			if silent == 1 {
				c.say("No prices in this window: ")
			} else {
				c.say(", ")
			}
			c.say(code)
		}
	})
	if silent > 0 {
		c.say(".\n")
	}
	if tracked > 0 {
		return
	}
	if asked != "" {
		c.say(`The variant "`, readable(asked), `" is not tracked. `)
	}
	c.say("Tracked variants: ")
	n := 0
	c.View.DisplayLanes(card, "", func(_ int, code string) {
		if n++; n > 1 {
			c.say(", ")
		}
		c.say(code)
	})
	if n == 0 {
		c.say("none")
	}
	c.say(".\n")
}
