package engine

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/bits"
	"slices"
	"sort"

	"ninepocket/engine/cursor"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// maxDeltaRows bounds the rows of the deltas of a View together, at 12 bytes each, and 120 more for each
// different row. A month of the real catalog has half a million. Changes beyond the bound are unknown.
const maxDeltaRows = 2 << 20

// changes are the rows in which a View differs from earlier snapshots. They are made from the deltas that lead from
// those snapshots to the View's. Each delta has a bit.
type changes struct {
	paths map[string]uint32               // by snapshot: the deltas that lead from it to the View's
	rows  [snapshot.RowKinds][]changedRow // ascending by order
	count int                             // rows of all deltas
}

// changedRow is a row that deltas name.
type changedRow struct {
	key     snapshot.RowKey
	order   uint64   // equal on all servers of a snapshot: cursors continue on another server
	row     int      // in the catalog
	now     uint64   // its fingerprint there, 0 if the catalog lacks it
	touched uint32   // the deltas that name it
	was     []uint64 // its fingerprints before these, those of low bits first
}

// composeChanges gives a View its changes since earlier snapshots. It goes back from the View's own, and reaches
// each snapshot by the fewest deltas. So changes that a release made and a rollback undid are not among them.
func (v *View) composeChanges(deltas []*snapshot.Delta, step func()) (problem error) {
	made := &changes{paths: map[string]uint32{v.ID: 0}}
	found := map[snapshot.RowKey]*changedRow{}
	for heads := []string{v.ID}; len(heads) > 0; heads = heads[1:] {
		for _, delta := range deltas {
			bit := len(made.paths) - 1
			_, known := made.paths[delta.From]
			if delta.To != heads[0] || known || bit == snapshot.MaxDeltas || made.count > maxDeltaRows {
				continue
			}
			// Without this one, another way may lead to the snapshot.
			rows, err := delta.Rows(step)
			if err != nil {
				problem = fmt.Errorf("changes of epoch %d: %w", delta.Epoch, err)
				continue
			}

			made.paths[delta.From] = made.paths[delta.To] | 1<<bit
			heads = append(heads, delta.From)
			made.count += len(rows)
			for _, named := range rows {
				step()
				row := found[named.RowKey]
				if row == nil {
					// Rows that the catalog lacks follow the catalog's rows, in the order of a hash.
					order := cursor.Hash(named.ID, named.Variant, named.Condition.Code()) | 1<<63
					row = &changedRow{key: named.RowKey, order: order}
					found[named.RowKey] = row
				}
				row.touched |= 1 << bit
				row.was = append(row.was, named.Was)
			}
		}
	}

	// The texts of the catalog take the place of those of the deltas.
	v.Catalog.EachRow(func(key snapshot.RowKey, number int) {
		step()
		if row := found[key]; row != nil {
			row.key = key
			row.row = number
			row.order = uint64(number) + 1
			row.now = v.Catalog.Fingerprint(key.Kind, number)
		}
	})
	sorted := slices.SortedFunc(maps.Values(found), func(a, b *changedRow) int {
		step()
		return cmp.Compare(a.order, b.order)
	})
	for _, row := range sorted {
		made.rows[row.key.Kind] = append(made.rows[row.key.Kind], *row)
	}
	v.changes.Store(made)
	return problem
}

// loadChanges gives a View its changes, as far as the store has them. After an error the View is served all the same.
func (e *Engine) loadChanges(v *View, step func()) {
	if e.o.Deltas == nil {
		return
	}
	deltas, err := e.o.Deltas()
	if err := errors.Join(err, v.composeChanges(deltas, step)); err != nil {
		e.o.Log.Warn("changes are incomplete: clients may have to download the bulk files again",
			slog.String("snapshot_id", v.ID), slog.Any("cause", err))
	}
}

// KnowsChanges reports whether the View has the changes since a snapshot.
func (v *View) KnowsChanges(since string) bool {
	_, known := v.changes.Load().paths[since]
	return known
}

// ChangesQuery asks for rows of a kind that differ from those of a snapshot, which the View knows.
type ChangesQuery struct {
	Kind  snapshot.RowKind
	Since string
	After uint64 // the result of AppendChanges for the previous page, 0 for the first page
	Limit int
}

// AppendChanges appends a page of changes, joined by commas. last is where the next page begins, 0 for none.
func (v *View) AppendChanges(dst []byte, query ChangesQuery) (_ []byte, last uint64) {
	all := v.changes.Load()
	// If a list ascends, the page begins after the row of the cursor.
	rows := all.rows[query.Kind]
	from := sort.Search(len(rows), func(i int) bool { return rows[i].order > query.After })
	for i := range rows[from:] {
		row := &rows[from+i]
		change := row.change(all.paths[query.Since])
		switch {
		case change == "":
			continue
		case query.Limit == 0:
			return dst, last
		case last != 0:
			dst = append(dst, ',')
		}

		query.Limit--
		last = row.order
		dst = append(wire.AppendDifference(dst, &row.key, change), changedMembers[row.key.Kind]...)
		dst = append(v.appendChanged(dst, row), '}')
	}
	return dst, 0
}

// change says how a row differs after the deltas of a path, "" if it does not.
func (r *changedRow) change(path uint32) string {
	passed := r.touched & path
	if passed == 0 {
		return ""
	}

	// The highest bit of a path is the delta that is passed first.
	top := bits.Len32(passed) - 1
	was := r.was[bits.OnesCount32(r.touched&(1<<top-1))]
	switch {
	case was == r.now:
		return ""
	case was == 0:
		return "added"
	case r.now == 0:
		return "removed"
	}
	return "changed"
}

// changedMembers are the members of a change with its record, by kind.
var changedMembers = [snapshot.RowKinds]string{`"card":`, `"price":`, `"set":`}

// appendChanged appends the record of a change as it is now.
func (v *View) appendChanged(dst []byte, changed *changedRow) []byte {
	switch row := changed.row; {
	case changed.now == 0:
		return append(dst, "null"...)
	case changed.key.Kind == snapshot.CardRow:
		return append(dst, v.texts.at(row)...)
	case changed.key.Kind == snapshot.SetRow:
		return append(dst, v.sets.at(row)...)
	default:
		dst = wire.AppendCents(dst, `{"market_price_cents":`, v.Catalog.Lanes.Cents[row])
		return append(wire.AppendSeconds(dst, `,"price_updated_at":`, v.Catalog.UpdatedAt(row)), '}')
	}
}
