package loader

import (
	"maps"
	"slices"
	"strings"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// dated counts the prices of one input by day. Which of them are older than the history kept is
// only known at the end, when the snapshot's date is. An input has a day or a few hundred.
type dated struct {
	byDay map[snapshot.Day]*datedDay
	last  snapshot.Day // the day of the price before, which mostly is that of the next one
	of    *datedDay
}

// datedDay is how many prices of a day were read, and where the first one is.
type datedDay struct {
	n   int
	at  source.At
	ref string
}

// maxDated bounds the days that are counted apart: what is later is not old.
const maxDated = 1 << 16

// see counts a price.
func (d *dated) see(day snapshot.Day, at source.At, ref string) {
	if day < 0 || day >= maxDated {
		return
	}

	if d.of == nil || d.last != day {
		of, ok := d.byDay[day]
		if !ok {
			of = &datedDay{at: at, ref: strings.Clone(ref)}
			d.byDay[day] = of
		}

		d.last = day
		d.of = of
	}

	d.of.n++
}

// before is how many prices are of days before one, nil for none, with the oldest as an example.
func (d *dated) before(day snapshot.Day) *TooOld {
	var out *TooOld
	for _, of := range slices.Sorted(maps.Keys(d.byDay)) {
		if of >= day {
			break
		}
		datedDay := d.byDay[of]
		if out == nil {
			out = &TooOld{
				Before: day.String(), Day: of.String(), Ref: datedDay.ref, File: datedDay.at.File,
				Line: datedDay.at.Line,
			}
		}
		out.Prices += datedDay.n
	}

	return out
}
