package synth

import "math"

// Bounds of prices, in cents. No walk leaves them; the lower one leaves room for the five
// conditions below near mint.
const (
	floorCents   = 6
	ceilingCents = 900_000_000
)

// The random walk is computed in 1/65536 cent with factors of 18 fractional bits. It uses integers
// only, so that every machine writes the same bytes. A day has the same price in every range of
// days.
const (
	centBits   = 16
	factorBits = 18
	// changeChance is the chance of a change, of 1024. In whole catalogs, 27 % of prices change a
	// day (a change below a cent is none).
	changeChance = 338
	// medianStep is the median of a change in the random walk. Rounded to cents, the median change
	// of prices is 3 %.
	medianStep = 0.0232
	// maxStep bounds the exponential tail of one day's change.
	maxStep = 0.40
)

// steps are the factors of changes: exponentially distributed, as many up as down.
var steps = stepTable()

func stepTable() (table [1024]uint64) {
	half := len(table) / 2
	for i := range half {
		u := (float64(i) + 0.5) / float64(half)
		size := min(-math.Log(1-u)*medianStep/math.Ln2, maxStep)
		table[2*i] = uint64(math.Round(math.Exp(size) * (1 << factorBits)))
		table[2*i+1] = uint64(math.Round(math.Exp(-size) * (1 << factorBits)))
	}
	return table
}

// walk is the price path of one variant of a card, or of a sealed product. It has its level on day
// zero and is computed from there forwards and backwards, so that it does not depend on the range
// of days that is written.
type walk struct {
	seed  uint64
	level int64 // cents at day zero
}

// fill sets path[i] to the state of day from+i.
func (w walk) fill(path []uint64, from int) {
	to := from + len(path) - 1
	// Both directions start from day zero, so that all ranges of days agree.
	at := uint64(w.level) << centBits
	put := func(day int, at uint64) {
		if day >= from && day <= to {
			path[day-from] = at
		}
	}

	put(0, at)
	for day, at := -1, at; day >= from; day-- { // air: a pair
		at = step(at, dayBits(w.seed, day))
		put(day, at)
	}

	for day, at := 1, at; day <= to; day++ { // air: a pair
		at = step(at, dayBits(w.seed, day))
		put(day, at)
	}
}

// step moves a state by one day.
func step(at, bits uint64) uint64 {
	if bits&1023 >= changeChance {
		return at
	}
	// The state has fractions of a cent; otherwise small prices would never change.
	at = at >> 8 * steps[bits>>10&1023] >> (factorBits - 8)
	return min(max(at, floorCents<<centBits), ceilingCents<<centBits)
}

// script replaces the random walk of a planted lane. Days are relative to day zero; every script
// also continues after it.
type script uint8

const (
	walking   script = iota
	climbing         // +4 % of its level a day, from a month before day zero on: a gainer over every seven days
	falling          // the same downwards: a decliner
	flat             // the same price on every day: a change of zero
	freeNow          // positive before day zero, then zero: zero is a price
	freeOnce         // zero before day zero, then positive: a change without a base
	tenfold          // ten times its level since three days before day zero: still data, not an error
	rolling          // waves around a slow rise, to its level on day zero: for demonstrations
	scriptEnd = -3
	scriptRun = 30
	// scriptYear is the number of days of the rise of a rolling price.
	scriptYear = 365
)

// cents returns the scripted price of a day.
func (s script) cents(level int64, day int) int64 { // air: one step
	run := int64(max(day+scriptRun, 0))
	switch s {
	case climbing:
		return level * (100 + 4*run) / 100

	case falling:
		return level * 100 / (100 + 4*run)
	case freeNow:
		if day >= 0 {
			return 0
		}
	case freeOnce:
		if day < 0 {
			return 0
		}
	case tenfold:
		if day >= scriptEnd {
			return level * 10
		}
	case rolling:
		return max(level*int64(1000+wave(day))/1000, 1)
	case walking, flat:
	}
	return level
}

// A swing goes up and down in straight lines.
type swing struct{ length, height int }

// at returns the value of a swing on a day, from 0 to its height.
func (s swing) at(day int) int {
	place := ((day % s.length) + s.length) % s.length
	return s.height * min(place, s.length-place) * 2 / s.length
}

// swings are the parts of a rolling price.
var swings = [...]swing{{211, 180}, {61, 96}, {17, 42}, {5, 18}}

// wave returns the distance of a rolling price from its level, per mille. It is 0 on day zero.
func wave(day int) int {
	sum := min(max(day, -scriptYear), scriptYear) / 3
	for _, swing := range swings {
		sum += swing.at(day+swing.length/3) - swing.at(swing.length/3)
	}
	return sum
}
