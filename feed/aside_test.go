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

// newClockStand is a stand whose clock is an hour after each build of the feed, and what it was warned of.
func newClockStand(t *testing.T, groups int) (s *stand, warned *strings.Builder) {
	t.Helper()
	s = newStand(t, groups)
	warned = &strings.Builder{}
	s.o.Now = func() time.Time { return s.feed.At().Add(time.Hour) }
	s.o.OnWarning = func(text string) { warned.WriteString(text + "\n") }
	return s, warned
}

// days wants the archived days to be these.
func (s *stand) days(want ...string) {
	s.t.Helper()
	if days, err := feed.Days(filepath.Join(s.o.Into, "days")); err != nil || !slices.Equal(days, want) {
		s.t.Errorf("archived are %v (%v), want %v", days, err, want)
	}
}

// asides are the names in the folder of what was set aside.
func (s *stand) asides() (names []string) {
	entries, _ := os.ReadDir(filepath.Join(s.o.Into, "aside"))
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// archivedStamp is what a day's file says about when the feed was built.
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

// noTimes are feeds that do not say when they were built, or not rightly.
var noTimes = map[string]feedtest.Faults{
	"gone":          {Lost: []string{lastUpdated}},
	"a page":        {Page: []string{lastUpdated}},
	"no time":       {Stamp: "yesterday evening"},
	"next year":     {Stamp: "2027-08-23T20:05:33+0000"},
	"last year":     {Stamp: "2025-08-23T20:05:33+0000"},
	"a month early": {Stamp: "2026-07-23T20:05:33+0000"},
	"in two days":   {Stamp: "2026-08-25T20:05:33+0000"},
}

// TestNewestFileDates wants a tree of no time, or a wrong one, to be of the day of its newest file, and
// the next day to be pulled as ever.
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
			if !strings.Contains(warned.String(), "of its newest file, 2026-08-23T20:04:33Z") {
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

// TestUndatedTree wants a tree whose time nobody knows to wait for an operator who says it: nothing of it
// is in use before, and nothing is asked for then.
func TestUndatedTree(t *testing.T) {
	for name, weather := range noTimes {
		t.Run(name, func(t *testing.T) {
			s, _ := newClockStand(t, 4)
			s.pull()
			before := s.stamp()
			s.feed.Rebuild(evening.AddDate(0, 0, 1))
			// Of yesterday's file nobody knows either.
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

// TestUndatedTreeLater wants a tree to be taken that somebody dates a day too late: its prices come into
// the archive, and the current tree stays.
func TestUndatedTreeLater(t *testing.T) {
	s, _ := newClockStand(t, 4)
	s.feed.Set(feedtest.Faults{Lost: []string{lastUpdated}})
	s.fails(feed.ErrUndated)
	s.feed.Rebuild(evening.AddDate(0, 0, 1))
	s.feed.Set(feedtest.Faults{})
	s.pull()
	today := s.stamp()

	// A time after the pull of the tree is not that of the tree.
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

// TestCollectedAt wants the operator's time to count only where the feed says none, and a feed that says
// it in the middle of a pull to be pulled anew.
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

// TestUndatedIsNotResumed wants nothing that was begun of a tree without a time to become part of the next
// one: that may be of another day.
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

// TestAfterAWrongYear wants a current tree of a wrong year, as earlier versions took it, to keep no right
// one out.
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

// TestSetAside wants a tree that was set aside to be pulled again whole although the feed says the same
// time, whatever was there before it.
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

	// A tree that was completed has two folders. A completion was begun too.
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

// TestDiscardDay wants a day that was discarded to stay out of the archive until the feed has another
// tree of it.
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
