package valuation

import (
	"runtime"

	"ninepocket/engine"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// A Line is the outcome of one line of a list, with the lane of its price.
type Line struct {
	Result
	N                  int    // from 0
	Variant, Condition string // of the price, "" without one
	UpdatedAt          int64  // of the price, snapshot.NoTime without one
	AskedVariant       string // the variant that the line asks for, "" for none
}

// A Sink receives the lines of a list one after the other and encodes them for one kind of
// response. It must copy a line that it retains: the next one overwrites it.
type Sink interface{ Line(line *Line) }

// Piece is the number of items that are valued before other work gets its turn; as many items count as
// one request.
const Piece = 100

// ValueList values the items of a list against a View, passes each line to sink, and returns the
// totals.
func (a *Appraiser) ValueList(view *engine.View, items []Item, sink Sink) (totals Totals) {
	a.Reset(view)
	// The appraiser outlives the list and must not keep a View in memory.
	defer a.Reset(nil)

	c := view.Catalog
	line := &Line{}
	for n, item := range items {
		if n > 0 && n%Piece == 0 {
			runtime.Gosched()
		}
		*line = Line{N: n, Result: a.Value(item), UpdatedAt: snapshot.NoTime}
		line.AskedVariant = a.parsed.variant
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

// AppendAssumed appends the assumptions as a JSON list.
func (r *Result) AppendAssumed(dst []byte) []byte {
	dst = append(dst, '[')
	for _, a := range r.Assumed {
		dst = wire.AppendText(wire.AppendComma(dst), `{"field":`, a.Field)
		dst = wire.AppendText(dst, `,"given":`, a.Given)
		dst = append(wire.AppendText(dst, `,"used":`, a.Used), '}')
	}
	return append(dst, ']')
}

// AppendIgnored appends the ignored text as a JSON list.
func (r *Result) AppendIgnored(dst []byte) []byte {
	dst = append(dst, '[')
	for _, text := range r.Ignored {
		dst = wire.AppendText(wire.AppendComma(dst), "", text)
	}
	return append(dst, ']')
}

// AppendRange appends the range of prices as a JSON object.
func (r *Result) AppendRange(dst []byte) []byte {
	dst = wire.AppendInt(dst, `{"from_cents":`, r.From)
	return append(wire.AppendInt(dst, `,"to_cents":`, r.To), '}')
}

// AppendCounts appends the number of lines with each status, as further members of a JSON object.
func (t *Totals) AppendCounts(dst []byte) []byte {
	for status, name := range StatusNames {
		dst = wire.AppendInt(append(append(dst, `,"`...), name...), `":`, int64(t.Counts[status]))
	}
	return dst
}
