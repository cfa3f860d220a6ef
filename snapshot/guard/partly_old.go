package guard

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"ninepocket/snapshot"
)

// minUnchanged is the least number of a game's unchanged groups before their fraction counts: one
// quiet set of three is no half of a feed.
const minUnchanged = 5

// unchanged counts the groups of a game with enough prices, and those without any changed price.
type unchanged struct {
	game   uint8
	groups int
	sets   []int32
}

// share is the fraction of the unchanged groups, 0 for too few.
func (u *unchanged) share() float64 {
	if len(u.sets) < minUnchanged {
		return 0
	}
	return float64(len(u.sets)) / float64(u.groups)
}

// unchangedGroups judges sets by whether each price equals the previous day's; games ascend.
func unchangedGroups(sets map[int32][]Change) []unchanged {
	games := map[uint8]unchanged{}
	for _, set := range slices.Sorted(maps.Keys(sets)) {
		changes := sets[set]
		if len(changes) < minInSet {
			continue
		}

		of := games[changes[0].Game]
		of.game = changes[0].Game
		of.groups++
		if !slices.ContainsFunc(changes, func(change Change) bool { return !change.repeats() }) {
			of.sets = append(of.sets, set)
		}
		games[of.game] = of
	}

	return slices.SortedFunc(maps.Values(games), func(a, b unchanged) int { return cmp.Compare(a.game, b.game) })
}

// feedPartlyOld finds games in which too many groups have exactly the previous day's prices: a part of
// the feed is yesterday's (decision 3405). Real days leave 4 % of the groups unchanged, and 11 % of a
// game's at most.
func (d *comparison) feedPartlyOld() finding {
	b := d.next.Catalog
	// A rebuilt feed of one day may change little.
	if b.Date() <= d.current.Catalog.Date() {
		return finding{}
	}

	// The prices of a missing group and of an unlisted card are carried.
	games := unchangedGroups(d.changesBySet(func(card int) bool {
		return b.UnlistedSince(card) == snapshot.NoDay && !d.missing[setOf(b, card)]
	}))
	if len(games) == 0 {
		return finding{}
	}
	worst := slices.MaxFunc(games, func(x, y unchanged) int { return cmp.Compare(x.share(), y.share()) })
	var names []string
	for _, set := range worst.sets {
		names = append(names, fmt.Sprintf("%q", b.Sets.Name.At(int(set))))
	}
	return judged(worst.share(), "%d of %d groups of %s have not one other price than the day before (%.1f %%, "+
		"at most %.1f %% may): a part of the feed is yesterday's: %s", len(worst.sets), worst.groups,
		b.Games.Name.At(int(worst.game)), worst.share()*100, d.limit*100, join(names))
}
