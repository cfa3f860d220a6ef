package synth

import (
	"fmt"
	"strconv"
)

// Promos of one code are numbered on from set to set; the first ones start late, so that SWSH203 is
// among them.
const (
	blackStarFirst  = 180
	blackStarStride = 70
)

// number returns the collector number of the card at a place of the set, from 0.
func (s *set) number(place int) string {
	n := place + 1
	switch s.style {
	case plainTotal, firstPrint:
		return strconv.Itoa(n) + "/" + strconv.Itoa(s.total)
	case paddedTotal:
		return fmt.Sprintf("%03d/%03d", n, s.total)
	case trainerPart:
		return s.partNumber(n, "TG", trainerPartSize)
	case galarPart:
		return s.partNumber(n, "GG", galarPartSize)
	case blackStar:
		if s.code == blackStarCodes[0] {
			n += blackStarFirst
		}

		// After the earlier promos of the code.
		n += blackStarStride * (s.nth / 8 / len(blackStarCodes))
		return fmt.Sprintf("%s%03d", s.code, n)
	case booster, starter, extra, promotion:
	}
	return fmt.Sprintf("%s-%03d", s.code, n)
}

// partNumber numbers the last size cards of a set separately.
func (s *set) partNumber(n int, prefix string, size int) string {
	if n > s.size-size {
		return fmt.Sprintf("%s%02d/%s%02d", prefix, n-(s.size-size), prefix, size)
	}
	return fmt.Sprintf("%03d/%03d", n, s.total)
}

// secret reports whether the card at place is beyond the printed total or in a separate part.
func (s *set) secret(place int) bool {
	return s.total > 0 && place >= s.total
}

// parallelOf returns which card of a One Piece booster the parallel at place repeats, and as which
// parallel. Every fifth card has two parallels.
func parallelOf(s *set, place int) (of, copyNo int) {
	q := place - s.base
	of = s.base - 1 - q*4/5
	if q%5 == 1 {
		return of, 2
	}
	return of, 1
}
