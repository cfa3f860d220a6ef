package loader

import (
	"cmp"
	"slices"
	"strings"

	"ninepocket/snapshot"
)

// Layers of rows, weakest first. Of two rows of a lane on one day the stronger layer's stands,
// and within a layer the later row. A base has the rows of daily files, so a history file only
// fills its gaps.
const (
	layerWide = iota
	layerBase
	layerDaily
)

// row is the content of one row of a lane on its day.
type row struct {
	cents           int64 // NoCents without a price that may be distributed
	asOf, collected int64
	day             snapshot.Day
	licensed        bool
	layer           uint8
}

// laneKey is the identity of a lane.
type laneKey struct {
	item            int32
	variant         uint16
	condition, feed uint8
}

// laneState is the state of a lane: its newest row, the matching lane in the base, -1 for none, and
// the next lane of its item, likewise.
type laneState struct {
	laneKey
	row
	base, next int32
}

// laneTable holds every lane of every feed. A lane is found by walking its item's list, which is a
// handful of lanes long.
type laneTable struct {
	head []int32 // by item: its first lane, -1 for none
	all  []laneState
}

// find returns an item's first lane of a kind, -1 without one.
func (t *laneTable) find(item int32, is func(*laneState) bool) int32 {
	for lane := t.head[item]; lane >= 0; lane = t.all[lane].next {
		if is(&t.all[lane]) {
			return lane
		}
	}
	return -1
}

// getOrAdd returns an item's lane, a new one when it has none such.
func (t *laneTable) getOrAdd(place laneKey) int32 {
	link := &t.head[place.item]
	for *link >= 0 {
		l := &t.all[*link]
		if l.laneKey == place {
			return *link
		}
		link = &l.next
	}

	// The link is set first: the table may move when it grows.
	n := int32(len(t.all))
	*link = n
	none := row{day: snapshot.NoDay, cents: snapshot.NoCents, asOf: snapshot.NoTime, collected: snapshot.NoTime}
	t.all = append(t.all, laneState{laneKey: place, row: none, base: -1, next: -1})
	return n
}

// observe keeps a row if it is the lane's newest. An unlicensed row leaves nothing but the fact
// that the lane was seen.
func (t *laneTable) observe(n int32, row row) {
	l := &t.all[n]
	if row.day < l.day || row.day == l.day && row.layer < l.layer {
		return
	}

	// Prices that may not be distributed are not stored, not even on the way.
	if !row.licensed {
		row.cents = snapshot.NoCents
	}

	l.row = row
}

// newestDays are the newest days of every feed, by game.
type newestDays [][]snapshot.Day

func (d newestDays) observe(feed, game uint8, day snapshot.Day) {
	d[feed][game] = max(d[feed][game], day)
}

// variantOrder are the variants that come first, in the order in which a card's display price looks
// for one; all others follow alphabetically (decision 19). All games have one order, because a
// catalog has one table of variants.
var variantOrder = []string{
	"normal", "holofoil", "foil", "unlimited", "unlimited_holofoil", "reverse_holofoil", "1st_edition",
	"1st_edition_holofoil",
}

// variants numbers the variants in the order of their first use in the build.
type variants struct {
	names []string
	known map[string]uint16
}

// number returns a variant's number; false when there are more variants than the format holds.
func (v *variants) number(name string) (uint16, bool) {
	if n, ok := v.known[name]; ok {
		return n, true
	}
	if len(v.names) == 1<<16-1 {
		return 0, false
	}

	// The name was cut out of a line that must not stay in memory.
	name = strings.Clone(name)
	n := uint16(len(v.names))
	v.names = append(v.names, name)
	v.known[name] = n
	return n, true
}

// ranks returns the table of the variants in use, in display order after "", and each variant's row
// in it. The others' rows mean nothing.
func (v *variants) ranks(used []bool) (table []string, rank []uint16) {
	table = []string{""}
	for n, name := range v.names {
		if used[n] && name != "" {
			table = append(table, name)
		}
	}

	place := func(name string) int {
		if i := slices.Index(variantOrder, name); i >= 0 {
			return i
		}
		return len(variantOrder)
	}

	slices.SortFunc(table[1:],
		func(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b)) })
	rank = make([]uint16, len(v.names))
	for row, name := range table {
		if n, ok := v.known[name]; ok {
			rank[n] = uint16(row)
		}
	}

	return table, rank
}
