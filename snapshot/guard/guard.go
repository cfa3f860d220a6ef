// Package guard judges a snapshot before it is published: its changes can be one day of a
// catalog, or must come from a broken feed.
//
// Every guard measures one figure and compares it with a limit that operators may change. The
// defaults are far above the daily changes of real feeds (docs/GUARDS.md has the measurements), and
// far below those of a bad day. A guard that compares fractions ignores a handful of records: one
// card of three is not a third of a catalog that went missing.
package guard

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ninepocket/snapshot"
)

// Limits are the configured limits by guard; omitted guards have their defaults.
type Limits map[string]float64

// guard is one row of the table.
type guard struct {
	Description
	kind  kind
	judge func(*comparison) finding
	todo  string // the remedy after a refusal; CURRENT and NEXT stand for the snapshots' ids
}

func row(name string, limit float64, kind kind, judge func(*comparison) finding, help, todo string) guard {
	return guard{Description{name, limit, help}, kind, judge, todo}
}

// kind is how a guard judges.
type kind uint8

const (
	upperBound   kind = iota // the figure may not exceed the limit
	lowerBound               // the figure must reach the limit
	onlyWithBase             // as upperBound, where there is a current snapshot to compare with
	onlyFirst                // as upperBound, where there is none
)

// finding is a guard's finding; the zero finding means that there is nothing to judge.
type finding struct {
	figure float64
	judged bool // false when there is nothing or too little to judge
	text   string
}

// judged is the finding of a guard that always judges.
func judged(figure float64, format string, args ...any) finding {
	return finding{figure, true, fmt.Sprintf(format, args...)}
}

// Names of the guards that judge a past day too, or whose limit is a factor.
const (
	repeatedFeedName = "repeated_feed"
	pricesMovedName  = "prices_moved"
	setsRepricedName = "sets_repriced"
	// feedPartlyOldName sets the pulled feed aside when it refuses.
	feedPartlyOldName = "feed_partly_old"
)

// compareHint shows an operator the changes.
const compareHint = "ninepocket snapshot diff CURRENT NEXT --store STORE"

// guards are judged and shown in this order.
var guards = []guard{
	row("schema", 0, upperBound, (*comparison).schema,
		"Records that break a bound of the published formats.", "this is a mistake of the program: report it"),
	row("minimum_cards", 1, lowerBound, (*comparison).minimumCards,
		"Cards in the snapshot.", "look at the sources and the quarantine report of the build"),
	row("minimum_prices", 0, lowerBound, (*comparison).minimumPrices,
		"Current prices in the snapshot.", "look at the price feeds and the quarantine report of the build"),
	row("older", 0, onlyWithBase, (*comparison).older,
		"Seconds by which the snapshot describes an earlier time than the current one.",
		"pull today's feed and build again; to go back on purpose run: "+
			"ninepocket snapshot rollback NEXT --store STORE"),
	row("future", 86_400, onlyWithBase, (*comparison).future,
		"Seconds by which the snapshot is ahead of the clock, and further so than the current one.",
		"look at the dates of the feed's files, or set the clock"),
	row(repeatedFeedName, 0, onlyWithBase, (*comparison).repeatedFeed,
		"1 when the snapshot claims a later time and nothing at all has changed: yesterday's file again.",
		"pull today's feed and build again"),
	row(feedPartlyOldName, 0.2, onlyWithBase, (*comparison).feedPartlyOld,
		"Share of a game's groups with ten or more prices of which not one price changed.",
		"the next ninepocket daily pulls the feed again; to publish it as it is, add: "+
			"--override feed_partly_old --reason TEXT"),
	row("duplicate_keys", 0, onlyWithBase, (*comparison).duplicateKeys,
		"Identities that two records claim, beyond those of the current snapshot.",
		"give the records identities of their own, or an alias, and build again; "+
			"the quarantine report names the lines"),
	row("cards_removed", 0.05, onlyWithBase, (*comparison).cardsRemoved,
		"Share of the current snapshot's cards that are gone.",
		"look for missing files in the catalog feed: "+compareHint),
	row("cards_unlisted", 0.05, onlyWithBase, (*comparison).cardsUnlisted,
		"Share of the current snapshot's listed cards that no source lists any more.",
		"look for missing files in the catalog feed: "+compareHint),
	row("cards_added", 0.5, onlyWithBase, (*comparison).cardsAdded,
		"Cards that are new, as a share of the current snapshot's.",
		"were identities lost, or a game added on purpose? Look at: "+compareHint),
	row("cards_changed", 0.1, onlyWithBase, (*comparison).cardsChanged,
		"Share of the cards in both snapshots whose name, number or set is another.",
		"look whether columns of the feed were swapped: "+compareHint),
	row("sets_emptied", 0, onlyWithBase, (*comparison).setsEmptied,
		"Sets that lost most of their cards or all of their prices.",
		"pull the files of these sets again and build again"),
	row("prices_lost", 0.1, onlyWithBase, (*comparison).pricesLost,
		"Share of the current snapshot's prices that are gone.",
		"look for missing or empty price files and at the quarantine report of the build"),
	row(pricesMovedName, 0.05, onlyWithBase, (*comparison).pricesMoved,
		"Share of the prices in both snapshots that moved by more than 60 %; more for each day beyond seven.",
		"were cents read as dollars, or columns swapped? Look at: "+compareHint),
	row(setsRepricedName, 10, onlyWithBase, (*comparison).setsRepriced,
		"Factor by which more than half of a set's prices went up or down; more for each day beyond one.",
		"were cents read as dollars, or columns swapped? Pull the price files of these sets again, or look at: "+
			compareHint),
	row("groups_missing", 0.05, upperBound, (*comparison).groupsMissing,
		"Share of the groups without usable prices on the snapshot's day, when it is more than one.",
		"pull the feed again and build again; to publish the day without these groups, add: "+
			"--override groups_missing --reason TEXT"),
	row("value_missing", 0.2, upperBound, (*comparison).valueMissing,
		"Share of the value of all prices that groups without usable prices have, when it is more than one group.",
		"pull the feed again and build again; to publish the day without these groups, add: "+
			"--override value_missing --reason TEXT"),
	row("unpriced", 0.5, onlyFirst, (*comparison).unpriced,
		"Share of the cards without a price, of a first snapshot that has price feeds.",
		"look at the reasons and at the dates of the feed's files: ninepocket snapshot inspect NEXT --store STORE"),
	row("quarantined", 0.05, upperBound, (*comparison).quarantined,
		"Quarantined lines beyond those of the current snapshot, as a share of its prices and cards.",
		"look at the reasons: ninepocket snapshot inspect NEXT --store STORE"),
}

// Names are the guards' names in order.
func Names() []string {
	var names []string
	for _, g := range guards {
		names = append(names, g.Name)
	}
	return names
}

// Description describes a guard for an operator.
type Description struct {
	Name  string
	Limit float64 // the default
	Help  string  // the guard's measure
}

// Describe returns the guards in order.
func Describe() []Description {
	var all []Description
	for _, g := range guards {
		all = append(all, g.Description)
	}
	return all
}

// Name finds a guard however its words are joined: prices-moved is prices_moved.
func Name(given string) (string, error) {
	name := strings.ReplaceAll(strings.ToLower(given), "-", "_")
	if slices.Contains(Names(), name) {
		return name, nil
	}
	return "", fmt.Errorf("cannot use guard %q: the guards are %s", given, strings.Join(Names(), ", "))
}

// of is the limit of a guard, as configured or its default.
func (l Limits) of(name string) float64 {
	if limit, set := l[name]; set {
		return limit
	}
	return guards[slices.IndexFunc(guards, func(g guard) bool { return g.Name == name })].Limit
}

// Validate returns every problem of the limits.
func (l Limits) Validate() error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, name := range slices.Sorted(maps.Keys(l)) {
		if !slices.Contains(Names(), name) {
			problem("cannot set guard %q: the guards are %s", name, strings.Join(Names(), ", "))
		}

		// Not a number is not from 0 on either.
		if v := l[name]; !(v >= 0) {
			problem("cannot set guard %q to %v: want a number from 0 on", name, v)
		} else if name == setsRepricedName && v < 1 {
			problem("cannot set guard %q to %v: want a factor from 1 on; a large one, such as 1e9, switches it off",
				name, v)
		}
	}

	return errors.Join(problems...)
}

// Options of Judge.
type Options struct {
	Limits Limits
	Now    time.Time
	// Duplicates are the reasons of quarantine for two records that claim one identity.
	Duplicates []string
	// Store is the folder that commands in a message name; "" leaves the word STORE.
	Store string
}

// Judge has every guard judge the next snapshot against the current one, which may be nil.
func Judge(current, next *snapshot.StoredSnapshot, o Options) []snapshot.GuardResult {
	d := compare(current, next, o)
	ids := []string{"NEXT", next.Manifest.ID}
	if o.Store != "" {
		ids = append(ids, "STORE", o.Store)
	}
	if current != nil {
		ids = append(ids, "CURRENT", current.Manifest.ID)
	}

	var verdicts []snapshot.GuardResult
	for _, g := range guards {
		// A guard may raise it, so that it is set again for each.
		d.limit = o.Limits.of(g.Name)

		var f finding
		if g.kind != onlyWithBase && g.kind != onlyFirst || (current != nil) == (g.kind == onlyWithBase) {
			f = g.judge(d)
		}

		verdict := snapshot.GuardResult{
			Name: g.Name, Status: snapshot.Passed, Value: f.figure, Limit: d.limit,
			Message: f.text,
		}
		switch {
		case !f.judged:
			verdict.Status = snapshot.Skipped
		case g.kind == lowerBound && f.figure < d.limit, g.kind != lowerBound && f.figure > d.limit:
			verdict.Status = snapshot.Refused
			verdict.Message = f.text + "; " + strings.NewReplacer(ids...).Replace(g.todo)
		}

		verdicts = append(verdicts, verdict)
	}

	return verdicts
}
