package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ninepocket/feed"
	"ninepocket/internal/feedtest"
)

// hinted runs the command of the last hint.
func (h *feedStore) hinted(code int, stderr string) (stdout, errs string) {
	h.t.Helper()
	found := regexp.MustCompile(`run: ninepocket (.+)`).FindAllStringSubmatch(stderr, -1)
	if found == nil {
		h.t.Fatalf("no command is hinted at: %s", stderr)
	}

	var words []string
	for i, part := range strings.Split(found[len(found)-1][1], "'") {
		if i%2 == 0 {
			words = append(words, strings.Fields(part)...)
		} else {
			words = append(words, part)
		}
	}
	var out, err strings.Builder
	if got := runPlain(h.t, words, &out, &err); got != code {
		h.t.Fatalf("ninepocket %s: exit code %d, want %d\n%s%s", strings.Join(words, " "), got, code, &out, &err)
	}
	return out.String(), err.String()
}

// TestDailyWithoutATime has a feed lose its last-updated.txt, then say a wrong year (d44, d45): with newest
// files of today the day is published, else by the command of the hint.
func TestDailyWithoutATime(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 4, 5)
	file := h.configures("")
	now := time.Now().UTC().Truncate(time.Second)
	h.feed.Rebuild(now.AddDate(0, 0, -3))
	h.days(exitOK, file)

	wrong := now.AddDate(1, 0, 0).Format("2006-01-02T15:04:05-0700")
	weathers := []feedtest.Faults{{Lost: []string{"last-updated.txt"}}, {Stamp: wrong}}
	for day, weather := range weathers {
		h.feed.Rebuild(now.AddDate(0, 0, day-2))
		h.feed.Set(weather)
		served := h.current()
		out, stderr := h.days(exitFailure, file)
		says(t, out+stderr, "last-updated.txt: ", "set aside in "+filepath.Join(h.into, "aside"), "is already served",
			"run: ninepocket daily --config "+file+" --collected-at 20")
		if h.current() != served {
			t.Error("a day of no date is served")
		}

		// The clock of the test stands where that of the feed does not: the tree is of its pull's time.
		if day == 0 {
			continue
		}
		h.hinted(exitOK, stderr)
		if h.current() == served {
			t.Error("the command of the hint publishes nothing")
		}
	}

	weathers[1].Modified = now
	h.feed.Rebuild(now)
	h.feed.Set(weathers[1])
	_, stderr := h.days(exitOK, file)
	says(t, stderr, "the time of the newest file is used")
	days, err := feed.Days(filepath.Join(h.into, "days"))
	if err != nil || len(days) == 0 || days[len(days)-1] > now.AddDate(0, 0, 1).Format(time.DateOnly) {
		t.Errorf("archived are %v, %v", days, err)
	}
}

// TestPullHintRepeatsFlags wants the command of a hint to be the one that was given.
func TestPullHintRepeatsFlags(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 2, 3)
	h.feed.Set(feedtest.Faults{Down: true})
	var out, errs strings.Builder
	args := []string{
		"feed", "pull", "tcgcsv", "--into", h.into, "--url", h.url, "--interval", "0s", "--games", "pokemon",
		"--games", "one-piece", "--images", "my pictures", "--user-agent", "Card shop (ops@example.com)", "--json",
	}
	runPlain(t, args, &out, &errs)
	says(t, errs.String(), "run: ninepocket feed pull tcgcsv --games pokemon,one-piece --images 'my pictures' "+
		"--interval 0s --into "+h.into+" --json --url "+h.url+" --user-agent 'Card shop (ops@example.com)'")
}
