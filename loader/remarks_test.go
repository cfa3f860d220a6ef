package loader

import (
	"fmt"
	"slices"
	"testing"

	"ninepocket/snapshot"
)

// TestOldFindingsAreOneLine checks that findings of an earlier build are short: days and archived days.
func TestOldFindingsAreOneLine(t *testing.T) {
	report := Report{Prices: []PriceReport{{Last: "2026-08-09"}}}
	for day := 1; day <= 9; day += 2 {
		date := fmt.Sprintf("2026-08-0%d", day)
		report.Days = append(report.Days, DayGap{Feed: "tcgcsv", Game: "pokemon", From: date, To: date})
		report.Refused = append(report.Refused, RefusedDay{Day: date, Why: "why"})
	}

	day, err := snapshot.ParseDay("2026-08-08")
	if err != nil {
		t.Fatal(err)
	}
	got := report.Remarks(day.String(), func() string { return "again" })
	want := []string{
		"the kept day 2026-08-09 is left out: why; to take the day all the same, add: --prices :",
		"kept days that are left out as before, whole or in part: 2026-08-01, 2026-08-03, 2026-08-05, and 1 more " +
			"(--json); --json says why",
		"no prices of tcgcsv pokemon for 2026-08-09; with their files in the folder days beside the tree run: again",
		"no prices of tcgcsv pokemon for 4 days: 2026-08-01, 2026-08-03, 2026-08-05, and 1 more (--json)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("told: %q", got)
	}
}

// TestRemarksAreBounded checks for a line of each kind, which names three and counts the others.
func TestRemarksAreBounded(t *testing.T) {
	report := Report{AliasesUnmatched: 3, AliasRemarks: []string{"one"}}
	for day := 10; day < 30; day += 2 {
		date := fmt.Sprintf("2026-08-%d", day)
		for _, game := range []string{"pokemon", "one-piece"} {
			report.Days = append(report.Days, DayGap{Feed: "tcgcsv", Game: game, From: date, To: date})
			report.Refused = append(report.Refused, RefusedDay{Day: date, Why: game})
			report.Groups = append(report.Groups, CarriedGroup{Feed: "tcgcsv", Group: game, Name: date, Day: date})
		}
	}

	again := func() string { return "again" }
	got := report.Remarks("", again)
	for _, want := range []string{
		"2 more search aliases stand for no card",
		"no prices of tcgcsv one-piece, tcgcsv pokemon for 10 days: 2026-08-10, 2026-08-12, 2026-08-14, and 7 more " +
			"(--json); with their files in the folder days beside the tree run: again",
		"no prices of tcgcsv group pokemon (2026-08-10) for 2026-08-10; one-piece (2026-08-10) for " +
			"2026-08-10; pokemon (2026-08-12) for 2026-08-12; and 17 more (--json)",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not told: %q", want, got)
		}
	}
	if len(got) != 5 {
		t.Errorf("%d notes: %q", len(got), got)
	}
	if none := (&Report{}).Remarks("", again); none == nil || len(none) > 0 {
		t.Errorf("without a finding the notes are %#v, want an empty list", none)
	}
}
