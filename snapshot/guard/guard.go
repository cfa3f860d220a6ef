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
	help  string
	judge func(*day) finding
}

// kind is how a guard judges.
type kind uint8

const (
	atMost   kind = 1 << iota // the limit is what the figure may be at most
	atLeast                   // the limit is what the figure must reach
	compares                  // there must be a current snapshot to compare with
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
	{"schema", 0, atMost, "Records that break a bound of the published formats.", (*day).schema},
	{"minimum_cards", 1, atLeast, "Cards in the snapshot.", (*day).minimumCards},
	{"minimum_prices", 0, atLeast, "Current prices in the snapshot.", (*day).minimumPrices},
	{"older", 0, atMost | compares,
		"Seconds by which the snapshot describes an earlier time than the current one.", (*day).older},
	{"future", 86_400, atMost | compares,
		"Seconds by which the snapshot is ahead of the clock, and further so than the current one.", (*day).future},
	{"repeated_feed", 0, atMost | compares,
		"1 when the snapshot claims a later time and nothing at all has changed: yesterday's file again.",
		(*day).repeatedFeed},
	{"duplicate_keys", 0, atMost | compares,
		"Identities that two records claim, beyond those of the current snapshot.", (*day).duplicateKeys},
	{"cards_removed", 0.05, atMost | compares,
		"Share of the current snapshot's cards that are gone.", (*day).cardsRemoved},
	{"cards_added", 0.5, atMost | compares,
		"Cards that are new, as a share of the current snapshot's.", (*day).cardsAdded},
	{"cards_changed", 0.1, atMost | compares,
		"Share of the cards in both snapshots whose name, number or set is another.", (*day).cardsChanged},
	{"sets_emptied", 0, atMost | compares,
		"Sets that lost most of their cards or all of their prices.", (*day).setsEmptied},
	{"prices_lost", 0.1, atMost | compares, "Share of the current snapshot's prices that are gone.", (*day).pricesLost},
	{"prices_moved", 0.05, atMost | compares,
		"Share of the prices in both snapshots that moved by more than 60 %; more for each day beyond seven.",
		(*day).pricesMoved},
	{setsRepricedName, 10, atMost | compares,
		"Factor by which more than half of a set's prices went up or down; more for each day beyond one.",
		(*day).setsRepriced},
	{"quarantined", 0.05, atMost | compares,
		"Quarantined lines beyond those of the current snapshot, as a share of its prices and cards.",
		(*day).quarantined},
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
		if current != nil || g.kind&compares == 0 {
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
		case g.kind&atLeast != 0 && f.figure < f.limit, g.kind&atMost != 0 && f.figure > f.limit:
			v.Status = snapshot.Refused
			v.Text = f.text + "; " + f.todo
		}

		verdicts = append(verdicts, v)
	}

	return verdicts
}
