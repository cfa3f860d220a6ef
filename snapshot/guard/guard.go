// Package guard judges a snapshot before it is published: whether what changed since the current
// one can be a day in the life of a catalog, or must be a broken feed.
//
// Every guard measures one figure and compares it with a limit that operators may change. The
// defaults are far above what real feeds do from one day to the next (docs/OPERATIONS.md has the
// measurements) and far below what a bad day does. A guard that compares shares says nothing about
// a handful of records: one card of three is not a third of a catalog that went missing.
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

// Limits are the configured limits by guard; what is left out keeps its default.
type Limits map[string]float64

// guard is one row of the table.
type guard struct {
	name  string
	limit float64
	kind  kind
	judge func(*day) finding
	help  string
}

func row(name string, limit float64, k kind, judge func(*day) finding, help string) guard {
	return guard{name, limit, k, judge, help}
}

// kind is how a guard judges.
type kind uint8

const (
	atMost   kind = iota // the limit is what the figure may be at most
	atLeast              // the limit is what the figure must reach
	compared             // as atMost, where there is a current snapshot to compare with
)

// finding is what a guard found.
type finding struct {
	figure float64
	limit  float64 // the limit after what the guard allows for, such as the days between the snapshots
	judged bool    // false when there is nothing or too little to judge
	text   string  // what was found
	todo   string  // what to do when it is refused
}

// guards are judged and shown in this order.
var guards = []guard{
	row("schema", 0, atMost, (*day).schema, "Records that break a bound of the published formats."),
	row("minimum_cards", 1, atLeast, (*day).minimumCards, "Cards in the snapshot."),
	row("minimum_prices", 0, atLeast, (*day).minimumPrices, "Current prices in the snapshot."),
	row("older", 0, compared, (*day).older,
		"Seconds by which the snapshot describes an earlier time than the current one."),
	row("future", 86_400, compared, (*day).future,
		"Seconds by which the snapshot is ahead of the clock, and further so than the current one."),
	row("repeated_feed", 0, compared, (*day).repeatedFeed,
		"1 when the snapshot claims a later time and nothing at all has changed: yesterday's file again."),
	row("duplicate_keys", 0, compared, (*day).duplicateKeys,
		"Identities that two records claim, beyond those of the current snapshot."),
	row("cards_removed", 0.05, compared, (*day).cardsRemoved, "Share of the current snapshot's cards that are gone."),
	row("cards_added", 0.5, compared, (*day).cardsAdded, "Cards that are new, as a share of the current snapshot's."),
	row("cards_changed", 0.1, compared, (*day).cardsChanged,
		"Share of the cards in both snapshots whose name, number or set is another."),
	row("sets_emptied", 0, compared, (*day).setsEmptied, "Sets that lost most of their cards or all of their prices."),
	row("prices_lost", 0.1, compared, (*day).pricesLost, "Share of the current snapshot's prices that are gone."),
	row("prices_moved", 0.05, compared, (*day).pricesMoved,
		"Share of the prices in both snapshots that moved by more than 60 %; more for each day beyond seven."),
	row(setsRepricedName, 10, compared, (*day).setsRepriced,
		"Factor by which more than half of a set's prices went up or down; more for each day beyond one."),
	row("quarantined", 0.05, compared, (*day).quarantined,
		"Quarantined lines beyond those of the current snapshot, as a share of its prices and cards."),
}

// Names are the guards' names in order.
func Names() []string {
	var names []string
	for _, g := range guards {
		names = append(names, g.name)
	}
	return names
}

// Description is what an operator is told of a guard.
type Description struct {
	Name  string
	Limit float64 // the default
	Help  string  // what the guard measures
}

// Describe returns the guards in order.
func Describe() []Description {
	var all []Description
	for _, g := range guards {
		all = append(all, Description{g.name, g.limit, g.help})
	}
	return all
}

// Name finds a guard however its words are joined: prices-moved is prices_moved.
func Name(given string) (string, error) {
	name := strings.ReplaceAll(strings.ToLower(given), "-", "_")
	for _, g := range guards {
		if g.name == name {
			return name, nil
		}
	}
	return "", fmt.Errorf("cannot use guard %q: the guards are %s", given, strings.Join(Names(), ", "))
}

// Validate returns every problem of the limits.
func (l Limits) Validate() error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, name := range slices.Sorted(maps.Keys(l)) {
		if !slices.Contains(Names(), name) {
			problem("cannot set guard %q: the guards are %s", name, strings.Join(Names(), ", "))
		}

		// What is not a number is not from 0 on either.
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
	// Duplicates are the reasons of quarantine by which two records claim one identity.
	Duplicates []string
}

// Judge has every guard judge the next snapshot against the current one, which may be nil.
func Judge(current, next *snapshot.Stored, o Options) []snapshot.Verdict {
	d := newDay(current, next, o)
	var verdicts []snapshot.Verdict
	for _, g := range guards {
		limit, set := o.Limits[g.name]
		if !set {
			limit = g.limit
		}

		d.limit = limit

		var f finding
		if current != nil || g.kind != compared {
			f = g.judge(d)
		}

		// A guard may raise its limit, for the time between the snapshots for one.
		if f.limit == 0 {
			f.limit = limit
		}

		v := snapshot.Verdict{Name: g.name, Status: snapshot.Passed, Figure: f.figure, Limit: f.limit, Text: f.text}
		switch {
		case !f.judged:
			v.Status = snapshot.Skipped
		case g.kind == atLeast && f.figure < f.limit, g.kind != atLeast && f.figure > f.limit:
			v.Status = snapshot.Refused
			v.Text = f.text + "; " + f.todo
		}

		verdicts = append(verdicts, v)
	}

	return verdicts
}
