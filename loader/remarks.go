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

// maxRemarks bounds how many problems of a kind are named, and maxExamples how many things a line has.
const (
	maxRemarks  = 10
	maxExamples = 3
)

// Examples names the first of many things, and how many more there are.
func Examples(all []string, between string) string {
	text := strings.Join(all[:min(len(all), maxExamples)], between)
	if more := len(all) - maxExamples; more > 0 {
		text += fmt.Sprintf("%sand %d more (--json)", between, more)
	}
	return text
}

// remarks are findings in sentences.
type remarks []string

func (n *remarks) add(format string, args ...any) { *n = append(*n, fmt.Sprintf(format, args...)) }

// Remarks are the findings for the operator of a build that succeeded. They name prices that were too
// old, days that were filled, left out or are missing, and groups without prices. They also name
// mapping rows without effect, and a build without anything new. Findings not newer than after, the
// date of the base or "" without one, were reported before and are shortened. again returns the
// command that repeats the build.
func (r *Report) Remarks(after string, again func() string) []string {
	// An empty list is [] for scripts, and never null.
	n := remarks{}
	n.prices(r)
	n.rejectedDays(r.Refused, after)
	n.groups(r.Groups)
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
		n.add("filled from archived days: %s", Examples(runs(r.Filled), ", "))
	}
}

// rejectedDays reports the archived days that are not used, with the reason; those reported before are only named.
func (n *remarks) rejectedDays(refused []RefusedDay, after string) {
	var before, others []string
	newestFirst := func(a, b RefusedDay) int { return strings.Compare(b.Day, a.Day) }
	for _, day := range slices.SortedStableFunc(slices.Values(refused), newestFirst) {
		if day.Day <= after {
			before = append(before, day.Day)
		} else {
			others = append(others, day.String())
		}
	}

	if len(others) > 0 {
		n.add("%s", Examples(others, "; "))
	}
	if len(before) > 0 {
		slices.Sort(before)
		n.add("kept days that are left out as before, whole or in part: %s; --json says why",
			Examples(runs(slices.Compact(before)), ", "))
	}
}

// String returns why the day is left out, and how to include it.
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

// groups names the groups that lack the prices of a day.
func (n *remarks) groups(groups []CarriedGroup) {
	var each []string
	for _, group := range groups {
		// If a group keeps earlier prices, the remark says until when.
		carried := ""
		if group.Of != "" {
			carried = fmt.Sprintf(": %d prices of %s stand until %s", group.Lanes, group.Of, group.Until)
		}
		why := cmp.Or(group.Why, group.Reason)
		if why != "" {
			why = " (" + why + ")"
		}

		text := fmt.Sprintf("%s (%s) for %s", group.Group, group.Name, group.Day)
		each = append(each, text+why+carried)
	}
	if len(each) > 0 {
		n.add("no prices of %s group %s", groups[0].Feed, Examples(each, "; "))
	}
}

// cards reports items that no source lists any more, and items that an earlier version lost.
func (n *remarks) cards(r *Report, again func() string) {
	if r.Unlisted > 0 {
		n.add("no source lists %d cards and sealed products any more; they stay for a year: %s", r.Unlisted,
			Examples(r.UnlistedExamples, ", "))
	}
	for _, pair := range r.Relisted[:min(len(r.Relisted), maxRemarks)] {
		n.add("%s %s is no longer listed, and %s has its set, number and name: if it is the same card, add to "+
			"aliases.csv of the mapping: %s", pair.Old, pair.Name, pair.New, pair.Row)
	}
	if r.LacksRecords {
		n.add("the base was built by an earlier version, which dropped the history of cards that the feed left out "+
			"for a day; to read it again from the archived days, run once: %s --reread-days", again())
	}
}

// missing names the days for which no feed has prices, with the command that adds later archived
// days. Games mostly miss the same days.
func (n *remarks) missing(gaps []DayGap, after string, again func() string) {
	cure := "; with their files in the folder days beside the tree run: "
	for _, before := range []bool{false, true} {
		// A gap that reaches beyond the base is new as a whole.
		days := map[string][]string{}
		for _, gap := range gaps {
			for day := gap.From; day <= gap.To && before == (gap.To <= after); day = dayAfter(day) {
				days[gap.Feed+" "+gap.Game] = append(days[gap.Feed+" "+gap.Game], day)
			}
		}
		games := map[string][]string{} // by their missing days
		for _, game := range slices.Sorted(maps.Keys(days)) {
			text := Examples(runs(days[game]), ", ")
			if n := len(days[game]); n > 1 {
				text = fmt.Sprintf("%d days: %s", n, text)
			}
			games[text] = append(games[text], game)
		}

		for _, text := range slices.Sorted(maps.Keys(games)) {
			command := ""
			if !before {
				command = cure + again()
			}
			n.add("no prices of %s for %s%s", strings.Join(games[text], ", "), text, command)
		}
	}
}

// runs formats ascending days as runs.
func runs(days []string) (spans []string) {
	for i := 0; i < len(days); {
		last := i
		for last+1 < len(days) && dayAfter(days[last]) == days[last+1] {
			last++
		}
		spans = append(spans, span(days[i], days[last]))
		i = last + 1
	}
	return spans
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
