package guard

import (
	"fmt"
	"slices"

	"ninepocket/snapshot"
	"ninepocket/snapshot/diff"
)

// Change is a price of a past day next to the nearest known price of its lane, in cents.
type Change struct {
	Game     uint8
	Set      int32 // row of the card's set, snapshot.NoSet without one and of sealed products
	From, To int64
	// Published is that the price is already in the history of the day: it is correct, and does not show
	// whether the feed was rebuilt.
	Published bool
}

// repeats reports whether a price equals the previous day's.
func (change *Change) repeats() bool { return change.From == change.To && !change.Published }

// Past judges a day's prices before they are built into a history, by the limits of the guards
// prices_moved, sets_repriced, repeated_feed and feed_partly_old. The day is at most so many days away
// from those of the compared prices. why is the reason if the prices cannot be real, "" otherwise; wrong
// are the sets with impossible prices, with the reason. Past takes over the slice of changes.
func (l Limits) Past(changes []Change, days float64) (why string, wrong map[int32]string) {
	sets := map[int32][]Change{}
	for _, change := range changes {
		if change.Set != snapshot.NoSet {
			sets[change.Set] = append(sets[change.Set], change)
		}
	}

	wrong = map[int32]string{}
	limit := l.of(setsRepricedName)
	for set, of := range sets {
		if middle, judged := middleFactor(of); judged && middle > repricedLimit(limit, days) {
			wrong[set] = fmt.Sprintf("more than half of its prices went up or down by %g times or more", limit)
		}
	}

	// Sets that are wrong as a whole do not count for the others.
	all := countMoves(changes)
	others := countMoves(slices.DeleteFunc(changes, func(change Change) bool { return wrong[change.Set] != "" }))
	limit = movedLimit(l.of(pricesMovedName), days) * float64(others.of)
	switch {
	case len(wrong)*2 > len(sets), others.moved >= minPrices && float64(others.moved) > limit:
		why = fmt.Sprintf("%d of %d prices moved by more than 60 %%", all.moved, all.of)
	case all.same >= minSame && all.same == all.of && l.of(repeatedFeedName) < 1:
		why = fmt.Sprintf("not one of %d prices differs from the day before: yesterday's feed again", all.of)
	default:
		for _, old := range unchangedGroups(sets) {
			if old.share() > l.of(feedPartlyOldName) {
				why = fmt.Sprintf("%d of %d groups of a game are those of the day before", len(old.sets), old.groups)
			}
		}
	}
	return why, wrong
}

// moves are how many of some prices moved, and how many did not change at all.
type moves struct{ moved, same, of int }

func countMoves(changes []Change) moves {
	m := moves{of: len(changes)}
	for _, change := range changes {
		pair := diff.Pair{From: change.From, To: change.To}
		switch {
		case pair.Moved():
			m.moved++
		case change.repeats():
			m.same++
		}
	}
	return m
}
