package snapshot

import "slices"

// StatWindows are the windows of price statistics in days (docs/API.md, Statistics).
var StatWindows = [...]int{7, 30, 90}

// PriceSummary describes the points of a window. Prices are cents; Mean rounds half away from zero
// (decision 20).
type PriceSummary struct {
	Min, Max, Mean, First, Last int64
	FirstDay, LastDay           Day
	Points                      int
}

// Summarize describes points. They must ascend by day, and there must be at least one.
func Summarize(points []Point) PriceSummary {
	first := points[0]
	last := points[len(points)-1]
	summary := PriceSummary{
		Min: first.Cents, Max: first.Cents, First: first.Cents, Last: last.Cents,
		FirstDay: first.Day, LastDay: last.Day, Points: len(points),
	}

	// The sum of 365 prices near MaxCents exceeds 64 bits. So each price is divided first, and
	// the remainders are added up next to the quotients.
	n := int64(len(points))
	var whole, rest int64
	for _, p := range points {
		summary.Min = min(summary.Min, p.Cents)
		summary.Max = max(summary.Max, p.Cents)
		whole += p.Cents / n
		rest += p.Cents % n
	}

	// The remainders together make some whole cents. The rest then rounds half away from zero.
	whole += rest / n
	if rest%n*2 >= n {
		whole++
	}

	summary.Mean = whole
	return summary
}

// WindowStart is the first date of a window that ends at date and has so many days.
func WindowStart(date Day, days int) Day { return date - Day(days) + 1 }

// Append adds the rows of one lane. points are those within the longest window: they ascend by day,
// and there is at least one.
func (s *Stats) Append(lane int, date Day, points []Point) {
	s.Lane = append(s.Lane, uint32(lane))
	for _, days := range StatWindows {
		from := WindowStart(date, days)
		k, _ := slices.BinarySearchFunc(points, from, func(p Point, d Day) int { return int(p.Day) - int(d) })

		// A window without points has a row, too.
		sum := PriceSummary{FirstDay: NoDay, LastDay: NoDay}
		if k < len(points) {
			sum = Summarize(points[k:])
		}

		money := []int64{sum.Min, sum.Max, sum.Mean, sum.First, sum.Last}
		for i, column := range []*[]int64{&s.Min, &s.Max, &s.Mean, &s.First, &s.Last} {
			*column = append(*column, money[i])
		}

		s.FirstDay = append(s.FirstDay, sum.FirstDay)
		s.LastDay = append(s.LastDay, sum.LastDay)
		s.Points = append(s.Points, uint16(sum.Points))
	}
}

// Of returns a lane's statistics over window w of StatWindows. It returns false when the lane has
// no point in that window.
func (s *Stats) Of(lane, w int) (PriceSummary, bool) {
	k, ok := slices.BinarySearch(s.Lane, uint32(lane))
	r := k*len(StatWindows) + w
	if !ok || s.Points[r] == 0 {
		return PriceSummary{}, false
	}

	return PriceSummary{
		Min: s.Min[r], Max: s.Max[r], Mean: s.Mean[r], First: s.First[r], Last: s.Last[r],
		FirstDay: s.FirstDay[r], LastDay: s.LastDay[r], Points: int(s.Points[r]),
	}, true
}
