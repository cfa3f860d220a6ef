package wire

import (
	"strings"

	"ninepocket/snapshot"
)

// The header lines of CSV. The header of lanes is also the header of prices in the native source
// (docs/NATIVE.md). Each line ends with a status.
const (
	LanesHeader   = "ref,variant,condition,cents,source_as_of,collected_at,licensed,status\r\n"
	PricesHeader  = "id,market_price_cents,price_updated_at,status\r\n"
	HistoryHeader = "id,variant,date,market_price_cents,status\r\n"
)

// The ends of rows.
const (
	rowEnd     = ",ok\r\n"
	BareRow    = "ok\r\n"
	MissingRow = "not_found\r\n"
)

// AppendBareRow appends a row below a header that has a reference alone: BareRow for a record without
// prices, MissingRow for none.
func AppendBareRow(dst []byte, header, ref, end string) []byte {
	dst = AppendCell(dst, ref)
	for range strings.Count(header, ",") {
		dst = append(dst, ',')
	}
	return append(dst, end...)
}

// AppendLaneRows appends a row of LanesHeader for each priced lane of a card. For a card without prices
// it appends one row without a price. ref names the card.
func AppendLaneRows(dst []byte, c *snapshot.Catalog, card int, ref string) []byte {
	l := &c.Lanes
	before := len(dst)
	for lane, to := l.Of.Range(card); lane < to; lane++ {
		if l.Cents[lane] < 0 {
			continue
		}

		dst = append(AppendCell(dst, ref), ',')
		dst = append(AppendCell(dst, c.Variants.At(int(l.Variant[lane]))), ',')
		dst = append(append(dst, snapshot.Condition(l.Condition[lane]).Code()...), ',')
		dst = append(appendUint(dst, uint64(l.Cents[lane])), ',')
		dst = append(AppendInstantCell(dst, l.SourceAsOf[lane]), ',')
		dst = append(AppendInstantCell(dst, l.CollectedAt[lane]), ",true"+rowEnd...)
	}

	if len(dst) == before {
		return AppendBareRow(dst, LanesHeader, ref, BareRow)
	}
	return dst
}

// AppendPriceRow appends a card's row of PricesHeader.
func AppendPriceRow(dst []byte, c *snapshot.Catalog, card int) []byte {
	cents, at := c.DisplayPrice(card)
	dst = append(append(dst, c.Cards.ID.Bytes(card)...), ',')
	if cents >= 0 {
		dst = appendUint(dst, uint64(cents))
	}
	return append(AppendInstantCell(append(dst, ','), at), rowEnd...)
}

// AppendPointRow appends a row of HistoryHeader.
func AppendPointRow(dst []byte, id, variant string, date *[10]byte, cents int64) []byte {
	dst = append(append(dst, id...), ',')
	dst = append(AppendCell(dst, variant), ',')
	dst = append(append(dst, date[:]...), ',')
	return append(appendUint(dst, uint64(cents)), rowEnd...)
}

// AppendCell appends a text as a cell, in quotes where it needs them (RFC 4180).
func AppendCell(dst []byte, text string) []byte {
	for i := range len(text) {
		if char := text[i]; char == ',' || char == '"' || char == '\r' || char == '\n' {
			dst = append(append(dst, '"'), strings.ReplaceAll(text, `"`, `""`)...)
			return append(dst, '"')
		}
	}
	return append(dst, text...)
}

// AppendInstantCell appends an instant in whole seconds, nothing for snapshot.NoTime.
func AppendInstantCell(dst []byte, ms int64) []byte {
	if ms == snapshot.NoTime {
		return dst
	}
	dst, _ = appendClock(dst, ms)
	return append(dst, 'Z')
}
