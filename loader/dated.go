package loader

import (
	"strings"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// dated counts the prices of one input by day. Which of them are older than the history kept is only known at the end,
// when the snapshot's date is.
type dated struct {
	byDay []datedDay // from 1970-01-01 on
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
	for int(day) >= len(d.byDay) {
		d.byDay = append(d.byDay, datedDay{})
	}
	t := &d.byDay[day]
	if t.n == 0 {
		t.at, t.ref = at, strings.Clone(ref)
	}
	t.n++
}

// before is how many prices are of days before one, nil for none, with the oldest as an example.
func (d *dated) before(day snapshot.Day) *TooOld {
	var out *TooOld
	for i := range d.byDay[:min(len(d.byDay), max(int(day), 0))] {
		t := &d.byDay[i]
		if t.n == 0 {
			continue
		}
		if out == nil {
			out = &TooOld{Before: day.String(), Day: snapshot.Day(i).String(), Ref: t.ref, File: t.at.File, Line: t.at.Line}
		}
		out.Prices += t.n
	}
	return out
}
