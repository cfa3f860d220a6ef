package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Withdrawal is a snapshot that was withdrawn: Previous of the release.
type Withdrawal struct {
	// Publication replaced it. Its time is zero if unknown.
	Publication
	// Of is the instant that the withdrawn snapshot describes.
	Of time.Time
}

// Withdrawn lists the snapshots newer than the current one that were taken off the air and not
// published since. Those that are no longer in the store count as well. A damaged one was not
// withdrawn for its content and is left out.
//
// CURRENT alone records the last withdrawal. The journal records the earlier ones. If the journal does not
// record the current release, lost reports this, and every later snapshot of the store counts as withdrawn:
// an operator may have looked at it.
func (d *Store) Withdrawn() (all []Withdrawal, lost error) {
	cur, err := d.Current()
	if err != nil {
		return nil, nil //nolint:nilerr // nothing is on the air
	}

	newest := d.instant(cur.ID)
	served := map[time.Time]bool{}
	take := func(by Publication) {
		of := d.instant(by.Previous)
		err := d.Verify(by.Previous)
		if of.After(newest) && !served[of] && (err == nil || errors.Is(err, ErrNotFound)) {
			all = append(all, Withdrawal{by, of})
			served[of] = true // reported once
		}
	}

	past := d.publications(cur)
	known := len(past) > 0 && past[len(past)-1].Current == cur
	if !known {
		_, err := d.readJournal()
		lacks := &DamageError{journalName, "lacks the current release"}
		lost = cmp.Or(err, fmt.Errorf("store %q: %w", d.root, lacks))
		take(Publication{Current: cur, Action: ActionRollback})
	}

	for i, by := range slices.Backward(past) {
		served[d.instant(by.ID)] = true
		// The current snapshot took the place of a later one: that is a rollback by any name.
		if by.Action == ActionRollback || known && i == len(past)-1 {
			take(by)
		}
	}
	if known {
		return all, nil
	}

	// A snapshot that cannot be listed cannot be published either.
	stored, _ := d.List()
	for _, m := range stored {
		take(Publication{Current: Current{Previous: m.ID}})
	}
	return all, lost
}

// instant is the instant that a snapshot describes. For a removed one, its id gives it; zero
// for anything that is no snapshot.
func (d *Store) instant(id string) time.Time {
	m, err := d.Manifest(id)
	if err == nil {
		return m.SnapshotAt
	}

	return instantOf(id)
}

// instantOf is the instant that an id says, to the second.
func instantOf(id string) time.Time {
	stamp, _, _ := strings.Cut(id, "-")
	at, _ := time.Parse(idTime, stamp) // zero for anything else
	return at
}

// dayOfID is the day of an id, a day of long ago for anything that is no id.
func dayOfID(id string) Day { return DayOf(instantOf(id).UnixMilli()) }

// WithdrawnDays are the days that a release withdrew, ascending. They begin after the day that it serves, and
// end with the day of the snapshot that it replaced.
func (cur *Current) WithdrawnDays() (days []Day) {
	for day := dayOfID(cur.ID) + 1; day <= dayOfID(cur.Previous); day++ {
		days = append(days, day)
	}
	return days[max(0, len(days)-HistoryDays):]
}

// discard adds a day, "" for none. It drops the day that is served, and those that no history reaches
// back to.
func (cur *Current) discard(day string) {
	served := dayOfID(cur.ID)
	days := append(strings.Fields(cur.Discarded), day)
	slices.Sort(days)
	days = slices.DeleteFunc(slices.Compact(days), func(day string) bool {
		return day == served.String() || day <= (served-HistoryDays).String()
	})
	cur.Discarded = strings.Join(days, " ")
}
