package site

import (
	"math"
	"slices"
	"strconv"
	"time"

	"ninepocket/engine"
	"ninepocket/index"
	"ninepocket/snapshot"
)

const (
	printingsCompared = 24
	linesDrawn        = 12 // in one chart
	lineColours       = 12 // of the style sheet
)

type printingsPage struct {
	pageLayout
	card  int
	cards []uint32
	more  bool // than printingsCompared
	days  int
	lines []printingLine
	low   int64 // the lowest price of all lines
	high  int64
}

// printingLine is the history of one printing at its display price.
type printingLine struct {
	name   string
	points []snapshot.Point
}

// Printings appends the page that compares all printings of a card. A printing without a price has no
// line.
func (p *Pages) Printings(dst []byte, v *engine.View, now time.Time, query CardQuery) []byte {
	c := v.Catalog
	others, more := v.Index.Printings([]uint32{uint32(query.Card)}, query.Card, printingsCompared-1)
	page := printingsPage{card: query.Card, cards: others, more: more, days: query.Days, low: math.MaxInt64, high: 1}
	if !slices.Contains(Ranges[:], page.days) {
		page.days = Ranges[len(Ranges)-1]
	}

	for _, n := range page.cards {
		card := int(n)
		lane := int(c.Cards.Display[card])
		if lane < 0 || len(page.lines) == linesDrawn {
			continue
		}
		points := pointsOf(c, lane, page.days)
		if len(points) == 0 {
			continue
		}

		name := c.OfSet(&c.Sets.Name, card) + " " + c.Cards.Number.At(card)
		page.lines = append(page.lines, printingLine{name, points})
		page.low = min(page.low, slices.MinFunc(points, byCents).Cents)
		page.high = max(page.high, slices.MaxFunc(points, byCents).Cents)
	}

	name := index.PlainName(c.Cards.Name.At(query.Card))
	page.pageLayout = p.newLayout(v, now, "Printings of "+name, "All printings of "+name+" with their market prices.")
	page.canonical = canonical(v, "/cards/"+c.Cards.Slug.At(query.Card)+"/printings")
	page.script = "chart.js"
	return appendPage(dst, &page)
}

// farApart is a ratio of the highest to the lowest price. From this ratio on, a chart from zero would
// show most lines as one along its floor.
const farApart = 10

// isLogarithmic reports whether each step of the chart's axis is ten times the one below.
func (k *printingsPage) isLogarithmic() bool {
	return len(k.lines) > 1 && k.high >= farApart*max(k.low, 1)
}

// releaseYear returns the year of a card's set, "" without one.
func releaseYear(c *snapshot.Catalog, card int) string {
	if set := c.Cards.Set[card]; set != snapshot.NoSet && c.Sets.Release[set] != snapshot.NoDay {
		return strconv.Itoa(c.Sets.Release[set].Time().Year())
	}
	return ""
}

// link returns the URL of the page with another range of its chart.
func (k *printingsPage) link(days int) string {
	slug := k.view.Catalog.Cards.Slug.At(k.card)
	return pageAddress(k.cardLink(slug)+"/printings", 1, param{"days", strconv.Itoa(days)}) + "#chart"
}
