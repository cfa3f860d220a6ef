package engine

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"slices"
	"sort"
	"strings"

	"ninepocket/engine/cursor"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// maxDeltaRows bounds how many rows the deltas of a View name together, at 12 bytes each, and 120 more for each
// different one. A month of the real catalog has half a million. What is behind the bound nobody knows.
const maxDeltaRows = 2 << 20

// changes say of a View in which rows it differs from earlier snapshots. They are made of the deltas that lead from
// those snapshots to the View's, each of which has a bit.
type changes struct {
	paths map[string]uint32                // by snapshot: the deltas that lead from it to the View's
	rows  [snapshot.RowKinds][]*changedRow // ascending by position
	count int                              // rows of all deltas
}

// changedRow is a row that deltas name.
type changedRow struct {
	ChangesPosition
	key     snapshot.RowKey
	row     int      // in the catalog
	now     uint64   // its fingerprint there, 0 if the catalog lacks it
	touched uint32   // the deltas that name it
	was     []uint64 // its fingerprints before these, those of low bits first
}

// ChangesPosition is where a page begins: behind a row.
type ChangesPosition struct {
	ID   string // of its card or set
	Lane uint64 // a hash of its variant and condition
}

// compare orders rows by id. Which deltas a server has makes no difference: cursors go on at another one.
func (p *ChangesPosition) compare(other *ChangesPosition) int {
	return cmp.Or(strings.Compare(p.ID, other.ID), cmp.Compare(p.Lane, other.Lane))
}

// composeChanges tells a View what changed since earlier snapshots. It goes back from the View's own, and reaches
// each snapshot by the fewest deltas: what a publication did and a rollback undid is not among them.
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
			rows, err := delta.Rows(step)
			if err != nil {
				problem = fmt.Errorf("changes of epoch %d: %w", delta.Epoch, err)
				continue
			}

			made.paths[delta.From] = made.paths[delta.To] | 1<<bit
			heads = append(heads, delta.From)
			made.count += len(rows)
			for i := range rows {
				step()
				add(found, &rows[i], bit)
			}
		}
	}

	// The texts of the catalog take the place of those of the deltas.
	v.Catalog.EachRow(func(key snapshot.RowKey, number int, fingerprint uint64) {
		step()
		if row := found[key]; row != nil {
			row.key = key
			row.ID = key.ID
			row.row = number
			row.now = fingerprint
		}
	})
	for key, row := range found {
		made.rows[key.Kind] = append(made.rows[key.Kind], row)
	}
	for _, rows := range made.rows {
		slices.SortFunc(rows, func(a, b *changedRow) int {
			step()
			return a.compare(&b.ChangesPosition)
		})
	}
	v.changes.Store(made)
	return problem
}

// add adds a row of a delta.
func add(found map[snapshot.RowKey]*changedRow, named *snapshot.DeltaRow, bit int) {
	row := found[named.RowKey]
	if row == nil {
		at := ChangesPosition{named.ID, cursor.Hash(named.Variant, named.Condition.Code())}
		row = &changedRow{ChangesPosition: at, key: named.RowKey}
		found[named.RowKey] = row
	}
	row.touched |= 1 << bit
	row.was = append(row.was, named.Was)
}

// loadChanges tells a View what changed, as far as the store knows. An error is no reason not to serve it.
func (e *Engine) loadChanges(v *View, step func()) {
	if e.o.Deltas == nil {
		return
	}
	if step == nil {
		step = func() {}
	}
	deltas, err := e.o.Deltas()
	if err := errors.Join(err, v.composeChanges(deltas, step)); err != nil {
		e.o.Log.Warn("clients are not told of all changes, and may have to take the bulk again",
			slog.String("snapshot_id", v.ID), slog.Any("cause", err))
	}
}

// size is about how many bytes the changes take.
func (all *changes) size() (bytes int64) {
	for _, rows := range all.rows {
		bytes += int64(120 * len(rows))
	}
	return bytes + int64(12*all.count)
}

// KnowsChanges reports whether the View knows what changed since a snapshot.
func (v *View) KnowsChanges(since string) bool {
	_, known := v.changes.Load().paths[since]
	return known
}

// ChangesQuery asks for rows of a kind that differ from those of a snapshot, which the View knows.
type ChangesQuery struct {
	Kind  snapshot.RowKind
	Since string
	After ChangesPosition
	Limit int
}

// AppendChanges appends a page of changes, joined by commas, and returns its last row if there are more.
func (v *View) AppendChanges(dst []byte, query ChangesQuery) (_ []byte, last *ChangesPosition) {
	all := v.changes.Load()
	path := all.paths[query.Since]
	rows := all.rows[query.Kind]
	from := sort.Search(len(rows), func(i int) bool { return rows[i].compare(&query.After) > 0 })
	for _, row := range rows[from:] {
		change := row.change(path)
		switch {
		case change == "":
			continue
		case query.Limit == 0:
			return dst, last
		case last != nil:
			dst = append(dst, ',')
		}

		query.Limit--
		last = &row.ChangesPosition
		dst = append(append(wire.AppendDifference(dst, &row.key, change), changedMembers[row.key.Kind]...), ':')
		dst = append(v.appendChanged(dst, row), '}')
	}
	return dst, nil
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
var changedMembers = [snapshot.RowKinds]string{`"card"`, `"price"`, `"set"`}

// appendChanged appends the record of a change as it is now.
func (v *View) appendChanged(dst []byte, changed *changedRow) []byte {
	switch row := changed.row; {
	case changed.now == 0:
		return append(dst, "null"...)
	case changed.key.Kind == snapshot.CardRow:
		return wire.AppendWithoutPrices(dst, v.details.at(row), int(v.heads[row]))
	case changed.key.Kind == snapshot.SetRow:
		return append(dst, v.sets.at(row)...)
	default:
		dst = wire.AppendCents(dst, `{"market_price_cents":`, v.Catalog.Lanes.Cents[row])
		return append(wire.AppendSeconds(dst, `,"price_updated_at":`, v.Catalog.UpdatedAt(row)), '}')
	}
}
