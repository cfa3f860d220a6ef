package site

import (
	"html/template"
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

// cardPage is what the card template shows.
type cardPage struct {
	frame
	Name, Number, Rarity, Printing string
	Game, GameLink                 string
	Set, SetLink                   string
	Photo                          string // path of the image, "" for the placeholder

	Price, Variant, Condition string // the display price, "" without one
	At                        moment
	PriceOld, Unobserved      bool

	Lanes   template.HTML // the table, "" without a row
	Charted string        // the variant of the chart, "" when there is one alone
	Choices template.HTML // of range and variant, "" without any history
	Chart   template.HTML // "" when nothing was observed within the range
	Days    int

	Printings template.HTML // "" without any
	More      string        // where all of the other printings are, "" when they are here
	JSON      string
}

// printingsShown is how many other printings a card page shows.
const printingsShown = 8

// Card appends the page of a card.
func (p *Pages) Card(dst []byte, v *engine.View, now time.Time, q CardQuery) ([]byte, error) {
	c := v.Catalog
	slug := c.Cards.Slug.At(q.Card)
	game := int(c.Cards.Game[q.Card])
	k := cardPage{
		Name: c.Cards.Name.At(q.Card), Number: c.Cards.Number.At(q.Card), Rarity: c.Cards.Rarity.At(q.Card),
		Photo: p.imagePath(v, q.Card), Lanes: p.lanes(v, q.Card), JSON: p.root + "/v1/cards/" + slug,
	}
	k.Game, k.GameLink = p.game(c, game)
	if printing := c.Cards.Printing.At(q.Card); printing != "standard" {
		k.Printing = printing
	}
	if set := c.Cards.Set[q.Card]; set != snapshot.NoSet {
		k.Set = c.Sets.Name.At(int(set))
		k.SetLink = p.setLink(c.Sets.Slug.At(int(set)))
	}

	k.price(c, q.Card)
	k.history(v, q, p.cardLink(slug))

	// More printings than fit are what a search for the name finds.
	others, more := v.Index.Printings(nil, q.Card, printingsShown)
	k.Printings = p.cards(v, others, 0)
	if more {
		k.More = p.searchLink(SearchQuery{Words: index.PlainName(k.Name), Game: c.Games.Slug.At(game)})
	}

	p.describe(&k, v, now, q.Card, slug)
	return p.render(dst, "card", &k)
}

// price fills in the display price (decision 19).
func (k *cardPage) price(c *snapshot.Catalog, card int) {
	lane := int(c.Cards.Display[card])
	if lane < 0 {
		return
	}

	k.Price = dollars(c.Lanes.Cents[lane])
	k.Variant = title(c.Variants.At(int(c.Lanes.Variant[lane])))
	k.Condition = snapshot.Condition(c.Lanes.Condition[lane]).Text()

	// A price is old against its own catalog; that the catalog itself is old is said once a page.
	at := c.UpdatedAt(lane)
	k.At = momentOf(at)
	k.PriceOld = !snapshot.Fresh(at, c.SnapshotAt)
	k.Unobserved = c.Lanes.SourceAsOf[lane] == snapshot.NoTime
}

// history fills in the chart of one variant, by its display lane as the API's history and statistics (decision 19).
func (k *cardPage) history(v *engine.View, q CardQuery, here string) {
	c := v.Catalog
	choices := variantsOf(v, q.Card)
	if len(choices) == 0 {
		return
	}

	// The variant that was asked for, else the one of the display price, else the first.
	chosen := choices[0]
	for _, one := range choices {
		if one.lane == int(c.Cards.Display[q.Card]) {
			chosen = one
		}
	}
	suffix := ""
	for _, one := range choices {
		if q.Variant != "" && engine.SameVariant(one.code, q.Variant) {
			chosen = one
			suffix = one.param()
		}
	}

	// Links keep the other choice, and lead back to the chart.
	k.Days = rangeOf(v, chosen.lane, q.Days)
	linked := func(days int, suffix string) string {
		return here + "?days=" + strconv.Itoa(days) + suffix + "#history"
	}
	var ranges, variants []link
	for _, days := range Ranges {
		ranges = append(ranges, link{
			Text: counted(days, "day", "days"), Here: days == k.Days, Href: linked(days, suffix),
		})
	}
	k.Choices = tabs("Range", ranges)
	if len(choices) > 1 {
		k.Charted = title(chosen.code)
		for _, one := range choices {
			variants = append(variants, link{
				Text: title(one.code), Here: one == chosen, Href: linked(k.Days, one.param()),
			})
		}
		k.Choices += tabs("Variant", variants)
	}

	if points := pointsOf(c, chosen.lane, k.Days); len(points) > 0 {
		k.Chart = chart(k.Name, points, c.Date(), k.Days)
	}
}

// pointsOf are the observations of a lane in the days up to the catalog's date.
func pointsOf(c *snapshot.Catalog, lane, days int) []snapshot.Point {
	return c.History.AppendPoints(nil, lane, snapshot.WindowStart(c.Date(), days), c.Date())
}

// rangeOf is the range that was asked for; when it is none of Ranges, DefaultRange, or the longest one where that would
// show fewer than two observations.
func rangeOf(v *engine.View, lane, asked int) int {
	if slices.Contains(Ranges[:], asked) {
		return asked
	}
	if len(pointsOf(v.Catalog, lane, DefaultRange)) < 2 {
		return Ranges[len(Ranges)-1]
	}
	return DefaultRange
}

// choice is a variant whose history can be shown.
type choice struct {
	lane int
	code string
}

// param is the query parameter that asks for the variant's history.
func (one choice) param() string { return "&variant=" + url.QueryEscape(one.code) }

// variantsOf are the variants of a card that have a history, by their display lanes, in variant order.
func variantsOf(v *engine.View, card int) (all []choice) {
	v.DisplayLanes(card, "", func(lane int, code string) {
		if v.Catalog.History.Has(lane) {
			all = append(all, choice{lane, code})
		}
	})
	return all
}

// describe fills in the frame: what search engines and link previews read.
func (p *Pages) describe(k *cardPage, v *engine.View, now time.Time, card int, slug string) {
	heading := k.Name
	if k.Number != "" {
		heading += " " + k.Number
	}
	description := heading
	if k.Set != "" {
		description += ", " + k.Set
	}
	if k.Price == "" {
		description += ": no current market price."
	} else {
		description += ": market price " + k.Price + ", " + k.Variant + ", " + k.Condition + ", " + k.At.Text + "."
	}

	// Link previews want an absolute address of the image; the photo's begins at the root of this host.
	k.frame = p.frame(v, now, joined(heading, k.Set), description)
	k.Canonical = canonical(v, "/cards/"+slug)
	k.Kind = "product"
	if k.Photo != "" {
		k.Image = p.base + k.Photo[len(p.root):]
	}
	k.Data = product{
		Context: "https://schema.org", Type: "Product", Name: k.Name, SKU: v.Catalog.Cards.ID.At(card),
		MPN: k.Number, Description: joined(k.Number, k.Set, k.Rarity), URL: k.Canonical, Image: k.Image,
		Category: k.Game, Offers: offersOf(v.Catalog, card),
	}
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
func offersOf(c *snapshot.Catalog, card int) *offers {
	var prices []int64
	from, to := c.Lanes.Of.Range(card)
	for _, cents := range c.Lanes.Cents[from:to] {
		if cents >= 0 {
			prices = append(prices, cents)
		}
	}
	if prices == nil {
		return nil
	}
	return &offers{
		Type: "AggregateOffer", Currency: "USD", Count: len(prices),
		Low: decimal(slices.Min(prices)), High: decimal(slices.Max(prices)),
	}
}
