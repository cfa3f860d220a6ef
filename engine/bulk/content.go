package bulk

import (
	"slices"
	"strconv"
	"strings"

	"ninepocket/engine"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// The names of the files (docs/API.md, Files of the whole catalog).
const (
	Cards   = "cards.jsonl.zst"
	Sets    = "sets.jsonl.zst"
	Prices  = "prices.csv.zst"
	History = "history.csv.zst"
)

// Names are the names of all files, in the order of the list.
var Names = []string{Cards, Sets, Prices, History}

// PricesHeader is the header line of Prices.
const PricesHeader = "card_id,variant,condition,market_price_cents,price_updated_at,tcgplayer_id\n"

// attribution names the sources that must be named, each once.
func attribution(c *snapshot.Catalog) string {
	names := slices.DeleteFunc(slices.Collect(c.Feeds.Attribution.All()), func(name string) bool { return name == "" })
	slices.Sort(names)
	return strings.Join(slices.Compact(names), "; ")
}

// writeRows writes the rows of a file. It stops at the first error, which the packer has.
func writeRows(v *engine.View, name string, out *packer) {
	c := v.Catalog
	switch name {
	case Sets:
		for set := range c.Sets.ID.Len() {
			out.row(append(v.AppendSets(out.line[:0], []uint32{uint32(set)}), '\n'), 1)
		}
		return
	case Prices:
		out.row([]byte(PricesHeader), 0)
	case History:
		line := []byte("ref,variant,condition")
		for day := snapshot.WindowStart(c.Date(), snapshot.HistoryDays); day <= c.Date(); day++ {
			line = wire.AppendDay(append(line, ','), day)
		}
		out.row(append(line, '\n'), 0)
	}

	for card := 0; card < c.Cards.ID.Len() && out.err == nil; card++ {
		switch name {
		case Cards:
			out.row(append(v.AppendDetail(out.line[:0], card), '\n'), 1)
		case Prices:
			writePrices(c, card, out)
		case History:
			writeHistory(c, card, out)
		}
	}
}

// appendLane appends the start of a row: the card, the variant and the condition, as codes.
func appendLane(line []byte, c *snapshot.Catalog, card, lane int) []byte {
	line = append(append(line, c.Cards.ID.Bytes(card)...), ',')
	line = wire.AppendCell(line, c.Variants.At(int(c.Lanes.Variant[lane])))
	return append(append(line, ','), snapshot.Condition(c.Lanes.Condition[lane]).Code()...)
}

// writePrices writes a row for each lane of a card with a price. A snapshot has no price that may not be
// distributed.
func writePrices(c *snapshot.Catalog, card int, out *packer) {
	ids := &c.Identifiers
	product := ""
	for k, to := ids.Of.Range(card); k < to && product == ""; k++ {
		if ids.Namespace.At(k) == "tcgplayer" {
			product = ids.Value.At(k)
		}
	}

	for lane, to := c.Lanes.Of.Range(card); lane < to; lane++ {
		if c.Lanes.Cents[lane] >= 0 {
			line := append(appendLane(out.line[:0], c, card, lane), ',')
			line = append(strconv.AppendInt(line, c.Lanes.Cents[lane], 10), ',')
			line = append(wire.AppendInstantCell(line, c.UpdatedAt(lane)), ',')
			out.row(append(wire.AppendCell(line, product), '\n'), 1)
		}
	}
}

// writeHistory writes a row for each lane of a card that has prices of the year.
func writeHistory(c *snapshot.Catalog, card int, out *packer) {
	from := snapshot.WindowStart(c.Date(), snapshot.HistoryDays)
	for lane, to := c.Lanes.Of.Range(card); lane < to; lane++ {
		points := c.History.AppendPoints(out.points[:0], lane, from, c.Date())
		out.points = points
		// The past of a lane whose licence has ended is in the snapshot, and may not be shown either.
		if c.Lanes.Flags[lane]&snapshot.LaneLicensed == 0 || len(points) == 0 {
			continue
		}

		line := appendLane(out.line[:0], c, card, lane)
		for day := from; day <= c.Date(); day++ {
			line = append(line, ',')
			if len(points) > 0 && points[0].Day == day {
				line = strconv.AppendInt(line, points[0].Cents, 10)
				points = points[1:]
			}
		}
		out.row(append(line, '\n'), 1)
	}
}
