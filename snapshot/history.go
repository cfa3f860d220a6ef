package snapshot

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Point is one day's price of a lane: of an item in one variant and condition.
type Point struct {
	Day   Day
	Cents int64
}

// EncodePoints appends the stored form of points, which must ascend by day (docs/dev/SNAPSHOT.md,
// history).
func EncodePoints(dst []byte, points []Point) []byte {
	return ExtendPoints(dst, Point{Day: NoDay}, points)
}

// ExtendPoints appends further points to stored ones, of which last is the last, of NoDay when there is
// none. The first point is two varints: its day and its price. Each further point is a varint of
// zigzag(price change)<<1. If days are skipped before a point, the low bit of that varint is set, and a
// varint of their number follows. So an unchanged price on the next day is the byte 0.
func ExtendPoints(dst []byte, last Point, points []Point) []byte {
	for _, p := range points {
		// The low bit says that a gap follows; most days follow the day before.
		u := zigzag(p.Cents-last.Cents) << 1
		switch gap := p.Day - last.Day - 1; {
		case last.Day == NoDay:
			dst = binary.AppendUvarint(dst, uint64(p.Day))
			dst = binary.AppendUvarint(dst, uint64(p.Cents))
		case gap != 0:
			dst = binary.AppendUvarint(dst, u|1)
			dst = binary.AppendUvarint(dst, uint64(gap))
		default:
			dst = binary.AppendUvarint(dst, u)
		}
		last = p
	}

	return dst
}

// CutPoints appends the stored points in [from, until) in their stored form: only the first point
// is encoded again. Stored prices are too high by shift. It returns the last point, of NoDay when
// there is none, and the bytes after it. If until is MaxDay, all further points are copied, and
// the first one is returned.
func CutPoints(dst, stored []byte, shift int64, from, until Day) ([]byte, Point, []byte) {
	day, cents, b, ok := cutFirst(stored)
	p := Point{Day: Day(day), Cents: int64(cents) - shift}
	for ok && p.Day < from && len(b) > 0 {
		p, b = p.next(b)
	}
	if !ok || p.Day < from || p.Day >= until {
		return dst, Point{Day: NoDay}, nil
	}

	dst = EncodePoints(dst, []Point{p})
	if until == MaxDay {
		return append(dst, b...), p, nil
	}
	_, p, rest := DecodeNext(nil, p, b, until, until-1)
	return append(dst, b[:len(b)-len(rest)]...), p, rest
}

func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// Stored is the stored form of the points of a list that are not of closed days.
func (h *History) Stored(list int) []byte {
	start, end := h.Of.Range(list)
	return h.Points[start:end]
}

// ListOf is the list of a lane. It is one of so many closed lists, or a further one.
func (h *History) ListOf(lane int) int {
	if len(h.List) == 0 {
		return lane
	}
	return int(h.List[lane])
}

// lists are the stored points of a lane: those of closed days, and all others.
func (h *History) lists(lane int) (closed, open []byte) {
	list := h.ListOf(lane)
	if list < h.Closed.Len() {
		closed = h.Closed.Stored(list)
	}
	return closed, h.Stored(list)
}

// AppendPoints appends to dst the points that a lane has in [from, to], ascending by day.
func (h *History) AppendPoints(dst []Point, lane int, from, to Day) []Point {
	closed, open := h.lists(lane)
	if len(closed) == 0 {
		return DecodePoints(dst, open, from, to)
	}

	// Open are the oldest days, until a later snapshot no longer has them, and the newest.
	first := h.Closed.Days[0]
	if from < first {
		dst = DecodePoints(dst, open, from, min(to, first-1))
	}
	dst = DecodePoints(dst, closed, from, to)
	return DecodePoints(dst, open, max(from, first), to)
}

// Has reports whether a lane has any point.
func (h *History) Has(lane int) bool {
	closed, open := h.lists(lane)
	return len(closed)+len(open) > 0
}

// daysUnchanged is the number of days before the last one, which is that of its last point, for which a lane
// has had one price, without a gap.
func (h *History) daysUnchanged(lane int, last Day) (n int) {
	// A point equal to the previous day's is the byte 0, with which no other point ends.
	closed, open := h.lists(lane)
	_, _, rest, _ := cutFirst(open)
	for n < len(rest) && rest[len(rest)-1-n] == 0 {
		n++
	}
	if len(closed) == 0 || last-Day(n) > h.Closed.Days[1]+1 {
		return n
	}

	// The closed days may have the same price.
	var room [HistoryDays]Point
	for _, days := range []int{2 * closedTogether, HistoryDays} {
		points := h.AppendPoints(room[:0], lane, WindowStart(last, days), last)
		n = 0
		for n+1 < len(points) && points[len(points)-n-2] == (Point{last - Day(n) - 1, points[len(points)-1].Cents}) {
			n++
		}
		if n+1 < len(points) {
			break
		}
	}
	return n
}

// lastDay is the day of a lane's last point, NoDay without any.
func (h *History) lastDay(lane int) Day {
	closed, open := h.lists(lane)
	return max(newestDay(closed), newestDay(open))
}

func newestDay(stored []byte) Day {
	day, _, rest, ok := cutFirst(stored)
	if !ok {
		return NoDay
	}

	_, last, _ := DecodeNext(nil, Point{Day: Day(day)}, rest, MaxDay, MaxDay)
	return last.Day
}

// next steps from a point to the next stored point.
func (p Point) next(b []byte) (next Point, rest []byte) {
	// Most changes take a byte.
	n := 1
	u := uint64(b[0])
	if u >= 0x80 {
		u, n = binary.Uvarint(b)
	}
	p.Day++
	p.Cents += unzigzag(u >> 1)
	// The low bit says that a gap follows.
	if u&1 != 0 {
		gap, m := binary.Uvarint(b[n:])
		n += m
		p.Day += Day(gap)
	}
	return p, b[n:]
}

// DecodePoints decodes stored points and appends those in [from, to]. It would stop at a byte that
// does not decode, but there is none: countPoints decoded them all when they were loaded.
func DecodePoints(dst []Point, b []byte, from, to Day) []Point {
	day, cents, b, ok := cutFirst(b)
	if !ok {
		return dst
	}

	p := Point{Day: Day(day), Cents: int64(cents)}
	if p.Day > to {
		return dst
	}
	if p.Day >= from {
		dst = append(dst, p)
	}
	dst, _, _ = DecodeNext(dst, p, b, from, to)
	return dst
}

// DecodeNext appends the points behind p that are in [from, to]. It returns the last point up to then and the
// bytes behind it.
func DecodeNext(dst []Point, p Point, b []byte, from, to Day) ([]Point, Point, []byte) {
	for len(b) > 0 {
		next, behind := p.next(b)
		if next.Day > to {
			break
		}

		p, b = next, behind // air: a step
		if p.Day < from {
			p, b = skipUsual(p, b, min(from, to))
		}
		if p.Day >= from {
			dst = append(dst, p)
			if p.Day+8 <= to {
				dst, b = appendUsual(dst, b)
				p = dst[len(dst)-1]
			}
		}
	}
	return dst, p, b
}

// skipUsual goes from p towards from, over usual points, which are only added up. It returns the point
// reached and the bytes behind it.
func skipUsual(p Point, b []byte, from Day) (Point, []byte) {
	for from-p.Day >= 8 && len(b) >= 8 {
		change, n := sumUsual(binary.LittleEndian.Uint64(b))
		p.Cents += change
		p.Day += Day(n)
		b = b[n:]
		if n < 8 {
			break
		}
	}
	return p, b
}

// appendUsual appends the usual points behind the last one of dst, eight at most: no branch depends on
// their prices.
func appendUsual(dst []Point, b []byte) ([]Point, []byte) {
	if len(b) < 8 {
		return dst, b
	}

	p := dst[len(dst)-1]
	dst = slices.Grow(dst, 8)
	room := dst[len(dst) : len(dst)+8]
	for i, u := range b[:8] {
		p.Day++
		p.Cents += unzigzag(uint64(u) >> 1)
		room[i] = p
	}

	_, n := sumUsual(binary.LittleEndian.Uint64(b))
	return dst[:len(dst)+n], b[n:]
}

// ones has the lowest bit of each of eight bytes. A byte with a bit of unusual is not a whole varint, or
// a gap follows it.
const (
	ones    = 0x0101010101010101
	unusual = 0x80*ones | ones
)

// sumUsual returns how many of the next eight bytes come before an unusual one, and the sum of their
// changes of price. Such a byte has a sign in the second bit, and above it the change. A negative change is
// stored less 1.
func sumUsual(eight uint64) (change int64, n int) {
	n = bits.TrailingZeros64(eight&unusual) / 8
	eight &= 1<<(8*n) - 1
	signs := eight >> 1 & ones
	size := eight >> 2 & (0x1f * ones)

	// The highest byte of such a product is the sum of all bytes; it is 8*31 at most.
	negative := size & (signs * 0xff)
	return int64((size-negative)*ones>>56) - int64(negative*ones>>56) - int64(bits.OnesCount64(signs)), n
}

// cutFirst cuts the first point off stored ones; false where it does not decode.
func cutFirst(b []byte) (day, cents uint64, rest []byte, ok bool) {
	day, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, 0, nil, false
	}
	cents, m := binary.Uvarint(b[n:])
	return day, cents, b[n+max(m, 0):], m > 0
}

// countPoints counts stored points. ok says whether all bytes decode, prices are in bounds, and days from
// first to last. A load counts all points there are, so the usual point is quick: it is one byte,
// for the next day and no change or a small one.
func countPoints(b []byte, first, last Day) (count int, ok bool) {
	if len(b) == 0 {
		return 0, true
	}

	from, price, b, ok := cutFirst(b)
	if !ok || last < 0 || from > uint64(last) || int64(from) < int64(first) || price > MaxCents {
		return 0, false
	}

	day := int64(from)
	cents := int64(price)
	count = 1
	for i := 0; i < len(b); {
		// Eight usual points change a price by 8*32 at most, so that none of them is out of bounds.
		if len(b)-i >= 8 && uint64(cents-8*32) <= MaxCents-2*8*32 {
			change, n := sumUsual(binary.LittleEndian.Uint64(b[i:]))
			cents += change
			day += int64(n)
			i += n
			count += n
			if n == 8 {
				continue
			}
		}

		u := uint64(b[i])
		i++
		count++

		// A varint of two bytes is the second most usual one.
		if u >= 0x80 {
			if i < len(b) && b[i] < 0x80 {
				u = u&0x7f | uint64(b[i])<<7
				i++
			} else {
				long, n := binary.Uvarint(b[i-1:])
				if n <= 0 {
					return count, false
				}

				u = long
				i += n - 1
			}
		}

		day++
		if u&1 != 0 {
			gap, n := binary.Uvarint(b[i:])
			if n <= 0 || gap > HistoryDays*2 {
				return count, false
			}

			i += n
			day += int64(gap)
		}

		// The sum does not overflow: a price is at most MaxCents, 2^53, and a change is less than
		// 2^62.
		cents += unzigzag(u >> 1)
		if uint64(cents) > MaxCents {
			return count, false
		}
	}

	// Days only ascend, so that the last one speaks for all.
	return count, day <= int64(last)
}
