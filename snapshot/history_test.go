package snapshot_test

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ninepocket/snapshot"
)

// drawPoints draws ascending points, most of them near each other, some at the edges of valid
// prices and days.
func drawPoints(t *rapid.T, last snapshot.Day) []snapshot.Point {
	cents := rapid.OneOf(
		rapid.Int64Range(0, 10_000), rapid.SampledFrom([]int64{0, 1, snapshot.MaxCents, snapshot.MaxCents - 1}),
		rapid.Int64Range(0, snapshot.MaxCents),
	)

	gap := rapid.OneOf(rapid.Just(1), rapid.Just(1), rapid.IntRange(1, 3), rapid.IntRange(1, 140))
	n := rapid.IntRange(0, 40).Draw(t, "points")
	var points []snapshot.Point
	day := last
	for range n {
		p := snapshot.Point{Day: day, Cents: cents.Draw(t, "cents")}
		if len(points) > 0 && rapid.Bool().Draw(t, "same") {
			p.Cents = points[len(points)-1].Cents
		}
		points = append(points, p)
		day -= snapshot.Day(gap.Draw(t, "gap"))
		if day < 0 {
			break
		}
	}

	slices.Reverse(points)
	return points
}

// checkOften checks a property that takes microseconds more often than rapid does by itself.
func checkOften(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	for range 20 {
		rapid.Check(t, property)
	}
}

// naivePoints encodes points by docs/dev/SNAPSHOT.md, number by number, on integers of any size.
func naivePoints(points []snapshot.Point) []byte {
	var b []byte
	varint := func(v *big.Int) {
		v = new(big.Int).Set(v)
		for seven := big.NewInt(128); v.Cmp(seven) >= 0; v.Rsh(v, 7) {
			b = append(b, byte(new(big.Int).Mod(v, seven).Int64())|0x80)
		}
		b = append(b, byte(v.Int64()))
	}

	for i, p := range points {
		if i == 0 {
			varint(big.NewInt(int64(p.Day)))
			varint(big.NewInt(p.Cents))
			continue
		}

		change := big.NewInt(p.Cents - points[i-1].Cents)
		code := new(big.Int).Mul(change, big.NewInt(2))
		if change.Sign() < 0 {
			code.Neg(code).Sub(code, big.NewInt(1))
		}

		code.Mul(code, big.NewInt(2))
		skipped := p.Day - points[i-1].Day - 1
		if skipped > 0 {
			code.Add(code, big.NewInt(1))
		}

		varint(code)
		if skipped > 0 {
			varint(big.NewInt(int64(skipped)))
		}
	}

	return b
}

func TestPoints(t *testing.T) {
	checkOften(t, func(t *rapid.T) {
		date := snapshot.Day(rapid.IntRange(0, 60_000).Draw(t, "date"))
		points := drawPoints(t, date)
		b := snapshot.EncodePoints(nil, points)
		if want := naivePoints(points); !slices.Equal(b, want) {
			t.Fatalf("%v is spelt %x, want %x", points, b, want)
		}

		if !snapshot.PointsOK(b, date) {
			t.Fatalf("%v: %x is refused", points, b)
		}

		if n := snapshot.CountPoints(b); n != len(points) {
			t.Fatalf("%d points are counted as %d", len(points), n)
		}

		// The list stands between two others, which must not leak in.
		h := snapshot.History{Points: snapshot.EncodePoints(nil, []snapshot.Point{{Day: date, Cents: 7}})}
		h.Of.Append(len(h.Points))
		h.Points = append(h.Points, b...)
		h.Of.Append(len(h.Points))
		h.Points = snapshot.EncodePoints(h.Points, []snapshot.Point{{Day: date, Cents: 8}})
		h.Of.Append(len(h.Points))
		from := snapshot.Day(rapid.IntRange(-10, int(date)+1).Draw(t, "from"))
		to := snapshot.Day(rapid.IntRange(int(from)-1, int(date)+10).Draw(t, "to"))
		var want []snapshot.Point
		for _, p := range points {
			if p.Day >= from && p.Day <= to {
				want = append(want, p)
			}
		}

		got := h.AppendPoints([]snapshot.Point{{Day: 1, Cents: 1}}, 1, from, to)[1:]
		if diff := cmp.Diff(want, append([]snapshot.Point(nil), got...)); diff != "" {
			t.Fatalf("points of [%d, %d] (-want +got):\n%s", from, to, diff)
		}

		if h.Has(1) != (len(points) > 0) {
			t.Fatalf("Has is %t of %d points", h.Has(1), len(points))
		}
	})
}

// TestSmallChangesAreSkipped reads windows of runs of small changes, up and down, with a rare gap or jump.
func TestSmallChangesAreSkipped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := snapshot.History{}
		changes := rapid.SliceOfN(rapid.SampledFrom([]int64{-1, -32, -31, 31, 5, -5, 0, -1, 1, -2, -33, 32, 900}),
			20, 300).Draw(t, "changes")
		biased := rapid.IntRange(1, 13).Draw(t, "kinds of change")
		all := []snapshot.Point{{Day: 20_000, Cents: 1_000_000}}
		for i, change := range changes {
			last := all[len(all)-1]
			if change > 0 && i%13 < biased {
				change = -change
			}
			last.Cents += max(change, -last.Cents)
			last.Day++
			if change == 900 {
				last.Day += 3
			}
			all = append(all, last)
		}
		h.Points = snapshot.EncodePoints(nil, all)
		h.Of.Append(len(h.Points))

		skipped := rapid.IntRange(0, len(all)).Draw(t, "skipped")
		from := snapshot.Day(20_000)
		if skipped > 0 {
			from = all[skipped-1].Day + 1
		}
		if got := h.AppendPoints(nil, 0, from, all[len(all)-1].Day); !slices.Equal(got, all[skipped:]) {
			t.Fatalf("from %d: got %v, want %v", from, got, all[skipped:])
		}
	})
}

func TestUnchangedDayIsOneByte(t *testing.T) {
	var points []snapshot.Point
	for i := range snapshot.HistoryDays {
		points = append(points, snapshot.Point{Day: 20_000 + snapshot.Day(i), Cents: 499})
	}
	if b := snapshot.EncodePoints(nil, points); len(b) != 3+2+snapshot.HistoryDays-1 {
		t.Errorf("a year of one price takes %d bytes", len(b))
	}
}

// TestWorkedExample encodes the example of docs/dev/SNAPSHOT.md.
func TestWorkedExample(t *testing.T) {
	got := snapshot.EncodePoints(nil,
		[]snapshot.Point{{Day: 20_523, Cents: 499}, {Day: 20_524, Cents: 499}, {Day: 20_526, Cents: 449}})
	if want := "ab a0 01 f3 03 00 c7 01 01"; fmt.Sprintf("% x", got) != want {
		t.Errorf("the example is spelt % x, want %s", got, want)
	}
}

func TestPointsRefused(t *testing.T) {
	const last = snapshot.Day(20_000)
	uvarints := func(values ...uint64) []byte {
		var b []byte
		for _, v := range values {
			b = binary.AppendUvarint(b, v)
		}
		return b
	}

	f := func(what string, b []byte) {
		t.Helper()
		if snapshot.PointsOK(b, last) {
			t.Errorf("%s is taken", what)
		}

		// Decoding of refused bytes must end, too.
		h := snapshot.History{Points: b}
		h.Of.Append(len(b))
		h.AppendPoints(nil, 0, 0, last)
		snapshot.CountPoints(b)
	}

	f("a day without a price", uvarints(5))
	f("half a day", []byte{0x80})
	f("half a price", append(uvarints(5), 0x80))
	f("a varint of eleven bytes", []byte{5, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0})
	f("a day after the last", uvarints(20_001, 1))
	f("a day far after the last", uvarints(1<<40, 1))
	f("too large a price", uvarints(5, snapshot.MaxCents+1))
	f("half a change", append(uvarints(5, 1), 0x80))
	f("a change without its gap", uvarints(5, 1, 1))
	f("half a gap", append(uvarints(5, 1, 1), 0x80))
	f("a huge gap", uvarints(5, 1, 1, 1<<40))
	f("a fall below zero", uvarints(5, 1, 3<<1))
	f("a rise above the largest", uvarints(5, snapshot.MaxCents, 2<<1))
	f("a change beyond 64 bits", uvarints(5, 1, 1<<63))
	f("a step beyond the last day", uvarints(20_000, 1, 0))
	if snapshot.PointsOK(uvarints(1<<40, 1), -5) {
		t.Error("a date before 1970 takes any day")
	}

	if !snapshot.PointsOK(nil, last) || !snapshot.PointsOK(uvarints(20_000, snapshot.MaxCents), last) {
		t.Error("no points, or the last day at the largest price, are refused")
	}
}

// FuzzPoints decodes any bytes: accepted bytes must be encoded again in an equal number of points.
func FuzzPoints(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(snapshot.EncodePoints(nil,
		[]snapshot.Point{{Day: 19_990, Cents: 5}, {Day: 19_991, Cents: 5}, {Day: 19_999, Cents: 900}}))
	f.Add([]byte{1, 1, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		const last = snapshot.Day(20_000)
		h := snapshot.History{Points: b}
		h.Of.Append(len(b))
		points := h.AppendPoints(nil, 0, 0, last)
		n := snapshot.CountPoints(b)
		if !snapshot.PointsOK(b, last) {
			return
		}

		if n != len(points) {
			t.Fatalf("%x holds %d points and counts %d", b, len(points), n)
		}

		for i, p := range points {
			if p.Cents < 0 || p.Cents > snapshot.MaxCents || p.Day < 0 || p.Day > last || i > 0 &&
				p.Day <= points[i-1].Day {
				t.Fatalf("%x decodes to %v", b, points)
			}
		}

		again := snapshot.History{Points: snapshot.EncodePoints(nil, points)}
		again.Of.Append(len(again.Points))
		if got := again.AppendPoints(nil, 0, 0, last); !slices.Equal(got, points) {
			t.Fatalf("%v is spelt and read as %v", points, got)
		}
	})
}

func TestSummarize(t *testing.T) {
	checkOften(t, func(t *rapid.T) {
		points := drawPoints(t, 20_000)
		if len(points) == 0 {
			t.Skip("nothing to describe")
		}

		got := snapshot.Summarize(points)
		sum := new(big.Int)
		lo := points[0].Cents
		hi := points[0].Cents
		for _, p := range points {
			sum.Add(sum, big.NewInt(p.Cents))
			lo = min(lo, p.Cents)
			hi = max(hi, p.Cents)
		}

		// Half away from zero: floor((2·sum + n) / 2n).
		n := big.NewInt(int64(len(points)))
		mean := new(big.Int).Add(new(big.Int).Lsh(sum, 1), n)
		mean.Div(mean, new(big.Int).Lsh(n, 1))
		last := points[len(points)-1]
		want := snapshot.PriceSummary{
			Min: lo, Max: hi, Mean: mean.Int64(), First: points[0].Cents, Last: last.Cents,
			FirstDay: points[0].Day, LastDay: last.Day, Points: len(points),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%v (-want +got):\n%s", points, diff)
		}
	})
}

func TestStatsWindows(t *testing.T) {
	checkOften(t, func(t *rapid.T) {
		const date = snapshot.Day(20_000)
		var s snapshot.Stats
		lanes := map[int][]snapshot.Point{}
		lane := 0
		for range rapid.IntRange(1, 4).Draw(t, "lanes") {
			lane += rapid.IntRange(1, 3).Draw(t, "step")
			points := slices.DeleteFunc(drawPoints(t, date-snapshot.Day(rapid.IntRange(0, 40).Draw(t, "ago"))),
				func(p snapshot.Point) bool { return p.Day < snapshot.WindowStart(date, 90) })
			if len(points) > 0 {
				lanes[lane] = points
				s.Append(lane, date, points)
			}
		}

		for lane := range lane + 2 {
			for w, days := range snapshot.StatWindows {
				var in []snapshot.Point
				for _, p := range lanes[lane] {
					if p.Day > date-snapshot.Day(days) && p.Day <= date {
						in = append(in, p)
					}
				}

				got, ok := s.Of(lane, w)
				if ok != (len(in) > 0) {
					t.Fatalf("lane %d, %d days: %d points, found %t", lane, days, len(in), ok)
				}

				if ok && got != snapshot.Summarize(in) {
					t.Fatalf("lane %d, %d days: %+v of %v", lane, days, got, in)
				}
			}
		}
	})
}
