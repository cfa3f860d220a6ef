package site

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

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
	frame
	history
	slug           string
	name, number   string
	rarity         string
	printing       string
	game           uint8
	set, setLink   string   // "" without one
	photo          string   // path of the image, "" for the placeholder
	display        int      // the lane of the display price (decision 19), negative without one
	priced         []int    // the lanes that have a price: those that the API's card detail lists, in its order
	printings      []uint32 // some of the others
	otherPrintings string   // where all of them are, "" when they are here
}

// Card appends the page of a card.
func (p *Pages) Card(dst []byte, v *engine.View, now time.Time, q CardQuery) ([]byte, error) {
	c := v.Catalog
	k := cardPage{
		slug: c.Cards.Slug.At(q.Card), name: c.Cards.Name.At(q.Card), number: c.Cards.Number.At(q.Card),
		rarity: c.Cards.Rarity.At(q.Card), printing: c.Cards.Printing.At(q.Card), game: c.Cards.Game[q.Card],
		photo: p.imagePath(v, q.Card), display: int(c.Cards.Display[q.Card]), history: historyOf(v, q),
	}
	if set := c.Cards.Set[q.Card]; set != snapshot.NoSet {
		k.set = c.Sets.Name.At(int(set))
		k.setLink = p.setLink(c.Sets.Slug.At(int(set)))
	}

	from, to := c.Lanes.Of.Range(q.Card)
	for lane := from; lane < to; lane++ {
		if c.Lanes.Cents[lane] >= 0 {
			k.priced = append(k.priced, lane)
		}
	}

	// More printings than fit are what a search for the name finds.
	others, more := v.Index.Printings(nil, q.Card, printingsShown)
	k.printings = others
	if more {
		k.otherPrintings = p.searchLink(SearchQuery{Words: index.PlainName(k.name), Game: c.Games.Slug.At(int(k.game))})
	}

	if err := k.describe(p, v, now, q.Card); err != nil {
		return dst, err
	}
	return show(dst, &k), nil
}

// laneName is the variant and the condition of a lane.
func laneName(c *snapshot.Catalog, lane int) string {
	return title(c.Variants.At(int(c.Lanes.Variant[lane]))) + ", " + snapshot.Condition(c.Lanes.Condition[lane]).Text()
}

// history is the chart of one variant, by its display lane as the API's history and statistics (decision 19).
type history struct {
	variants []choice // those that have a history, in variant order
	chosen   choice
	asked    string // the variant that was asked for, "" when that one has none
	days     int
	points   []snapshot.Point // the observations in these days
}

// choice is a variant whose history can be shown, with its display lane.
type choice struct {
	lane int
	code string
}

// historyOf chooses the history of a card: the variant that was asked for, else the one of the display price, else the
// first.
func historyOf(v *engine.View, q CardQuery) (h history) {
	v.DisplayLanes(q.Card, "", func(lane int, code string) {
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
		if q.Variant != "" && engine.SameVariant(one.code, q.Variant) {
			h.chosen = one
			h.asked = one.code
		} else if h.asked == "" && one.lane == int(v.Catalog.Cards.Display[q.Card]) {
			h.chosen = one
		}
	}

	// The range depends on the variant: a short one may hold nothing of it.
	h.days = rangeOf(v.Catalog, h.chosen.lane, q.Days)
	h.points = pointsOf(v.Catalog, h.chosen.lane, h.days)
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
func (k *cardPage) describe(p *Pages, v *engine.View, now time.Time, card int) error {
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
	k.frame = p.frame(v, now, joined(heading, k.set), description)
	k.canonical = canonical(v, "/cards/"+k.slug)
	k.kind = "product"
	if k.photo != "" {
		k.image = p.base + k.photo[len(p.root):]
	}

	// Marshal escapes what could end a script element.
	data, err := json.Marshal(product{
		Context: "https://schema.org", Type: "Product", Name: k.name, SKU: c.Cards.ID.At(card),
		MPN: k.number, Description: joined(k.number, k.set, k.rarity), URL: k.canonical, Image: k.image,
		Category: c.Games.Name.At(int(k.game)), Offers: offersOf(c, k.priced),
	})
	if err != nil {
		return fmt.Errorf("cannot spell the structured data of card %q: %w", k.slug, err)
	}
	k.data = data
	return nil
}

// product is what search engines read of a card: schema.org's Product, with the market prices of its variants and
// conditions as the span of an AggregateOffer.
type product struct {
	Context     string  `json:"@context"`
	Type        string  `json:"@type"`
	Name        string  `json:"name"`
	SKU         string  `json:"sku"`
	MPN         string  `json:"mpn,omitempty"`
	Description string  `json:"description,omitempty"`
	Category    string  `json:"category"`
	URL         string  `json:"url"`
	Image       string  `json:"image,omitempty"`
	Offers      *offers `json:"offers,omitempty"`
}

type offers struct {
	Type     string `json:"@type"`
	Currency string `json:"priceCurrency"`
	Low      string `json:"lowPrice"`
	High     string `json:"highPrice"`
	Count    int    `json:"offerCount"`
}

// offersOf are the current prices of a card, nil without any.
func offersOf(c *snapshot.Catalog, priced []int) *offers {
	if len(priced) == 0 {
		return nil
	}

	var cents []int64
	for _, lane := range priced {
		cents = append(cents, c.Lanes.Cents[lane])
	}
	return &offers{
		Type: "AggregateOffer", Currency: "USD", Count: len(cents),
		Low: decimal(slices.Min(cents)), High: decimal(slices.Max(cents)),
	}
}
