package api

import (
	"encoding/binary"
	"strings"

	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// changeKinds are the values of the parameter kind, in the order of the kinds of rows.
var changeKinds = [snapshot.RowKinds]string{"cards", "prices", "sets"}

// listChanges handles GET /v1/changes.
func listChanges(r *Request, out *Reply) *wire.APIError {
	q, bound := changesQuery(r)
	if f := openChanges(r, &q, bound); f != nil {
		return f
	}
	if f := r.invalid(); f != nil {
		return f
	}
	if !r.View.KnowsChanges(q.Since) {
		return gone("nobody knows here what changed since snapshot %s until %s: begin again with GET /v1/bulk, or a "+
			"walk of GET /v1/cards", QuoteInput(q.Since), r.View.ID)
	}

	out.Body = wire.AppendText(out.Body, `{"from_snapshot_id":`, q.Since)
	out.Body = wire.AppendText(out.Body, `,"snapshot_id":`, r.View.ID)
	out.Body = append(out.Body, `,"data":[`...)
	body, next := r.View.AppendChanges(out.Body, q)
	out.Body = append(body, ']')
	r.appendNext(out, cursor.Changes, bound, next != nil, func(dst []byte) []byte {
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(dst, uint32(next.Row)), next.After)
	})
	return nil
}

// changesQuery reads the parameters of a list of changes, and what its cursors are bound to. It records problems.
func changesQuery(r *Request) (q engine.ChangesQuery, bound uint64) {
	for _, required := range [][2]string{
		{"kind", "send one of " + strings.Join(changeKinds[:], ", ")}, {"since", "send the X-Snapshot-Id of your copy"},
	} {
		if name := required[0]; r.Args.find(name).count == 0 {
			r.problem("%s is required%s: %s", name, r.Args.mistyped(name), required[1])
		}
	}

	kind := r.oneOf("kind", changeKinds[snapshot.CardRow], changeKinds[:]...)
	for i, name := range changeKinds {
		if name == kind {
			q.Kind = snapshot.RowKind(i)
		}
	}
	limits := wire.ChangeLimit
	if kind == changeKinds[snapshot.PriceRow] {
		limits = wire.PriceChangeLimit
	}
	q.Limit = int(r.intArg("limit", limits, wire.DefaultChangeLimit))
	q.Since, _ = r.textArg("since", wire.SnapshotText)
	return q, cursor.Hash("changes", kind, q.Since)
}

// openChanges sets the request's View to the one that a header or cursor names, and the position to that of the
// cursor. It records problems. A walk has the rows up to one snapshot: it cannot go on in another.
func openChanges(r *Request, q *engine.ChangesQuery, bound uint64) *wire.APIError {
	if r.SnapshotID != "" {
		view := r.Service.Retained(cursor.Hash(r.SnapshotID))
		if view == nil {
			return gone("the snapshot of X-Snapshot-Id is not held any more, the current one is %s: leave the header "+
				"out, or begin again with GET /v1/bulk", r.View.ID)
		}
		r.View = view
		r.Pinned = true
	}

	token, page, ok := r.readCursor(cursor.Changes, bound, wire.CursorText)
	switch view := r.Service.Retained(page.Snapshot); {
	case !ok:
	case r.Pinned && page.Snapshot != r.View.Hash:
		r.problem("cursor is of another snapshot than X-Snapshot-Id: leave one of them out")
	case len(page.Position) != 12:
		r.badCursor(token, cursor.ErrMalformed)
	case view == nil && r.Service.IsPending(page.Snapshot, page.Issued):
		return &wire.APIError{Code: wire.TemporarilyUnavailable, Detail: pendingView, RetryAfter: 1}
	case view == nil:
		return gone("the snapshot of this walk is not held any more, the current one is %s: leave the cursor out to "+
			"walk to that one, or begin again with GET /v1/bulk", r.View.ID)
	default:
		r.View = view
		q.Row = int(binary.BigEndian.Uint32(page.Position))
		q.After = binary.BigEndian.Uint64(page.Position[4:])
	}
	return nil
}

// gone returns the error of a snapshot that will not come back.
func gone(format string, args ...any) *wire.APIError {
	f := refuse(wire.SnapshotGone, format, args...)
	f.Gone = true
	return f
}
