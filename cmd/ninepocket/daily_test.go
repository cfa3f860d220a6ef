package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ninepocket/internal/feedtest"
)

// configures writes the one file of a house.
func (h *house) configures(more string) (file string) {
	h.t.Helper()
	file = filepath.Join(h.t.TempDir(), "ninepocket.toml")
	text := "store = '" + h.store + "'\n[feed]\ninto = '" + h.into + "'\nurl = '" + h.url +
		"'\ninterval = '0s'\n" + more
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return file
}

// days runs the day's work, which must end with the code.
func (h *house) days(code int, file string, args ...string) (stdout, stderr string) {
	h.t.Helper()
	var out, errs bytes.Buffer
	args = append([]string{"daily", "--config", file}, args...)
	if got := run(h.t.Context(), args, &out, &errs); got != code {
		h.t.Fatalf("daily: exit code %d, want %d\n%s%s", got, code, &out, &errs)
	}
	if code != exitUsage {
		if _, err := os.Stat(filepath.Join(h.into, "current")); err == nil {
			h.note()
		}
	}
	return out.String(), errs.String()
}

// says wants texts to be in what was printed.
func says(t *testing.T, printed string, want ...string) {
	t.Helper()
	for _, text := range want {
		if !strings.Contains(printed, text) {
			t.Errorf("%q is not said: %s", text, printed)
		}
	}
}

// TestDaily goes through every end of a day.
func TestDaily(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 12, 6)
	file := h.configures("[guards]\nminimum_cards = 60\n[daily]\nkeep = 3\n")

	// The first day, and the same once more.
	out, _ := h.days(exitOK, file)
	says(t, out, "pulled 12 groups", "published ")
	first := h.current()
	out, _ = h.days(exitOK, file)
	says(t, out, "nothing is new: the feed is still of", "nothing is new: "+first+" is already served")

	h.evening(1, feedtest.Weather{})
	out, _ = h.days(exitOK, file)
	says(t, out, "LARGEST MOVES", "published ")

	// The feed is down: nothing changes, and the end says so.
	h.evening(2, feedtest.Weather{Down: true})
	out, stderr := h.days(exitFailure, file)
	says(t, out+stderr, "the pull failed", "is already served", "hint: ")

	// A bad day is refused with the command that helps, and so is its repetition.
	h.evening(3, feedtest.Weather{Wrong: []string{"tcgcsv/", "tcgplayer/"}})
	served := h.current()
	for range 2 {
		out, stderr = h.days(exitRefused, file)
		says(t, out+stderr, "was built and refused by prices_moved", "--override prices_moved", "--config "+file)
	}
	if h.current() != served {
		t.Error("a refused day is served")
	}

	// The evening after holds all days but those that nobody has, and the one that no day can be.
	delete(h.pulled, dayName(3))
	h.evening(4, feedtest.Weather{})
	_, stderr = h.days(exitOK, file)
	says(t, stderr, "the kept day "+dayName(3)+" is left out: 72 of 72 prices moved by more than 60 %",
		"no prices of tcgcsv, pokemon, for "+dayName(2)+" to "+dayName(3)+"; to add them run: ")
	h.holdsAll()

	// What was pulled by itself is published without a pull.
	h.evening(5, feedtest.Weather{})
	h.pulls(exitOK)
	h.feed.Set(feedtest.Weather{Down: true})
	out, _ = h.days(exitOK, file, "--no-pull", "--json")
	var told dailyRow
	if err := json.Unmarshal([]byte(out), &struct {
		Published *bool
		New       *bool
	}{&told.Published, &told.New}); err != nil || !told.Published || !told.New {
		t.Errorf("%v: %s", err, out)
	}
	h.holdsAll()

	// The guards of the file hold.
	h.evening(6, feedtest.Weather{})
	out, _ = h.days(exitRefused, h.configures("[guards]\nminimum_cards = 1000\n"))
	says(t, out, "refused by minimum_cards")
}

// TestDailyMistakes wants mistakes of the configuration to be told before anything is done.
func TestDailyMistakes(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 2, 3)
	for more, want := range map[string]string{
		"games = ['chess']\n":                  `"chess"`,
		"[daily]\nsources = ['excel:x']\n":     "excel:x",
		"[daily]\nkeep = -1\n":                 "daily.keep",
		"[guards]\nminimum_cards = -1\n":       "minimum_cards",
		"[daily]\nsources = []\n":              "daily.sources is empty",
		"keep_days = -1\nimage_interval='x'\n": "image_interval",
	} {
		_, stderr := h.days(exitUsage, h.configures(more))
		says(t, stderr, want)
	}

	if len(h.feed.Asked()) > 0 {
		t.Error("the feed was asked")
	}
	if _, err := os.Stat(h.store); err == nil {
		t.Error("a store was made")
	}
}
