package feed_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ninepocket/feed"
	"ninepocket/internal/disk/disktest"
	"ninepocket/internal/feedtest"
)

// rowOf is the row of a product in a prices file.
func rowOf(product int) *regexp.Regexp {
	return regexp.MustCompile(`\{[^{}]*"productId":` + strconv.Itoa(product) + `[,}][^{}]*\}?,?`)
}

// TestDaysOf checks that the index of archived days names the days with a row of a product, whatever part of
// the index was lost before.
func TestDaysOf(t *testing.T) {
	s := newStand(t, 4)
	card := feedtest.Product(0, 1)
	ref := feedtest.Category(0) + "/" + strconv.Itoa(card)
	folder := filepath.Join(s.o.Into, "days")
	index := func(day string) string { return filepath.Join(folder, day+".refs") }
	has := func(when string, want []string, unknown ...string) {
		t.Helper()
		have, lack, err := feed.DaysOf(folder, []string{"3/999999", ref})
		if err != nil || !slices.Equal(have, want) || !slices.Equal(lack, unknown) {
			t.Errorf("%s: %q, unknown are %q (%v); want %q and %q", when, have, lack, err, want, unknown)
		}
	}

	var days, with []string
	for day := range 5 {
		s.feed.Rebuild(evening.AddDate(0, 0, day))
		s.feed.Set(feedtest.Faults{Change: func(path, body string) string {
			if day%2 == 1 && strings.HasSuffix(path, "/prices") {
				return rowOf(card).ReplaceAllString(body, "")
			}
			return body
		}})
		got := s.pull()
		days = append(days, got.Day)
		if day%2 == 0 {
			with = append(with, got.Day)
		}
	}
	has("after five days", with)
	// A product whose number begins like another number is a different product.
	if have, _, _ := feed.DaysOf(folder, []string{ref[:len(ref)-1], ref + "0"}); len(have) > 0 {
		t.Errorf("parts of a number are on %q", have)
	}

	// Old days without an index, and damaged ones, are indexed once.
	whole, err := os.ReadFile(index(days[0]))
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(index(days[0]), whole[:len(whole)-7])
	write(index(days[2]), append(slices.Clone(whole), "3/1\n"...))
	write(index(days[3]), nil)
	if err := os.Remove(index(days[4])); err != nil {
		t.Fatal(err)
	}
	has("damaged", nil, days[0], days[2], days[3], days[4])
	phases := map[string]int64{}
	s.o.Progress = func(phase string, _, total int64) { phases[phase] = total }
	s.pull()
	has("made again", with)
	if again, err := os.ReadFile(index(days[0])); err != nil || string(again) != string(whole) {
		t.Errorf("the index has other bytes than before (%v)", err)
	}
	if phases["listing archived days"] != 4 {
		t.Errorf("progress: %v", phases)
	}
	clear(phases)
	s.pull()
	if len(phases) > 0 {
		t.Errorf("whole indexes are made again: %v", phases)
	}

	// A rebuilt feed adds rows to a day: the index covers all versions of the day.
	s.feed.Rebuild(evening.AddDate(0, 0, 4).Add(60_000_000_000))
	s.feed.Set(feedtest.Faults{Change: func(_, body string) string {
		return rowOf(card).ReplaceAllString(body, "")
	}})
	s.pull()
	has("a second tree of the day", with)

	// A failure to list is a note and fails no pull; no incomplete file stays.
	if err := os.Remove(index(days[1])); err != nil {
		t.Fatal(err)
	}
	var warnings []string
	s.o.OnWarning = func(text string) { warnings = append(warnings, text) }
	disk := disktest.New(func(call disktest.Call) disktest.Effect {
		if strings.Contains(call.Path, ".refs") && call.Op == "write" {
			return disktest.Effect{Fail: disktest.ErrDisk}
		}
		return disktest.Effect{}
	})
	if _, err := feed.PullOn(t.Context(), s.o, disk); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(index(days[1])); err == nil || len(warnings) != 1 ||
		!strings.Contains(warnings[0], "archived days are not listed") {
		t.Errorf("an index is there (%v), notes: %q", err, warnings)
	}

	// A removed day has no index either.
	s.o.ArchiveDays = 2
	s.pull()
	left, _ := filepath.Glob(filepath.Join(folder, "*.refs"))
	if want := []string{index(days[3]), index(days[4])}; !slices.Equal(left, want) {
		t.Errorf("indexes: %q, want %q", left, want)
	}
	if _, err := feed.DiscardDay(s.o.Into, days[4]); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(index(days[4])); err == nil {
		t.Error("a discarded day has an index")
	}
}
