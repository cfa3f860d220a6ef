package loader

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
	"ninepocket/snapshot/guard"
)

// openArchived opens the archived day files of the days that the base lacks. One that is damaged holds
// up no other day.
func (b *builder) openArchived(sources []openInput) (archived []openInput) {
	if len(b.o.ArchivedDays) == 0 {
		return nil
	}

	newest := snapshot.NoDay
	for _, opened := range sources {
		if dated, ok := opened.Source.(source.NewestDayer); ok && opened.Feed().Namespace == source.KindTCGCSV {
			day, _ := dated.Newest()
			newest = max(newest, day)
		}
	}

	has := b.daysOfBase()
	for _, day := range slices.Sorted(maps.Keys(b.o.ArchivedDays)) {
		// The tree has its own newest day, and what is older than the history would be dropped again.
		if day >= newest || day <= newest-snapshot.HistoryDays || has[day] == dayComplete {
			continue
		}

		in := b.o.ArchivedDays[day]
		opened, err := b.openAll([]Input{in})
		if err == nil {
			err = checkFileDay(opened[0], day)
		}
		if err != nil {
			b.rejectDay(RefusedDay{Day: day.String(), Input: in, Why: err.Error(), Damaged: true})
			continue
		}
		archived = append(archived, opened...)
		if has[day] == dayAbsent {
			b.report.Filled = append(b.report.Filled, day.String())
		}
	}
	return archived
}

// checkFileDay wants an archived day file to have the day that it is named after.
func checkFileDay(in openInput, day snapshot.Day) error {
	dated, is := in.Source.(source.NewestDayer)
	if !is {
		return errors.New("it is no day file")
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

// What a base has of a day.
const (
	dayAbsent  = iota // nothing, or nothing of a game
	dayPartial        // not all groups
	dayComplete
)

// daysOfBase says what the base has of each day of the daily feed.
func (b *builder) daysOfBase() map[snapshot.Day]int {
	base := b.o.Base
	has := map[snapshot.Day]int{}
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

// archiveCheck holds an archived day's prices against those of the base.
type archiveCheck struct {
	source.Discard
	base      *snapshot.Catalog
	items     map[string]int32 // of the base, by reference and by product
	namespace string

	points      []snapshot.Point
	rows        int
	changes     []guard.Change
	files       map[int32][]string // by set: where its prices stand
	maxDistance snapshot.Day       // days between the day and what its prices are compared with, at most
}

// checkArchived says what of an archived day is not to be believed: all of it, or some files, each with
// the reason. An archived day may be one that was refused when it was new: the guards judge it as they
// did then, for those of a publication see current prices alone. Without a base all is believed
// that can be read.
func (b *builder) checkArchived(ctx context.Context, in openInput, items map[string]int32) (
	why string, files map[string]string, err error,
) {
	k := &archiveCheck{base: b.o.Base, items: items, namespace: in.Feed().Namespace, files: map[int32][]string{}}
	if err := in.Prices(ctx, k); err != nil {
		return "", nil, err
	}
	if k.rows == 0 {
		return "", nil, errors.New("it has no price")
	}

	why, wrong := b.o.Guards.Past(k.changes, float64(k.maxDistance))
	files = map[string]string{}
	// The pass over the prices knows files, and no sets.
	for set, why := range wrong {
		for _, file := range k.files[set] {
			files[file] = why
		}
	}
	return why, files, nil
}

// Price compares a row with the newest price of its lane before it, or the first after it.
func (k *archiveCheck) Price(price source.Price) {
	k.rows++
	item, known := k.items[price.Ref]
	if !known || price.Cents < 0 {
		return
	}

	lanes := &k.base.Lanes
	from, to := lanes.Of.Range(int(item))
	for lane := from; lane < to; lane++ {
		// Whatever variant a row names, a sealed product has one lane.
		sealed := int(item) >= k.base.Cards.ID.Len()
		if k.base.Feeds.Namespace.At(int(lanes.Feed[lane])) != k.namespace ||
			!sealed && k.base.Variants.At(int(lanes.Variant[lane])) != price.Variant {
			continue
		}
		was, day := k.before(lane, price.Day)
		// A price of the day that the base has already says nothing.
		if was != snapshot.NoCents && (day != price.Day || was != price.Cents) {
			k.compare(item, price, was)
			k.maxDistance = max(k.maxDistance, max(price.Day-day, day-price.Day))
		}
		return
	}
}

// compare records a price of an item with an earlier or later one.
func (k *archiveCheck) compare(item int32, price source.Price, was int64) {
	set := snapshot.NoSet
	if int(item) < k.base.Cards.ID.Len() {
		set = k.base.Cards.Set[item]
	}
	k.changes = append(k.changes, guard.Change{Set: set, From: was, To: price.Cents})
	if set != snapshot.NoSet && !slices.Contains(k.files[set], price.At.File) {
		k.files[set] = append(k.files[set], price.At.File)
	}
}

// before is the newest price of a lane of the base up to a day, else its first; NoCents without any.
func (k *archiveCheck) before(lane int, day snapshot.Day) (cents int64, of snapshot.Day) {
	k.points = k.base.History.AppendPoints(k.points[:0], lane, 0, k.base.Date())
	if len(k.points) == 0 {
		return snapshot.NoCents, 0
	}
	byDay := func(point snapshot.Point, day snapshot.Day) int { return int(point.Day - day) }
	at, found := slices.BinarySearchFunc(k.points, day, byDay)
	// A day before the first price that is known is compared with that one.
	if !found && at > 0 {
		at--
	}
	point := k.points[min(at, len(k.points)-1)]
	return point.Cents, point.Day
}

// itemsOfRefs are the items of the base by the references of a feed, and by the product where it is
// clear.
func (b *builder) itemsOfRefs(namespace string) map[string]int32 {
	base := b.o.Base
	items := map[string]int32{}
	rows := map[string]int32{}
	for i, id := range b.idsOfBase() {
		rows[id] = int32(i)
	}

	prefix := fullRef(namespace, "")
	for i := range base.Registry.Ref.Len() {
		ref, of := strings.CutPrefix(base.Registry.Ref.At(i), prefix)
		if item, known := rows[base.Registry.RefID.At(i)]; of && known {
			items[ref] = item
		}
	}
	return items
}

// acceptArchived leaves out the archived days, and the files of them, that no day of the base can be
// followed by or follow.
func (b *builder) acceptArchived(ctx context.Context, archived []openInput) ([]openInput, error) {
	if len(archived) == 0 {
		return nil, nil
	}

	items := b.itemsOfRefs(archived[0].Feed().Namespace)
	var out []openInput
	for _, in := range archived {
		day, _ := in.Source.(source.NewestDayer).Newest() //nolint:errcheck // openArchived opened these alone
		left := RefusedDay{Day: day.String(), Input: in.Input}
		why, files, err := b.checkArchived(ctx, in, items)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			left.Damaged = true
			why = err.Error()
		}
		if why != "" {
			left.Why = why
			b.rejectDay(left)
			continue
		}

		// A Source is read once.
		again, err := b.openAll([]Input{in.Input})
		if err != nil {
			return nil, err
		}
		for _, file := range slices.Sorted(maps.Keys(files)) {
			left.File = file
			left.Why = files[file]
			b.rejectDay(left)
		}
		again[0].rejectedFiles = files
		out = append(out, again...)
	}
	return out, nil
}
