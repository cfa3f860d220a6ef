package access

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ninepocket/calendar"
	"ninepocket/internal/testsweep"
)

const windowEpoch = int64(1_700_000_000_077) // not a multiple of anything

// call admits one call at a time after windowEpoch.
func (w *window) call(at int64) bool {
	ok, _, _ := w.peek(windowEpoch + at)
	if ok {
		w.take(windowEpoch + at)
	}
	return ok
}

// latest is how late a call arrives at most: it may count as made that much later.
const latest = 300

// TestWindowProperty makes calls at random times, slightly out of order and with limits that
// change, and looks for a minute with more admissions than the limit.
func TestWindowProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.OneOf(rapid.IntRange(1, 40), rapid.IntRange(ringLimit+1, ringLimit+400)).Draw(rt, "limit")
		pace := calendar.MinuteMillis / int64(limit)
		var w window
		w.resize(limit, windowEpoch)
		var admitted []int64
		recent := 0 // the first of those that a window may still hold
		at := int64(0)
		newest := int64(0)

		for range rapid.IntRange(1, 8*limit/testsweep.Stride(2)).Draw(rt, "calls") {
			at += rapid.OneOf(rapid.Int64Range(0, 2*pace), rapid.Just(int64(0)), rapid.Just(pace)).Draw(rt, "step")
			if rapid.IntRange(0, 200).Draw(rt, "idle") == 0 {
				at += rapid.Int64Range(0, 3*calendar.MinuteMillis).Draw(rt, "idle time")
			}

			now := max(0, at-rapid.Int64Range(0, latest).Draw(rt, "late"))
			live := 0
			strictly := 0
			for recent < len(admitted) && at-admitted[recent] >= calendar.MinuteMillis+bucketMillis+2*latest {
				recent++
			}

			for _, a := range admitted[recent:] {
				if now-a < calendar.MinuteMillis+bucketMillis+latest {
					live++
				}
				if a <= now && now-a < calendar.MinuteMillis {
					strictly++
				}
			}

			// A late call gets the remaining count of the last call, which may be a few more. The
			// limit decides its admission.
			if _, remaining, _ := w.peek(windowEpoch + now); now >= newest && remaining > int64(limit-strictly) {
				rt.Fatalf("%d remain at %d with %d of %d taken", remaining, now, strictly, limit)
			}

			newest = max(newest, now)
			if w.call(now) {
				admitted = append(admitted, now)
			} else if live < limit {
				rt.Fatalf("refused at %d with %d of %d taken", now, live, limit)
			}
		}

		slices.Sort(admitted)
		for i := limit; i < len(admitted); i++ {
			if admitted[i]-admitted[i-limit] < calendar.MinuteMillis {
				rt.Fatalf("%d admissions from %d to %d", limit+1, admitted[i-limit], admitted[i])
			}
		}
	})
}

// TestWindowAfterIdle fills a window some time after it was last full, whatever the pause: never
// more than the limit is admitted. Pauses longer than the buckets reach meet slots that still hold
// what was counted long ago.
func TestWindowAfterIdle(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{30, ringLimit, ringLimit + 1, 6000} {
		for pause := 61 * int64(1000); pause < 400_000; pause += 1_700 * int64(testsweep.Stride(12)) {
			var w window
			w.resize(limit, windowEpoch)
			for i := range int64(limit) {
				if !w.call(i * 59_000 / int64(limit)) { // over all buckets of a minute
					t.Fatalf("limit %d: call %d refused", limit, i)
				}
			}

			at := 59_000 + pause
			admitted := 0
			for w.call(at) {
				admitted++
				if admitted > limit {
					t.Fatalf("limit %d: more than that after a pause of %d ms", limit, pause)
				}
				at += 3
			}

			if admitted != limit {
				t.Fatalf("limit %d: only %d admitted after a pause of %d ms", limit, admitted, pause)
			}
		}
	}
}

func TestWindowPacing(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 2, 30, 60, 600, 1000} {
		var w window
		w.resize(limit, windowEpoch)
		for i := range 10 * limit {
			if !w.call(int64(i) * calendar.MinuteMillis / int64(limit)) {
				t.Fatalf("limit %d: call %d refused", limit, i)
			}
		}
	}
}

// TestWindowBucketsRoundAgainst fills a bucketed window in one instant and finds when it opens:
// never before a minute, never later than a bucket after.
func TestWindowBucketsRoundAgainst(t *testing.T) {
	t.Parallel()
	for offset := range bucketMillis {
		var w window
		w.resize(ringLimit+1, windowEpoch)
		for range ringLimit + 1 {
			if !w.call(offset) {
				t.Fatal("refused below the limit")
			}
		}

		open := offset + calendar.MinuteMillis - 5
		for !w.call(open) {
			open++
		}

		if late := open - offset - calendar.MinuteMillis; late < 0 || late > bucketMillis {
			t.Fatalf("offset %d: opened %d ms after the minute", offset, late)
		}
	}
}

// TestWindowWait checks that the announced wait is exact: a call then is admitted and one a
// millisecond earlier is not.
func TestWindowWait(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.SampledFrom([]int{1, 3, 30, ringLimit + 50}).Draw(rt, "limit")
		var w window
		w.resize(limit, windowEpoch)
		at := int64(0)
		for {
			at += rapid.Int64Range(0, calendar.MinuteMillis/int64(limit)).Draw(rt, "step")
			if !w.call(at) {
				break
			}
		}

		_, remaining, wait := w.peek(windowEpoch + at)
		if remaining != 0 || wait < 1 {
			rt.Fatalf("full window: remaining %d, wait %d", remaining, wait)
		}
		if w.call(at + wait - 1) {
			rt.Fatal("admitted before the announced wait")
		}
		if !w.call(at + wait) {
			rt.Fatal("refused after the announced wait")
		}
	})
}

// TestWindowFit changes limits, also between both forms, and carries a window over a restart: no
// admission is forgotten.
func TestWindowFit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		limits := rapid.SampledFrom([]int{3, 30, 900, ringLimit + 1, 5000})
		limit := limits.Draw(rt, "limit")
		var w window
		w.resize(limit, windowEpoch)

		at := int64(0)
		var admitted []int64
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			at += rapid.Int64Range(0, 9_000).Draw(rt, "step")
			switch rapid.IntRange(0, 9).Draw(rt, "what") {
			case 0:
				limit = limits.Draw(rt, "new limit")
				w.resize(limit, windowEpoch+at)
			case 1:
				bursts := w.bursts(windowEpoch + at)
				w = window{}
				for _, i := range rapid.Permutation(bursts).Draw(rt, "order") {
					w.restore(i)
				}
				w.resize(limit, windowEpoch+at)
			}

			for range rapid.IntRange(0, 40).Draw(rt, "burst") {
				live := 0
				for _, a := range admitted {
					if at-a < calendar.MinuteMillis {
						live++
					}
				}

				ok := w.call(at)
				if ok && live >= limit {
					rt.Fatalf("admitted at %d with %d of %d taken", at, live, limit)
				}
				if ok {
					admitted = append(admitted, at)
				}
			}
		}
	})
}

func TestWindowLongIdle(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{2, ringLimit + 1} {
		var w window
		w.resize(limit, windowEpoch)
		for _, at := range []int64{0, 1, calendar.MinuteMillis, 400 * calendar.DayMillis, 400*calendar.DayMillis + 1} {
			if !w.call(at) {
				t.Fatalf("limit %d: refused at %d", limit, at)
			}
		}

		if ok, remaining, _ := w.peek(windowEpoch + 500*calendar.DayMillis); !ok || remaining != int64(limit) {
			t.Fatalf("limit %d: %d remain after a long time", limit, remaining)
		}
	}
}
