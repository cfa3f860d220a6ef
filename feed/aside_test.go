package feed_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"ninepocket/feed"
	"ninepocket/internal/feedtest"
)

const lastUpdated = "last-updated.txt"

// newClockStand returns a stand whose clock is an hour after each build of the feed, and the list of its warnings.
func newClockStand(t *testing.T, groups int) (s *stand, warned *strings.Builder) {
	t.Helper()
	s = newStand(t, groups)
	warned = &strings.Builder{}
	s.o.Now = func() time.Time { return s.feed.At().Add(time.Hour) }
	s.o.OnWarning = func(text string) { warned.WriteString(text + "\n") }
	return s, warned
}

// days checks the list of archived days.
func (s *stand) days(want ...string) {
	s.t.Helper()
	if days, err := feed.Days(filepath.Join(s.o.Into, "days")); err != nil || !slices.Equal(days, want) {
		s.t.Errorf("archived are %v (%v), want %v", days, err, want)
	}
}

// asides are the names of the feed directories and days that were set aside.
func (s *stand) asides() (names []string) {
	entries, _ := os.ReadDir(filepath.Join(s.o.Into, "aside"))
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// archivedStamp is the time of the feed's build according to a day's file.
func archivedStamp(t *testing.T, name string) string {
	t.Helper()
	packed, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := zstd.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()

	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if err != nil {
			t.Fatal(err)
		}

		if path.Base(header.Name) == lastUpdated {
			text, err := io.ReadAll(archive)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
	}
}

// noTimes are feeds without a time of their build, or with a wrong time.
var noTimes = map[string]feedtest.Faults{
	"gone":          {Lost: []string{lastUpdated}},
	"a page":        {Page: []string{lastUpdated}},
	"no time":       {Stamp: "yesterday evening"},
	"next year":     {Stamp: "2027-08-23T20:05:33+0000"},
	"last year":     {Stamp: "2025-08-23T20:05:33+0000"},
	"a month early": {Stamp: "2026-07-23T20:05:33+0000"},
	"in two days":   {Stamp: "2026-08-25T20:05:33+0000"},
}

// TestNewestFileDates checks that a feed directory without a time, or with a wrong time, belongs to
// the day of its newest file. The next day is then pulled as usual.
func TestNewestFileDates(t *testing.T) {
	for name, weather := range noTimes {
		t.Run(name, func(t *testing.T) {
			s, warned := newClockStand(t, 4)
			s.pull()
			s.feed.Rebuild(evening.AddDate(0, 0, 1))
			weather.Modified = s.feed.At().Add(-time.Minute)
			s.feed.Set(weather)
			result := s.pull()
			if !result.New || !result.Updated.Equal(weather.Modified) || result.Day != "2026-08-23" {
				t.Errorf("pulled %+v", result)
			}
			if !strings.Contains(warned.String(), "of the newest file is used: 2026-08-23T20:04:33Z") {
				t.Errorf("warned of %q", warned)
			}
			if s.stamp() != "2026-08-23T20:04:33+0000" {
				t.Errorf("the tree says %q", s.stamp())
			}
			s.days("2026-08-22", "2026-08-23")
			if text := archivedStamp(t, result.DayFile); text != s.stamp() {
				t.Errorf("the archived day says %q", text)
			}

			s.feed.Set(weather)
			if s.pull().New {
				t.Error("the same tree once more is new")
			}
			s.whole()
			s.feed.Rebuild(evening.AddDate(0, 0, 2))
			if !s.pull().New {
				t.Error("the next day is not new")
			}
			s.days("2026-08-22", "2026-08-23", "2026-08-24")
		})
	}
}

// TestUndatedTree checks that a feed directory of unknown time waits for an operator to give the time.
// Until then nothing in it is used, and nothing is requested.
func TestUndatedTree(t *testing.T) {
	for name, weather := range noTimes {
		t.Run(name, func(t *testing.T) {
			s, _ := newClockStand(t, 4)
			s.pull()
			before := s.stamp()
			s.feed.Rebuild(evening.AddDate(0, 0, 1))
			// The time of yesterday's file is unknown, too.
			weather.Modified = evening.AddDate(0, 0, -1)
			for _, after := range []time.Duration{time.Minute, 2 * time.Minute} {
				s.feed.Set(weather)
				s.o.Now = func() time.Time { return s.feed.At().Add(after) }
				_, err := feed.Pull(t.Context(), s.o)
				if !errors.Is(err, feed.ErrUndated) || !strings.Contains(err.Error(), "/aside/2026-08-23T200") {
					t.Fatalf("pull ended with %v", err)
				}
			}
			if s.stamp() != before {
				t.Errorf("current is of %q", s.stamp())
			}
			s.days("2026-08-22")

			s.feed.Set(feedtest.Faults{})
			s.o.CollectedAt = s.feed.At()
			result := s.pull()
			if !result.New || result.Day != "2026-08-23" || len(s.feed.Asked()) > 0 || len(s.asides()) != 1 {
				t.Errorf("taken was %+v after %v; left is %v", result, s.feed.Asked(), s.asides())
			}
			s.whole()
			s.days("2026-08-22", "2026-08-23")
		})
	}
}

// TestUndatedTreeLater gives the time of a feed directory a day too late. Its prices come into the
// archive, and the current feed directory stays.
func TestUndatedTreeLater(t *testing.T) {
	s, _ := newClockStand(t, 4)
	s.feed.Set(feedtest.Faults{Lost: []string{lastUpdated}})
	s.fails(feed.ErrUndated)
	s.feed.Rebuild(evening.AddDate(0, 0, 1))
	s.feed.Set(feedtest.Faults{})
	s.pull()
	today := s.stamp()

	// A time after the pull of the feed directory cannot be its time.
	s.feed.Set(feedtest.Faults{Lost: []string{lastUpdated}})
	s.o.CollectedAt = s.feed.At()
	if s.pull(); len(s.asides()) != 1 {
		t.Errorf("set aside are %v", s.asides())
	}

	s.o.CollectedAt = evening
	if result := s.pull(); result.Day != "2026-08-22" || s.stamp() != today || len(s.asides()) > 0 {
		t.Errorf("taken was %+v, current is of %q, left is %v", result, s.stamp(), s.asides())
	}
	s.whole()
	s.days("2026-08-22", "2026-08-23")

	now := s.o.Now()
	for _, wrong := range []time.Time{
		now.AddDate(1, 0, 0), now.AddDate(0, 0, 2), now.AddDate(0, -1, 0), now.AddDate(-1, 0, 0),
	} {
		s.o.CollectedAt = wrong
		if _, err := feed.Pull(t.Context(), s.o); err == nil || !strings.Contains(err.Error(), "of the last 14 days") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// TestCollectedAt checks that the operator's time counts only if the feed gives no time. If the feed
// gives a time in the middle of a pull, the pull starts again.
func TestCollectedAt(t *testing.T) {
	s, _ := newClockStand(t, 4)
	s.o.CollectedAt = evening.Add(30 * time.Minute)
	s.feed.Set(feedtest.Faults{Lost: []string{lastUpdated}})
	if result := s.pull(); !result.Updated.Equal(s.o.CollectedAt) {
		t.Errorf("without a time: %+v", result)
	}
	s.feed.Set(feedtest.Faults{})
	if result := s.pull(); !result.Updated.Equal(evening) || !result.New {
		t.Errorf("with one: %+v", result)
	}

	s.o.CollectedAt = time.Time{}
	s.feed.Rebuild(evening.AddDate(0, 0, 1))
	s.feed.Set(feedtest.Faults{Lost: []string{lastUpdated}})
	s.o.Progress = func(_ string, done, _ int64) {
		if done == 2 {
			s.feed.Set(feedtest.Faults{})
		}
	}
	if result := s.pull(); result.Day != "2026-08-23" || s.stamp() != "2026-08-23T20:05:33+0000" {
		t.Errorf("a time that came: %+v, %q", result, s.stamp())
	}
}

// TestUndatedIsNotResumed checks that a partial download without a time is not resumed: its files may
// belong to another day.
func TestUndatedIsNotResumed(t *testing.T) {
	s, _ := newClockStand(t, 12)
	lost := []string{lastUpdated, feedtest.Path(7, "prices"), feedtest.Path(8, "prices")}
	s.feed.Set(feedtest.Faults{Lost: lost})
	s.fails(feed.ErrIncomplete)

	s.feed.Rebuild(evening.AddDate(0, 0, 1))
	s.feed.Set(feedtest.Faults{Lost: lost[:1], Modified: s.feed.At()})
	if result := s.pull(); result.Resumed > 0 {
		t.Errorf("%d files are of the day before", result.Resumed)
	}
	s.whole()
}

// TestAfterAWrongYear checks that a current feed directory of a wrong year, as earlier versions
// accepted it, does not block a correct one.
func TestAfterAWrongYear(t *testing.T) {
	s, _ := newClockStand(t, 4)
	s.feed.Rebuild(evening.AddDate(1, 0, 0))
	s.pull()
	s.feed.Rebuild(evening)
	if result := s.pull(); !result.New || result.Day != "2026-08-22" {
		t.Errorf("the right year: %+v", result)
	}
	s.whole()
}

// TestSetAside checks that a feed directory that was set aside is pulled again in full, although the
// feed gives an equal time, and regardless of older files.
func TestSetAside(t *testing.T) {
	for _, earlier := range []int{0, 1, 3} {
		t.Run(strconv.Itoa(earlier)+" days", func(t *testing.T) { testSetAside(t, earlier, false) })
	}
	t.Run("completed", func(t *testing.T) { testSetAside(t, 1, true) })

	if _, err := feed.SetAside(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a tree: %v", err)
	}
}

func testSetAside(t *testing.T, earlier int, completed bool) {
	t.Helper()
	s, _ := newClockStand(t, 12)
	for day := range earlier {
		s.feed.Rebuild(evening.AddDate(0, 0, day-earlier))
		s.pull()
	}

	// A completed feed directory has two folders. Another completion was begun, too.
	s.feed.Rebuild(evening)
	prices := feedtest.Path(4, "prices")
	s.feed.Set(feedtest.Faults{Lost: []string{prices}})
	if completed {
		s.feed.Set(feedtest.Faults{Lost: []string{prices, feedtest.Path(4, "products")}})
		s.pull()
		s.feed.Set(feedtest.Faults{})
	}
	s.pull()
	for name, text := range map[string]string{lastUpdated: s.stamp(), feedtest.Path(0, "prices"): "{}"} {
		name = filepath.Join(s.o.Into, "partial", name)
		err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}

	moved, err := feed.SetAside(s.o.Into)
	if err != nil || !strings.HasPrefix(moved, filepath.Join(s.o.Into, "aside")) {
		t.Fatalf("moved to %q: %v", moved, err)
	}
	if _, err := os.Stat(filepath.Join(moved, feedtest.Path(0, "prices"))); err != nil {
		t.Error(err)
	}
	if s.stamp() != "" {
		t.Errorf("after %d days current is of %q, want none", earlier, s.stamp())
	}

	s.feed.Set(feedtest.Faults{})
	if result := s.pull(); !result.New || result.Resumed > 0 || len(s.feed.Asked()) != 2+2+2*12 {
		t.Errorf("pulled again: %+v after %d requests", result, len(s.feed.Asked()))
	}
	s.whole()
}

// TestDiscardDay checks that a discarded day stays out of the archive until the feed is rebuilt for
// that day.
func TestDiscardDay(t *testing.T) {
	s, _ := newClockStand(t, 4)
	s.pull()
	moved, err := feed.DiscardDay(s.o.Into, "2026-08-22")
	if err != nil || moved != filepath.Join(s.o.Into, "aside", "2026-08-22.tar.zst") {
		t.Fatalf("moved to %q: %v", moved, err)
	}
	size(t, moved)
	s.pull()
	s.days()
	if moved, err := feed.DiscardDay(s.o.Into, "2026-08-22"); moved != "" || err != nil {
		t.Errorf("a day that is not there: %q, %v", moved, err)
	}

	s.feed.Rebuild(evening.Add(time.Hour))
	s.pull()
	s.days("2026-08-22")
}
