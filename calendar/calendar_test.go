package calendar

import (
	"testing"
	"time"
)

func TestPeriods(t *testing.T) {
	t.Parallel()
	month := Month(time.Date(2028, 2, 29, 23, 59, 59, 999e6, time.UTC).UnixMilli())
	first := func(month time.Month) int64 { return time.Date(2028, month, 1, 0, 0, 0, 0, time.UTC).UnixMilli() }
	if want := (Period{first(time.February), first(time.March)}); month != want {
		t.Fatalf("month %+v", month)
	}

	period := Period{Start: 1000, End: 1500}
	for wall, start := range map[int64]int64{1000: 1000, 1499: 1000, 1500: 1500, 999: 500, 0: 0, -1: -500} {
		got := period.Around(wall)
		if got.Start != start || got.End != start+500 || wall < got.Start || wall >= got.End {
			t.Fatalf("around %d: %+v", wall, got)
		}
	}
	day, err := ParseDay("2026-03-10")
	noon := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC).UnixMilli()
	if err != nil || day != DayOf(noon) || day.String() != "2026-03-10" {
		t.Fatal(day, err)
	}

	for _, bad := range []string{"", "2026-3-10", "2026-02-30", "10.03.2026"} {
		if _, err := ParseDay(bad); err == nil {
			t.Fatalf("%q parsed", bad)
		}
	}
	if DayOf(-1) != -1 || DayOf(DayMillis-1) != 0 {
		t.Fatal("days do not floor")
	}
}
