package loader

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

const carryDays = snapshot.CarryDays

// gapKey is a group of a feed on a day, or the whole day of a game where there is no group.
type gapKey struct {
	feed, game uint8
	day        snapshot.Day
	group      string // full reference, "" for the whole day
}

// gap is the known facts about a group's missing prices.
type gap struct {
	name      string
	empty     bool   // the file is there and has no row
	reason    string // a reason of quarantine, source.ReasonImplausible or source.ReasonUnlisted
	why       string // the reason in words, "" where it says enough
	collected int64  // when its source was collected, NoTime if the base reported it
}

// feedGame is a game of a feed.
type feedGame struct{ feed, game uint8 }

// feedGroup is a group of a feed, by its full reference.
type feedGroup struct {
	feed  uint8
	group string
}

// findGroups finds the groups that lack the newest day of their feed, and the newest day that each
// has.
func (a *assembly) findGroups() {
	b := a.b
	a.carryGaps()
	a.readDays = map[feedGroup][]snapshot.Day{}
	// An input may have the rows that another one lacks.
	for key := range b.priced {
		delete(b.missing, key)
		if key.day <= b.o.Base.Date() {
			of := feedGroup{key.feed, key.group}
			a.readDays[of] = append(a.readDays[of], key.day)
		}
	}
	a.findUnlistedGroups()
	// On a usual day none lacks anything, and lanes are many.
	if len(b.missing) == 0 {
		return
	}

	a.groups = map[string]snapshot.Day{}
	for key := range b.missing {
		if key.day == b.newest[key.feed][key.game] {
			a.groups[key.group] = snapshot.NoDay
		}
	}
	had := map[string]bool{}
	for i := range b.lanes.all {
		l := &b.lanes.all[i]
		group := b.merged.item(int(l.item)).group
		had[group] = true
		if newest, lacks := a.groups[group]; lacks {
			a.groups[group] = max(newest, l.day)
		}
	}

	// A group that never had a price lacks none.
	maps.DeleteFunc(b.missing, func(key gapKey, g gap) bool { return g.empty && !had[key.group] })
}

// findUnlistedGroups adds the groups that a feed does not list any more to those that lack its newest day.
// Their prices stand for as long as those of any missing group, and after that they are only unlisted.
func (a *assembly) findUnlistedGroups() {
	b := a.b
	listed := map[string]bool{}
	since := map[string]snapshot.Day{}
	for i := range b.merged.cards {
		c := &b.merged.cards[i]
		if c.unlisted == 0 {
			listed[c.group] = true
		} else {
			// A group has vanished with the last of its cards; some may have been unlisted before.
			since[c.group] = max(since[c.group], c.unlisted)
		}
	}

	for i := range b.merged.cards {
		c := &b.merged.cards[i]
		namespace, _ := splitRef(c.group)
		if listed[c.group] || c.group == "" || b.feedAt(namespace) < 0 || b.listedGroups[c.group] {
			continue
		}
		feed := b.feedOf(namespace)
		key := gapKey{feed, c.game, b.newest[feed][c.game], c.group}
		if key.day != snapshot.NoDay && key.day-carryDays < since[c.group] {
			b.missing[key] = gap{reason: source.ReasonUnlisted}
		} else if key.day-carryDays == since[c.group] {
			listed[c.group] = true // it is named once
			b.report.MappingRemarks = append(b.report.MappingRemarks, fmt.Sprintf(
				"no source has listed group %s for %d days: its prices stand no longer", readable(c.group), carryDays))
		}
	}
}

// carryGaps carries over the base's missing groups and days.
func (a *assembly) carryGaps() {
	base := a.b.o.Base
	gaps := &base.Gaps
	for i, day := range gaps.Day {
		group := gaps.Group.At(i)
		namespace := base.Feeds.Namespace.At(int(gaps.Feed[i]))
		if group == "" || day < a.from || a.b.feedAt(namespace) < 0 {
			continue
		}

		key := gapKey{a.b.feedOf(namespace), a.b.baseGames[gaps.Game[i]], day, fullRef(namespace, group)}
		if filled := &a.b.report.Filled; a.b.priced[key] && !slices.Contains(*filled, day.String()) {
			*filled = append(*filled, day.String())
			slices.Sort(*filled)
		}
		name := ""
		if set := gaps.Set[i]; set != snapshot.NoSet {
			name = base.Sets.Name.At(int(set))
		}
		if _, known := a.b.missing[key]; !known {
			a.b.missing[key] = gap{name: name, reason: base.GapReason(i)}
		}
	}
}

// carriesPrice reports whether a lane has the price of an earlier day for a while. Its group lacks the
// newest day, and the lane was current when the group was seen last; or its card is unlisted.
func (a *assembly) carriesPrice(lane int32, it *item) bool {
	l := &a.b.lanes.all[lane]
	if l.day+carryDays < a.b.newest[l.feed][it.game] {
		return false
	}
	if last, lacks := a.groups[it.group]; lacks && l.day == last {
		return true
	}
	// The price that an unlisted card had until now, for any state of its group.
	return it.unlisted != 0 && l.base >= 0 && a.b.o.Base.Lanes.Cents[l.base] != snapshot.NoCents
}

// observeDays notes the days on which a daily feed has prices: those of the lane that was written last.
func (a *assembly) observeDays(key feedGame) {
	seen := a.seen[key]
	if seen == nil {
		seen = new([snapshot.HistoryDays]bool)
		a.seen[key] = seen
	}
	for _, point := range a.points {
		seen[point.Day-a.from] = true
	}
}

// writeGaps writes the gaps of daily feeds within the history: whole days between the first and
// the newest that they have, and groups.
func (a *assembly) writeGaps() {
	b := a.b
	var keys []gapKey
	for of, seen := range a.seen {
		// A game that its feed has lost since is missing as well.
		newest := min(int(slices.Max(b.newest[of.feed])-a.from), len(seen)-1)
		for i := slices.Index(seen[:], true); i <= newest; i++ {
			if !seen[i] {
				keys = append(keys, gapKey{of.feed, of.game, a.from + snapshot.Day(i), ""})
			}
		}
	}

	for key := range b.missing {
		// If a day is missing as a whole, its groups are not listed one by one.
		seen := a.seen[feedGame{key.feed, key.game}]
		at := int(key.day - a.from)
		if at >= 0 && at < len(seen) &&
			(key.group == "" || seen != nil && seen[at] || key.day == b.newest[key.feed][key.game]) {
			keys = append(keys, key)
		}
	}
	keys = slices.DeleteFunc(keys, func(key gapKey) bool { return a.feedAt[key.feed] == noFeed || !a.has[key.game] })
	// Maps have no order, and the same inputs make the same bytes.
	slices.SortFunc(keys, func(x, y gapKey) int {
		return cmp.Or(cmp.Compare(a.feedAt[x.feed], a.feedAt[y.feed]), cmp.Compare(a.game[x.game], a.game[y.game]),
			cmp.Compare(x.day, y.day), strings.Compare(x.group, y.group))
	})

	sets := b.merged.setsByRef()
	gaps := &a.c.Gaps
	reasons := false
	for _, key := range keys {
		set := snapshot.NoSet
		if i, known := sets[key.group]; known {
			set = a.setAt[i]
		}
		_, group := splitRef(key.group)
		gaps.Feed = append(gaps.Feed, a.feedAt[key.feed])
		gaps.Game = append(gaps.Game, a.game[key.game])
		gaps.Day = append(gaps.Day, key.day)
		gaps.Group.Append(group)
		gaps.Set = append(gaps.Set, set)
		a.c.GapReasons.Append(b.missing[key].reason)
		reasons = reasons || b.missing[key].reason != ""
		a.reportGap(key, set)
	}
	if !reasons {
		a.c.GapReasons = snapshot.Strings{}
	}
}

// writeUnlisted writes the items that no source lists, by their rows.
func (a *assembly) writeUnlisted() {
	unlisted := &a.c.Unlisted
	add := func(row int, since snapshot.Day) {
		if since != 0 {
			unlisted.Item = append(unlisted.Item, uint32(row))
			unlisted.Since = append(unlisted.Since, min(since, a.c.Date()))
		}
	}
	for row, i := range a.cards {
		add(row, a.b.merged.cards[i].unlisted)
	}
	for row, i := range a.sealed {
		add(len(a.cards)+row, a.b.merged.sealed[i].unlisted)
	}
}

// writeGone writes the cards that earlier catalogs had and this one has not.
func (a *assembly) writeGone() {
	base := a.b.o.Base
	type card struct {
		name string
		last snapshot.Day
	}
	gone := map[string]card{}
	for i := range base.Gone.ID.Len() {
		gone[base.Gone.ID.At(i)] = card{base.Gone.Name.At(i), base.Gone.Last[i]}
	}

	for i := range a.c.Cards.ID.Len() {
		delete(gone, a.c.Cards.ID.At(i))
	}
	for i := range base.Cards.ID.Len() {
		if !a.b.staying[i] {
			gone[base.Cards.ID.At(i)] = card{base.Cards.Name.At(i), base.Date()}
		}
	}

	for _, id := range slices.Sorted(maps.Keys(gone)) {
		a.c.Gone.ID.Append(id)
		a.c.Gone.Name.Append(gone[id].name)
		a.c.Gone.Last = append(a.c.Gone.Last, gone[id].last)
	}
}

// writeUnclaimed writes the references that had prices without an item, within the history.
func (a *assembly) writeUnclaimed() {
	b := a.b
	// Its row says that there are such records: a base of an earlier version has none.
	b.unclaimed[""] = 0
	for _, ref := range slices.Sorted(maps.Keys(b.unclaimed)) {
		a.c.Unclaimed.Ref.Append(ref)
		first := b.unclaimed[ref]
		if ref != "" {
			first = max(first, a.from)
		}
		a.c.Unclaimed.FirstDay = append(a.c.Unclaimed.FirstDay, first)
	}
}

// reportGap reports a gap: days in runs, and groups of the newest day or of one that was filled.
func (a *assembly) reportGap(key gapKey, set int32) {
	r := &a.b.report
	feed := a.b.feeds[key.feed].namespace
	game := snapshot.Games[key.game].Slug
	if key.group == "" {
		if n := len(r.Days); n > 0 {
			last := &r.Days[n-1]
			if last.Feed == feed && last.Game == game && last.To == (key.day-1).String() {
				last.To = key.day.String()
				return
			}
		}
		r.Days = append(r.Days, DayGap{feed, game, key.day.String(), key.day.String()})
		return
	}

	today := key.day == a.b.newest[key.feed][key.game]
	if !today && !slices.Contains(r.Filled, key.day.String()) {
		return
	}
	_, group := splitRef(key.group)
	of := a.b.missing[key]
	carried := CarriedGroup{
		Feed: feed, Game: game, Group: group, Name: of.name, Day: key.day.String(), Reason: of.reason, Why: of.why,
	}
	if today && of.reason != "" {
		r.GroupReasons[of.reason]++
	}
	if set != snapshot.NoSet {
		carried.Name = a.c.Sets.Name.At(int(set))
	}
	if last := a.groups[key.group]; today && last != snapshot.NoDay && last+carryDays >= key.day {
		carried.Of = last.String()
		carried.Until = (last + carryDays).String()
		carried.Lanes = a.carriedLanes(key.group)
	}
	r.Groups = append(r.Groups, carried)
}

// carriedLanes is how many lanes of a group keep a price.
func (a *assembly) carriedLanes(group string) (n int) {
	for item := range a.lanes {
		if a.b.merged.item(item).group != group {
			continue
		}
		for _, lane := range a.lanes[item] {
			if a.cents(lane) != snapshot.NoCents {
				n++
			}
		}
	}
	return n
}
