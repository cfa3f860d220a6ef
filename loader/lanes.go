package loader

import (
	"ninepocket/snapshot"
)

// Layers of rows, weakest first: of two rows of a lane on one day the one of the stronger layer
// stands, and within a layer the later one. A base holds what daily files said, so that a history
// file fills its gaps and no more.
const (
	layerWide = iota
	layerBase
	layerDaily
)

// laneTable is what is known of every lane of every feed: where it belongs and its newest row. A
// lane is found by walking its item's list, which is a handful of lanes long.
type laneTable struct {
	head []int32 // by item: its first lane, -1 for none
	next []int32

	item      []int32
	variant   []uint16
	condition []uint8
	feed      []uint8

	// The newest row.
	seen      []snapshot.Day
	cents     []int64 // NoCents without a price that may be distributed
	asOf      []int64
	collected []int64
	licensed  []bool
	layer     []uint8

	base []int32 // the lane in the base, -1 for none
}

func newLaneTable(items int) *laneTable {
	t := &laneTable{head: make([]int32, items)}
	for i := range t.head {
		t.head[i] = -1
	}
	return t
}

func (t *laneTable) len() int { return len(t.item) }

// of returns an item's lane, a new one when it has none such.
func (t *laneTable) of(item int32, variant uint16, condition snapshot.Condition, feed uint8) int32 {
	last := int32(-1)
	for lane := t.head[item]; lane >= 0; lane = t.next[lane] {
		if t.variant[lane] == variant && t.condition[lane] == uint8(condition) && t.feed[lane] == feed {
			return lane
		}
		last = lane
	}

	lane := int32(len(t.item))
	if last < 0 {
		t.head[item] = lane
	} else {
		t.next[last] = lane
	}

	t.next = append(t.next, -1)
	t.item = append(t.item, item)
	t.variant = append(t.variant, variant)
	t.condition = append(t.condition, uint8(condition))
	t.feed = append(t.feed, feed)
	t.seen = append(t.seen, snapshot.NoDay)
	t.cents = append(t.cents, snapshot.NoCents)
	t.asOf = append(t.asOf, snapshot.NoTime)
	t.collected = append(t.collected, snapshot.NoTime)
	t.licensed = append(t.licensed, false)
	t.layer = append(t.layer, 0)
	t.base = append(t.base, -1)
	return lane
}

// row is what one row says of a lane on its day.
type row struct {
	day             snapshot.Day
	cents           int64
	asOf, collected int64
	licensed        bool
	layer           uint8
}

// note keeps a row if it is the lane's newest. An unlicensed row leaves nothing but the fact that
// the lane was seen.
func (t *laneTable) note(lane int32, r row) {
	if r.day < t.seen[lane] || r.day == t.seen[lane] && r.layer < t.layer[lane] {
		return
	}

	// Prices that may not be distributed are not stored, not even on the way.
	if !r.licensed {
		r.cents = snapshot.NoCents
	}

	t.seen[lane] = r.day
	t.layer[lane] = r.layer
	t.licensed[lane] = r.licensed
	t.cents[lane] = r.cents
	t.asOf[lane] = r.asOf
	t.collected[lane] = r.collected
}

// days are the newest days of every feed, by game.
type days [][]snapshot.Day

// newest finds the newest day of every feed and game: only what its lanes have on that day is a
// current price.
func (t *laneTable) newest(d days, gameOf func(item int32) uint8) {
	for lane := range t.item {
		d.see(t.feed[lane], gameOf(t.item[lane]), t.seen[lane])
	}
}

func (d days) see(feed, game uint8, day snapshot.Day) {
	d[feed][game] = max(d[feed][game], day)
}

// current returns a lane's current price (decision 18 of a catalog's instant): the one of its
// feed's newest day.
func (t *laneTable) current(lane int32, d days, game uint8) int64 {
	if t.seen[lane] != d[t.feed[lane]][game] {
		return snapshot.NoCents
	}
	return t.cents[lane]
}
