package snapshot

import (
	"encoding/binary"
)

// Point is one day's price of a lane.
type Point struct {
	Day   Day
	Cents int64
}

// AppendPoints appends the stored form of points, which must ascend by day: the first day and price as varints,
// then a varint a point of zigzag(price change)<<1, with the low bit set when the day is not the next one and a
// varint of the days skipped follows. An unchanged next day is the single byte 0.
func AppendPoints(dst []byte, points []Point) []byte {
	for i, p := range points {
		if i == 0 {
			dst = binary.AppendUvarint(dst, uint64(p.Day))
			dst = binary.AppendUvarint(dst, uint64(p.Cents))
			continue
		}
		delta := p.Cents - points[i-1].Cents
		gap := p.Day - points[i-1].Day - 1
		u := zigzag(delta) << 1
		if gap != 0 {
			dst = binary.AppendUvarint(dst, u|1)
			dst = binary.AppendUvarint(dst, uint64(gap))
			continue
		}
		dst = binary.AppendUvarint(dst, u)
	}
	return dst
}

func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// AppendPoints appends lane's points of the days in [from, to] to dst, ascending by day.
func (h *History) AppendPoints(dst []Point, lane int, from, to Day) []Point {
	start, end := h.Of.Range(lane)
	return appendDecoded(dst, h.Points[start:end], from, to)
}

// Has reports whether a lane has any point.
func (h *History) Has(lane int) bool {
	start, end := h.Of.Range(lane)
	return start != end
}

// appendDecoded decodes stored points; it stops at the first byte that does not decode, which validate has ruled out.
func appendDecoded(dst []Point, b []byte, from, to Day) []Point {
	if len(b) == 0 {
		return dst
	}
	u, n := binary.Uvarint(b)
	if n <= 0 {
		return dst
	}
	b = b[n:]
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return dst
	}
	b = b[n:]
	p := Point{Day: Day(u), Cents: int64(v)}
	for p.Day <= to {
		if p.Day >= from {
			dst = append(dst, p)
		}
		if len(b) == 0 {
			return dst
		}
		switch u, n = uint64(b[0]), 1; { // most changes take a byte, nearly all others two
		case u < 0x80:
		case len(b) > 1 && b[1] < 0x80:
			u, n = u&0x7f|uint64(b[1])<<7, 2
		default:
			if u, n = binary.Uvarint(b); n <= 0 {
				return dst
			}
		}
		b = b[n:]
		p.Day++
		p.Cents += unzigzag(u >> 1)
		if u&1 != 0 {
			gap, n := binary.Uvarint(b)
			if n <= 0 {
				return dst
			}
			b = b[n:]
			p.Day += Day(gap)
		}
	}
	return dst
}

// pointsOK reports whether stored points decode to the last byte, with prices and days in bounds. A load asks it of every
// point there is, and nearly all of them are a byte: the next day, and no or a small change.
func pointsOK(b []byte, last Day) bool {
	if len(b) == 0 {
		return true
	}
	day, n := binary.Uvarint(b)
	if n <= 0 || last < 0 || day > uint64(last) {
		return false
	}
	b = b[n:]
	cents, n := binary.Uvarint(b)
	if n <= 0 || cents > MaxCents {
		return false
	}
	b = b[n:]
	d, c := int64(day), int64(cents) // days only ascend, and are compared when all are added
	for i := 0; i < len(b); {
		u := uint64(b[i])
		i++
		if u >= 0x80 {
			if i < len(b) && b[i] < 0x80 {
				u = u&0x7f | uint64(b[i])<<7
				i++
			} else {
				long, n := binary.Uvarint(b[i-1:])
				if n <= 0 {
					return false
				}
				u = long
				i += n - 1
			}
		}
		d++
		if u&1 != 0 {
			gap, n := binary.Uvarint(b[i:])
			if n <= 0 || gap > HistoryDays*2 {
				return false
			}
			i += n
			d += int64(gap)
		}
		// No sum of two such overflows: c is at most MaxCents, 2^53, and a change less than 2^62.
		if c += unzigzag(u >> 1); uint64(c) > MaxCents {
			return false
		}
	}
	return d <= int64(last)
}

// countPoints counts stored points.
func countPoints(b []byte) int {
	n := 0
	for len(b) > 0 {
		width := 1
		first := b[0]
		for width <= len(b) && b[width-1] >= 0x80 {
			width++
		}
		b = b[min(width, len(b)):]
		n++
		// The first point's price, and the gap after a flagged change, belong to the point before them.
		if (n == 1 || first&1 != 0) && len(b) > 0 {
			for len(b) > 1 && b[0] >= 0x80 {
				b = b[1:]
			}
			b = b[1:]
		}
	}
	return n
}
