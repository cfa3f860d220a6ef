package synth

import "time"

// freshness is the age of the prices of a lane, as its rows have it.
type freshness uint8

const (
	fresh    freshness = iota
	edge               // observed exactly 36 hours before: the oldest that is fresh
	pastEdge           // one second older: the youngest that is stale
	stale
	unknown // the source names no observation time
	missing // tracked, without a price since missingSince days before day zero
)

// staleAfter is the age up to which a price is fresh.
const staleAfter = 36 * time.Hour

// The days of a lane's life, relative to day zero.
const (
	always       = -1 << 30
	forever      = 1 << 30
	missingSince = -5
)

// sight is whether a source has a row and a price of a lane on a day.
type sight uint8

const (
	noRow   sight = iota // the lane is not in the day's file
	noPrice              // the lane has a row without a price
	priced
)

// lane is one variant in one condition of a card, or a sealed product (both empty).
type lane struct {
	variant, condition string
	walk               walk // shared by the conditions of a variant
	script             script
	perMille           int64 // of the base price
	below              int64 // smallest distance below it in cents
	seed               uint64
	start, end         int // first and last day with rows
	gapStart, gapEnd   int // days without a row; gapEnd < gapStart: none
	gaps               uint64
	state              freshness
	unlicensed         bool
}

// conditions has the conditions in the order of display, with the share of the near mint price (per
// mille) and the smallest distance to it in cents.
var conditions = []struct {
	code     string
	perMille int
	below    int64
}{
	{"near_mint", 1000, 0},
	{"ungraded", 930, 1},
	{"lightly_played", 860, 1},
	{"moderately_played", 700, 2},
	{"heavily_played", 520, 3},
	{"damaged", 340, 4},
}

// conditionMixes are the sets of conditions of a variant, as indexes, with weights of a thousand.
var conditionMixes = []struct {
	weight  int
	members []int
}{
	{340, []int{1}},
	{150, []int{0}},
	{150, []int{0, 2}},
	{110, []int{0, 1, 2, 3}},
	{150, []int{0, 1, 2, 3, 4, 5}},
	{100, []int{0, 2, 3, 4, 5}},
}

// lanesOf adds the lanes of one variant, in at most limit conditions; 0 is no limit.
func lanesOf(lanes []lane, d *dice, variant string, walk walk, born, limit int) []lane {
	members := conditionMix(d)
	if limit > 0 {
		members = members[:min(len(members), limit)]
	}

	// All conditions of a variant begin on one day and share one random walk.
	start := laneStart(d, born)
	for _, m := range members {
		c := conditions[m]
		l := lane{
			variant: variant, condition: c.code, walk: walk, perMille: 1000, start: start, end: forever,
			gapEnd: always,
		}

		// A lane that is alone or near mint has the prices of the random walk; others are below.
		if len(members) > 1 && m > 0 {
			l.perMille = int64(c.perMille + d.between(-30, 30))
			l.below = c.below
		}
		l.live(d)
		lanes = append(lanes, l)
	}
	return lanes
}

func conditionMix(d *dice) []int {
	n := d.below(1000)
	for _, m := range conditionMixes {
		n -= m.weight
		if n < 0 {
			return m.members
		}
	}
	return conditionMixes[0].members
}

// laneStart returns the first day of a lane, which cannot be before born. Most lanes are as old as
// their card.
func laneStart(d *dice, born int) int {
	start := always
	if d.chance(120) {
		start = -d.between(2, 420)
	}
	return max(start, born)
}

// live draws the life of a lane: its gaps, the age of its prices, its licence and its end.
func (l *lane) live(d *dice) {
	l.seed = d.next()
	// Of 4096 days.
	l.gaps = 20
	if d.chance(60) {
		l.gaps = 1200
	}

	// The shares of a real feed: seven of ten prices are fresh.
	switch n := d.below(1000); {
	case n < 700:
		l.state = fresh
	case n < 860:
		l.state = stale
	case n < 965:
		l.state = unknown
	default:
		l.state = missing
	}

	l.unlicensed = d.chance(40)
	if !l.unlicensed && d.chance(15) {
		l.end = -d.between(3, 200)
	}
}

// on returns whether the lane has a row and a price on a day. An unlicensed lane always has a row,
// because only rows have the licence.
func (l *lane) on(day int) sight {
	switch {
	case day < l.start || day > l.end:
		return noRow
	case day >= l.gapStart && day <= l.gapEnd:
		return noRow
	case l.state == missing && day >= missingSince:
		return noPrice
	}

	// Gaps are drawn per day; most of them have no row.
	bits := dayBits(l.seed, day)
	if bits&4095 >= l.gaps {
		return priced
	}
	if l.unlicensed || bits>>12&3 == 0 {
		return noPrice
	}
	return noRow
}

// cents returns the price of a day on which the variant's walk has a state.
func (l *lane) cents(state uint64, day int) int64 {
	if l.script != walking {
		return l.script.cents(l.walk.level, day)
	}

	// Rounded to cents first, so that the order of conditions is the same in cents.
	whole := int64((state + 1<<(centBits-1)) >> centBits)
	if l.perMille == 1000 {
		return whole
	}
	return max(min((whole*l.perMille+500)/1000, whole-l.below), 1)
}

// collectedAt returns the time at which a row of the day that ends at was collected: at that
// instant, or up to two hours earlier.
func (l *lane) collectedAt(at time.Time, day int) time.Time {
	if bits := dayBits(l.seed+1, day); bits&3 == 0 && l.state != edge && l.state != pastEdge {
		return at.Add(-time.Duration(bits>>8%120) * time.Minute)
	}
	return at
}

// asOf returns the provider's observation time, zero if it is unknown or there is no price.
func (l *lane) asOf(at time.Time, day int) time.Time {
	bits := dayBits(l.seed+2, day)
	switch l.state {
	case fresh:
		return at.Add(-3*time.Hour - time.Duration(bits%(33*3600))*time.Second)
	case edge:
		return at.Add(-staleAfter)
	case pastEdge:
		return at.Add(-staleAfter - time.Second)
	case stale:
		return at.Add(-staleAfter - time.Second - time.Duration(bits%(20*24*3600))*time.Second)
	case unknown, missing:
	}
	return time.Time{}
}
