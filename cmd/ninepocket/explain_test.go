package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ninepocket/internal/feedtest"
	"ninepocket/operate/explain"
	"ninepocket/snapshot/diff"
)

// screenRows is how many rows of a screen of 100 columns a text fills.
func screenRows(text string) (rows int) {
	for line := range strings.Lines(text) {
		rows += max(1, (len([]rune(strings.TrimSuffix(line, "\n")))+99)/100)
	}
	return rows
}

// TestOneScreen wants the output of a day and of a build to fit a screen, with any number of
// missing items.
func TestOneScreen(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 12, 4)
	file := h.configures("[guards]\ngroups_missing = 1\nvalue_missing = 1\ncards_unlisted = 1\nprices_lost = 1\n" +
		"unpriced = 1\n")
	h.days(exitOK, file)

	// A few of 117 days are kept, five groups have no prices, and two are gone.
	for day := range 5 {
		h.evening(5+day*20, feedtest.Faults{})
		h.pulls(exitOK)
	}
	var empty []string
	for group := range 5 {
		empty = append(empty, feedtest.Path(group, "prices"))
	}
	h.evening(117, feedtest.Faults{Empty: empty, Change: unlisting(7, 8)})
	out, stderr := h.days(exitOK, file)
	named := strings.NewReplacer(filepath.Dir(h.store), "/var/lib/ninepocket", filepath.Dir(file), "/etc/ninepocket")
	if rows := screenRows(named.Replace(stderr + out)); rows > 24 {
		t.Errorf("%d rows:\n%s%s", rows, stderr, out)
	}
	says(t, stderr, "for 111 days: "+dayName(1)+" to "+dayName(4), "and 4 more (--json)",
		"filled from archived days: "+dayName(5)+", "+dayName(25)+", "+dayName(45)+", and 2 more",
		"no source lists 8 cards and sealed products any more")

	built, warnings := h.does(exitOK, "snapshot", "build", "--base", "previous", "--source",
		"tcgcsv:"+h.into+"/current")
	if rows := screenRows(named.Replace(warnings + built)); rows > 24 {
		t.Errorf("%d rows:\n%s%s", rows, warnings, built)
	}
}

// TestWhatChanged asks which cards moved by more than half since the release before, in each format.
func TestWhatChanged(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 4, 5)
	file := h.configures("[guards]\nprices_moved = 1\n")
	h.days(exitOK, file)
	_, stderr := h.does(exitFailure, "snapshot", "diff")
	says(t, stderr, "previous")

	h.evening(1, feedtest.Faults{Doubled: []string{feedtest.Path(1, "prices")}})
	h.days(exitOK, file)
	want := map[string]int{}
	before := firstEvening
	for group := range h.feed.Groups {
		for card := range h.feed.PerGroup {
			product := feedtest.Product(group, card)
			from := feedtest.Cents(product, before)
			to := feedtest.Cents(product, before.AddDate(0, 0, 1))
			if group == 1 {
				to *= 2
			}
			if math.Abs(float64(to-from)) > float64(from)/2 {
				want[fmt.Sprint(from, " ", to)]++
			}
		}
	}

	var found struct{ Prices diff.Prices }
	out, _ := h.does(exitOK, "snapshot", "diff", "--min-percent", "50", "--json")
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, move := range found.Prices.Largest {
		got[fmt.Sprint(*move.FromCents, " ", *move.ToCents)]++
	}
	if len(want) == 0 || fmt.Sprint(got) != fmt.Sprint(want) || found.Prices.Moved != len(found.Prices.Largest) {
		t.Errorf("moved by more than 50 %%: %v, want %v", got, want)
	}

	out, _ = h.does(exitOK, "snapshot", "diff", "previous", "current", "--min-percent", "50", "--format", "csv")
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != 1+found.Prices.Moved || rows[0][0] != "change" {
		t.Errorf("%v: %q", err, rows)
	}
	out, _ = h.does(exitOK, "snapshot", "diff", "--min-percent", "50", "--limit", "2")
	says(t, out, fmt.Sprintf("%d by more than 50 %%", found.Prices.Moved), "and 3 more")
	h.does(exitUsage, "snapshot", "diff", "current")
}

// TestExplainCommand explains cards as an operator asks for them.
func TestExplainCommand(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 4, 5)
	file := h.configures("")
	for day := range 3 {
		h.evening(day, feedtest.Faults{})
		h.days(exitOK, file)
	}

	ref := fmt.Sprint(feedtest.Product(0, 1))
	out, _ := h.does(exitOK, "snapshot", "explain", "tcgplayer:"+ref, "--config", file)
	says(t, out, "Card 1 of A  Set A 2/5", "tcgcsv:3/"+ref,
		"archived days have it: 3, "+dayName(0)+" to "+dayName(2))
	out, _ = h.does(exitOK, "snapshot", "explain", "tcgcsv,3/"+ref, "--into", h.into, "--json")
	var found explain.Explanation
	if err := json.Unmarshal([]byte(out), &found); err != nil || len(found.Lanes) != 1 || found.Lanes[0].Cents == nil ||
		found.Lanes[0].Reason != nil || !slices.Equal(found.Days, []string{dayName(0), dayName(1), dayName(2)}) {
		t.Errorf("%v: %s", err, out)
	}
	box := fmt.Sprint(feedtest.Product(0, h.feed.PerGroup))
	out, _ = h.does(exitOK, "snapshot", "explain", "tcgplayer:"+box, "--config", file)
	says(t, out, "no price: it is a sealed product")
	_, stderr := h.does(exitFailure, "snapshot", "explain", "charizzard", "--config", file)
	says(t, stderr, `cannot explain "charizzard": no catalog ever had it`, "hint: ")
}
