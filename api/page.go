package api

import (
	"encoding/binary"
	"errors"

	"ninepocket/access/keys"
	"ninepocket/engine/cursor"
	"ninepocket/wire"
)

// openCursor reads the cursor parameter of a live list and sets the request's View to that of the
// first page, if it is still retained. It returns the position after which the page begins, nil
// without a cursor. It records problems.
func openCursor[P any](r *Request, op cursor.Op, bound uint64, parse func([]byte) (P, error)) *P {
	token, page, ok := r.readCursor(op, bound, wire.CursorText)
	if !ok {
		return nil
	}

	if r.Pinned && page.Snapshot != r.View.Hash {
		r.problem("cursor is of another snapshot than X-Snapshot-Id: leave one of them out")
		return nil
	}

	// Otherwise pagination goes on by sort key in the current snapshot (decision 29).
	if view := r.Service.Retained(page.Snapshot); view != nil {
		r.View = view
	}

	// It is signed by this service, so it is unreadable only if a newer or an older program wrote
	// it.
	position, err := parse(page.Position)
	if err != nil {
		r.badCursor(token, cursor.ErrMalformed)
	}
	return &position
}

// readCursor reads the cursor parameter; false without a valid one. A cursor for other parameters
// is invalid: its position would mean another order. It records problems.
func (r *Request) readCursor(op cursor.Op, bound uint64, length wire.Range) (token string, page cursor.Page, ok bool) {
	sound := r.problems.count == 0
	token, ok = r.textArg("cursor", length)
	if !ok {
		return "", page, false
	}

	// If other parameters are wrong, a mismatch is unclear: only other problems of the cursor are
	// reported.
	page, err := r.Service.Cursors.Open(token, op, bound, r.Now)
	if err != nil && (sound || !errors.Is(err, cursor.ErrMismatch)) {
		r.badCursor(token, err)
	}
	return token, page, err == nil && sound
}

var errOtherQuery = errors.New("cursor was issued for other parameters")

// badCursor records the fault of a cursor and the next step (decision 29).
func (r *Request) badCursor(token string, err error) {
	if errors.Is(err, cursor.ErrMalformed) {
		r.problem("%s (got %s): leave it out to start again from the first page, "+
			"then send next_cursor as it came", err, QuoteInput(token))
		return
	}
	if errors.Is(err, cursor.ErrMismatch) && r.Op.Surface == keys.Live { // its cursors are valid for every tenant
		err = errOtherQuery
	}
	r.problem("%s: leave it out to start again from the first page", err)
}

// appendNext appends next_cursor, which differs every time, closes the body, and makes the Link
// header. If there are more entries, last appends the position of the page's last one, where the
// next page begins, in this View or a later one.
func (r *Request) appendNext(out *Reply, op cursor.Op, bound uint64, more bool, last func(dst []byte) []byte) {
	if !more {
		out.Body = append(out.Body, `,"next_cursor":null}`...)
		r.tagPage(out, false)
		return
	}

	out.VaryingFrom = len(out.Body)
	out.Body = append(out.Body, `,"next_cursor":"`...)
	from := len(out.Body)
	r.text = last(r.text[:0])
	page := cursor.Page{Op: op, Snapshot: r.View.Hash, Position: r.text}
	out.Body = r.Service.Cursors.Append(out.Body, page, bound, r.Now)
	r.linkNext(out, out.Body[from:])
	out.Body = append(out.Body, '"', '}')

	r.tagPage(out, true)
}

// linkNext makes the Link header: the same request with the next cursor.
func (r *Request) linkNext(out *Reply, token []byte) {
	link := out.Link[:0]
	link = append(append(link, '<'), r.Service.BaseURL...)
	link = append(append(link, r.Op.Path...), '?')

	// Unknown parameters are ignored, and not repeated.
	for i := range r.Args.known {
		if a := &r.Args.known[i]; a.count > 0 && a.name != "cursor" {
			link = append(append(link, a.name...), '=')
			link = append(wire.AppendEscaped(link, a.value), '&')
		}
	}

	link = append(append(link, "cursor="...), token...)
	link = append(link, `>; rel="next"`...)
	out.Link = link
}

// tagPage makes the validator of a page whose body has a cursor, which differs every time. The
// validator depends on the snapshot and the request (decision 9). It changes long before that
// cursor expires: a client that revalidates for ever must not keep a page with an expired cursor.
func (r *Request) tagPage(out *Reply, more bool) {
	text := append(append(r.text[:0], r.View.ID...), r.Op.Path...)

	// The count of a parameter distinguishes an empty value from none.
	for i := range r.Args.known {
		a := &r.Args.known[i]
		text = append(text, byte(len(a.value)), byte(len(a.value)>>8), byte(a.count))
		text = append(text, a.value...)
	}
	if more {
		text = binary.AppendVarint(text, r.Now.UnixMilli()/(cursor.Lifetime/3).Milliseconds())
	}

	r.text = text
	out.Tag = cursor.Hash(string(text))
	out.HasETag = true
}
