package wire

import (
	"encoding/binary"

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

// The text of a Price history point before its date and after its price, with the comma before the next point.
const (
	pointStart = `{"date":"`
	pointEnd   = `,"currency":"USD"},`
)

// endWord is the first eight bytes of pointEnd.
var endWord = binary.LittleEndian.Uint64([]byte(pointEnd))

// PointTemplate is the JSON of a Price history point of one variant up to its price. Each point is a copy of it
// with another date.
type PointTemplate struct{ text []byte }

// Reset makes the template of a variant.
func (f *PointTemplate) Reset(variant string) {
	f.text = append(f.text[:0], pointStart+`YYYY-MM-DD","variant":`...)
	f.text = AppendString(f.text, variant)
	f.text = append(f.text, `,"market_price_cents":`...)
}

// Append appends a point and a comma. The date is YYYY-MM-DD.
func (f *PointTemplate) Append(dst []byte, date *[10]byte, cents int64) []byte {
	at := len(dst)
	dst = append(dst, f.text...)
	*(*[10]byte)(dst[at+len(pointStart):]) = *date
	return append(appendUint(dst, uint64(cents)), pointEnd...)
}

// AlikePoints returns how many points, from the first on, are copies of the first for Repeat. They are of days in a
// row, and their prices have equally many digits. It is 1 for a price of more than seven digits. There is a point.
func AlikePoints(points []snapshot.Point) int {
	first := points[0]
	_, digits := amountText(uint64(first.Cents))
	if digits == 0 {
		return 1
	}

	low := int64(powers[digits-1])
	high := int64(powers[digits])
	for i := 1; i < len(points); i++ {
		cents := points[i].Cents
		if points[i].Day != first.Day+snapshot.Day(i) || cents < low || cents >= high {
			return i
		}
	}
	return len(points)
}

// Repeat writes the dates and prices of points into copies of the point before them. AlikePoints includes all of
// them. A copy begins every step bytes; the first begins at offset at.
func (f *PointTemplate) Repeat(copies []byte, at, step int, dates [][10]byte, points []snapshot.Point) {
	if len(points) == 0 {
		return
	}

	// Two loops: each needs few enough values for the processor's registers.
	to := at + len(pointStart)
	for i := range points {
		*(*[10]byte)(copies[to : to+10 : to+10]) = dates[i]
		to += step
	}

	// The store of a price also writes the beginning of what follows it, which is there already.
	_, digits := amountText(uint64(points[0].Cents))
	zeros := uint(8 * (8 - digits))
	end := endWord << (64 - zeros)
	to = at + len(f.text)
	for i := range points {
		text := eightDigits(uint64(points[i].Cents))>>zeros | end
		binary.LittleEndian.PutUint64(copies[to:to+8:to+8], text)
		to += step
	}
}

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
			dst = append(appendUint(dst, uint64(points[i].Cents)), ',')
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
