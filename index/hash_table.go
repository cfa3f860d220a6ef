package index

import "github.com/cespare/xxhash/v2"

// table is an open-addressing hash table from strings to row numbers, without pointers: a slot has
// a row+1, and the strings stay in their columns. It is built once and then only read.
type table struct {
	slots []uint32
	mask  uint64
	key   func(row uint32) string // the string of a row
}

// newTable makes a table for n rows with a load of at most a half.
func newTable(n int, key func(row uint32) string) *table {
	size := uint64(8)
	for size < 2*uint64(n) {
		size *= 2
	}
	return &table{slots: make([]uint32, size), mask: size - 1, key: key}
}

// add inserts a row unless the table has its string already: the first row wins.
func (t *table) add(row uint32) {
	if at := t.slot(t.key(row)); *at == 0 {
		*at = row + 1
	}
}

// slot returns the slot of a string, or the free one that it would take.
func (t *table) slot(s string) *uint32 {
	for h := xxhash.Sum64String(s); ; h++ {
		at := &t.slots[h&t.mask]
		if *at == 0 || t.key(*at-1) == s {
			return at
		}
	}
}

// append inserts row n into a table of n different strings, none of them row n's. It grows the
// table first if necessary.
func (t *table) append(n uint32) {
	if 2*uint64(n+1) > uint64(len(t.slots)) {
		t.slots = make([]uint32, 2*len(t.slots))
		t.mask = uint64(len(t.slots)) - 1
		for row := range n {
			t.add(row)
		}
	}

	t.add(n)
}

// find returns the row of a string.
func (t *table) find(s string) (row uint32, ok bool) {
	at := *t.slot(s)
	return max(at, 1) - 1, at != 0
}
