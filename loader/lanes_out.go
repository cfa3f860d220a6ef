package loader

import (
	"cmp"
	"slices"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// chooseLanes decides which lanes the catalog has: lanes seen within the history's dates. If
// several feeds have a lane of one variant and condition, the first feed's is chosen; prices are
// never blended. It orders every item's lanes and finds the display price of every card.
func (a *assembly) chooseLanes() {
	b := a.b
	t := b.lanes
	a.lanes = make([][]int32, b.merged.numItems())

	chosen := make([]int32, 0, len(t.all))
	usedVariant := make([]bool, len(b.variants.names))
	for item := range a.lanes {
		from := len(chosen)
		for lane := t.head[item]; lane >= 0; lane = t.all[lane].next {
			if t.all[lane].day < a.from {
				b.report.LanesExpired++
				continue
			}
			chosen = append(chosen, lane)
			usedVariant[t.all[lane].variant] = true
		}

		// The lanes of all items are in one array; the third index separates them.
		a.lanes[item] = chosen[from:len(chosen):len(chosen)]
	}

	var table []string
	// Only variants that a lane has are part of the catalog.
	table, a.variant = b.variants.ranks(usedVariant)
	for _, name := range table {
		a.c.Variants.Append(name)
	}

	a.displayLane = make([]int32, len(a.lanes))
	for item := range a.lanes {
		a.lanes[item] = a.firstFeeds(a.lanes[item])
		a.displayLane[item] = a.displayPrice(item)
	}
}

// firstFeeds sorts lanes by variant, condition and feed, and keeps the first of each variant and
// condition.
func (a *assembly) firstFeeds(lanes []int32) []int32 {
	all := a.b.lanes.all
	slices.SortFunc(lanes, func(x, y int32) int {
		state := &all[x]
		laneState := &all[y]
		return cmp.Or(cmp.Compare(a.variant[state.variant], a.variant[laneState.variant]),
			cmp.Compare(state.condition, laneState.condition),
			cmp.Compare(state.feed, laneState.feed))
	})

	return slices.CompactFunc(lanes, func(x, y int32) bool {
		return all[x].variant == all[y].variant && all[x].condition == all[y].condition
	})
}

// cents is a lane's current price: that of its feed's newest day, NoCents when it has none (decision 18).
func (a *assembly) cents(lane int32) int64 {
	l := &a.b.lanes.all[lane]
	it := a.b.merged.item(int(l.item))
	// A rebuilt feed of the day does not have the row any more.
	if l.layer == layerBase && slices.Contains(a.daysReadAgain(l), l.day) {
		return snapshot.NoCents
	}
	// A lane that its feed no longer names has no price today, unless it has that of an earlier day for a while.
	if l.day != a.b.newest[l.feed][it.game] && !a.carriesPrice(lane, it) {
		return snapshot.NoCents
	}
	return l.cents
}

// displayPrice is the lane whose price stands for the item: lanes are in the order of decision 19,
// so it is the first with a current price. It is also its variant's display lane, for that is the
// variant's first with a current price.
func (a *assembly) displayPrice(item int) int32 {
	for _, lane := range a.lanes[item] {
		if a.cents(lane) != snapshot.NoCents {
			return lane
		}
	}
	return -1
}

// writeFeeds writes the feeds that give the catalog or one of its lanes.
func (a *assembly) writeFeeds() {
	used := make([]bool, len(a.b.feeds))
	for _, lanes := range a.lanes {
		for _, lane := range lanes {
			used[a.b.lanes.all[lane].feed] = true
		}
	}

	a.feedAt = slices.Repeat([]uint8{noFeed}, len(a.b.feeds))
	feeds := &a.c.Feeds
	for i, from := range a.b.feeds {
		// A feed without a lane is named only where the catalog is its own.
		if used[i] || from.catalog {
			a.feedAt[i] = uint8(feeds.Namespace.Len())
			feeds.Namespace.Append(from.namespace)
			feeds.Attribution.Append(from.attribution)
			feeds.Partner.Append(from.partner)
			if a.b.reserved[from.namespace] {
				a.c.Reserved = append(a.c.Reserved, a.feedAt[i])
			}
		}
	}
}

// writeLanes writes the lanes of all items with their history and statistics.
func (a *assembly) writeLanes() {
	// Most cards have one variant with statistics, few have three.
	a.c.MakeRoom(len(a.b.lanes.all), len(a.cards)*3/2)
	nCards := len(a.cards)
	a.c.Cards.Display = make([]int32, nCards)
	for row, i := range a.cards {
		a.c.Cards.Display[row] = a.writeItem(int(i), true)
		if row&0x3fff == 0 {
			a.b.progress("assemble", int64(row), int64(len(a.lanes)))
		}
	}

	for _, i := range a.sealed {
		a.writeItem(nCards+int(i), false)
	}

	a.b.progress("assemble", int64(len(a.lanes)), int64(len(a.lanes)))
}

// writeItem writes the lanes of one item and returns the row of its display price, -1 without one.
func (a *assembly) writeItem(item int, isCard bool) int32 {
	all := a.b.lanes.all
	lanes := &a.c.Lanes
	display := int32(-1)
	// The variant's display lane.
	shown := -1
	for k, lane := range a.lanes[item] {
		row := len(lanes.Variant)
		// A new variant begins: the previous variant has its display lane.
		if k == 0 || all[lane].variant != all[a.lanes[item][k-1]].variant {
			a.markDisplayLane(shown, isCard)
			shown = -1
		}

		if lane == a.displayLane[item] {
			display = int32(row)
		}

		cents := a.cents(lane)
		a.writeLane(lane, cents)
		// Without a price the past stands for the variant, unless its licence has ended: rows that
		// may not be distributed never appear on live (decision 19).
		if cents != snapshot.NoCents && (shown < 0 || lanes.Cents[shown] == snapshot.NoCents) ||
			shown < 0 && a.c.History.Has(row) && all[lane].licensed {
			shown = row
			a.shown = append(a.shown[:0], a.points...)
		}
	}

	a.markDisplayLane(shown, isCard)
	lanes.Of.Append(len(lanes.Variant))
	return display
}

// markDisplayLane marks a variant's display lane (decision 19) and, for cards, writes its
// statistics.
func (a *assembly) markDisplayLane(row int, isCard bool) {
	if row < 0 {
		return
	}

	a.c.Lanes.Flags[row] |= snapshot.LaneDisplay
	if isCard && len(a.shown) > 0 {
		a.c.Stats.Append(row, a.date, a.shown)
	}
}

// writeLane writes one lane and its history.
func (a *assembly) writeLane(lane int32, cents int64) {
	from := &a.b.lanes.all[lane]
	lanes := &a.c.Lanes
	var flags uint8
	if from.licensed {
		flags |= snapshot.LaneLicensed
	}

	// A lane without a price has no time of collection: LastSeen says when it was seen last.
	asOf := snapshot.NoTime
	collected := snapshot.NoTime
	if cents != snapshot.NoCents {
		asOf = from.asOf
		collected = from.collected
	}

	a.readPoints(lane)
	lanes.Variant = append(lanes.Variant, a.variant[from.variant])
	lanes.Condition = append(lanes.Condition, from.condition)
	lanes.Flags = append(lanes.Flags, flags)
	lanes.Feed = append(lanes.Feed, a.feedAt[from.feed])
	lanes.Cents = append(lanes.Cents, cents)
	lanes.SourceAsOf = append(lanes.SourceAsOf, asOf)
	lanes.CollectedAt = append(lanes.CollectedAt, collected)
	lanes.Price7DaysAgo = append(lanes.Price7DaysAgo, a.priceBefore(7))
	lanes.Price30DaysAgo = append(lanes.Price30DaysAgo, a.priceBefore(30))
	lanes.LastSeen = append(lanes.LastSeen, from.day)
}

// readPoints reads the points of the lane of the next row.
func (a *assembly) readPoints(lane int32) {
	l := &a.b.lanes.all[lane]
	it := a.b.merged.item(int(l.item))
	since := a.recent
	// Other feeds have no daily files: a day without one of them is no gap.
	isDaily := a.b.feeds[l.feed].namespace == source.KindTCGCSV
	if isDaily {
		since = a.from
	}

	h := &a.c.History
	h.List = append(h.List, a.list[lane])
	a.points = h.AppendPoints(a.points[:0], len(h.List)-1, since, a.date)
	if isDaily {
		a.observeDays(feedGame{l.feed, it.game})
		k, _ := slices.BinarySearchFunc(a.points, a.recent, byDay)
		a.points = a.points[k:]
	}
}

// priceBefore is the price of the lane that was written last which a change over days compares with
// (decision 20). It is the latest observation on or before that many days before the catalog's date,
// at most 7 days older.
func (a *assembly) priceBefore(days snapshot.Day) int64 {
	last := a.date - days
	k, _ := slices.BinarySearchFunc(a.points, last+1, byDay)
	if k > 0 && a.points[k-1].Day >= last-7 {
		return a.points[k-1].Cents
	}
	return snapshot.NoCents
}

func byDay(point snapshot.Point, day snapshot.Day) int { return int(point.Day - day) }

// fillReport fills in the report's part about the whole catalog.
func (a *assembly) fillReport() {
	catalog := a.c
	r := &a.b.report
	r.Games = make([]GameReport, catalog.Games.Slug.Len())
	for i := range r.Games {
		r.Games[i].Slug = catalog.Games.Slug.At(i)
	}

	for _, g := range catalog.Sets.Game {
		r.Games[g].Sets++
	}

	count := func(item int, g uint8) {
		from, to := catalog.Lanes.Of.Range(item)
		r.Games[g].Lanes += to - from
		for lane := from; lane < to; lane++ {
			if catalog.Lanes.Cents[lane] != snapshot.NoCents {
				r.Games[g].Current++
			}
		}
	}

	for i, g := range catalog.Cards.Game {
		r.Games[g].Cards++
		r.Games[g].CardProducts += int(catalog.Cards.Product[i])
		if catalog.Cards.Display[i] >= 0 {
			r.Games[g].Priced++
		}
		count(i, g)
	}

	for i, g := range catalog.Sealed.Game {
		r.Games[g].Sealed++
		count(catalog.Cards.ID.Len()+i, g)
	}

	a.compareWithBase()
}

// compareWithBase counts the cards that came, went or were renamed since the base.
func (a *assembly) compareWithBase() {
	r := &a.b.report
	// A card that came back is new here: the base alone counts, not the registry.
	base := &a.b.o.Base.Cards
	for i := range a.b.merged.cards {
		switch row := a.b.rowOf[i]; {
		case row < 0:
			r.Added++
		case base.Slug.At(int(row)) != a.b.merged.cards[i].slug:
			r.Renamed++
		}
	}
	// Those that were not added were there before.
	r.Removed = base.ID.Len() - (len(a.b.merged.cards) - r.Added)
}
