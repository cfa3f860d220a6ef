package loader

import (
	"fmt"
	"slices"
	"testing"

	"ninepocket/snapshot"
)

// TestOldFindingsAreOneLine wants what an earlier build told to be short: days and files of days.
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
	got := report.Remarks(day.String(),
		func(prices []string) string { return fmt.Sprint("again with ", prices) })
	want := []string{
		"the kept day 2026-08-09 is left out: why; to take the day all the same, add: --prices :",
		"kept days that are left out as before, whole or in part: 2026-08-01, 2026-08-03, 2026-08-05, 2026-08-07; " +
			"--json says why",
		"no prices of tcgcsv, pokemon, for 2026-08-09; to add them run: again with [tcgcsv:2026-08-09.tar.zst]",
		"no prices of tcgcsv, pokemon, for 2026-08-07, 2026-08-05, 2026-08-03, 2026-08-01",
	}
	if !slices.Equal(got, want) {
		t.Errorf("told: %q", got)
	}
}

// TestRemarksAreBounded wants ten of each kind to be named and the others to be counted.
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

	again := func(prices []string) string { return fmt.Sprint(prices) }
	got := report.Remarks("", again)
	for _, want := range []string{
		"more are left out; --json names all", "10 more groups are missing", "2 more search aliases stand for no card",
		"10 more runs of days are missing; --json names all",
		"no prices of tcgcsv, one-piece, for 2026-08-28; the same command adds them",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not told: %q", want, got)
		}
	}
	if len(got) != 10+1+10+1+2+10+1 {
		t.Errorf("%d notes: %q", len(got), got)
	}
	if none := (&Report{}).Remarks("", again); none == nil || len(none) > 0 {
		t.Errorf("without a finding the notes are %#v, want an empty list", none)
	}
}
