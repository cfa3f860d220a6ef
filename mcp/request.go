package mcp

import (
	"errors"

	"ninepocket/engine/cursor"
	"ninepocket/index"
	"ninepocket/internal/jsonwalk"
	"ninepocket/valuation"
)

// request is what a tool is asked: by whom, about which View, with which arguments.
type request struct {
	Caller
	args

	endpoint *Endpoint
	tool     *tool
	problems problems

	// What a tool needs while it runs, and what the next call uses again.
	cards     []uint32
	matches   []index.Match
	appraiser valuation.Appraiser
}

func (in *request) reset(e *Endpoint, t *tool, by Caller) {
	*in = request{
		Caller: by, endpoint: e, tool: t, cards: in.cards[:0], matches: in.matches[:0], appraiser: in.appraiser,
	}
}

// bind reads the arguments of the call, an object or nil.
func (in *request) bind(arguments jsonwalk.Value) refusal {
	in.args = bind(in.tool.fields, arguments, "", &in.problems)
	return in.refusal()
}

// refusal names every problem noted, "" without one.
func (in *request) refusal() refusal { return in.problems.refusal(in.tool.name) }

// openCursor opens the cursor argument and turns the call to the View that the walk began in, when
// it is still kept. It returns the position behind which the page begins, nil without a cursor.
// What is wrong with one is noted.
func openCursor[P any](in *request, out *reply, op cursor.Op, bound uint64, parse func([]byte) (P, error)) *P {
	// A cursor is bound to the other arguments: where one of them is wrong, it would seem wrong as
	// well.
	if !in.has("cursor") || in.problems.n > 0 {
		return nil
	}
	page, err := in.endpoint.Cursors.Open(in.text("cursor"), op, bound, in.Now)
	if err != nil {
		in.badCursor(err)
		return nil
	}

	// Where the View is gone, the walk goes on in the one of now: the position holds the sort key
	// of the last entry.
	if in.endpoint.Retained != nil {
		if kept := in.endpoint.Retained(page.Snapshot); kept != nil {
			in.View = kept
			out.show(kept)
		}
	}

	position, err := parse(page.Position)
	if err != nil {
		in.badCursor(cursor.ErrMalformed)
		return nil
	}
	return &position
}

// badCursor notes what is wrong with a cursor and what to do.
func (in *request) badCursor(err error) {
	if errors.Is(err, cursor.ErrExpired) {
		in.problems.add("cursor has expired (they last 15 minutes): leave it out to start again from the first page; " +
			"limit 50 makes the fewest pages.")
		return
	}
	in.problems.add(err.Error(), ": leave cursor out to start again from the first page, "+
		"or repeat the other arguments of that page unchanged.")
}

// nextCursor signs the position of the last entry of a page.
func (in *request) nextCursor(op cursor.Op, bound uint64, last []byte) string {
	page := cursor.Page{Op: op, Snapshot: in.View.Hash, Position: last}
	return string(in.endpoint.Cursors.Append(nil, page, bound, in.Now))
}
