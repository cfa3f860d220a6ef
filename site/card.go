package site

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"time"

	"ninepocket/cardvocab"
	"ninepocket/engine"
	"ninepocket/index"
	"ninepocket/snapshot"
)

// CardQuery says which card page is wanted.
type CardQuery struct {
	Card    int
	Days    int    // one of Ranges; anything else leaves the choice to the page
	Variant string // whose history, "" for that of the display price
}

// printingsShown is how many other printings a card page shows.
const printingsShown = 8

type cardPage struct {
	pageLayout
	history
	card           int
	slug           string
	name, number   string
	rarity         string
	printing       string
	game           uint8
	set, setLink   string // "" without one
	images         imageURLs
	display        int              // the lane of the display price (decision 19), negative without one
	priced         []int            // the lanes that have a price: those that the API's card detail lists, in its order
	spark          []snapshot.Point // of the display price, some weeks
	last           lastSeen         // where there is no display price
	printings      []uint32         // some of the others
	otherPrintings string           // where all of them are, "" when they are here
}

// Card appends the page of a card.
func (p *Pages) Card(dst []byte, v *engine.View, now time.Time, query CardQuery) []byte {
	c := v.Catalog
	k := cardPage{
		card: query.Card, slug: c.Cards.Slug.At(query.Card), name: c.Cards.Name.At(query.Card),
		number: c.Cards.Number.At(query.Card), rarity: c.Cards.Rarity.At(query.Card),
		printing: c.Cards.Printing.At(query.Card), game: c.Cards.Game[query.Card],
		images: p.imagesOf(v, query.Card), display: int(c.Cards.Display[query.Card]), history: historyOf(v, query),
	}
	if set := c.Cards.Set[query.Card]; set != snapshot.NoSet {
		k.set = c.Sets.Name.At(int(set))
		k.setLink = p.setLink(c.Sets.Slug.At(int(set)))
	}

	from, to := c.Lanes.Of.Range(query.Card)
	for lane := from; lane < to; lane++ {
		if c.Lanes.Cents[lane] >= 0 {
			k.priced = append(k.priced, lane)
		}
	}

	if k.display >= 0 {
		k.spark = pointsOf(c, k.display, sparkDays)
	} else {
		k.last = lastOf(c, k.variants)
	}

	// More printings than fit are what a search for the name finds.
	others, more := v.Index.Printings(nil, query.Card, printingsShown)
	k.printings = others
	if more {
		all := SearchQuery{Words: index.PlainName(k.name), Game: c.Games.Slug.At(int(k.game))}
		k.otherPrintings = p.searchLink(all)
	}

	k.describe(p, v, now, query.Card)
	return appendPage(dst, &k)
}

// lastSeen is the newest observation of a card, of a lane that is negative without one.
type lastSeen struct {
	lane int
	snapshot.Point
}

// lastOf is the newest observation of some variants; the first of several of one day.
func lastOf(c *snapshot.Catalog, variants []choice) lastSeen {
	last := lastSeen{lane: -1}
	for _, one := range variants {
		points := pointsOf(c, one.lane, Ranges[len(Ranges)-1])
		if n := len(points); n > 0 && (last.lane < 0 || points[n-1].Day > last.Day) {
			last = lastSeen{one.lane, points[n-1]}
		}
	}
	return last
}

// hasUngraded reports whether the condition of a lane is none that anybody named.
func hasUngraded(c *snapshot.Catalog, lanes []int) bool {
	return slices.ContainsFunc(lanes, func(lane int) bool {
		return snapshot.Condition(c.Lanes.Condition[lane]) == snapshot.Ungraded
	})
}

// onePricePerVariant reports whether each variant has one price, of a condition that nobody named:
// then the variant says all.
func onePricePerVariant(c *snapshot.Catalog, lanes []int) bool {
	for i, lane := range lanes {
		same := i > 0 && c.Lanes.Variant[lane] == c.Lanes.Variant[lanes[i-1]]
		if same || snapshot.Condition(c.Lanes.Condition[lane]) != snapshot.Ungraded {
			return false
		}
	}
	return true
}

// hasBase reports whether an earlier price of any lane is known.
func hasBase(bases []int64, lanes []int) bool {
	return slices.ContainsFunc(lanes, func(lane int) bool { return bases[lane] >= 0 })
}

// conditionName is the condition of a lane. "Ungraded" is the API's word for none; people read it as
// "in no slab".
func conditionName(c *snapshot.Catalog, lane int) string {
	condition := snapshot.Condition(c.Lanes.Condition[lane])
	if condition == snapshot.Ungraded {
		return "Condition not stated"
	}
	return condition.Text()
}

// laneName is the variant and the condition of a lane, where there is one.
func laneName(c *snapshot.Catalog, lane int) string {
	name := title(c.Variants.At(int(c.Lanes.Variant[lane])))
	if snapshot.Condition(c.Lanes.Condition[lane]) == snapshot.Ungraded {
		return name
	}
	return name + ", " + conditionName(c, lane)
}

// history is the chart of one variant, by its display lane as the API's history and statistics (decision 19).
type history struct {
	variants []choice // those that have a history, in variant order
	chosen   choice
	asked    string // the variant that was asked for, "" when that one has none
	days     int
	points   []snapshot.Point // the observations in these days
	drawable bool             // some range has two of them, so that there is something to choose
}

// choice is a variant whose history can be shown, with its display lane.
type choice struct {
	lane int
	code string
}

// historyOf chooses the history of a card: the variant that was asked for, else the one of the display price, else the
// first.
func historyOf(v *engine.View, query CardQuery) (h history) {
	v.DisplayLanes(query.Card, "", func(lane int, code string) {
		if v.Catalog.History.Has(lane) {
			h.variants = append(h.variants, choice{lane, code})
		}
	})
	if h.variants == nil {
		return h
	}

	// A link's variant wins over the display price's, wherever the two stand.
	h.chosen = h.variants[0]
	for _, one := range h.variants {
		if query.Variant != "" && cardvocab.SameVariant(one.code, query.Variant) {
			h.chosen = one
			h.asked = one.code
		} else if h.asked == "" && one.lane == int(v.Catalog.Cards.Display[query.Card]) {
			h.chosen = one
		}
	}

	// The range depends on the variant: a short one may hold nothing of it.
	h.days = rangeOf(v.Catalog, h.chosen.lane, query.Days)
	h.points = pointsOf(v.Catalog, h.chosen.lane, h.days)
	last := Ranges[len(Ranges)-1]
	h.drawable = slices.ContainsFunc(h.variants, func(one choice) bool {
		return len(h.points) > 1 || len(pointsOf(v.Catalog, one.lane, last)) > 1
	})
	return h
}

// pointsOf are the observations of a lane in the days up to the catalog's date.
func pointsOf(c *snapshot.Catalog, lane, days int) []snapshot.Point {
	return c.History.AppendPoints(nil, lane, snapshot.WindowStart(c.Date(), days), c.Date())
}

// rangeOf is the range that was asked for; when it is none of Ranges, DefaultRange, or the longest one where that would
// show fewer than two observations.
func rangeOf(c *snapshot.Catalog, lane, asked int) int {
	if slices.Contains(Ranges[:], asked) {
		return asked
	}
	if len(pointsOf(c, lane, DefaultRange)) < 2 {
		return Ranges[len(Ranges)-1]
	}
	return DefaultRange
}

// historyLink leads back to the chart with another choice.
func (k *cardPage) historyLink(days int, variant string) string {
	link := k.cardLink(k.slug) + "?days=" + strconv.Itoa(days)
	if variant != "" {
		link += "&variant=" + url.QueryEscape(variant)
	}
	return link + "#history"
}

// describe fills in the frame: what search engines and link previews read.
func (k *cardPage) describe(pages *Pages, v *engine.View, now time.Time, card int) {
	c := v.Catalog
	heading := k.name
	if k.number != "" {
		heading += " " + k.number
	}
	description := heading
	if k.set != "" {
		description += ", " + k.set
	}

	if k.display < 0 {
		description += ": no current market price."
	} else {
		description += ": market price " + dollars(c.Lanes.Cents[k.display]) + ", " + laneName(c, k.display) + ", " +
			momentOf(c.UpdatedAt(k.display)).Text + "."
	}

	// Link previews want an absolute address of the image; the photo's begins at the root of this host.
	k.pageLayout = pages.newLayout(v, now, joined(heading, k.set), description)
	k.canonical = canonical(v, "/cards/"+k.slug)
	k.kind = "product"
	k.script = "chart.js"
	k.image = pages.base + "/previews/" + k.slug + ".png"
	if k.images.original != "" {
		k.image = pages.base + k.images.original[len(pages.root):]
	}

	// Marshal escapes what could end a script element, and of texts alone it does not fail.
	k.data, _ = json.Marshal(product{
		Context: "https://schema.org", Type: "Product", Name: k.name, SKU: c.Cards.ID.At(card),
		MPN: k.number, Description: joined(k.number, k.set, k.rarity), URL: k.canonical, Image: k.image,
		Category: c.Games.Name.At(int(k.game)), Properties: propertiesOf(c, k.display),
	})
}

// product is what search engines read of a card: schema.org's Product. Nothing is for sale here, so that it has no
// offers: the market price is a property.
type product struct {
	Context     string     `json:"@context"`
	Type        string     `json:"@type"`
	Name        string     `json:"name"`
	SKU         string     `json:"sku"`
	MPN         string     `json:"mpn,omitempty"`
	Description string     `json:"description,omitempty"`
	Category    string     `json:"category"`
	URL         string     `json:"url"`
	Image       string     `json:"image,omitempty"`
	Properties  []property `json:"additionalProperty,omitempty"`
}

type property struct {
	Type  string `json:"@type"`
	Name  string `json:"name"`
	Value string `json:"value"`
	Unit  string `json:"unitText"`
}

// propertiesOf is the market price of a card, nil without one.
func propertiesOf(c *snapshot.Catalog, display int) []property {
	if display < 0 {
		return nil
	}
	return []property{{
		Type: "PropertyValue", Name: "Market price, " + laneName(c, display), Value: decimal(c.Lanes.Cents[display]),
		Unit: "USD",
	}}
}
