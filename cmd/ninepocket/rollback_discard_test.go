package main

import (
	"os"
	"path/filepath"
	"testing"

	"ninepocket/feed"
	"ninepocket/internal/feedtest"
)

// TestDailyDiscardsADay wants the prices of a day that was rolled back with --discard-day to stay out of the
// history for good (d42, d43), whenever that was said, and of one without it the message to say it.
func TestDailyDiscardsADay(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]bool{"at once": false, "later": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFeedStore(t, 4, 5)
			file := h.configures("")
			for day := range 2 {
				h.evening(day, feedtest.Faults{})
				h.days(exitOK, file)
			}

			if later {
				_, stderr := h.does(exitOK, "snapshot", "rollback", "--config", file, "--reason", "a wrong Umbreon")
				says(t, stderr, "the prices of "+dayName(1)+" return into the history with the next build",
					"rollback current --discard-day --config "+file+" --reason 'a wrong Umbreon' --store "+h.store)
				_, stderr = h.hinted(exitOK, stderr)
				says(t, stderr, "the prices of "+dayName(1)+" stay out of the history")
			} else {
				_, stderr := h.does(exitOK, "snapshot", "rollback", "--discard-day", "--config", file)
				says(t, stderr, "the archived day is now "+filepath.Join(h.into, "aside", dayName(1)+".tar.zst"))
			}

			// The same evening once more archives it no more, nor publishes it.
			_, stderr := h.days(exitRefused, file)
			if later {
				says(t, stderr, "(a wrong Umbreon)")
			}
			if _, err := os.Stat(feed.DayFile(h.into, dayName(1))); err == nil {
				t.Error("the day is archived again")
			}
			delete(h.pulled, dayName(1))
			for day := 2; day < 4; day++ {
				h.evening(day, feedtest.Faults{})
				h.days(exitOK, file)
				h.hasAllPrices()
			}

			// It does not come from a copy of the archive either, until an operator asks for it.
			copied := feed.DayFile(h.into, dayName(1))
			if err := os.Rename(filepath.Join(h.into, "aside", dayName(1)+".tar.zst"), copied); err != nil {
				t.Fatal(err)
			}
			h.evening(4, feedtest.Faults{})
			_, stderr = h.days(exitOK, file)
			says(t, stderr, "the archived day "+dayName(1)+" is left out: a rollback discarded it",
				"--prices tcgcsv:"+copied)
			h.hasAllPrices()
		})
	}
}

// TestRollbackWithoutAFeed wants a store whose feed is elsewhere to leave the discarded day out all the same.
func TestRollbackWithoutAFeed(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 4, 5)
	for day := range 2 {
		h.evening(day, feedtest.Faults{})
		h.pulls(exitOK)
		h.publishes(exitOK)
	}
	_, stderr := h.does(exitOK, "snapshot", "rollback", "--discard-day")
	says(t, stderr, "stay out of the history")
	delete(h.pulled, dayName(1))
	h.evening(2, feedtest.Faults{})
	h.pulls(exitOK)
	says(t, h.publishes(exitOK), "a rollback discarded it")
	h.hasAllPrices()
	h.does(exitFailure, "snapshot", "rollback", "current", "--discard-day")

	// A file in the place of the folder: the day cannot be moved, and the rollback is done.
	if err := os.WriteFile(filepath.Join(h.into, "aside"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	served := h.current()
	_, stderr = h.does(exitFailure, "snapshot", "rollback", "--discard-day", "--config", h.configures(""))
	says(t, stderr, "cannot move the archived day: ", "the rollback is done")
	if h.current() == served {
		t.Error("the rollback is not done")
	}
}
