package synth

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ninepocket/internal/testsweep"
)

func writeDay(t *testing.T, o Options, day int) (string, Summary) {
	t.Helper()
	dir := t.TempDir()
	sum, err := summarizeDay(dir, o, day)
	if err != nil {
		t.Fatal(err)
	}
	return dir, sum
}

// A day's increment has the same cards and the same newest price file, byte for byte, as the whole
// directory of that day.
func TestIncrementIsTheNewestPartOfTheWhole(t *testing.T) {
	o := Options{Cards: 400, HistoryDays: 20}
	for _, day := range []int{0, 1, 2, 45} {
		part, sum := writeDay(t, o, day)
		o.Day = day
		whole, _ := write(t, o)
		for _, name := range []string{"source.toml", "sets.jsonl", "cards.jsonl", "sealed.jsonl", "prices/" +
			sum.Day + ".csv.zst"} {
			a, err := os.ReadFile(filepath.Join(part, name))
			if err != nil {
				t.Fatal(err)
			}

			b, err := os.ReadFile(filepath.Join(whole, name))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(a, b) {
				t.Errorf("day %d: %s differs", day, name)
			}
		}

		if got := glob(t, part, "history*"); got != nil {
			t.Errorf("day %d: the increment has %v", day, got)
		}
		if want := DefaultSnapshotAt.AddDate(0, 0, day); !sum.SnapshotAt.Equal(want) ||
			sum.Day != want.Format(time.DateOnly) {
			t.Errorf("day %d: at %v, want %v", day, sum.SnapshotAt, want)
		}
	}
}

// The price file of one day is history on later days, with the same numbers for every remaining
// card.
func TestDaysAgreeOnPrices(t *testing.T) {
	o := Options{Cards: 400, HistoryDays: 20}
	later := o
	later.Day = 4
	dir, _ := write(t, later)
	whole := read(t, dir)
	compared := 0
	for day := range 4 {
		part, sum := writeDay(t, o, day)
		prices := read(t, part).prices[sum.Day]
		for at, p := range prices {
			if _, card := whole.cards[at.Ref]; !card && whole.sealed[at.Ref].Ref == "" {
				// Removed meanwhile.
				continue
			}
			compared++
			if cents, ok := whole.history[at][sum.Day]; !ok || cents != p.cents {
				t.Errorf("%v on %s: %d as a price file, %d (%t) as history", at, sum.Day, p.cents, cents, ok)
			}
		}

		for at, days := range whole.history {
			if _, ok := days[sum.Day]; ok {
				if _, ok := prices[at]; !ok {
					t.Errorf("%v on %s is in history alone", at, sum.Day)
				}
			}
		}
	}

	if compared < 4_000 {
		t.Errorf("compared only %d prices", compared)
	}
}

func TestPriceFilesAndHistoryAgree(t *testing.T) {
	a, _ := write(t, Options{Cards: 400, HistoryDays: 12})
	b, sum := write(t, Options{Cards: 400, HistoryDays: 12, PriceDays: 12})
	wide := read(t, a)
	daily := read(t, b)
	if len(daily.history) > 0 {
		t.Error("history beside 12 price files of 12 days")
	}

	n := 0
	for day, prices := range daily.prices {
		for at, p := range prices {
			if cents, ok := wide.history[at][day]; day != sum.Day && (!ok || cents != p.cents) {
				t.Errorf("%v on %s: %d, in history %d", at, day, p.cents, cents)
			}
			if day != sum.Day {
				n++
			}
		}
	}

	for _, days := range wide.history {
		n -= len(days)
	}
	if n != 0 {
		t.Errorf("the price files have %d rows more than history has cells", n)
	}
}

// The summary of a day lists exactly the differences from the previous day.
func TestEditsAreWhatTheSummarySays(t *testing.T) {
	o := Options{Cards: 1500, HistoryDays: 2}
	dir, _ := writeDay(t, o, 0)
	old := read(t, dir)
	for day := 1; day <= 5/testsweep.Stride(2); day++ {
		dir, sum := writeDay(t, o, day)
		s := read(t, dir)
		var added, removed, renamed, sets []string
		for ref, k := range s.cards {
			if was, ok := old.cards[ref]; !ok {
				added = append(added, ref)
			} else if was.Name != k.Name {
				renamed = append(renamed, ref)
				if k.UpdatedAt != sum.SnapshotAt.Format(time.RFC3339) {
					t.Errorf("day %d: %s was renamed, but updated at %s", day, ref, k.UpdatedAt)
				}
			}
		}

		for ref := range old.cards {
			if _, ok := s.cards[ref]; !ok {
				removed = append(removed, ref)
			}
		}

		for ref, set := range s.sets {
			if was, ok := old.sets[ref]; ok && was.Name != set.Name {
				sets = append(sets, ref)
			}
		}

		same := func(what string, got, want []string) {
			t.Helper()
			slices.Sort(got)
			if !slices.Equal(got, want) || len(want) == 0 {
				t.Errorf("day %d: %s %v, summary says %v", day, what, got, want)
			}
		}
		same("added", added, sum.Added)
		same("removed", removed, sum.Removed)
		same("renamed", renamed, sum.Renamed)
		same("renamed sets", sets, sum.RenamedSets)
		old = s
	}
}

// An added card has no price from before it was there, and planted cards stay.
func TestEditsPreservePositions(t *testing.T) {
	o := Options{Cards: 800, HistoryDays: 30, Day: 10}
	dir, sum := write(t, o)
	s := read(t, dir)
	for _, ref := range sum.Added {
		for at := range s.history {
			if at.Ref == ref {
				t.Errorf("%v has history, but was added today", at)
			}
		}
	}

	first, _ := writeDay(t, o, 0)
	planted := read(t, first)
	for _, ref := range planted.order[:plantedCards] {
		if was, is := planted.cards[ref], s.cards[ref]; was.Name != is.Name || is.Ref == "" { // air: a pair
			t.Errorf("planted card %v became %v", was, is)
		}
	}
}
