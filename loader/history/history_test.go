package history

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
)

const (
	date = snapshot.Day(20_000) // of the catalog
	from = date - snapshot.HistoryDays + 1
)

// plain is a lane's history as a list of rows, the later over the earlier: no layer, no bytes.
type plain map[snapshot.Day]int64

func (p plain) lay(points []snapshot.Point) {
	for _, point := range points {
		p[point.Day] = point.Cents
	}
}

// since are the days of the catalog's history from one on that have a price.
func (p plain) since(day snapshot.Day) (points []snapshot.Point) {
	for _, at := range slices.Sorted(maps.Keys(p)) {
		if at >= max(day, from) && at <= date && p[at] >= 0 {
			points = append(points, snapshot.Point{Day: at, Cents: p[at]})
		}
	}
	return points
}

// drawDay draws days that a history begins and ends with, and some that are too old for it.
func drawDay(t *rapid.T) snapshot.Day {
	return date - snapshot.Day(rapid.OneOf(rapid.IntRange(0, 12), rapid.IntRange(80, 100), rapid.IntRange(355, 380)).
		Draw(t, "age"))
}

// drawPoints draws a list with gaps or without, of few or many prices, up to a last day.
func drawPoints(t *rapid.T, last snapshot.Day) (points []snapshot.Point) {
	cents := rapid.SampledFrom([]int64{0, 5, 199, snapshot.MaxCents - 700}).Draw(t, "cents")
	for day := drawDay(t); day <= last; day++ {
		points = append(points, snapshot.Point{Day: day, Cents: cents})
		switch rapid.IntRange(0, 30).Draw(t, "step") {
		case 0:
			day += snapshot.Day(rapid.IntRange(1, 200).Draw(t, "gap"))
		case 1:
			cents = max(0, cents+rapid.Int64Range(-300, 300).Draw(t, "change"))
		case 2:
			return points
		}
	}
	return points
}

// TestSpliceEqualsOverlay splices lanes from random layers: lists of history files, a base, and days
// that are read again. Daily rows come late, hide a day or are too old.
func TestSpliceEqualsOverlay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lanes := rapid.IntRange(1, 4).Draw(t, "lanes")
		want := make([]plain, lanes)
		again := make([][]snapshot.Day, lanes)
		baseLane := slices.Repeat([]int32{-1}, lanes)
		h := New()
		h.Pending = rapid.IntRange(1, 8).Draw(t, "pending")
		h.Runs = rapid.IntRange(1, 3).Draw(t, "runs")
		h.Observe(date)
		base := &snapshot.Catalog{}
		var ofBase [][]snapshot.Point

		for lane := range lanes {
			want[lane] = plain{}
			for range rapid.SampledFrom([]int{0, 1, 1, 2, 3}).Draw(t, "files") {
				points := drawPoints(t, date)
				h.AddWide(int32(lane), points)
				want[lane].lay(points)
			}
		}
		for lane := range lanes {
			if rapid.Bool().Draw(t, "new") {
				continue
			}
			baseLane[lane] = int32(len(base.Lanes.LastSeen))
			points := drawPoints(t, date-snapshot.Day(rapid.IntRange(0, 3).Draw(t, "base")))
			seen := drawDay(t)
			if len(points) > 0 {
				seen = max(seen, points[len(points)-1].Day)
			}
			base.Lanes.LastSeen = append(base.Lanes.LastSeen, seen)
			ofBase = append(ofBase, points)

			if rapid.IntRange(0, 3).Draw(t, "reread") == 0 {
				again[lane] = append(again[lane], drawDay(t), drawDay(t))
			}
			want[lane].lay([]snapshot.Point{{Day: seen, Cents: snapshot.NoCents}})
			want[lane].lay(slices.DeleteFunc(points,
				func(point snapshot.Point) bool { return slices.Contains(again[lane], point.Day) }))
		}
		for range rapid.IntRange(0, 30).Draw(t, "rows") {
			lane := rapid.IntRange(0, lanes-1).Draw(t, "lane")
			point := snapshot.Point{Day: drawDay(t), Cents: rapid.Int64Range(snapshot.NoCents, 300).Draw(t, "cents")}
			h.AddDaily(int32(lane), point.Day, point.Cents, lanes)
			want[lane].lay([]snapshot.Point{point})
		}

		base.History = fixture.NewHistory(ofBase, date-snapshot.Day(rapid.IntRange(0, 64).Draw(t, "closed")))
		r := h.Read(base, lanes, from, date)
		before := []byte("before")
		for lane := range lanes {
			stored := r.Splice(slices.Clone(before), int32(lane), baseLane[lane], again[lane])
			if wanted := snapshot.EncodePoints(before, want[lane].since(from)); !bytes.Equal(stored, wanted) {
				t.Fatalf("lane %d: % x, want % x", lane, stored, wanted)
			}
		}
	})
}

// BenchmarkSplice splices a year of a lane and the newest day. One case has a base alone, the other
// a base over a history file, whose layers meet on every day.
func BenchmarkSplice(b *testing.B) {
	var points []snapshot.Point
	for day := from - 1; day < date; day++ {
		points = append(points, snapshot.Point{Day: day, Cents: 500 + int64(day*7919%13)})
	}
	base := &snapshot.Catalog{}
	base.Lanes.LastSeen = []snapshot.Day{date - 1}
	base.History.Points = snapshot.EncodePoints(nil, points)
	base.History.Of.Append(len(base.History.Points))

	for _, files := range []int{0, 1} {
		b.Run([]string{"base", "overlay"}[files], func(b *testing.B) {
			h := New()
			h.AddDaily(0, date, 501, 1)
			for range files {
				h.AddWide(0, points)
			}
			r := h.Read(base, 1, from, date)
			stored := make([]byte, 0, 1024)
			b.ReportAllocs()
			for b.Loop() {
				stored = r.Splice(stored[:0], 0, 0, nil)
			}
		})
	}
}
