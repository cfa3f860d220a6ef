package mcp

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"ninepocket/snapshot"
	"ninepocket/wire"
)

// The largest number of points of a history, of all its series together, in the detailed and in
// the concise form.
const (
	maxPoints     = 60
	concisePoints = 30
)

func getPriceHistoryTool() *tool {
	fields := []field{
		cardField(),
		integerField("days", "Days back from the snapshot's date.", wire.HistoryDays, wire.DefaultDays),
		textField("variant", `Only this variant, e.g. "holofoil" or "Reverse Holofoil"; default all tracked variants.`,
			wire.VariantText),
	}

	priceOn := nullable(object("date", schemaDate, "price_cents", schemaInteger))
	summary := object(
		"trend", oneOf("rising", "falling", "flat", "insufficient_data"),
		"first", priceOn, "last", priceOn, "min", priceOn, "max", priceOn,
		"average_price_cents", nullInteger, "change_cents", nullInteger, "change_percent", nullNumber,
		"volatility_percent", described(nullNumber,
			"Standard deviation of the changes from one day to the next; null below ten of them."),
		"data_points", schemaInteger,
	)
	points := described(
		arrayTo(maxPoints, object("date", schemaDate, "to?", schemaDate, "market_price_cents", schemaInteger)),
		"Of a run of days with one price, date is the first day and to the last.")
	output := answerSchema(slices.Concat(identity, []string{
		"days", schemaInteger, "to", described(schemaDate, "The last of the days."), "downsampled", schemaBool,
		"series", array(object(
			"variant", schemaString, "condition", schemaString, "summary", summary, "points", points,
		)),
	})...)

	return &tool{
		name: "catalog_get_price_history", title: "Get price history",
		description: "Daily market-price history of one card, thinned to at most 60 points over all variants (30 " +
			"when concise), plus a trend summary per variant computed from every day in the window. Each variant in " +
			"one condition, which is named; variants are never mixed. Volatility is the standard deviation of daily " +
			"changes.",
		fields: fields, output: output, run: getPriceHistory, text: historyLayout,
	}
}

func getPriceHistory(in *request, out *result) toolError {
	card, toolErr := findCard(in)
	if toolErr != "" {
		return toolErr
	}

	// A plan shortens the window, as in REST.
	days := int(in.number("days"))
	if limit := in.Limits.HistoryDays; limit > 0 && limit < days {
		days = limit
		out.remark("plan_limit", "", strconv.Itoa(days))
	}

	// A series is summarized before it is downsampled, so that the summary covers every day in the
	// window.
	all, empty := historyOf(in, card, days)
	budget := concisePoints
	if out.detailed {
		budget = maxPoints
	}

	total := countPoints(all)
	shown, dropped := fitBudget(all, budget)
	if len(dropped) > 0 {
		out.remark("variants_left_out", strings.Join(dropped, ", "), "")
	}
	if len(empty) > 0 {
		out.remark("no_price_in_window", strings.Join(empty, ", "), "")
	}
	if len(all)+len(empty) == 0 {
		remarkTracked(in, out, card)
	}

	out.dateLane(out.lane(card))
	out.jsonHead()
	begin := len(out.data)
	out.jsonIdentity(card)
	out.data = slices.Delete(out.data, begin, begin+1) // the opening brace of the card
	out.json(`,"days":`, strconv.Itoa(days), `,"to":"`, out.c.Date().String(), `","downsampled":`,
		strconv.FormatBool(countPoints(shown) < total), `,"series":[`)
	for i := range shown {
		out.comma()
		out.data = shown[i].appendJSON(out.data)
	}
	out.json("]}")
	return ""
}

// series is one variant's history within the window.
type series struct {
	variant, condition string

	points []snapshot.Point
	// runs has each run of two days or more twice: by its first day and by its last.
	runs       map[snapshot.Day]run
	summary    snapshot.PriceSummary
	low, high  snapshot.Point
	volatility float64 // in percent; NaN if there is none
}

// run is a sequence of days with the same price.
type run struct{ first, last snapshot.Day }

// historyOf returns the histories of a card's variants in the window. empty has the variants
// without a point in the window.
func historyOf(in *request, card, days int) (all []series, empty []string) {
	c := in.View.Catalog
	from := snapshot.WindowStart(c.Date(), days)

	in.View.DisplayLanes(card, in.text("variant"), func(lane int, code string) {
		points := c.History.AppendPoints(nil, lane, from, c.Date())
		if len(points) == 0 {
			empty = append(empty, code)
			return
		}

		// collapseRuns overwrites the points, so everything that needs the original points comes first.
		low, high := extremes(points)
		line := series{
			variant: code, condition: conditionOf(c, lane), summary: snapshot.Summarize(points),
			low: points[low], high: points[high], volatility: volatility(points),
		}
		line.points, line.runs = collapseRuns(points)
		all = append(all, line)
	})

	return all, empty
}

func countPoints(all []series) int {
	n := 0
	for i := range all {
		n += len(all[i].points)
	}
	return n
}

// fitBudget downsamples series until they have at most budget points together. If a series would
// get fewer than two points, fitBudget drops the cheapest series and returns their variants in
// dropped.
func fitBudget(all []series, budget int) (shown []series, dropped []string) {
	// A series needs two points to show a change.
	shown = slices.Clone(all)
	for len(shown) > budget/2 {
		cheapest := 0
		for i := range shown {
			if shown[i].summary.Last < shown[cheapest].summary.Last {
				cheapest = i
			}
		}

		dropped = append(dropped, shown[cheapest].variant)
		shown = slices.Delete(shown, cheapest, cheapest+1)
	}

	// The others get the points that a short series does not need.
	lengths := make([]int, len(shown))
	for i := range shown {
		lengths[i] = len(shown[i].points)
	}

	for i, n := range divideBudget(lengths, budget) {
		shown[i].points = downsample(shown[i].points, n)
	}

	return shown, dropped
}

// collapseRuns removes all but the first and the last day of each run, because the days between add
// nothing (decision 2110). The points ascend by day. The result reuses their memory.
func collapseRuns(points []snapshot.Point) (rest []snapshot.Point, runs map[snapshot.Day]run) {
	runs = map[snapshot.Day]run{}
	rest = points[:0]

	// A day without a price ends a run, because the price of that day is unknown.
	for from := 0; from < len(points); {
		to := from + 1
		for to < len(points) && points[to].Cents == points[from].Cents && points[to].Day == points[to-1].Day+1 {
			to++
		}

		first := points[from]
		last := points[to-1]
		rest = append(rest, first)
		if to-from > 1 {
			rest = append(rest, last)
			runs[first.Day] = run{first.Day, last.Day}
			runs[last.Day] = run{first.Day, last.Day}
		}

		from = to
	}

	return rest, runs
}

// minChanges is how many daily changes a volatility needs.
const minChanges = 10

// volatility returns the standard deviation of the changes from one day to the next, in percent
// (decision 80). It is 0 for a constant price, and for one that rises by the same percentage every
// day. A day counts only if the previous day has a price.
func volatility(points []snapshot.Point) float64 {
	var changes []float64
	for i := 1; i < len(points); i++ {
		if before := points[i-1]; points[i].Day == before.Day+1 && before.Cents > 0 {
			changes = append(changes, 100*float64(points[i].Cents-before.Cents)/float64(before.Cents))
		}
	}

	// Some changes around a gap would look like calm.
	n := float64(len(changes))
	if n < minChanges {
		return math.NaN()
	}

	mean := 0.0
	for _, change := range changes {
		mean += change / n
	}

	variance := 0.0
	for _, change := range changes {
		variance += (change - mean) * (change - mean) / n
	}

	return math.Sqrt(variance)
}

// trend returns a word for the change from the first price to the last. A change of 3 % or more is
// rising or falling (decision 80).
func trend(summary *snapshot.PriceSummary) string {
	const percent = 3
	switch {
	case summary.Points < 2:
		return "insufficient_data"
	case summary.First == summary.Last:
		return "flat"
	case summary.First == 0:
		return "rising"
	}

	// The change is compared as it is printed: rounded to hundredths of a percent.
	units, _, negative := wire.Percent(summary.Last-summary.First, summary.First)
	switch {
	case units < percent:
		return "flat"
	case negative:
		return "falling"
	}

	return "rising"
}

// appendJSON appends the series as an element of the series member.
func (l *series) appendJSON(dst []byte) []byte {
	summary := &l.summary
	dst = wire.AppendText(dst, `{"variant":`, l.variant)
	dst = wire.AppendText(dst, `,"condition":`, l.condition)
	dst = wire.AppendText(dst, `,"summary":{"trend":`, trend(summary))
	dst = wire.AppendDayPrice(dst, `,"first":`, summary.FirstDay, summary.First)
	dst = wire.AppendDayPrice(dst, `,"last":`, summary.LastDay, summary.Last)
	dst = wire.AppendDayPrice(dst, `,"min":`, l.low.Day, l.low.Cents)
	dst = wire.AppendDayPrice(dst, `,"max":`, l.high.Day, l.high.Cents)
	dst = wire.AppendCents(dst, `,"average_price_cents":`, summary.Mean)
	dst = wire.AppendChange(dst, `,"change_cents":`, `,"change_percent":`, summary.First, summary.Last)
	dst = appendHundredths(append(dst, `,"volatility_percent":`...), l.volatility)
	dst = wire.AppendInt(dst, `,"data_points":`, int64(summary.Points))

	dst = append(dst, `},"points":[`...)
	for k, point := range l.points {
		of, long := l.runs[point.Day]
		if long && k > 0 && l.points[k-1].Day == of.first {
			continue // written with its first day
		}

		// Thinning may have left one day of a run.
		dst = wire.AppendDay(append(wire.AppendComma(dst), `{"date":"`...), point.Day)
		if long && k+1 < len(l.points) && l.points[k+1].Day == of.last {
			dst = wire.AppendDay(append(dst, `","to":"`...), of.last)
		}
		dst = append(wire.AppendCents(dst, `","market_price_cents":`, point.Cents), '}')
	}
	return append(dst, "]}"...)
}

// appendHundredths appends a number with at most two decimals. It appends null for NaN and for a
// number that is too large.
func appendHundredths(dst []byte, v float64) []byte {
	if math.IsNaN(v) || v > 1e12 {
		return append(dst, "null"...)
	}
	return wire.AppendPercent(dst, int64(math.Round(v*100)), 10_000)
}

// remarkTracked adds the tracked variants of a card, if the requested one is not tracked.
func remarkTracked(in *request, out *result, card int) {
	var all []string
	in.View.DisplayLanes(card, "", func(_ int, code string) { all = append(all, code) })
	if len(all) == 0 {
		out.remark("no_history", "", "")
		return
	}
	out.remark("no_variant", readable(in.text("variant")), "", all...)
}
