package site

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"time"

	"ninepocket/cardvocab"
	"ninepocket/engine"
	"ninepocket/index"
	"ninepocket/site/picture"
	"ninepocket/snapshot"
)

// CardQuery selects a card page.
type CardQuery struct {
	Card    int
	Days    int    // one of Ranges; for anything else the page chooses
	Variant string // of the history, "" for that of the display price
}

// printingsShown is how many other printings a card page shows.
const printingsShown = 8

// Further prices or variants are folded.
const (
	lanesShown    = 24
	variantsShown = 12
)

type cardPage struct {
	pageLayout
	history
	card         int
	slug         string
	name, number string
	rarity       string
	printing     string
	game         uint8
	set, setLink string // "" without one
	images       imageURLs
	priced       []int // the lanes with a price, as in the API's card detail
	priceBox
	printings      []uint32 // some other printings
	otherPrintings string   // URL of all printings, "" if all are on the page
}

// priceBox is the price of a card or a sealed product.
type priceBox struct {
	display int              // the lane of the display price (decision 19), negative without one
	spark   []snapshot.Point // of the display price
	before  snapshot.Point   // the earlier price of its change, NoCents without one
	span    string           // of the change, or why there is none
	gap     bool             // the span is not the usual one
	last    lastSeen         // if there is no display price
}

// priceBoxOf describes the price of a lane; lane is negative if none of variants has one.
func priceBoxOf(c *snapshot.Catalog, lane int, variants []chartVariant) priceBox {
	if lane < 0 {
		return priceBox{display: lane, last: lastSeenOf(c, variants)}
	}

	box := priceBox{display: lane, spark: pointsOf(c, lane, sparkDays), span: "in 7 days"}
	box.before.Cents = c.Lanes.Price7DaysAgo[lane]
	if box.before.Cents < 0 {
		box.gap = true
		box.before, box.span = lastChange(pointsOf(c, lane, snapshot.HistoryDays), c.Date())
	}
	return box
}

// lastChange returns the last price before the week up to date, with a sentence about the days
// between it and the next price. Without such a price the sentence says why.
func lastChange(points []snapshot.Point, date snapshot.Day) (snapshot.Point, string) {
	next := date
	for _, point := range slices.Backward(points) {
		if point.Day <= date-defaultPeriod {
			return point, cmp.Or(missingDays(point.Day, next, date, defaultPeriod), "in 7 days")
		}
		next = point.Day
	}

	none := snapshot.Point{Cents: snapshot.NoCents}
	if len(points) < 2 {
		return none, "No earlier price is known"
	}
	return none, "No change in 7 days is known: the first price is of " + dayOf(next, date)
}

// Card appends the page of a card.
func (p *Pages) Card(dst []byte, v *engine.View, now time.Time, query CardQuery) []byte {
	c := v.Catalog
	k := cardPage{
		card: query.Card, slug: c.Cards.Slug.At(query.Card), name: c.Cards.Name.At(query.Card),
		number: c.Cards.Number.At(query.Card), rarity: c.Cards.Rarity.At(query.Card),
		printing: c.Cards.Printing.At(query.Card), game: c.Cards.Game[query.Card],
		images: p.imagesOf(v, query.Card), history: historyOf(v, query, c.Cards.Display[query.Card]),
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

	k.priceBox = priceBoxOf(c, int(c.Cards.Display[query.Card]), k.variants)

	// If there are more printings than the page shows, it links to a search for the name.
	others, more := v.Index.Printings(nil, query.Card, printingsShown)
	k.printings = others
	if more {
		all := SearchQuery{Words: index.PlainName(k.name), Game: c.Games.Slug.At(int(k.game))}
		k.otherPrintings = p.searchLink(all)
	}

	k.describe(p, v, now, query.Card)
	return appendPage(dst, &k)
}

// sameName returns the first row, starting at from, whose name equals the row's name.
func sameName(c *snapshot.Catalog, from, row int) int {
	for c.Names.Name.At(from) != c.Names.Name.At(row) {
		from++
	}
	return from
}

// languageTag is the code of a language as HTML has it (BCP 47): ja-roma is Japanese in Latin letters.
func languageTag(code string) string {
	if code == "ja-roma" {
		return "ja-Latn"
	}
	return code
}

// lastSeen is the newest observation of a card, with its lane; lane is negative if there is none.
type lastSeen struct {
	lane int
	snapshot.Point
}

// lastSeenOf returns the newest observation of some variants, the first of several of one day.
func lastSeenOf(c *snapshot.Catalog, variants []chartVariant) lastSeen {
	last := lastSeen{lane: -1}
	for _, one := range variants {
		points := pointsOf(c, one.lane, Ranges[len(Ranges)-1])
		if n := len(points); n > 0 && (last.lane < 0 || points[n-1].Day > last.Day) {
			last = lastSeen{one.lane, points[n-1]}
		}
	}
	return last
}

// hasUngraded reports whether the source states no condition for one of the lanes.
func hasUngraded(c *snapshot.Catalog, lanes []int) bool {
	return slices.ContainsFunc(lanes, func(lane int) bool {
		return snapshot.Condition(c.Lanes.Condition[lane]) == snapshot.Ungraded
	})
}

// onePricePerVariant reports whether each variant has one price, without a stated condition. Then
// the variant identifies the lane.
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

// conditionName returns the condition of a lane. The API's word for none, "Ungraded", would be
// misread as "in no slab".
func conditionName(c *snapshot.Catalog, lane int) string {
	condition := snapshot.Condition(c.Lanes.Condition[lane])
	if condition == snapshot.Ungraded {
		return "Condition not stated"
	}
	return condition.Text()
}

// laneName returns the variant and the condition of a lane, or the variant alone if no condition is
// stated. A sealed product has no variant.
func laneName(c *snapshot.Catalog, lane int) string {
	name := displayName(c.Variants.At(int(c.Lanes.Variant[lane])))
	if snapshot.Condition(c.Lanes.Condition[lane]) == snapshot.Ungraded {
		return name
	}
	if name == "" {
		return conditionName(c, lane)
	}
	return name + ", " + conditionName(c, lane)
}

// history is the chart of one variant. It uses the display lane of the variant, as the API's
// history and statistics do (decision 19).
type history struct {
	variants         []chartVariant // all with a history, in variant order
	chosen           chartVariant
	requestedVariant string // "" if the requested variant has no history
	days             int
	points           []snapshot.Point // the observations within days
	drawable         bool             // some range has at least two, so that a choice of ranges makes sense
}

// chartVariant is a variant with a history, and its display lane.
type chartVariant struct {
	lane int
	code string
}

// historyOf chooses the history of a card or a sealed product: the requested variant's, else the
// history of the display price's variant, else of the first variant.
func historyOf(v *engine.View, query CardQuery, display int32) (h history) {
	v.DisplayLanes(query.Card, "", func(lane int, code string) {
		if v.Catalog.History.Has(lane) {
			h.variants = append(h.variants, chartVariant{lane, code})
		}
	})
	if h.variants == nil {
		return h
	}

	// The requested variant takes precedence over that of the display price, in any order.
	h.chosen = h.variants[0]
	for _, one := range h.variants {
		if query.Variant != "" && cardvocab.SameVariant(one.code, query.Variant) {
			h.chosen = one
			h.requestedVariant = one.code
		} else if h.requestedVariant == "" && one.lane == int(display) {
			h.chosen = one
		}
	}

	// The range depends on the variant, which may have no observation in a short range.
	h.days = rangeOf(v.Catalog, h.chosen.lane, query.Days)
	h.points = pointsOf(v.Catalog, h.chosen.lane, h.days)
	last := Ranges[len(Ranges)-1]
	h.drawable = slices.ContainsFunc(h.variants, func(one chartVariant) bool {
		return len(h.points) > 1 || len(pointsOf(v.Catalog, one.lane, last)) > 1
	})
	return h
}

// pointsOf returns the observations of a lane in the last days up to the catalog's date.
func pointsOf(c *snapshot.Catalog, lane, days int) []snapshot.Point {
	return c.History.AppendPoints(nil, lane, snapshot.WindowStart(c.Date(), days), c.Date())
}

// rangeOf returns the requested range if it is one of Ranges, else DefaultRange, or the longest
// range if DefaultRange has fewer than two observations.
func rangeOf(c *snapshot.Catalog, lane, requested int) int {
	if slices.Contains(Ranges[:], requested) {
		return requested
	}
	if len(pointsOf(c, lane, DefaultRange)) < 2 {
		return Ranges[len(Ranges)-1]
	}
	return DefaultRange
}

// historyLink returns the URL of the chart with another range or variant.
func (k *cardPage) historyLink(days int, variant string) string {
	choices := []param{{"days", strconv.Itoa(days)}, {"variant", variant}}
	return pageAddress(k.cardLink(k.slug), 1, choices...) + "#history"
}

// describe fills in the layout: title, description and the data for search engines and link
// previews.
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

	// Link previews need an absolute URL of the image; that of the photo begins at the root of this
	// host.
	k.pageLayout = pages.newLayout(v, now, joined(heading, k.set), description)
	k.canonical = canonical(v, "/cards/"+k.slug)
	k.kind = "product"
	k.script = "chart.js"
	k.image = pages.base + "/previews/" + k.slug + ".png"
	if k.images.original != "" {
		k.image = pages.base + k.images.original[len(pages.root):]
	}

	about := product{
		Context: "https://schema.org", Type: "Product", Name: k.name, SKU: c.Cards.ID.At(card),
		MPN: k.number, Description: joined(k.number, k.set, k.rarity), URL: k.canonical, Image: k.image,
		Category: c.Games.Name.At(int(k.game)),
	}
	if k.display >= 0 {
		about.Properties = []property{{
			Type: "PropertyValue", Name: "Market price, " + laneName(c, k.display),
			Value: decimal(c.Lanes.Cents[k.display]), Unit: "USD",
		}}
	}

	// Marshal escapes everything that could end a script element. It does not fail for strings.
	k.data, _ = json.Marshal(about)
}

// product is a card as schema.org's Product, for search engines. The market price is a property and
// not an offer, because nothing is for sale here.
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

// placeholderOf returns the placeholder for a picture of a card.
func placeholderOf(c *snapshot.Catalog, card int) picture.Placeholder {
	// Many feeds have no codes; then the year is shown.
	code := cmp.Or(c.OfSet(&c.Sets.Code, card), releaseYear(c, card))
	return picture.NewPlaceholder(c.Cards.Name.At(card), c.Cards.Number.At(card), c.Cards.Rarity.At(card), code,
		int(c.Cards.Game[card]))
}

// imageURLs are the URLs of a picture of a card and of its thumbnails, "" for none. Only a
// picture with thumbnails has a medium URL.
type imageURLs struct {
	original, small, medium, large, full string
}

// imagesOf returns the URLs of the picture of a card. Without thumbnails, the original replaces
// them.
func (p *Pages) imagesOf(v *engine.View, card int) imageURLs {
	file := v.Catalog.Cards.Image.At(card)
	if !v.Site().ShowsImage(file) {
		return imageURLs{}
	}

	original := p.root + "/images/" + url.PathEscape(file)
	version := p.version(file)
	if version == "" {
		return imageURLs{original: original, small: original, large: original, full: original}
	}
	copied := "-" + version + "-" + url.PathEscape(file)
	to := p.root + "/small/"
	return imageURLs{original, to + "r" + copied, to + "m" + copied, to + "p" + copied, to + "c" + copied}
}
