package loader

import (
	"cmp"
	"slices"

	"ninepocket/snapshot"
)

// writeHistory writes the points of all lanes. It takes over the closed days of the base if no lane has
// other points on these days (decision 4302).
func (a *assembly) writeHistory() {
	a.list = make([]uint32, len(a.b.lanes.all))
	closed := a.closedOfBase()
	others := a.lanesByID(closed)
	if len(closed) > 0 {
		base := &a.b.o.Base.History
		a.c.History.Closed = base.Closed
		// A further day adds one or two bytes to a list.
		a.c.History.Points = make([]byte, 0, len(base.Points)+2*len(a.list))
		a.r.Open = true
	} else {
		others = a.closeDays(others)
	}

	for _, lane := range slices.Concat(closed, others) {
		a.endList(lane, a.splice(a.c.History.Points, lane))
	}
}

// closedOfBase returns the lanes of the base's closed lists, in that order. It returns none if the new
// catalog has other closed days, other lanes or another order, or other points on these days.
func (a *assembly) closedOfBase() []int32 {
	base := &a.b.o.Base.History
	first, last := snapshot.ClosedDays(a.date)
	if base.Closed.Len() == 0 || !slices.Equal(base.Closed.Days, []snapshot.Day{first, last}) || a.r.First <= last {
		return nil
	}

	all := a.b.lanes.all
	closed := slices.Repeat([]int32{-1}, base.Closed.Len())
	for _, lane := range slices.Concat(a.lanes...) {
		if before := all[lane].base; before >= 0 {
			if list := base.ListOf(int(before)); list < len(closed) {
				closed[list] = lane
			}
		}
	}
	// Where two cards of the base are one now, the lists are no longer in the order of ids.
	inOrder := func(lane, before int32) int {
		item := all[lane].item
		return cmp.Or(a.compareItems(item, all[before].item),
			slices.Index(a.lanes[item], lane)-slices.Index(a.lanes[item], before))
	}
	if slices.Contains(closed, -1) || !slices.IsSortedFunc(closed, inOrder) {
		return nil
	}
	return closed
}

// compareItems compares items by kind, cards first, then by id.
func (a *assembly) compareItems(x, y int32) int {
	isCard := func(item int32) bool { return int(item) < len(a.b.merged.cards) }
	if isCard(x) != isCard(y) {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a.b.merged.item(int(x)).tail, a.b.merged.item(int(y)).tail)
}

// lanesByID returns all lanes but some, by the ids of their items, then by variant and condition. Prices do not
// change this order.
func (a *assembly) lanesByID(but []int32) (lanes []int32) {
	skip := make([]bool, len(a.b.lanes.all))
	for _, lane := range but {
		skip[lane] = true
	}

	var items []int32
	for item, of := range a.lanes {
		if slices.ContainsFunc(of, func(lane int32) bool { return !skip[lane] }) {
			items = append(items, int32(item))
		}
	}
	slices.SortFunc(items, a.compareItems)

	for _, item := range items {
		lanes = append(lanes, a.lanes[item]...)
	}
	return slices.DeleteFunc(lanes, func(lane int32) bool { return skip[lane] })
}

// closeDays writes the lanes that have points on the closed days. It returns the others.
func (a *assembly) closeDays(lanes []int32) (others []int32) {
	first, last := snapshot.ClosedDays(a.date)
	closed := &snapshot.Closed{Days: []snapshot.Day{first, last}, Points: make([]byte, 0, a.r.Size())}
	var stored []byte
	for _, lane := range lanes {
		stored = a.splice(stored[:0], lane)
		open, points := snapshot.SplitPoints(a.c.History.Points, closed.Points, stored, first, last)
		if len(points) == len(closed.Points) {
			others = append(others, lane)
			continue
		}

		closed.Points = points
		closed.Of.Append(len(points))
		a.endList(lane, open)
	}

	if closed.Len() > 0 {
		a.c.History.Closed = closed
	}
	return others
}

// splice appends the stored points of a lane.
func (a *assembly) splice(dst []byte, lane int32) []byte {
	l := &a.b.lanes.all[lane]
	return a.r.Splice(dst, lane, l.base, a.daysReadAgain(l))
}

// daysReadAgain are the days, up to the base's, that this build read the group of a lane of.
func (a *assembly) daysReadAgain(l *laneState) []snapshot.Day {
	// A usual build has none. The item of a lane lies anywhere in memory.
	if len(a.readDays) == 0 {
		return nil
	}
	return a.readDays[feedGroup{l.feed, a.b.merged.item(int(l.item)).group}]
}

// endList ends the list of a lane with the points of all lists up to it.
func (a *assembly) endList(lane int32, points []byte) {
	h := &a.c.History
	a.list[lane] = uint32(h.Of.Len())
	h.Points = points
	h.Of.Append(len(points))
}
