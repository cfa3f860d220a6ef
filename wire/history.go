package wire

import (
	"encoding/binary"
	"strconv"

	"ninepocket/snapshot"
)

// AppendHistoryHead appends the body of price history up to its data array's opening bracket.
func AppendHistoryHead(dst []byte, c *snapshot.Catalog, card, days int, urls *URLs) []byte {
	dst = AppendText(dst, `{"id":`, c.Cards.ID.At(card))
	dst = AppendText(dst, `,"name":`, c.Cards.Name.At(card))
	dst = urls.AppendCardURL(dst, c, card)
	dst = AppendInt(dst, `,"days":`, int64(days))
	return append(dst, `,"data":[`...)
}

// The text of a Price history point after its price, and of the next point before its date.
const (
	pointEnd   = `,"currency":"USD"}`
	pointStart = `,{"date":"`
)

// PointTemplate is the JSON of a Price history point of one variant, from the end of the previous
// point to the end of the price. Each point is a copy of it with another date, and with another
// price if that has changed.
type PointTemplate struct {
	text  []byte
	price int   // offset of the price in text
	cents int64 // the price in text
}

// Reset makes the template of a variant.
func (f *PointTemplate) Reset(variant string) {
	f.text = append(f.text[:0], pointEnd+pointStart+`YYYY-MM-DD","variant":`...)
	f.text = AppendString(f.text, variant)
	f.text = append(f.text, `,"market_price_cents":0`...)
	f.price = len(f.text) - 1
	f.cents = 0
}

// Append appends a point up to its price. The date is YYYY-MM-DD; first is true for the first point
// of the array. AppendPointEnd ends the last point.
func (f *PointTemplate) Append(dst []byte, date *[10]byte, cents int64, first bool) []byte {
	skip := 0
	if first {
		skip = len(pointEnd) + 1
	}

	// Date and price are written into the copy first: in the template they would be read before the
	// processor has written them. The template gets only a changed price, from the copy.
	at := len(dst) - skip
	dst = append(dst, f.text[skip:]...)
	*(*[10]byte)(dst[at+len(pointEnd+pointStart):]) = *date
	if cents != f.cents {
		at += f.price
		dst = appendAmount(dst[:at], cents)
		f.text = append(f.text[:f.price], dst[at:]...)
		f.cents = cents
	}

	return dst
}

// AppendPointEnd ends the last Price history point.
func AppendPointEnd(dst []byte) []byte { return append(dst, pointEnd...) }

// AppendColumnsHead appends the object of a history in columns up to the opening bracket of lanes.
func AppendColumnsHead(dst []byte, c *snapshot.Catalog, card int) []byte {
	return append(appendID(dst, `{"id":"`, c.Cards.ID.Bytes(card)), `,"lanes":[`...)
}

// AppendColumn appends a variant's lane of a history in columns: the price of each day of a window,
// null for a day without a point. The points ascend and are all in the window.
func AppendColumn(dst []byte, variant string, points []snapshot.Point, from snapshot.Day, days int) []byte {
	dst = AppendText(dst, `{"variant":`, variant)
	dst = append(dst, `,"market_price_cents":[`...)

	next := from
	for i := range points {
		for ; next < points[i].Day; next++ {
			dst = append(dst, "null,"...)
		}
		next++

		// A price and the comma behind it are one store of a word.
		text, n := amountText(uint64(points[i].Cents))
		if n == 0 {
			dst = append(strconv.AppendInt(dst, points[i].Cents, 10), ',')
			continue
		}
		dst = binary.LittleEndian.AppendUint64(dst, text|','<<(8*n))[:len(dst)+n+1]
	}

	for ; next < from+snapshot.Day(days); next++ {
		dst = append(dst, "null,"...)
	}
	return append(dst[:len(dst)-1], ']', '}')
}

// Stats is the card, variant and window of a price statistics response.
type Stats struct {
	Card     int
	Variant  string // canonical code, "" for all variants
	Window   string // as requested: 7d, 30d or 90d
	From, To int64  // ms: window_start and window_end (decision 20)
}

// AppendStatsHead appends the body of price statistics up to its variants array's opening bracket.
func AppendStatsHead(dst []byte, c *snapshot.Catalog, stats Stats) []byte {
	dst = AppendText(dst, `{"currency":"USD","id":`, c.Cards.ID.At(stats.Card))
	dst = AppendNullable(dst, `,"variant":`, stats.Variant)
	dst = AppendText(dst, `,"window":`, stats.Window)
	dst = AppendSeconds(dst, `,"window_start":`, stats.From)
	dst = AppendSeconds(dst, `,"window_end":`, stats.To)
	return append(dst, `,"data":{"variants":[`...)
}

// AppendSummary appends a Price statistics variant entry.
func AppendSummary(dst []byte, variant string, summary snapshot.PriceSummary) []byte {
	dst = AppendText(dst, `{"variant":`, variant)
	dst = AppendCents(dst, `,"min_price_cents":`, summary.Min)
	dst = AppendCents(dst, `,"max_price_cents":`, summary.Max)
	dst = AppendCents(dst, `,"average_price_cents":`, summary.Mean)
	dst = AppendDayPrice(dst, `,"first":`, summary.FirstDay, summary.First)
	dst = AppendDayPrice(dst, `,"last":`, summary.LastDay, summary.Last)
	dst = AppendChange(dst, `,"change_cents":`, `,"change_percent":`, summary.First, summary.Last)
	return append(AppendInt(dst, `,"data_points":`, int64(summary.Points)), '}')
}

// AppendDayPrice appends a member with the price of a day.
func AppendDayPrice(dst []byte, name string, day snapshot.Day, cents int64) []byte {
	dst = append(append(dst, name...), `{"date":"`...)
	dst = AppendDay(dst, day)
	return append(AppendInt(dst, `","price_cents":`, cents), '}')
}
