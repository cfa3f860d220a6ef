package loader

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// heldDays is for how many days the prices of a group stand that its feed lacks: a feed that loses a
// file has it again within days, and what is older is no price of today (decision 1903).
const heldDays = 7

// gapKey is a group of a feed on a day, or the whole day of a game where there is no group.
type gapKey struct {
	feed, game uint8
	day        snapshot.Day
	group      string // full reference, "" for the whole day
}

// gap is what is known of a group's missing prices.
type gap struct {
	name      string
	empty     bool  // the file is there and has no row
	collected int64 // when what lacks them was collected, NoTime where the base told of it
}

// feedGame is a game of a feed.
type feedGame struct{ feed, game uint8 }

// Missing notes a group whose prices a source lacks.
func (p *pricer) Missing(missing source.Missing) {
	game, known := gameNumber(missing.Game)
	if !missing.Prices || !known || p.b.until != snapshot.NoTime && missing.Day > snapshot.DayOf(p.b.until) {
		return
	}
	key := gapKey{p.feed, game, missing.Day, fullRef(p.b.feeds[p.feed].namespace, missing.SetRef)}
	p.b.missing[key] = gap{missing.Name, missing.Empty, missing.CollectedAt}
}

// loseDays finds the days that a feed tells of and has no price of, in any group: they are missing as a
// whole, and the catalog is of such a day although no row was collected then.
func (b *builder) loseDays() {
	lost := map[gapKey]gap{}
	for key, of := range b.missing {
		if key.day > b.latest && key.day > slices.Max(b.newest[key.feed]) {
			lost[gapKey{key.feed, key.game, key.day, ""}] = gap{}
			b.collected = max(b.collected, of.collected)
		}
	}
	maps.Copy(b.missing, lost)
}

// seeGroup notes that the group of an item has a row of a day. The rows of a group stand together.
func (p *pricer) seeGroup(i int32, day snapshot.Day) {
	it := p.b.merged.item(int(i))
	key := gapKey{p.feed, it.game, day, it.group}
	if key != p.group && it.group != "" {
		p.group = key
		p.b.priced[key] = true
	}
}

// Missing notes a set whose products the source lacks.
func (g *gatherer) Missing(missing source.Missing) {
	if !missing.Prices {
		g.lost[missing.SetRef] = true
	}
}

// group is the full reference of a group, one text for all its items.
func (g *gatherer) group(setRef string) string {
	if setRef == "" {
		return ""
	}
	return g.b.pool.of(fullRef(g.feed.Namespace, setRef))
}

// carryLost takes from the base what was in the groups whose products the source lacks: they are
// still there, for all that is known. Of sealed products the base does not know the group, so that
// all of the game's that no other group has stay.
func (g *gatherer) carryLost() {
	base := g.b.o.Base
	if base == nil || len(g.lost) == 0 {
		return
	}

	refs := g.b.refsOfBase()
	games := map[uint8]string{}
	for ref := range g.lost {
		if set, known := g.setOf[ref]; known {
			games[g.out.sets[set].game] = ref
		}
	}

	for i := range base.Cards.ID.Len() {
		if base.Cards.Set[i] == snapshot.NoSet {
			continue
		}
		ref := g.lostSet(refs[base.Sets.ID.At(int(base.Cards.Set[i]))])
		c := g.b.carryCard(i, refs)
		if ref == "" || !g.carries(&c.item, ref) {
			continue
		}
		c.set = g.setOf[ref]
		g.setRefs = append(g.setRefs, g.b.pool.of(ref))
		g.out.cards = append(g.out.cards, c)
		g.report.Carried++
	}

	for i := range base.Sealed.Tail.Len() {
		sealed := g.b.carrySealed(i, refs)
		if ref, lost := games[sealed.game]; lost && g.carries(&sealed.item, ref) {
			g.out.sealed = append(g.out.sealed, sealed)
			g.report.Carried++
		}
	}
}

// lostSet is the source's reference of a set of the base whose products it lacks, "" for others.
func (g *gatherer) lostSet(refs []string) string {
	for _, full := range refs {
		namespace, ref := splitRef(full)
		if _, listed := g.setOf[ref]; listed && namespace == g.feed.Namespace && g.lost[ref] {
			return ref
		}
	}
	return ""
}

// carries makes an item of the base one of the source's, unless the source has it elsewhere or never
// had it.
func (g *gatherer) carries(it *item, setRef string) bool {
	prefix := fullRef(g.feed.Namespace, "")
	at := slices.IndexFunc(it.refs, func(ref string) bool { return strings.HasPrefix(ref, prefix) })
	if at < 0 || g.seen[it.refs[at][len(prefix):]] {
		return false
	}

	it.refs = []string{it.refs[at]}
	it.group = g.group(setRef)
	g.seen[it.refs[0][len(prefix):]] = true
	return true
}

// groupOfSet is the reference by which a feed with groups knows a set, "" for none.
func groupOfSet(refs []string) string {
	for _, ref := range refs {
		if namespace, _ := splitRef(ref); namespace == source.KindTCGCSV {
			return ref
		}
	}
	return ""
}

// openKept opens the kept day files of the days that the base lacks. One that is damaged holds up no
// other day.
func (b *builder) openKept(sources []opened) (kept []opened) {
	if len(b.o.Kept) == 0 {
		return nil
	}

	newest := snapshot.NoDay
	for _, opened := range sources {
		if dated, ok := opened.Source.(source.Dated); ok && opened.Feed().Namespace == source.KindTCGCSV {
			day, _ := dated.Newest()
			newest = max(newest, day)
		}
	}

	has := b.daysOfBase()
	for _, day := range slices.Sorted(maps.Keys(b.o.Kept)) {
		if day >= newest || day <= newest-snapshot.HistoryDays || has[day] == whole {
			continue
		}

		in := b.o.Kept[day]
		opened, err := b.openAll([]Input{in})
		if err == nil {
			err = holdsDay(opened[0], day)
		}
		if err != nil {
			b.leaveDayOut(RefusedDay{Day: day.String(), Input: in, Why: err.Error(), Damaged: true})
			continue
		}
		kept = append(kept, opened...)
		if has[day] == lacking {
			b.report.Filled = append(b.report.Filled, day.String())
		}
	}
	return kept
}

// holdsDay wants a kept day file to be of the day that it is named after.
func holdsDay(in opened, day snapshot.Day) error {
	dated, is := in.Source.(source.Dated)
	if !is {
		return errors.New("it is no day file")
	}
	if holds, _ := dated.Newest(); holds != day {
		return fmt.Errorf("it holds the prices of %s", holds)
	}
	return nil
}

// leaveDayOut leaves out a kept day, or a file of one, and says so.
func (b *builder) leaveDayOut(refused RefusedDay) {
	r := &b.report
	r.Refused = append(r.Refused, refused)
	if refused.File == "" {
		r.Filled = slices.DeleteFunc(r.Filled, func(day string) bool { return day == refused.Day })
	}
}

// What a base has of a day.
const (
	lacking = iota // nothing, or nothing of a game
	partly         // not all groups
	whole
)

// daysOfBase says what the base has of each day of the daily feed.
func (b *builder) daysOfBase() map[snapshot.Day]int {
	base := b.o.Base
	has := map[snapshot.Day]int{}
	if base == nil {
		return has
	}

	// Ten million points: an array, not a map.
	first := base.Date() - snapshot.HistoryDays + 1
	var days [snapshot.HistoryDays]bool
	var points []snapshot.Point
	for i := range base.NumItems() {
		from, to := base.Lanes.Of.Range(i)
		for lane := from; lane < to; lane++ {
			if base.Feeds.Namespace.At(int(base.Lanes.Feed[lane])) != source.KindTCGCSV {
				continue
			}
			points = base.History.AppendPoints(points[:0], lane, first, base.Date())
			for _, point := range points {
				days[point.Day-first] = true
			}
		}
	}

	for i, seen := range days {
		if seen {
			has[first+snapshot.Day(i)] = whole
		}
	}
	for i, day := range base.Gaps.Day {
		if base.Gaps.Group.At(i) == "" {
			has[day] = lacking
		} else if has[day] == whole {
			has[day] = partly
		}
	}
	return has
}

// findGroups finds the groups that lack the newest day of their feed, and the newest day that each
// has.
func (a *assembly) findGroups() {
	b := a.b
	a.takeGapsOfBase()
	for key := range b.priced {
		delete(b.missing, key)
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

// takeGapsOfBase carries over which groups the base lacks of which days.
func (a *assembly) takeGapsOfBase() {
	base := a.b.o.Base
	if base == nil {
		return
	}

	gaps := &base.Gaps
	for i, day := range gaps.Day {
		group := gaps.Group.At(i)
		namespace := base.Feeds.Namespace.At(int(gaps.Feed[i]))
		if group == "" || day < a.w.from || a.b.feedAt(namespace) < 0 {
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
		if _, told := a.b.missing[key]; !told {
			a.b.missing[key] = gap{name: name}
		}
	}
}

// holds reports whether a lane keeps the price of an earlier day: its group lacks the newest one,
// and it was current when the group was seen last.
func (a *assembly) holds(lane int32, it *item) bool {
	last, lacks := a.groups[it.group]
	l := &a.b.lanes.all[lane]
	return lacks && l.day == last && l.day+heldDays >= a.b.newest[l.feed][it.game]
}

// seeDays notes of which days a daily feed has prices.
func (a *assembly) seeDays(lane int32) {
	l := &a.b.lanes.all[lane]
	if a.b.feeds[l.feed].namespace != source.KindTCGCSV {
		return
	}

	key := feedGame{l.feed, a.b.merged.item(int(l.item)).game}
	seen := a.seen[key]
	if seen == nil {
		if a.seen == nil {
			a.seen = map[feedGame]*[snapshot.HistoryDays]bool{}
		}
		seen = new([snapshot.HistoryDays]bool)
		a.seen[key] = seen
	}
	for _, point := range a.points {
		seen[point.Day-a.w.from] = true
	}
}

// writeGaps writes what daily feeds lack within the history: whole days between the first and the
// newest that they have, and groups.
func (a *assembly) writeGaps() {
	b := a.b
	var keys []gapKey
	for of, seen := range a.seen {
		// A game that its feed has lost since is missing as well.
		newest := min(int(slices.Max(b.newest[of.feed])-a.w.from), len(seen)-1)
		for i := slices.Index(seen[:], true); i <= newest; i++ {
			if !seen[i] {
				keys = append(keys, gapKey{of.feed, of.game, a.w.from + snapshot.Day(i), ""})
			}
		}
	}

	for key := range b.missing {
		// Of a day that is missing as a whole, its groups are not told one by one.
		seen := a.seen[feedGame{key.feed, key.game}]
		at := int(key.day - a.w.from)
		if at >= 0 && at < len(seen) &&
			(key.group == "" || seen != nil && seen[at] || key.day == b.newest[key.feed][key.game]) {
			keys = append(keys, key)
		}
	}
	keys = slices.DeleteFunc(keys, func(key gapKey) bool { return a.feedAt[key.feed] == noFeed || !a.has[key.game] })
	slices.SortFunc(keys, func(x, y gapKey) int {
		return cmp.Or(cmp.Compare(a.feedAt[x.feed], a.feedAt[y.feed]), cmp.Compare(a.game[x.game], a.game[y.game]),
			cmp.Compare(x.day, y.day), strings.Compare(x.group, y.group))
	})

	rows := a.setRows()
	gaps := &a.c.Gaps
	for _, key := range keys {
		set, known := rows[key.group]
		if !known {
			set = snapshot.NoSet
		}
		_, group := splitRef(key.group)
		gaps.Feed = append(gaps.Feed, a.feedAt[key.feed])
		gaps.Game = append(gaps.Game, a.game[key.game])
		gaps.Day = append(gaps.Day, key.day)
		gaps.Group.Append(group)
		gaps.Set = append(gaps.Set, set)
		a.tellGap(key, set)
	}
}

// setRows are the rows of sets by their references.
func (a *assembly) setRows() map[string]int32 {
	rows := map[string]int32{}
	for i := range a.b.merged.sets {
		for _, ref := range a.b.merged.sets[i].refs {
			rows[ref] = a.setAt[i]
		}
	}
	return rows
}

// tellGap reports a gap: days in runs, and groups of the newest day or of one that was filled.
func (a *assembly) tellGap(key gapKey, set int32) {
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
	held := HeldGroup{Feed: feed, Game: game, Group: group, Name: a.b.missing[key].name, Day: key.day.String()}
	if set != snapshot.NoSet {
		held.Name = a.c.Sets.Name.At(int(set))
	}
	if last := a.groups[key.group]; today && last != snapshot.NoDay && last+heldDays >= key.day {
		held.Of = last.String()
		held.Until = (last + heldDays).String()
		held.Lanes = a.heldLanes(key.group)
	}
	r.Groups = append(r.Groups, held)
}

// heldLanes is how many lanes of a group keep a price.
func (a *assembly) heldLanes(group string) (n int) {
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
