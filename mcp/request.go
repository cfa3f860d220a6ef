package mcp

import (
	"errors"

	"ninepocket/engine/cursor"
	"ninepocket/valuation"
)

// request is a tool call: the caller, the View and the arguments.
type request struct {
	Caller
	args

	endpoint *Endpoint
	tool     *tool
	problems problems

	// Memory of a running tool, which the next call reuses.
	cards     []uint32
	appraiser valuation.Appraiser
}

func (in *request) reset(e *Endpoint, t *tool, by Caller) {
	*in = request{Caller: by, endpoint: e, tool: t, cards: in.cards[:0], appraiser: in.appraiser}
}

// toolError returns a text with the problems found so far, "" if there are none.
func (in *request) toolError() toolError { return in.problems.toolError(in.tool.name) }

// openCursor opens the cursor argument. If the View of the cursor is still retained, the call
// continues in that View (decision 35). openCursor returns the position after which the page
// begins. It returns nil if there is no cursor, or if the cursor is wrong; a wrong cursor adds a
// problem. queryHash is a hash of the other arguments, and parse reads a position.
func openCursor[P any](in *request, out *result, op cursor.Op, queryHash uint64, parse func([]byte) (P, error)) *P {
	// A cursor is bound to the other arguments. If one of those is wrong, the cursor would seem
	// wrong, too.
	if !in.has("cursor") || in.problems.n > 0 {
		return nil
	}

	page, err := in.endpoint.Cursors.Open(in.text("cursor"), op, queryHash, in.Now)
	if err != nil {
		in.badCursor(err)
		return nil
	}

	// If that View is no longer retained, pagination continues in the current one: the position has
	// the sort key of the last entry, which works in every View.
	if in.endpoint.Retained != nil {
		if view := in.endpoint.Retained(page.Snapshot); view != nil {
			in.View = view
			out.setView(view)
		}
	}

	position, err := parse(page.Position)
	if err != nil {
		in.badCursor(cursor.ErrMalformed)
		return nil
	}
	return &position
}

// badCursor adds the problem with a cursor, and its remedy (decision 2111).
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
func (in *request) nextCursor(op cursor.Op, queryHash uint64, last []byte) string {
	page := cursor.Page{Op: op, Snapshot: in.View.Hash, Position: last}
	return string(in.endpoint.Cursors.Append(nil, page, queryHash, in.Now))
}
