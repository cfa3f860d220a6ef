package bulk

import (
	"slices"
	"strconv"
	"strings"

	"ninepocket/engine"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// The names of the files (docs/API.md, The whole catalog).
const (
	Cards   = "cards.jsonl.zst"
	Sets    = "sets.jsonl.zst"
	Prices  = "prices.csv.zst"
	History = "history.csv.zst"
)

// Names are the names of all files, in the order of the list.
var Names = []string{Cards, Sets, Prices, History}

// MediaType returns the media type of an unpacked file.
func MediaType(name string) string {
	if strings.HasSuffix(name, ".csv.zst") {
		return "text/csv"
	}
	return "application/jsonl"
}

// PricesHeader is the header line of Prices.
const PricesHeader = "card_id,variant,condition,market_price_cents,price_updated_at,tcgplayer_id\n"

// content is what may be passed on of a View.
type content struct {
	view    *engine.View
	catalog *snapshot.Catalog // without the prices of feeds that may not be passed on
	masked  []bool            // whether the catalog lacks prices of a card that the View shows; nil for none
	line    []byte
	points  []snapshot.Point
}

// contentOf returns the content of a View; false if no part of the catalog may be passed on.
func contentOf(v *engine.View) (*content, bool) {
	c := v.Catalog
	if slices.Contains(c.Terms, snapshot.TermsReserved) {
		return nil, false
	}
	all := &content{view: v, catalog: c}
	if !slices.Contains(c.Terms, snapshot.TermsNoPrices) {
		return all, true
	}

	// A copy without the prices spells what is left as the View does.
	masked := *c
	masked.Lanes.Cents = slices.Clone(c.Lanes.Cents)
	all.catalog = &masked
	all.masked = make([]bool, c.Cards.ID.Len())
	for card := range all.masked {
		for lane, to := c.Lanes.Of.Range(card); lane < to; lane++ {
			if c.Terms[c.Lanes.Feed[lane]] != snapshot.TermsFree {
				masked.Lanes.Cents[lane] = snapshot.NoCents
				all.masked[card] = true
			}
		}
	}
	return all, true
}

// attribution names those whose prices or catalog are passed on, each once.
func attribution(c *snapshot.Catalog) string {
	var names []string
	for feed := range c.Feeds.Namespace.Len() {
		name := c.Feeds.Attribution.At(feed)
		free := len(c.Terms) == 0 || c.Terms[feed] == snapshot.TermsFree
		if free && name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, "; ")
}

// write writes the rows of a file.
func (all *content) write(name string, out *packer) {
	c := all.catalog
	cards := c.Cards.ID.Len()
	switch name {
	case Cards:
		for card := 0; card < cards && out.row(append(all.detail(card), '\n'), 1); card++ {
		}
	case Sets:
		for set := 0; set < c.Sets.ID.Len(); set++ {
			all.line = append(all.view.AppendSets(all.line[:0], []uint32{uint32(set)}), '\n')
			out.row(all.line, 1)
		}
	case Prices:
		out.row([]byte(PricesHeader), 0)
		for card := 0; card < cards && all.prices(card, out); card++ {
		}
	case History:
		out.row(all.historyHeader(), 0)
		for card := 0; card < cards && all.history(card, out); card++ {
		}
	}
}

// detail returns a card's Card detail. It may be changed.
func (all *content) detail(card int) []byte {
	if all.masked != nil && all.masked[card] {
		all.line = wire.AppendCardDetail(all.line[:0], all.catalog, card, all.view.Site())
	} else {
		all.line = append(all.line[:0], all.view.Detail(card)...)
	}
	return all.line
}

// prices writes a row for each lane of a card with a price; false ends the file.
func (all *content) prices(card int, out *packer) bool {
	c := all.catalog
	lanes := &c.Lanes
	ids := &c.Identifiers
	product := ""
	for k, to := ids.Of.Range(card); k < to && product == ""; k++ {
		if ids.Namespace.At(k) == "tcgplayer" {
			product = ids.Value.At(k)
		}
	}

	for lane, to := lanes.Of.Range(card); lane < to; lane++ {
		if lanes.Cents[lane] < 0 {
			continue
		}
		line := strconv.AppendInt(append(all.lane(card, lane), ','), lanes.Cents[lane], 10)
		line = wire.AppendInstantCell(append(line, ','), c.UpdatedAt(lane))
		all.line = append(wire.AppendCell(append(line, ','), product), '\n')
		if !out.row(all.line, 1) {
			return false
		}
	}
	return true
}

// lane returns the start of a row: the card, the variant and the condition, as codes.
func (all *content) lane(card, lane int) []byte {
	c := all.catalog
	line := append(append(all.line[:0], c.Cards.ID.Bytes(card)...), ',')
	line = wire.AppendCell(line, c.Variants.At(int(c.Lanes.Variant[lane])))
	return append(append(line, ','), snapshot.Condition(c.Lanes.Condition[lane]).Code()...)
}

// historyHeader returns the header line of History: that of the native source's wide form.
func (all *content) historyHeader() []byte {
	line := []byte("ref,variant,condition")
	date := all.catalog.Date()
	for day := snapshot.WindowStart(date, snapshot.HistoryDays); day <= date; day++ {
		line = wire.AppendDay(append(line, ','), day)
	}
	return append(line, '\n')
}

// history writes a row for each lane of a card that has prices of the year; false ends the file.
func (all *content) history(card int, out *packer) bool {
	c := all.catalog
	date := c.Date()
	from := snapshot.WindowStart(date, snapshot.HistoryDays)
	for lane, to := c.Lanes.Of.Range(card); lane < to; lane++ {
		// The past of a lane whose licence has ended is in the snapshot, and may not be shown either.
		if c.Lanes.Flags[lane]&snapshot.LaneLicensed == 0 ||
			len(c.Terms) > 0 && c.Terms[c.Lanes.Feed[lane]] != snapshot.TermsFree {
			continue
		}
		all.points = c.History.AppendPoints(all.points[:0], lane, from, date)
		if len(all.points) == 0 {
			continue
		}

		line := all.lane(card, lane)
		day := from
		for _, point := range all.points {
			for ; day <= point.Day; day++ {
				line = append(line, ',')
			}
			line = strconv.AppendInt(line, point.Cents, 10)
		}
		for ; day <= date; day++ {
			line = append(line, ',')
		}
		all.line = append(line, '\n')
		if !out.row(all.line, 1) {
			return false
		}
	}
	return true
}
