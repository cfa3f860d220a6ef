package guard

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"ninepocket/snapshot"
	"ninepocket/snapshot/diff"
)

// minUnchanged is how many groups of a game are unchanged at least before their share says anything:
// one quiet set of three is no half of a feed.
const minUnchanged = 5

// groupOfGame is a set in its game.
type groupOfGame struct {
	game uint8
	set  int32
}

// unchanged is how many groups of a game with enough prices there are, and those of which not one
// price is another.
type unchanged struct {
	game   uint8
	groups int
	sets   []int32
}

// share is the share of the unchanged groups, 0 for too few.
func (u *unchanged) share() float64 {
	if len(u.sets) < minUnchanged {
		return 0
	}
	return float64(len(u.sets)) / float64(u.groups)
}

// unchangedGroups judges groups by whether each price is the one of the day before; games ascend.
func unchangedGroups(same map[groupOfGame][]bool) []unchanged {
	games := map[uint8]*unchanged{}
	for key, prices := range same {
		if len(prices) < minInSet {
			continue
		}
		of := games[key.game]
		if of == nil {
			of = &unchanged{game: key.game}
			games[key.game] = of
		}
		of.groups++
		if !slices.Contains(prices, false) {
			of.sets = append(of.sets, key.set)
		}
	}

	var all []unchanged
	for _, game := range slices.Sorted(maps.Keys(games)) {
		slices.Sort(games[game].sets)
		all = append(all, *games[game])
	}
	return all
}

// feedPartlyOld finds games of which too many groups have the prices of the day before, one and all: a
// part of the feed is yesterday's (decision 3405). Real days leave 4 % of the groups as they were, and
// 11 % of a game's at most.
func (d *comparison) feedPartlyOld() finding {
	a := d.current.Catalog
	b := d.next.Catalog
	// A second tree of one day may change little.
	if b.Date() <= a.Date() {
		return finding{}
	}

	carried := missingSets(b)
	same := map[groupOfGame][]bool{}
	for pair := range diff.NewPairs(a, b).All {
		if pair.From == snapshot.NoCents || pair.To == snapshot.NoCents || pair.ItemB >= b.Cards.ID.Len() {
			continue
		}
		// The prices of a missing group and of an unlisted card are carried.
		set := b.Cards.Set[pair.ItemB]
		listed := b.UnlistedSince(pair.ItemB) == snapshot.NoDay
		if set != snapshot.NoSet && listed && !carried[b.Sets.ID.At(int(set))] {
			key := groupOfGame{b.Cards.Game[pair.ItemB], set}
			same[key] = append(same[key], pair.From == pair.To)
		}
	}

	games := unchangedGroups(same)
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
