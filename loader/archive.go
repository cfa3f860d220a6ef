package loader

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
	"ninepocket/snapshot/guard"
)

// openArchived opens the archived days that the base lacks, ascending. A day that the base has is
// read only for items whose history lacks it. A damaged file prevents no other day.
func (b *builder) openArchived(sources []openInput) (archived []openInput) {
	if len(b.o.ArchivedDays) == 0 {
		return nil
	}

	newest := newestDay(sources)
	has := b.daysOfBase()
	for _, day := range slices.Sorted(maps.Keys(b.o.ArchivedDays)) {
		// The feed directory has its own newest day, and days older than the history would be dropped again.
		if day >= newest || day <= newest-snapshot.HistoryDays {
			continue
		}
		lacking := map[int32]bool{}
		for item, from := range b.lacksFrom {
			if day >= from {
				lacking[item] = true
			}
		}
		if has[day] == dayComplete && len(lacking) == 0 {
			continue
		}

		for _, in := range b.o.ArchivedDays[day] {
			opened, err := b.openAll([]Input{in})
			if err == nil {
				err = checkFileDay(opened[0], day)
			}
			if err != nil {
				b.rejectDay(RefusedDay{Day: day.String(), Input: in, Why: err.Error(), Damaged: true})
				continue
			}

			opened[0].archived = true
			opened[0].fills = has[day] == dayAbsent
			if has[day] == dayComplete {
				opened[0].only = lacking
			}
			archived = append(archived, opened[0])
		}
	}
	return archived
}

// newestDay is the newest day of the feed directories of a daily feed, NoDay without one.
func newestDay(sources []openInput) snapshot.Day {
	newest := snapshot.NoDay
	for _, opened := range sources {
		if dated, ok := opened.Source.(source.NewestDayer); ok && opened.Feed().Namespace == source.KindTCGCSV {
			day, _ := dated.Newest()
			newest = max(newest, day)
		}
	}
	return newest
}

// findLacking finds the items whose history lacks archived days, and the first such day (decision
// 3403). Their references had prices while no catalog had an item for them, or the base has no item for
// a reference that an earlier catalog had.
func (b *builder) findLacking() {
	base := b.o.Base
	isNew := slices.Repeat([]bool{true}, b.merged.numItems())
	for _, item := range b.itemOf {
		if item >= 0 {
			isNew[item] = false
		}
	}

	for i := range base.Unclaimed.Ref.Len() {
		b.unclaimed[base.Unclaimed.Ref.At(i)] = base.Unclaimed.FirstDay[i]
	}
	for i := range b.merged.numItems() {
		for _, ref := range b.merged.item(i).refs {
			from, lacks := b.unclaimed[ref]
			// An earlier catalog had it, and the base does not.
			if isNew[i] && b.registry.items[ref] != "" && strings.HasPrefix(ref, fullRef(source.KindTCGCSV, "")) {
				from = 0
				lacks = true
			}
			if !lacks {
				continue
			}

			b.lacksFrom[int32(i)] = from
			delete(b.unclaimed, ref)
			if b.o.ArchivedDays == nil {
				// A later build reads them.
				b.unclaimed[ref] = from
			}
		}
	}
}

// checkFileDay checks that an archived day is the day in its file's name.
func checkFileDay(in openInput, day snapshot.Day) error {
	dated, is := in.Source.(source.NewestDayer)
	if !is {
		return errors.New("it is no archived day")
	}
	if newest, _ := dated.Newest(); newest != day {
		return fmt.Errorf("it holds the prices of %s", newest)
	}
	return nil
}

// rejectDay leaves an archived day, or one of its files, out of the build and reports it.
func (b *builder) rejectDay(refused RefusedDay) {
	r := &b.report
	r.Refused = append(r.Refused, refused)
	if refused.File == "" {
		r.Filled = slices.DeleteFunc(r.Filled, func(day string) bool { return day == refused.Day })
	}
}

// The base's part of a day.
const (
	dayAbsent  = iota // nothing, or nothing of a game
	dayPartial        // not all groups
	dayComplete
)

// daysOfBase is the base's part of each day of the daily feed.
func (b *builder) daysOfBase() map[snapshot.Day]int {
	base := b.o.Base
	has := map[snapshot.Day]int{}
	if b.o.RereadDays {
		return has
	}
	// Ten million points: an array, not a map.
	first := base.Date() - snapshot.HistoryDays + 1
	var days [snapshot.HistoryDays]bool
	var points []snapshot.Point
	for i := range base.NumItems() {
		for lane, to := base.Lanes.Of.Range(i); lane < to; lane++ {
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
			has[first+snapshot.Day(i)] = dayComplete
		}
	}
	for i, day := range base.Gaps.Day {
		if base.Gaps.Group.At(i) == "" {
			has[day] = dayAbsent
		} else if has[day] == dayComplete {
			has[day] = dayPartial
		}
	}
	return has
}

// judge finds the rows of a day that cannot be the day's prices, by the limits of the guards: all rows, or
// those of some sets, each with the reason (decision 3406). Each price is compared with the newest earlier
// price of its lane, or the first later price. If there is none to compare with, all rows are accepted.
func (p *priceSink) judge(rows []source.Price) (why string, wrong map[int32]string) {
	b := p.b
	changes := make([]guard.Change, 0, len(rows))
	distances := make([]snapshot.Day, 0, len(rows))
	for i := range rows {
		price := &rows[i]
		item := p.find(price.Ref)
		if item < 0 || price.Cents < 0 {
			continue
		}
		was, day := p.priceBefore(item, price)
		if was == snapshot.NoCents {
			continue
		}

		set := snapshot.NoSet
		if int(item) < len(b.merged.cards) {
			set = b.merged.cards[item].set
		}
		game := b.merged.item(int(item)).game
		changes = append(changes, guard.Change{
			Game: game, Set: set, From: was, To: price.Cents, Published: day == price.Day && was == price.Cents,
		})
		distances = append(distances, max(price.Day-day, day-price.Day))
	}
	if len(changes) == 0 {
		return "", nil
	}

	// Most lanes have a price of the previous day. Much older prices raise no limit but their own set's.
	nearest := slices.Min(distances)
	recent := make([]guard.Change, 0, len(changes))
	var stale []guard.Change
	for i, change := range changes {
		if distances[i] <= nearest+carryDays {
			recent = append(recent, change)
		} else {
			stale = append(stale, change)
		}
	}
	why, wrong = b.o.Guards.Past(recent, float64(nearest))
	_, others := b.o.Guards.Past(stale, float64(slices.Max(distances)))
	maps.Copy(wrong, others)
	return why, wrong
}

// priceBefore is the price that a row is compared with, and its day; NoCents without any.
func (p *priceSink) priceBefore(item int32, price *source.Price) (cents int64, of snapshot.Day) {
	lane := p.b.lanes.find(item, func(l *laneState) bool {
		// A sealed product has one lane, for any variant in the row.
		sealed := int(item) >= len(p.b.merged.cards)
		return l.feed == p.feed && (sealed || p.b.variants.names[l.variant] == price.Variant)
	})
	if lane < 0 {
		return snapshot.NoCents, 0
	}

	l := &p.b.lanes.all[lane]
	// A lane that has been without a price for long has one in its history.
	if l.day <= price.Day && l.cents != snapshot.NoCents || l.base < 0 {
		return l.cents, l.day
	}
	points := p.b.o.Base.History.AppendPoints(nil, int(l.base), 0, p.b.o.Base.Date())
	if len(points) == 0 {
		return snapshot.NoCents, 0
	}
	at, found := slices.BinarySearchFunc(points, price.Day, byDay)
	// A day before the first price that is known is compared with that one.
	if !found && at > 0 {
		at--
	}
	point := points[min(at, len(points)-1)]
	return point.Cents, point.Day
}

// flush judges the rows of a day that an input has given so far, and takes the correct ones. A day of
// the archive may be rejected as a whole; for a source's newest day, the guards of a release do that.
func (p *priceSink) flush() {
	rows := p.rows
	p.rows = p.rows[:0]
	if p.archived {
		// A group in the last version of a day replaces earlier versions.
		rows = slices.DeleteFunc(rows, func(price source.Price) bool {
			from := p.b.archiveOf[p.groupOf(p.find(price.Ref), price.Day)]
			return from != "" && from != p.report.Input.Path
		})
	}
	if len(rows) == 0 {
		return
	}

	left := RefusedDay{Day: rows[0].Day.String(), Input: p.report.Input}
	why, wrong := p.judge(rows)
	if p.archived && why != "" {
		left.Why = why
		p.b.rejectDay(left)
		return
	}

	files := map[string]bool{}
	for i := range rows {
		item := p.find(rows[i].Ref)
		reason := ""
		if item >= 0 && int(item) < len(p.b.merged.cards) {
			reason = wrong[p.b.merged.cards[item].set]
		}
		if reason == "" {
			if key := p.groupOf(item, rows[i].Day); p.archived && key.group != "" {
				p.b.archiveOf[key] = p.report.Input.Path
			}
			p.take(rows[i], item)
			continue
		}

		// The prices of its group cannot be those of the day.
		if key := p.groupOf(item, rows[i].Day); key.group != "" {
			p.b.missing[key] = gap{reason: source.ReasonImplausible, why: reason, collected: rows[i].CollectedAt}
		}
		if file := rows[i].At.File; p.archived && !files[file] {
			files[file] = true
			left.File = file
			left.Why = reason
			p.b.rejectDay(left)
		}
	}
}

// groupOf is the group of an item on a day; no group's for an item that does not exist.
func (p *priceSink) groupOf(item int32, day snapshot.Day) gapKey {
	if item < 0 {
		return gapKey{}
	}
	it := p.b.merged.item(int(item))
	return gapKey{p.feed, it.game, day, it.group}
}
