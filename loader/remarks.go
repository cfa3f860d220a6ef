package loader

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ninepocket/snapshot"
)

// maxRemarks bounds how many archived days, groups and runs of missing days are named.
const maxRemarks = 10

// remarks are findings in sentences.
type remarks []string

func (n *remarks) add(format string, args ...any) { *n = append(*n, fmt.Sprintf(format, args...)) }

// Remarks say what an operator should know of a build that went well. They name prices that were
// too old, days that were filled, left out or are missing, groups that lack their prices, rows of
// the mapping that met nothing, and whether anything new was read. What is not newer than after, the
// date of the base or "" without one, was reported before and is reported in short. again returns the
// command that builds the same with more prices.
func (r *Report) Remarks(after string, again func(prices []string) string) []string {
	// An empty list is [] for scripts, and never null.
	n := remarks{}
	n.prices(r)
	n.rejectedDays(r.Refused, after)
	n.groups(r.Groups)
	if len(r.GroupReasons) > 0 {
		var counts []string
		for _, reason := range slices.Sorted(maps.Keys(r.GroupReasons)) {
			counts = append(counts, fmt.Sprintf("%s %d", reason, r.GroupReasons[reason]))
		}
		n.add("groups without usable prices of the day, by reason: %s", strings.Join(counts, ", "))
	}
	n.cards(r, again)
	n = append(append(n, r.MappingRemarks...), r.AliasRemarks...)
	if more := r.AliasesUnmatched - len(r.AliasRemarks); more > 0 {
		n.add("%d more search aliases stand for no card", more)
	}

	// The newest day that was read; dates compare as text.
	newest := ""
	for i := range r.Prices {
		newest = max(newest, r.Prices[i].Last)
	}
	switch {
	case after == "":
	case newest == "":
		n.add("no price was read: those of the base (%s) stay", after)
	case newest < after:
		n.add("the newest price that was read is of %s, the base has those of %s: they stay", newest, after)
	}
	n.missing(r.Days, after, again)
	return n
}

// prices reports days that were too old, guessed or filled.
func (n *remarks) prices(r *Report) {
	for i := range r.Prices {
		// One example is enough to find the file.
		if old := r.Prices[i].TooOld; old != nil {
			n.add("%d prices of %s are older than %s and were left out; the oldest is that of %s on %s, in line "+
				"%d of %s", old.Prices, r.Prices[i].Input, old.Before, old.Ref, old.Day, old.Line, old.File)
		}
	}

	for i := range r.Prices {
		if at := r.Prices[i].FileTime; at != nil {
			n.add("the day of the prices of %s was taken from file times: %s; put the feed's last-updated.txt beside "+
				"them, or give --collected-at TIME", r.Prices[i].Input, at.UTC().Format(time.DateOnly))
		}
	}
	if len(r.Filled) > 0 {
		n.add("filled from kept day files: %s", runs(r.Filled))
	}
}

// rejectedDays reports the archived days that are not used, with the reason; those reported before are only named.
func (n *remarks) rejectedDays(refused []RefusedDay, after string) {
	var before []string
	for i, day := range newestFirst(refused, func(day RefusedDay) string { return day.Day }) {
		switch {
		case day.Day <= after:
			before = append(before, day.Day)
		case i < maxRemarks:
			n.add("%s", &day)
		case i == maxRemarks:
			n.add("more are left out; --json names all")
		}
	}

	if len(before) > 0 {
		slices.Sort(before)
		n.add("kept days that are left out as before, whole or in part: %s; --json says why",
			runs(slices.Compact(before)))
	}
}

// String says why the day is left out, and what takes it all the same.
func (day *RefusedDay) String() string {
	what := "the kept day " + day.Day
	if day.File != "" {
		what = day.File + " of " + what
	}
	cure := "to take the day all the same, add: --prices " + day.Input.String()
	if day.Damaged {
		cure = "put a whole file in the place of " + day.Input.Path + ", or remove it"
	}
	return what + " is left out: " + day.Why + "; " + cure
}

// groups says which groups lack the prices of a day.
func (n *remarks) groups(groups []CarriedGroup) {
	for _, group := range groups[:min(len(groups), maxRemarks)] {
		carried := ""
		if group.Of != "" {
			carried = fmt.Sprintf(": %d prices of %s stand until %s", group.Lanes, group.Of, group.Until)
		}
		why := cmp.Or(group.Why, group.Reason)
		if why != "" {
			why = " (" + why + ")"
		}
		n.add("no prices of %s group %s (%s) for %s%s%s", group.Feed, group.Group, group.Name, group.Day, why, carried)
	}
	if more := len(groups) - maxRemarks; more > 0 {
		n.add("%d more groups are missing", more)
	}
}

// cards reports what no source lists any more, and what an earlier version lost.
func (n *remarks) cards(r *Report, again func(prices []string) string) {
	if r.Unlisted > 0 {
		n.add("%d cards and sealed products are no longer listed by any source; they stay for a year, with their "+
			"history: %s", r.Unlisted, strings.Join(r.UnlistedExamples, ", "))
	}
	for _, pair := range r.Relisted[:min(len(r.Relisted), maxRemarks)] {
		n.add("%s %s is no longer listed, and %s has its set, number and name: if it is the same card, add to "+
			"aliases.csv of the mapping: %s", pair.Old, pair.Name, pair.New, pair.Row)
	}
	if r.LacksRecords {
		n.add("the base was built by an earlier version, which dropped the history of cards that the feed left out "+
			"for a day; to read it again from the archived days, run once: %s --reread-days", again(nil))
	}
}

// missing says which days no feed has prices of, with the command that adds those that came after the
// base.
func (n *remarks) missing(gaps []DayGap, after string, again func(prices []string) string) {
	list := ""
	var before remarks
	for i, gap := range newestFirst(gaps, func(gap DayGap) string { return gap.To }) {
		if gap.To <= after {
			if !slices.Contains(before, gap.of()) {
				before = append(before, gap.of())
			}
			continue
		}
		if i == maxRemarks {
			n.add("%d more runs of days are missing; --json names all", len(gaps)-i)
			break
		}

		// Games mostly miss the same days, which one command adds.
		cure := "; the same command adds them"
		if command := again(gap.prices()); list != command {
			list = command
			cure = "; to add them run: " + command
		}
		n.add("%s%s%s", gap.of(), span(gap.From, gap.To), cure)
	}

	for _, of := range before {
		var old []string
		// A report has the days of a game ascending.
		for _, gap := range slices.Backward(gaps) {
			if gap.To <= after && gap.of() == of {
				old = append(old, span(gap.From, gap.To))
			}
		}
		more := ""
		if len(old) > maxRemarks {
			more = fmt.Sprintf(", and %d more; --json names all", len(old)-maxRemarks)
		}
		n.add("%s%s%s", of, strings.Join(old[:min(len(old), maxRemarks)], ", "), more)
	}
}

// of says whose prices are missing.
func (gap *DayGap) of() string { return fmt.Sprintf("no prices of %s, %s, for ", gap.Feed, gap.Game) }

// prices are the inputs that would have the first days of the gap.
func (gap *DayGap) prices() (inputs []string) {
	for day := gap.From; day <= gap.To && len(inputs) < maxRemarks; day = dayAfter(day) {
		inputs = append(inputs, "tcgcsv:"+day+".tar.zst")
	}
	return inputs
}

// newestFirst sorts a copy of findings by their days.
func newestFirst[T any](findings []T, day func(T) string) []T {
	findings = slices.Clone(findings)
	slices.SortStableFunc(findings, func(a, b T) int { return strings.Compare(day(b), day(a)) })
	return findings
}

// runs formats ascending days as runs.
func runs(days []string) string {
	var spans []string
	for i := 0; i < len(days); {
		last := i
		for last+1 < len(days) && dayAfter(days[last]) == days[last+1] {
			last++
		}
		spans = append(spans, span(days[i], days[last]))
		i = last + 1
	}
	return strings.Join(spans, ", ")
}

func span(from, to string) string {
	if from == to {
		return from
	}
	return from + " to " + to
}

// dayAfter is the date after one of a report.
func dayAfter(date string) string {
	day, _ := snapshot.ParseDay(date)
	return (day + 1).String()
}
