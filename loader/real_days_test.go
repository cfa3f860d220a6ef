package loader

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ninepocket/internal/testsweep"
	"ninepocket/loader/source"
	"ninepocket/snapshot"
	"ninepocket/snapshot/guard"
)

// daySink collects the prices of real days by product, and the group of each product.
type daySink struct {
	source.Discard
	prices map[string]map[snapshot.Day]int64 // by product and variant
	group  map[string]string                 // by product
	days   map[snapshot.Day]bool
}

func (s *daySink) Card(c source.Card) {
	_, product, _ := strings.Cut(c.Ref, "/")
	s.group[product] = c.SetRef
}

func (s *daySink) Series(series source.Series) {
	prices := map[snapshot.Day]int64{}
	for _, point := range series.Points {
		prices[point.Day] = point.Cents
		s.days[point.Day] = true
	}
	s.prices[series.Ref+" "+series.Variant] = prices
}

// TestRealDays judges each day of a year of real prices like a build of an evening. No correct group
// is refused, and of all days only the one that repeats the previous day.
func TestRealDays(t *testing.T) {
	dir := dataDir(t)
	ctx := context.Background()
	for _, game := range []struct {
		history string
		days    int
		refused string
	}{
		{realHistory, 249, ""},
		{realHistoryOP, 365, "2026-08-05"},
	} {
		s := &daySink{
			prices: map[string]map[snapshot.Day]int64{}, group: map[string]string{}, days: map[snapshot.Day]bool{},
		}
		if game.history == realHistory && !testsweep.Full() {
			continue // the larger one, for a quarter of a minute
		}
		tree, err := source.Open(source.KindTCGCSV, realTreeOf(dir), source.Options{CollectedAt: realNow})
		if err == nil {
			err = tree.Catalog(ctx, s)
		}
		if err != nil {
			t.Fatal(err)
		}
		history, err := source.Open(source.KindTCGCSV, filepath.Join(dir, game.history), source.Options{})
		if err == nil {
			err = history.Prices(ctx, s)
		}
		if err != nil {
			t.Fatal(err)
		}

		judged, refused := s.judge(t)
		if judged != game.days || strings.Join(refused, " ") != game.refused {
			t.Errorf("%s: of %d days, refused are %q; want %d and %q", game.history, judged, refused, game.days,
				game.refused)
		}
	}
}

// judge judges the days one after another, each price against the newest earlier price.
func (s *daySink) judge(t *testing.T) (judged int, refused []string) {
	sets := map[string]int32{}
	for _, group := range s.group {
		if _, known := sets[group]; !known {
			sets[group] = int32(len(sets))
		}
	}

	first := snapshot.Day(1 << 30)
	last := snapshot.NoDay
	for day := range s.days {
		first = min(first, day)
		last = max(last, day)
	}
	type point struct {
		cents int64
		day   snapshot.Day
	}
	newest := map[string]point{}
	for day := first; day <= last; day++ {
		var changes []guard.Change
		distances := []snapshot.Day{}
		for key, prices := range s.prices {
			cents, priced := prices[day]
			if !priced {
				continue
			}
			product, _, _ := strings.Cut(key, " ")
			if was, known := newest[key]; known {
				set := snapshot.NoSet
				if group := s.group[product]; group != "" {
					set = sets[group]
				}
				changes = append(changes, guard.Change{Set: set, From: was.cents, To: cents})
				distances = append(distances, day-was.day)
			}
			newest[key] = point{cents, day}
		}
		if len(changes) == 0 {
			continue
		}

		judged++
		nearest := slices.Min(distances)
		recent := changes[:0]
		for i, change := range changes {
			if distances[i] <= nearest+carryDays {
				recent = append(recent, change)
			}
		}
		why, wrong := guard.Limits(nil).Past(recent, float64(nearest))
		if why != "" {
			refused = append(refused, day.String())
			t.Log(day, why)
		}
		for set, reason := range wrong {
			refused = append(refused, fmt.Sprint(day, " set ", set, ": ", reason))
		}
	}
	return judged, refused
}
