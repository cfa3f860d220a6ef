package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ninepocket/feed"
	"ninepocket/internal/feedtest"
)

// coldBuild builds on none, from the archived days and the newest tree, in a store of its own.
func (h *feedStore) coldBuild() *feedStore {
	h.t.Helper()
	cold := *h
	cold.operator = &operator{h.t, filepath.Join(h.t.TempDir(), "store")}
	_, stderr := cold.does(exitOK, "snapshot", "build", "--source", "tcgcsv:"+filepath.Join(h.into, "current"),
		"--base", "none", "--publish")
	if !strings.Contains(stderr, "filled from archived days") {
		h.t.Errorf("no day is filled: %s", stderr)
	}
	return &cold
}

// TestSecondTreeOfADay pulls twice on one day. A group that is wrong in the second download keeps
// the rows of the first, published or built again (rule 13), also when a third download is as
// wrong.
func TestSecondTreeOfADay(t *testing.T) {
	t.Parallel()
	wrong := map[string]feedtest.Faults{
		"×100":  {Wrong: []string{feedtest.Path(5, "prices")}},
		"text":  {Change: in(5, "prices", quoted)},
		"empty": {Empty: []string{feedtest.Path(5, "prices")}},
	}
	for name, weather := range wrong {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFeedStore(t, oddGroups, oddCards)
			h.evening(0, feedtest.Faults{})
			h.pulls(exitOK)
			h.publishes(exitOK)

			// The good tree of the second day is never published.
			h.evening(1, feedtest.Faults{})
			h.pulls(exitOK)
			for again := range 2 {
				h.feed.Rebuild(firstEvening.AddDate(0, 0, 1).Add(time.Duration(1+again) * time.Minute))
				h.feed.Set(weather)
				h.pulls(exitOK)
				if again == 1 {
					// Another group differs as well, so that the file of the day does.
					h.feed.Rebuild(firstEvening.AddDate(0, 0, 1).Add(3 * time.Minute))
					h.pulls(exitOK)
				}
			}

			h.evening(2, feedtest.Faults{})
			h.pulls(exitOK)
			h.publishes(exitOK)
			h.hasAllPrices()
			h.coldBuild().hasAllPrices()
		})
	}
}

// TestCorrectedDay wants the later of two downloads of a day to count if both are right.
func TestCorrectedDay(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, oddGroups, oddCards)
	h.pulls(exitOK)
	h.evening(1, feedtest.Faults{Change: in(5, "prices", func(body string) string {
		return rowOf(feedtest.Product(5, 1)).ReplaceAllString(body,
			fmt.Sprintf(`{"marketPrice":1.23,"productId":%d,"subTypeName":"Normal"},`, feedtest.Product(5, 1)))
	})})
	h.pulls(exitOK)
	h.feed.Rebuild(firstEvening.AddDate(0, 0, 1).Add(time.Minute))
	h.feed.Set(feedtest.Faults{})
	h.pulls(exitOK)
	if files := feed.DayFiles(filepath.Join(h.into, "days"), dayName(1)); len(files) != 2 {
		t.Errorf("the files of the day are %q", files)
	}

	h.evening(2, feedtest.Faults{})
	h.pulls(exitOK)
	h.coldBuild().hasAllPrices()

	// A file of the archive that goes takes the earlier trees' with it.
	_, err := feed.DiscardDay(h.into, dayName(1))
	if left := feed.DayFiles(filepath.Join(h.into, "days"), dayName(1)); err != nil || len(left) != 1 {
		t.Errorf("%v; left are %q", err, left)
	}
}

// TestRenumberedGroup wants a group that gets another number to stay the set that it was, with its cards, its
// id and its address, on the day itself and after it.
func TestRenumberedGroup(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, oddGroups, oddCards)
	file := h.configures("")
	h.days(exitOK, file)
	before := h.catalog()
	names := h.names()

	// The fake answers for the new number what it has for the old one.
	renumber := func(path, body string) string {
		if path == "tcgplayer/"+feedtest.Category(5)+"/groups" {
			return strings.Replace(body, `"groupId":106,`, `"groupId":9106,`, 1)
		}
		return body
	}
	h.feed.Alias(feedtest.Category(5)+"/9106", feedtest.Category(5)+"/106")
	for day := 1; day < 4; day++ {
		h.evening(day, feedtest.Faults{Change: renumber})
		_, stderr := h.days(exitOK, file)
		const text = `"Set F" (tcgcsv/68/106) is now listed as "Set F" (tcgcsv/68/9106)`
		if says := strings.Contains(stderr, text); says != (day == 1) {
			t.Errorf("day %d says of it: %t\n%s", day, says, stderr)
		}
		for c := range oddCards {
			product := feedtest.Product(5, c)
			h.pulled[dayName(day)][product] = feedtest.Cents(product, firstEvening.AddDate(0, 0, day))
		}
	}

	after := h.catalog()
	for set := range before.Sets.ID.Len() {
		if before.Sets.ID.At(set) != after.Sets.ID.At(set) || before.Sets.Slug.At(set) != after.Sets.Slug.At(set) {
			t.Errorf("%s (%s) is now %s (%s)", before.Sets.ID.At(set), before.Sets.Slug.At(set), after.Sets.ID.At(set),
				after.Sets.Slug.At(set))
		}
	}
	for ref, is := range h.names() {
		if names[ref] != is {
			t.Errorf("card %s is %q after %q", ref, is, names[ref])
		}
	}
	h.hasAllPrices()
}

// TestProductOfTwoGroups wants a product that two groups list to be one, and the day to be published.
func TestProductOfTwoGroups(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, oddGroups, oddCards)
	file := h.configures("")
	h.days(exitOK, file)
	names := h.names()

	row := fmt.Sprintf(`{"name":"Card 1 of F","productId":%d,"extendedData":[{"name":"Number","value":"2/12"}]},`,
		feedtest.Product(5, 1))
	h.evening(1, feedtest.Faults{Change: in(7, "products", func(body string) string {
		return strings.Replace(body, `"results":[`, `"results":[`+row, 1)
	})})
	h.days(exitOK, file)

	for ref, is := range h.names() {
		if names[ref] != is {
			t.Errorf("card %s is %q after %q", ref, is, names[ref])
		}
	}
	h.hasAllPrices()
}

// TestRollbackOfSeveralDays wants all days to stay out of the history that a rollback discards.
func TestRollbackOfSeveralDays(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 4, 5)
	file := h.configures("")
	first := ""
	for day := range 4 {
		h.evening(day, feedtest.Faults{})
		h.days(exitOK, file)
		if day == 0 {
			first = h.current()
		}
	}

	_, stderr := h.does(exitOK, "snapshot", "rollback", first, "--discard-day", "--config", file)
	says(t, stderr, "the prices of "+dayName(1)+" to "+dayName(3)+" stay out of the history",
		"the archived day is now "+filepath.Join(h.into, "aside", dayName(2)+".tar.zst"))
	for day := 1; day < 4; day++ {
		delete(h.pulled, dayName(day))
	}
	h.evening(4, feedtest.Faults{})
	_, stderr = h.days(exitOK, file)
	if strings.Contains(stderr, "no prices of tcgcsv") {
		t.Errorf("what was discarded is offered: %s", stderr)
	}
	h.hasAllPrices()
}

// TestStoreWithoutCurrent wants a day in a store that lost its CURRENT to say what it builds on.
func TestStoreWithoutCurrent(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 4, 5)
	file := h.configures("")
	h.days(exitOK, file)
	if err := os.Remove(filepath.Join(h.store, "CURRENT")); err != nil {
		t.Fatal(err)
	}
	h.evening(1, feedtest.Faults{})
	_, stderr := h.days(exitOK, file)
	says(t, stderr, "none of them is current: this day builds on none")
	h.hasAllPrices()
}
