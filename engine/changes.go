package engine

import (
	"cmp"
	"context"
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

// maxDeltaRows bounds how many rows the deltas of a View name together, which is 12 bytes each in memory at most,
// and 24 more while they are composed. A month of the real catalog has half a million. Of snapshots beyond the
// bound nobody is told what changed since.
const maxDeltaRows = 4 << 20

// changes say of a View in which rows it differs from earlier snapshots. They are made of the deltas that lead from
// those snapshots to the View's, each of which has a bit.
type changes struct {
	paths map[string]uint32 // by snapshot: the deltas that lead from it to the View's
	kinds [snapshot.RowKinds]changedRows
}

// changedRows are those of one kind. A row has the number of the catalog. Rows that the catalog lacks follow.
type changedRows struct {
	touched []uint32 // by row: the deltas that name it
	first   []uint32 // by row: where its fingerprints begin in was
	// was are the fingerprints of the rows before their deltas. Those of a row begin with the highest bit.
	was  []uint64
	gone []snapshot.RowKey // ascending by hashOf
}

// deltaRow is a row that a delta names.
type deltaRow struct {
	row uint32
	was uint64
}

// composer makes changes.
type composer struct {
	view  *View
	sizes [snapshot.RowKinds]int // rows of the catalog
	rows  [snapshot.RowKinds][][]deltaRow
	gone  [snapshot.RowKinds]map[snapshot.RowKey]uint32 // the number that a row got
	total int
}

// composeChanges tells a View what changed since earlier snapshots. It goes back from the View's own, and reaches
// each snapshot by the fewest deltas: what a publication did and a rollback undid is not among them.
func (v *View) composeChanges(ctx context.Context, deltas []*snapshot.Delta, step func()) error {
	if step == nil {
		step = func() {}
	}
	c := &composer{view: v}
	lanes := 0
	if cards := v.Catalog.Cards.ID.Len(); cards > 0 {
		_, lanes = v.Catalog.Lanes.Of.Range(cards - 1)
	}
	c.sizes = [...]int{v.Catalog.Cards.ID.Len(), lanes, v.Catalog.Sets.ID.Len()}

	made := &changes{paths: map[string]uint32{v.ID: 0}}
	count := 0
	var problem error
	for heads := []string{v.ID}; len(heads) > 0; heads = heads[1:] {
		for _, delta := range deltas {
			_, known := made.paths[delta.From]
			if delta.To != heads[0] || known || count == snapshot.MaxDeltas || c.total > maxDeltaRows {
				continue
			}
			if err := c.read(ctx, delta, step); err != nil {
				problem = fmt.Errorf("changes of epoch %d: %w", delta.Epoch, err)
				continue
			}

			made.paths[delta.From] = made.paths[delta.To] | 1<<count
			count++
			heads = append(heads, delta.From)
		}
	}

	for kind := range made.kinds {
		made.kinds[kind] = c.compose(kind)
		step()
	}
	v.changes.Store(made)
	return problem
}

// read finds the rows that a delta names. A delta that cannot be read leaves nothing.
func (c *composer) read(ctx context.Context, delta *snapshot.Delta, step func()) error {
	var rows [snapshot.RowKinds][]deltaRow
	err := delta.Rows(ctx, step, func(key snapshot.RowKey, was uint64) {
		rows[key.Kind] = append(rows[key.Kind], deltaRow{c.find(&key), was})
	})
	if err != nil {
		return err
	}
	for kind := range rows {
		c.rows[kind] = append(c.rows[kind], rows[kind])
		c.total += len(rows[kind])
	}
	return nil
}

// find returns the number of a row.
func (c *composer) find(key *snapshot.RowKey) uint32 {
	if row := c.view.findRow(key); row >= 0 {
		return uint32(row)
	}

	gone := &c.gone[key.Kind]
	row, known := (*gone)[*key]
	if !known {
		if *gone == nil {
			*gone = map[snapshot.RowKey]uint32{}
		}
		row = uint32(c.sizes[key.Kind] + len(*gone))
		// The delta, whose text this is, is dropped.
		(*gone)[snapshot.RowKey{
			Kind: key.Kind, ID: strings.Clone(key.ID), Variant: strings.Clone(key.Variant), Condition: key.Condition,
		}] = row
	}
	return row
}

// findRow returns the row of the catalog with a key, -1 for none.
func (v *View) findRow(key *snapshot.RowKey) int {
	c := v.Catalog
	if key.Kind == snapshot.SetRow {
		if set, ok := v.Index.Set(key.ID); ok && c.Sets.ID.At(set) == key.ID {
			return set
		}
		return -1
	}

	card, ok := v.Index.Card(key.ID)
	switch {
	case !ok || c.Cards.ID.At(card) != key.ID:
		return -1
	case key.Kind == snapshot.CardRow:
		return card
	}

	from, to := c.Lanes.Of.Range(card)
	for lane := from; lane < to; lane++ {
		if c.Lanes.Condition[lane] == uint8(key.Condition) && c.Variants.At(int(c.Lanes.Variant[lane])) == key.Variant {
			return lane
		}
	}
	return -1
}

// hashOf orders the rows that a catalog lacks, so that cursors are short.
func hashOf(key snapshot.RowKey) uint64 {
	return cursor.Hash(key.ID, key.Variant, key.Condition.Code())
}

// compose makes the rows of a kind.
func (c *composer) compose(kind int) (made changedRows) {
	// The order of missing rows must not depend on which deltas a server has: cursors go on at another one.
	size := c.sizes[kind]
	renumbered := make([]uint32, len(c.gone[kind]))
	for key := range c.gone[kind] {
		made.gone = append(made.gone, key)
	}
	slices.SortFunc(made.gone, func(a, b snapshot.RowKey) int { return cmp.Compare(hashOf(a), hashOf(b)) })
	for i, key := range made.gone {
		renumbered[c.gone[kind][key]-uint32(size)] = uint32(size + i)
	}

	made.touched = make([]uint32, size+len(made.gone))
	made.first = make([]uint32, size+len(made.gone))
	total := 0
	for bit, rows := range c.rows[kind] {
		for i := range rows {
			row := &rows[i].row
			if *row >= uint32(size) {
				*row = renumbered[*row-uint32(size)]
			}
			made.touched[*row] |= 1 << bit
		}
		total += len(rows)
	}

	// Each row's room is filled from its end, so that the lowest bit comes last.
	made.was = make([]uint64, total)
	end := uint32(0)
	for row, touched := range made.touched {
		end += uint32(bits.OnesCount32(touched))
		made.first[row] = end
	}
	for _, rows := range c.rows[kind] {
		for _, named := range rows {
			made.first[named.row]--
			made.was[made.first[named.row]] = named.was
		}
	}
	return made
}

// size is about how many bytes the changes take.
func (c *changes) size() (bytes int64) {
	if c == nil {
		return 0
	}
	for i := range c.kinds {
		rows := &c.kinds[i]
		bytes += int64(8*len(rows.touched) + 8*len(rows.was) + 128*len(rows.gone))
	}
	return bytes
}

// loadChanges tells a View what changed, as far as the store knows. An error is no reason not to serve it.
func (e *Engine) loadChanges(ctx context.Context, v *View, step func()) {
	if e.o.Deltas == nil {
		return
	}
	deltas, err := e.o.Deltas()
	if err == nil || len(deltas) > 0 {
		if failed := v.composeChanges(ctx, deltas, step); failed != nil {
			err = failed
		}
	}
	if err != nil {
		e.o.Log.Warn("clients are not told of all changes, and may have to take the bulk again",
			slog.String("snapshot_id", v.ID), slog.Any("cause", err))
	}
}

// ChangesQuery asks for the rows that differ from those of an earlier snapshot.
type ChangesQuery struct {
	Kind  snapshot.RowKind
	Since string // a snapshot's id
	Limit int
	ChangesPosition
}

// ChangesPosition is where a page begins: at a row of the catalog, or behind one that it lacks.
type ChangesPosition struct {
	Row   int
	After uint64 // its hashOf; 0 for the first of them
}

// KnowsChanges reports whether the View knows what changed since a snapshot.
func (v *View) KnowsChanges(since string) bool {
	all := v.changes.Load()
	if all == nil {
		return since == v.ID
	}
	_, known := all.paths[since]
	return known
}

// AppendChanges appends a page of changes, joined by commas, and returns where the next one begins, nil for none.
func (v *View) AppendChanges(dst []byte, q ChangesQuery) ([]byte, *ChangesPosition) {
	all := v.changes.Load()
	if all == nil {
		return dst, nil
	}

	rows := &all.kinds[q.Kind]
	size := len(rows.touched) - len(rows.gone)
	row := min(q.Row, size)
	if row == size {
		row += sort.Search(len(rows.gone), func(i int) bool { return hashOf(rows.gone[i]) > q.After })
	}

	begin := len(dst)
	path := all.paths[q.Since]
	card := -1
	for ; row < len(rows.touched); row++ {
		change := rows.change(v, q.Kind, row, path)
		switch {
		case change == "":
			continue
		case q.Limit == 0 && row > size:
			return dst, &ChangesPosition{size, hashOf(rows.gone[row-size-1])}
		case q.Limit == 0:
			return dst, &ChangesPosition{Row: row}
		case len(dst) > begin:
			dst = append(dst, ',')
		}

		q.Limit--
		var key snapshot.RowKey
		if row < size {
			key, card = v.keyOf(q.Kind, row, card)
		} else {
			key = rows.gone[row-size]
		}
		dst = v.appendChanged(wire.AppendDifference(dst, &key, change), q.Kind, row, change)
	}
	return dst, nil
}

// change says how a row differs after the deltas of a path, "" if it does not.
func (r *changedRows) change(v *View, kind snapshot.RowKind, row int, path uint32) string {
	passed := r.touched[row] & path
	if passed == 0 {
		return ""
	}

	// The highest bit of a path is the delta that is passed first.
	top := bits.Len32(passed)
	was := r.was[int(r.first[row])+bits.OnesCount32(r.touched[row]>>top)]
	now := uint64(0)
	switch {
	case row >= len(r.touched)-len(r.gone):
	case kind == snapshot.PriceRow, bits.OnesCount32(passed) > 1:
		now = v.Catalog.Fingerprint(kind, row)
	default:
		now = was ^ 2 // one delta alone is a difference, and fingerprints of cards and sets are odd
	}

	switch {
	case was == now:
		return ""
	case was == 0:
		return "added"
	case now == 0:
		return "removed"
	}
	return "changed"
}

// keyOf returns the key of a row of the catalog. Of prices, card is that of an earlier row, or -1, and then that of
// this one.
func (v *View) keyOf(kind snapshot.RowKind, row, card int) (snapshot.RowKey, int) {
	c := v.Catalog
	switch kind {
	case snapshot.CardRow:
		return snapshot.RowKey{Kind: kind, ID: c.Cards.ID.At(row)}, card
	case snapshot.SetRow:
		return snapshot.RowKey{Kind: kind, ID: c.Sets.ID.At(row)}, card
	}

	ends := func(i int) bool { _, to := c.Lanes.Of.Range(i); return to > row }
	if card < 0 {
		card = sort.Search(c.Cards.ID.Len(), ends)
	}
	for !ends(card) {
		card++
	}
	return snapshot.RowKey{
		Kind: kind, ID: c.Cards.ID.At(card), Variant: c.Variants.At(int(c.Lanes.Variant[row])),
		Condition: snapshot.Condition(c.Lanes.Condition[row]),
	}, card
}

// appendChanged appends the last member of a change, the record as it is now, and closes the object.
func (v *View) appendChanged(dst []byte, kind snapshot.RowKind, row int, change string) []byte {
	dst = append(dst, [...]string{`,"card":`, `,"price":`, `,"set":`}[kind]...)
	switch {
	case change == "removed":
		dst = append(dst, "null"...)
	case kind == snapshot.CardRow:
		dst = wire.AppendWithoutPrices(dst, v.details.at(row), int(v.heads[row]))
	case kind == snapshot.SetRow:
		dst = append(dst, v.sets.at(row)...)
	default:
		dst = wire.AppendCents(dst, `{"market_price_cents":`, v.Catalog.Lanes.Cents[row])
		dst = append(wire.AppendSeconds(dst, `,"price_updated_at":`, v.Catalog.UpdatedAt(row)), '}')
	}
	return append(dst, '}')
}
