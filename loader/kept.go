package loader

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// A kept day may be one that was refused when it was new. What no day does is left out of the history
// as it was then; the figures are those of the guards prices_moved, sets_repriced and repeated_feed,
// which judge current prices alone.
const (
	movedShare   = 0.60 // a price that went up or down by more has moved
	mostMoved    = 0.05 // of a day's prices, within a week of what they are compared with
	movedAtMost  = 0.50 // however many weeks
	mostRepriced = 10.0 // by how much half of a group's prices may go up or down within a day
	leastJudged  = 10   // prices; fewer say nothing
	leastOfFile  = 5    // prices of a file
	leastSame    = 20   // prices that did not change, before they are yesterday's
)

// keptDay holds a kept day's prices against those of the base.
type keptDay struct {
	source.Discard
	base      *snapshot.Catalog
	items     map[string]int32 // of the base, by reference and by product
	namespace string

	points []snapshot.Point
	rows   int
	files  map[string][]float64 // by file: how many times each price is what it was
	apart  snapshot.Day         // days between the day and what its prices are compared with, at most
}

// judgeKept says what of a kept day is not to be believed: all of it, with the reason, or some files.
// Without a base all is, that can be read.
func (b *builder) judgeKept(ctx context.Context, in opened, items map[string]int32) (
	why string, files []string, err error,
) {
	k := &keptDay{
		base: b.o.Base, items: items, namespace: in.Feed().Namespace, files: map[string][]float64{},
	}
	if err := in.Prices(ctx, k); err != nil {
		return "", nil, err
	}
	if k.rows == 0 {
		return "", nil, errors.New("it has no price")
	}

	// Files that are wrong as a whole say nothing about the others.
	var all, rest share
	for _, file := range slices.Sorted(maps.Keys(k.files)) {
		ratios := k.files[file]
		all.add(ratios)
		if k.repriced(ratios) {
			files = append(files, file)
		} else {
			rest.add(ratios)
		}
	}

	limit := min(mostMoved*max(1, float64(k.apart)/7), movedAtMost)
	if len(files)*2 > len(k.files) || rest.of >= leastJudged && float64(rest.moved) > limit*float64(rest.of) {
		return fmt.Sprintf("%d of %d prices moved by more than 60 %%", all.moved, all.of), nil, nil
	}
	if all.of >= leastSame && all.same == all.of {
		return fmt.Sprintf("not one of %d prices differs from the day before: yesterday's feed again", all.of), nil, nil
	}
	return "", files, nil
}

// share is how many of some prices moved, and how many did not at all.
type share struct{ moved, same, of int }

func (s *share) add(ratios []float64) {
	for _, ratio := range ratios {
		if ratio > 1+movedShare || ratio < 1-movedShare {
			s.moved++
		}
		if ratio == 1 {
			s.same++
		}
	}
	s.of += len(ratios)
}

// repriced reports whether more than half of a file's prices are so many times what they were.
func (k *keptDay) repriced(ratios []float64) bool {
	limit := mostRepriced * math.Sqrt(max(1, float64(k.apart)))
	n := 0
	for _, ratio := range ratios {
		if ratio > limit || ratio < 1/limit {
			n++
		}
	}
	return len(ratios) >= leastOfFile && n*2 > len(ratios)
}

// Price compares a row with the newest price of its lane before it, or the first after it.
func (k *keptDay) Price(price source.Price) {
	k.rows++
	item, known := k.items[price.Ref]
	if !known || price.Cents <= 0 {
		return
	}

	lanes := &k.base.Lanes
	from, to := lanes.Of.Range(int(item))
	for lane := from; lane < to; lane++ {
		sealed := int(item) >= k.base.Cards.ID.Len()
		if k.base.Feeds.Namespace.At(int(lanes.Feed[lane])) != k.namespace ||
			!sealed && k.base.Variants.At(int(lanes.Variant[lane])) != price.Variant {
			continue
		}
		was, day := k.before(lane, price.Day)
		// A price of the day that the base has already says nothing.
		if was > 0 && (day != price.Day || was != price.Cents) {
			k.files[price.At.File] = append(k.files[price.At.File], float64(price.Cents)/float64(was))
			k.apart = max(k.apart, max(price.Day-day, day-price.Day))
		}
		return
	}
}

// before is the newest price of a lane of the base up to a day, else its first.
func (k *keptDay) before(lane int, day snapshot.Day) (cents int64, of snapshot.Day) {
	k.points = k.base.History.AppendPoints(k.points[:0], lane, 0, k.base.Date())
	if len(k.points) == 0 {
		return 0, 0
	}
	byDay := func(point snapshot.Point, day snapshot.Day) int { return int(point.Day - day) }
	at, found := slices.BinarySearchFunc(k.points, day, byDay)
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
	if base == nil {
		return items
	}

	rows := map[string]int32{}
	for i := range base.Cards.ID.Len() {
		rows[base.Cards.ID.At(i)] = int32(i)
	}
	for i := range base.Sealed.Tail.Len() {
		rows[sealedPrefix+base.Sealed.Tail.At(i)] = int32(base.Cards.ID.Len() + i)
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

// believed leaves out the kept days, and the files of them, that no day of the base can be followed
// by or follow.
func (b *builder) believed(ctx context.Context, kept []opened) ([]opened, error) {
	if len(kept) == 0 {
		return nil, nil
	}

	items := b.itemsOfRefs(kept[0].Feed().Namespace)
	var out []opened
	for _, in := range kept {
		day, _ := in.Source.(source.Dated).Newest() //nolint:errcheck // openKept opened these alone
		left := RefusedDay{Day: day.String(), Input: in.Input}
		why, files, err := b.judgeKept(ctx, in, items)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			left.Damaged = true
			why = err.Error()
		}
		if why != "" {
			left.Why = why
			b.leaveDayOut(left)
			continue
		}

		// A Source is read once.
		again, err := b.openAll([]Input{in.Input})
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			left.File = file
			left.Why = "more than half of its prices went up or down by 10 times or more"
			b.leaveDayOut(left)
		}
		again[0].refused = files
		out = append(out, again...)
	}
	return out, nil
}

// leaveOut passes over a row of a file that is not to be believed: its group has no prices of the
// day.
func (p *pricer) leaveOut(price *source.Price) {
	item := p.find(price.Ref)
	if item < 0 {
		return
	}
	it := p.b.merged.item(int(item))
	if it.group != "" {
		p.b.missing[gapKey{p.feed, it.game, price.Day, it.group}] = gap{}
	}
}
