package wire

import (
	"strconv"

	"ninepocket/snapshot"
)

// AppendHistoryHead appends the body of price history up to its data array's opening bracket.
func AppendHistoryHead(dst []byte, c *snapshot.Catalog, card, days int, site *Site) []byte {
	dst = append(dst, `{"id":"`...)
	dst = append(dst, c.Cards.ID.Bytes(card)...)
	dst = append(dst, `","name":`...)
	dst = AppendString(dst, c.Cards.Name.At(card))
	dst = site.appendPage(dst, "/cards/", c.Cards.Slug.At(card))
	dst = append(dst, `,"days":`...)
	dst = strconv.AppendInt(dst, int64(days), 10)
	return append(dst, `,"data":[`...)
}

// What a Price history point has after its price, and what the next one has before its date.
const (
	pointEnd   = `,"currency":"USD"}`
	pointStart = `,{"date":"`
)

// AppendPointHead appends what stands between the price of one point and that of the next, which is of a variant, with
// room for its date.
func AppendPointHead(dst []byte, variant string) []byte {
	dst = append(dst, pointEnd+pointStart+`YYYY-MM-DD","variant":`...)
	dst = AppendString(dst, variant)
	return append(dst, `,"market_price_cents":`...)
}

// AppendHistoryPoint appends a Price history point but for what follows its price, after another one or as the first.
// head is the AppendPointHead of its variant, in which it puts the date, YYYY-MM-DD: a point is a copy and a number.
// After the last one comes AppendPointEnd.
func AppendHistoryPoint(dst, head []byte, date *[10]byte, cents int64, first bool) []byte {
	copy(head[len(pointEnd+pointStart):], date[:])
	if first {
		head = head[len(pointEnd)+1:]
	}
	dst = append(dst, head...)
	return strconv.AppendInt(dst, cents, 10)
}

// AppendPointEnd ends the last Price history point.
func AppendPointEnd(dst []byte) []byte { return append(dst, pointEnd...) }

// Stats says what a price statistics answer is about.
type Stats struct {
	Card     int
	Variant  string // canonical code when restricted, "" when not
	Window   string // as asked: 7d, 30d or 90d
	From, To int64  // ms: window_start and window_end (decision 20)
}

// AppendStatsHead appends the body of price statistics up to its variants array's opening bracket.
func AppendStatsHead(dst []byte, c *snapshot.Catalog, s Stats) []byte {
	dst = append(dst, `{"currency":"USD","id":"`...)
	dst = append(dst, c.Cards.ID.Bytes(s.Card)...)
	dst = append(dst, `","variant":`...)
	dst = AppendNullable(dst, s.Variant)
	dst = append(dst, `,"window":"`...)
	dst = append(dst, s.Window...)
	dst = append(dst, `","window_start":`...)
	dst = AppendSeconds(dst, s.From)
	dst = append(dst, `,"window_end":`...)
	dst = AppendSeconds(dst, s.To)
	return append(dst, `,"data":{"variants":[`...)
}

// AppendSummary appends a Price statistics variant entry.
func AppendSummary(dst []byte, variant string, s snapshot.Summary) []byte {
	dst = append(dst, `{"variant":`...)
	dst = AppendString(dst, variant)
	dst = append(dst, `,"min_price_cents":`...)
	dst = AppendCents(dst, s.Min)
	dst = append(dst, `,"max_price_cents":`...)
	dst = AppendCents(dst, s.Max)
	dst = append(dst, `,"average_price_cents":`...)
	dst = AppendCents(dst, s.Mean)
	dst = appendEnd(append(dst, `,"first":`...), s.FirstDay, s.First)
	dst = appendEnd(append(dst, `,"last":`...), s.LastDay, s.Last)
	dst = AppendChange(dst, "change_cents", "change_percent", s.First, s.Last)
	dst = append(dst, `,"data_points":`...)
	dst = strconv.AppendInt(dst, int64(s.Points), 10)
	return append(dst, '}')
}

func appendEnd(dst []byte, day snapshot.Day, cents int64) []byte {
	dst = append(dst, `{"date":"`...)
	dst = AppendDay(dst, day)
	dst = append(dst, `","price_cents":`...)
	dst = strconv.AppendInt(dst, cents, 10)
	return append(dst, '}')
}
