package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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

// gapNotes say which days were filled, which are left out, which groups are missing, and where a day
// was only guessed. after is the day of the base, "" without one: what is older was told before.
func gapNotes(report *loader.Report, after string) (all []string) {
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

	all = append(all, leftOut(report.Refused, after)...)
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

// leftOut says which kept days are not used and why, and of those that were told before which they
// are.
func leftOut(refused []loader.RefusedDay, after string) (all []string) {
	// The newest first.
	refused = slices.Clone(refused)
	slices.SortStableFunc(refused, func(a, b loader.RefusedDay) int { return strings.Compare(b.Day, a.Day) })
	var before []string
	for i, day := range refused {
		if day.Day <= after {
			before = append(before, day.Day)
			continue
		}
		if i == mostGaps {
			all = append(all, "more are left out; --json names all")
		}
		if i >= mostGaps {
			continue
		}

		what := "the kept day " + day.Day
		if day.File != "" {
			what = day.File + " of " + what
		}
		cure := "to take the day all the same, add: --prices " + day.Input.String()
		if day.Damaged {
			cure = "put a whole file in the place of " + day.Input.Path + ", or remove it"
		}
		all = append(all, fmt.Sprintf("%s is left out: %s; %s", what, day.Why, cure))
	}

	if len(before) > 0 {
		slices.Sort(before)
		all = append(all, "kept days that are left out as before, whole or in part: "+
			spans(slices.Compact(before))+"; --json says why")
	}
	return all
}

// missingDays says which days no feed has prices of, with the command that adds those that came after
// the base.
func (flags *buildFlags) missingDays(report *loader.Report, base *snapshot.Catalog) (all []string) {
	after := dayOf(base)
	// The newest first: what is older was told before.
	runs := slices.Clone(report.Days)
	slices.SortStableFunc(runs, func(a, b loader.DayGap) int { return strings.Compare(b.To, a.To) })
	told := ""
	var before []string
	for i, gap := range runs {
		what := fmt.Sprintf("%s, %s, for ", gap.Feed, gap.Game)
		if gap.To <= after {
			if !slices.Contains(before, what) {
				before = append(before, what)
			}
			continue
		}
		if i == mostGaps {
			all = append(all, fmt.Sprintf("%d more runs of days are missing; --json names all", len(runs)-i))
			break
		}

		text := "no prices of " + what + span(gap.From, gap.To)
		if command := flags.command(gap); told == command {
			text += "; the same command adds them"
		} else {
			text += "; to add them run: " + command
			told = command
		}
		all = append(all, text)
	}

	for _, what := range before {
		all = append(all, "no prices of "+what+older(report.Days, what, after))
	}
	return all
}

// older spells the runs of days of a feed and game up to a day, the newest first.
func older(runs []loader.DayGap, what, after string) string {
	var all []string
	for _, gap := range slices.Backward(runs) {
		if gap.To <= after && fmt.Sprintf("%s, %s, for ", gap.Feed, gap.Game) == what {
			all = append(all, span(gap.From, gap.To))
		}
	}
	if more := len(all) - mostGaps; more > 0 {
		return strings.Join(all[:mostGaps], ", ") + fmt.Sprintf(", and %d more; --json names all", more)
	}
	return strings.Join(all, ", ")
}

// dayOf is the day of a base, "" without one.
func dayOf(base *snapshot.Catalog) string {
	if base == nil {
		return ""
	}
	return base.Date().String()
}

// command spells the build that adds the files of days, as it can be pasted once these are there.
func (flags *buildFlags) command(gap loader.DayGap) string {
	words := []string{"ninepocket", "snapshot", "build", "--store", flags.folder, "--base", flags.base}
	for _, in := range flags.sources {
		words = append(words, "--source", in)
	}
	for _, in := range flags.prices {
		words = append(words, "--prices", in)
	}

	if flags.mapping != "" {
		words = append(words, "--mapping", flags.mapping)
	}
	if flags.keepUnmatched {
		words = append(words, "--keep-unmatched")
	}

	for _, day := range days(gap, mostGaps) {
		words = append(words, "--prices", "tcgcsv:"+day+".tar.zst")
	}
	if flags.publish {
		words = append(words, "--publish")
	}
	if flags.publish && flags.publishing.config != "" {
		words = append(words, "--config", flags.publishing.config)
	}
	return shellWords(words)
}

// days are the first days of a gap.
func days(gap loader.DayGap, most int) (all []string) {
	from, errFrom := snapshot.ParseDay(gap.From)
	to, errTo := snapshot.ParseDay(gap.To)
	if errFrom != nil || errTo != nil {
		return []string{gap.From}
	}
	for day := from; day <= to && len(all) < most; day++ {
		all = append(all, day.String())
	}
	return all
}

// plainWord is a word that a shell takes as it is.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// shellWords spells words as they can be pasted into a shell.
func shellWords(words []string) string {
	quoted := slices.Clone(words)
	for i, word := range words {
		if !plainWord.MatchString(word) {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
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
