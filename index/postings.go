package index

import (
	"ninepocket/index/text"
	"ninepocket/snapshot"
)

// terms are lists of rows by string, each ascending.
type terms struct {
	table  *table
	keys   *snapshot.Strings
	maxLen int // of the keys, in bytes: a longer string is not looked up
	text.Grouping
}

// entry is a string and a row that has it.
type entry struct {
	term uint32
	row  uint32
}

// newTerms groups rows by their strings: of calls add with each string of a row, and may repeat
// one.
func newTerms(step func(), rows int, of func(row int, add func(string))) *terms {
	keys := &snapshot.Strings{}
	t := &terms{keys: keys}
	t.table = newTable(0, func(k uint32) string { return keys.At(int(k)) }) // it outlives t
	entries := make([]entry, 0, rows)
	for row := range rows {
		text.Every(step, row)
		of(row, func(s string) {
			if s == "" {
				return
			}

			k, known := t.table.find(s)
			if !known {
				k = uint32(t.keys.Len())
				t.keys.Append(s)
				t.table.append(k)
				t.maxLen = max(t.maxLen, len(s))
			}

			for n := len(entries) - 1; n >= 0 && entries[n].row == uint32(row); n-- {
				if entries[n].term == k {
					return
				}
			}

			entries = append(entries, entry{k, uint32(row)})
		})
	}

	key := func(i int) uint32 { return entries[i].term }
	t.Grouping = text.NewGrouping(step, t.keys.Len(), len(entries), key, func(i int) uint32 { return entries[i].row })
	return t
}

// find returns the rows that have a string, none for an unknown string.
func (t *terms) find(s string) []uint32 {
	if len(s) > t.maxLen {
		return nil
	}
	if k, ok := t.table.find(s); ok {
		return t.Of(k)
	}
	return nil
}

// newCardTerms groups the cards by their strings, which are numbered in the given order of the cards.
func newCardTerms(step func(), order []uint32, of func(card int, add func(string))) *terms {
	t := newTerms(step, len(order), func(place int, add func(string)) { of(int(order[place]), add) })
	return t.renumber(order, step)
}

// renumber returns the lists with row r as row to[r]. Both share their strings.
func (t *terms) renumber(to []uint32, step func()) *terms {
	next := *t
	next.Grouping = t.Renumber(to, step)
	return &next
}
