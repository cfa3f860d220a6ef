package valuation

import (
	"ninepocket/engine"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// A Line is what became of one line of a list, with what its price is of.
type Line struct {
	Result
	N                  int    // from 0
	Variant, Condition string // of the price, "" without one
	UpdatedAt          int64  // of the price, snapshot.NoTime without one
}

// A Sink takes the lines of a list one after the other: it spells them as one kind of answer does. What
// keeps a line copies it: the next one is written over it.
type Sink interface{ Line(line *Line) }

// Walk values the items of a list against a View, gives sink what became of each, and adds it up.
func (a *Appraiser) Walk(view *engine.View, items []Item, sink Sink) (totals Totals) {
	a.Reset(view)
	// What is kept for the next list must not keep a View in memory.
	defer a.Reset(nil)

	c := view.Catalog
	line := &Line{}
	for n, item := range items {
		*line = Line{N: n, Result: a.Value(item), UpdatedAt: snapshot.NoTime}
		if line.Lane >= 0 {
			line.Variant = c.Variants.At(int(c.Lanes.Variant[line.Lane]))
			line.Condition = snapshot.Condition(c.Lanes.Condition[line.Lane]).Text()
			line.UpdatedAt = c.UpdatedAt(line.Lane)
		}
		totals.Add(&line.Result)
		sink.Line(line)
	}
	return totals
}

// AppendAssumed appends what was assumed as a JSON list.
func (r *Result) AppendAssumed(dst []byte) []byte {
	dst = append(dst, '[')
	for _, a := range r.Assumed {
		dst = wire.AppendText(wire.AppendComma(dst), `{"field":`, a.Field)
		dst = wire.AppendText(dst, `,"given":`, a.Given)
		dst = append(wire.AppendText(dst, `,"used":`, a.Used), '}')
	}
	return append(dst, ']')
}

// AppendRange appends what the cards cost that fit, as a JSON object.
func (r *Result) AppendRange(dst []byte) []byte {
	dst = wire.AppendInt(dst, `{"from_cents":`, r.From)
	return append(wire.AppendInt(dst, `,"to_cents":`, r.To), '}')
}

// AppendCounts appends how many lines have each status, as members of a JSON object behind others.
func (t *Totals) AppendCounts(dst []byte) []byte {
	for status, name := range StatusNames {
		dst = wire.AppendInt(append(append(dst, `,"`...), name...), `":`, int64(t.Counts[status]))
	}
	return dst
}
