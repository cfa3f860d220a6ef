package mcp

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ninepocket/snapshot"
)

// drawPoints draws a realistic series: ascending days with gaps, and prices that sometimes jump.
func drawPoints(t *rapid.T, lo, hi int) []snapshot.Point {
	n := rapid.IntRange(lo, hi).Draw(t, "points")
	day := snapshot.Day(20000)
	cents := int64(1000)
	points := make([]snapshot.Point, n)
	for i := range points {
		day += snapshot.Day(rapid.SampledFrom([]int{1, 1, 1, 2, 9}).Draw(t, "gap"))
		cents = max(0, cents+int64(rapid.SampledFrom([]int{0, 0, 1, -1, 50, -60, 4000, -4000}).Draw(t, "step")))
		points[i] = snapshot.Point{Day: day, Cents: cents}
	}
	return points
}

func TestDownsample(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points := drawPoints(t, 1, 365)
		n := rapid.IntRange(1, 61).Draw(t, "room")
		original := slices.Clone(points)
		got := downsample(slices.Clone(points), n)
		if len(got) > n || len(got) == 0 {
			t.Fatalf("%d points instead of at most %d", len(got), n)
		}

		if len(original) <= n && !slices.Equal(got, original) {
			t.Fatal("a series that fits was thinned")
		}

		for i, point := range got {
			if !slices.Contains(original, point) {
				t.Fatalf("point %v was not there", point)
			}
			if i > 0 && point.Day <= got[i-1].Day {
				t.Fatal("days do not ascend")
			}
		}

		if got[len(got)-1] != original[len(original)-1] {
			t.Fatal("the last point is gone")
		}

		if n < 4 || len(original) <= n {
			return
		}

		low, high := extremes(original)
		if got[0] != original[0] || !slices.Contains(got, original[low]) || !slices.Contains(got, original[high]) {
			t.Fatal("the first, lowest or highest point is gone")
		}

		if len(got) < n-2 {
			t.Fatalf("only %d points of %d", len(got), n)
		}
	})
}

func TestDivideBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lengths := rapid.SliceOfN(rapid.IntRange(1, 365), 1, 15).Draw(t, "lengths")
		room := rapid.IntRange(2*len(lengths), 60).Draw(t, "room")
		shares := divideBudget(lengths, room)

		var total, sum int
		for i, s := range shares {
			total += s
			sum += lengths[i]
			if s > lengths[i] || s < min(lengths[i], room/len(lengths)) {
				t.Fatalf("%v of room %d for %v", shares, room, lengths)
			}
		}

		if total != min(room, sum) {
			t.Fatalf("%v of room %d for %v: %d used", shares, room, lengths, total)
		}
	})
}

func TestFitBudgetDropsTheCheapest(t *testing.T) {
	var lines []series
	for i := range 40 {
		points := []snapshot.Point{
			{Day: 1, Cents: int64(i)},
			{Day: 2, Cents: int64(i)},
			{Day: 3, Cents: int64(100 - i)},
		}
		one := series{variant: string(rune('A' + i)), points: points, summary: snapshot.Summarize(points)}
		lines = append(lines, one)
	}

	shown, dropped := fitBudget(lines, concisePoints)
	if len(shown) != concisePoints/2 || len(dropped) != 40-len(shown) {
		t.Fatalf("%d shown, %d dropped", len(shown), len(dropped))
	}

	for _, s := range shown {
		if len(s.points) != 2 || s.summary.Last <= 100-15 {
			t.Errorf("%s has %d points and ends at %d", s.variant, len(s.points), s.summary.Last)
		}
	}
}

func TestTrend(t *testing.T) {
	f := func(first, last int64, points int, want string) {
		t.Helper()
		if got := trend(&snapshot.PriceSummary{First: first, Last: last, Points: points}); got != want {
			t.Errorf("from %d to %d is %s, want %s", first, last, got, want)
		}
	}

	f(100, 200, 1, "insufficient_data")
	f(100, 100, 2, "flat")
	f(100, 102, 2, "flat")
	f(100, 103, 2, "rising")
	f(100, 98, 2, "flat")
	f(100, 97, 2, "falling")
	f(0, 0, 2, "flat")
	f(0, 5, 2, "rising")
	f(5, 0, 2, "falling")
	f(100000, 102994, 2, "flat")
	f(100000, 102995, 2, "rising") // 2.995 % is shown as 3 %
}
