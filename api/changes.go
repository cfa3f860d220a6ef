package api

import (
	"encoding/binary"
	"slices"

	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// changeKinds are the values of the parameter kind, in the order of the kinds of rows.
var changeKinds = [snapshot.RowKinds]string{"cards", "prices", "sets"}

// listChanges handles GET /v1/changes.
func listChanges(r *Request, out *Reply) *wire.APIError {
	query, bound := changesQuery(r)
	current := r.View.ID // a header or cursor may name another
	if f := openChanges(r, &query, bound); f != nil {
		return f
	}
	if !r.View.KnowsChanges(query.Since) {
		return gone(current, "the changes since snapshot "+QuoteInput(query.Since)+" are unknown")
	}

	out.Body = wire.AppendText(out.Body, `{"from_snapshot_id":`, query.Since)
	out.Body = wire.AppendText(out.Body, `,"snapshot_id":`, r.View.ID)
	out.Body = append(out.Body, `,"data":[`...)
	// The tail alone differs from answer to answer.
	var last uint64
	out.Body, last = r.View.AppendChanges(out.Body, query)
	out.Body = append(out.Body, ']')
	r.appendNext(out, cursor.Changes, bound, last != 0, func(dst []byte) []byte {
		return binary.BigEndian.AppendUint64(dst, last)
	})
	return nil
}

// changesQuery reads the parameters of a list of changes, and what its cursors are bound to. It records problems.
func changesQuery(r *Request) (query engine.ChangesQuery, bound uint64) {
	r.require("since", "send the X-Snapshot-Id of your copy")
	r.require("kind", "send one of cards, prices, sets")

	kind := r.oneOf("kind", changeKinds[snapshot.CardRow], changeKinds[:]...)
	query.Kind = snapshot.RowKind(slices.Index(changeKinds[:], kind))
	// A card has six times the bytes of a price.
	limits := wire.ChangeLimit
	if query.Kind != snapshot.PriceRow {
		limits.Max = wire.MaxRecordChanges
	}
	query.Limit = int(r.intArg("limit", limits, wire.DefaultChangeLimit))
	query.Since, _ = r.textArg("since", wire.SnapshotText)
	return query, cursor.Hash("changes", kind, query.Since)
}

// openChanges sets the request's View to the one that a header or cursor names, and the position to
// that of the cursor. It records problems. A pagination has the rows up to one snapshot: it cannot
// continue in another.
func openChanges(r *Request, query *engine.ChangesQuery, bound uint64) *wire.APIError {
	if r.SnapshotID != "" {
		view := r.Service.Retained(cursor.Hash(r.SnapshotID))
		if view == nil {
			return gone(r.View.ID, "the snapshot of X-Snapshot-Id is not held any more")
		}
		r.View = view
		r.Pinned = true
	}

	token, page, ok := r.readCursor(cursor.Changes, bound, wire.CursorText)
	switch view := r.Service.Retained(page.Snapshot); {
	case !ok:
	case r.Pinned && page.Snapshot != r.View.Hash:
		r.problem("cursor is of another snapshot than X-Snapshot-Id: leave one of them out")
	case len(page.Position) != 8:
		r.badCursor(token, cursor.ErrMalformed)
	case view == nil && r.Service.IsPending(page.Snapshot, page.Issued):
		return &wire.APIError{Code: wire.TemporarilyUnavailable, Detail: pendingView, RetryAfter: 1}
	case view == nil:
		return gone(r.View.ID, "the snapshot of this pagination is not held any more")
	default:
		r.View = view
		query.After = binary.BigEndian.Uint64(page.Position)
	}
	return r.invalid()
}

// gone returns the error of a snapshot that will not come back. It names the next request: the
// current snapshot, or a new start.
func gone(current, reason string) *wire.APIError {
	reason += "; the current one is " + current + ": start again with GET /v1/bulk, or page through GET /v1/cards"
	return &wire.APIError{Code: wire.SnapshotGone, Detail: reason, Gone: true}
}
