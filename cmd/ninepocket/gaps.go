package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ninepocket/feed"
	"ninepocket/loader"
	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// noDays is the value of --days that fills nothing.
const noDays = "none"

// keptDays finds the kept day files: in the folder that is given, else beside the trees of the
// sources.
func keptDays(folder string, sources []loader.Input) (map[snapshot.Day]loader.Input, error) {
	if folder == noDays {
		return nil, nil
	}

	folders := []string{folder}
	if folder == "" {
		folders = nil
		for _, in := range sources {
			if in.Kind == source.KindTCGCSV {
				folders = append(folders, filepath.Join(filepath.Dir(filepath.Clean(in.Path)), "days"))
			}
		}
	} else if _, err := os.Stat(folder); err != nil {
		return nil, fmt.Errorf("cannot use --days: %w", err)
	}

	kept := map[snapshot.Day]loader.Input{}
	var wrong []error
	for _, folder := range folders {
		days, err := feed.Days(folder)
		wrong = append(wrong, err)
		for _, text := range days {
			day, err := snapshot.ParseDay(text)
			if err == nil {
				kept[day] = loader.Input{Kind: source.KindTCGCSV, Path: filepath.Join(folder, text+".tar.zst")}
			}
		}
	}
	return kept, errors.Join(wrong...)
}

// mostGaps bounds how many runs of missing days, and how many groups, a note names.
const mostGaps = 10

// gapNotes say which days were filled, which are missing, which groups are, and where a day was only
// guessed.
func gapNotes(report *loader.Report) (all []string) {
	for _, prices := range report.Prices {
		if at := prices.FileTime; at != nil {
			all = append(all, fmt.Sprintf("the day of the prices of %s was taken from file times: %s; put the "+
				"feed's last-updated.txt beside them, or give --collected-at TIME", prices.Input,
				at.UTC().Format(time.DateOnly)))
		}
	}
	if n := len(report.Filled); n > 0 {
		all = append(all, "filled from kept day files: "+spans(report.Filled))
	}

	for i, day := range slices.Backward(report.Refused) {
		if len(report.Refused)-i > mostGaps {
			all = append(all, fmt.Sprintf("%d more are left out", i+1))
			break
		}
		what := "the kept day " + day.Day
		if day.File != "" {
			what = day.File + " of " + what
		}
		all = append(all, fmt.Sprintf("%s is left out: %s; to take the day all the same, add: --prices %s", what,
			day.Why, day.Input))
	}
	for i, group := range report.Groups {
		if i == mostGaps {
			all = append(all, fmt.Sprintf("%d more groups are missing", len(report.Groups)-i))
			break
		}
		text := fmt.Sprintf("no prices of %s group %s (%s) for %s", group.Feed, group.Group, group.Name, group.Day)
		if group.Of != "" {
			text += fmt.Sprintf(": %d prices of %s stand until %s", group.Lanes, group.Of, group.Until)
		}
		all = append(all, text)
	}
	return all
}

// missingDays says which days no feed has prices of, with the command that adds those that came after
// the base.
func (flags *buildFlags) missingDays(report *loader.Report, base *snapshot.Catalog) (all []string) {
	after := ""
	if base != nil {
		after = base.Date().String()
	}

	// The newest first: what is older was told before.
	runs := slices.Clone(report.Days)
	slices.SortStableFunc(runs, func(a, b loader.DayGap) int { return strings.Compare(b.To, a.To) })
	for i, gap := range runs {
		if i == mostGaps {
			all = append(all, fmt.Sprintf("%d more runs of days are missing; --json names all", len(runs)-i))
			break
		}
		text := fmt.Sprintf("no prices of %s, %s, for %s", gap.Feed, gap.Game, span(gap.From, gap.To))
		if gap.To > after {
			text += "; to add them run: " + flags.command(gap.From)
		}
		all = append(all, text)
	}
	return all
}

// command spells the build that adds a day's file, as it can be pasted once the file is there.
func (flags *buildFlags) command(day string) string {
	words := []string{"ninepocket snapshot build --store", flags.folder, "--base", flags.base}
	for _, in := range flags.sources {
		words = append(words, "--source", in)
	}
	for _, in := range flags.prices {
		words = append(words, "--prices", in)
	}
	if flags.mapping != "" {
		words = append(words, "--mapping", flags.mapping)
	}
	return strings.Join(append(words, "--prices", "tcgcsv:"+day+".tar.zst"), " ")
}

func span(from, to string) string {
	if from == to {
		return from
	}
	return from + " to " + to
}

// spans spells days, which ascend, as runs.
func spans(days []string) string {
	var runs []string
	for i := 0; i < len(days); {
		last := i
		for last+1 < len(days) && follows(days[last], days[last+1]) {
			last++
		}
		runs = append(runs, span(days[i], days[last]))
		i = last + 1
	}
	return strings.Join(runs, ", ")
}

// follows reports whether a date is the day after another.
func follows(day, next string) bool {
	a, errA := snapshot.ParseDay(day)
	b, errB := snapshot.ParseDay(next)
	return errA == nil && errB == nil && b == a+1
}
