package snapshot

import (
	"bytes"
	"iter"
	"slices"
	"sort"
	"strings"
	"unsafe"
)

// Strings is a column of strings: one arena of bytes, and the offset where each string ends. In a
// nullable column the empty string stands for null and for nothing else.
type Strings struct {
	arena []byte
	ends  []uint32
}

// Len is the number of strings.
func (s *Strings) Len() int { return len(s.ends) }

// All yields the strings in order.
func (s *Strings) All() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := 0; i < s.Len() && yield(s.At(i)); {
			i++
		}
	}
}

// At returns string i without copying. The string stays valid for as long as anybody holds it:
// nobody writes to an arena that is part of a catalog.
func (s *Strings) At(i int) string {
	b := s.Bytes(i)
	if len(b) == 0 {
		return ""
	}
	return unsafe.String(&b[0], len(b))
}

// Bytes returns string i as bytes of the arena, which the caller must not change.
func (s *Strings) Bytes(i int) []byte {
	var from uint32
	if i > 0 {
		from = s.ends[i-1]
	}
	return s.arena[from:s.ends[i]:s.ends[i]]
}

// search finds the first row with a value in an ascending column.
func (s *Strings) search(v string) (row int, found bool) {
	return sort.Find(s.Len(), func(i int) int { return strings.Compare(v, s.At(i)) })
}

// Equal reports whether two columns have equal strings.
func (s *Strings) Equal(other *Strings) bool {
	return slices.Equal(s.ends, other.ends) && bytes.Equal(s.arena, other.arena)
}

// Append adds a string, which may come in parts. It is for builders only.
func (s *Strings) Append(parts ...string) {
	for _, part := range parts {
		s.arena = append(s.arena, part...)
	}
	s.ends = append(s.ends, uint32(len(s.arena)))
}

// ok reports whether the ends ascend and stay inside the arena.
func (s *Strings) ok() bool { return ascendTo(s.ends, len(s.arena)) }

// Lists is a column of lists. List i is a range of rows of another table; see Range.
type Lists struct{ ends []uint32 }

// Len is the number of lists.
func (l *Lists) Len() int { return len(l.ends) }

// Range returns the half-open range of rows that belong to list i.
func (l *Lists) Range(i int) (from, to int) {
	if i > 0 {
		from = int(l.ends[i-1])
	}
	return from, int(l.ends[i])
}

// Append adds a list: the rows from the end of the list before it up to end. It is for builders
// only.
func (l *Lists) Append(end int) { l.ends = append(l.ends, uint32(end)) }

// ok reports whether each of so many rows is in exactly one list.
func (l *Lists) ok(rows int) bool { return ascendTo(l.ends, rows) }

// ascendTo reports whether some ends ascend, and the last one is n.
func ascendTo(ends []uint32, n int) bool {
	if len(ends) == 0 {
		return n == 0
	}
	return slices.IsSorted(ends) && int(ends[len(ends)-1]) == n
}
