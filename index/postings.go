package index

import (
	"ninepocket/index/text"
	"ninepocket/snapshot"
)

// postings are lists of rows, ascending, in one arena: list k is rows[ends[k-1]:ends[k]].
type postings struct {
	rows []uint32
	ends []uint32
}

// list returns list k; the caller must not change it.
func (p *postings) list(k int) []uint32 {
	var from uint32
	if k > 0 {
		from = p.ends[k-1]
	}
	return p.rows[from:p.ends[k]]
}

// group makes postings of n lists from the list that each row belongs to, -1 for none.
func group(n, rows int, of func(row int) int) postings {
	postings := postings{ends: make([]uint32, n+1)}
	total := uint32(0)
	for row := range rows {
		if k := of(row); k >= 0 {
			postings.ends[k+1]++
			total++
		}
	}

	for k := range n {
		postings.ends[k+1] += postings.ends[k]
	}

	postings.rows = make([]uint32, total)
	for row := range rows {
		if k := of(row); k >= 0 {
			postings.rows[postings.ends[k]] = uint32(row)
			postings.ends[k]++
		}
	}

	postings.ends = postings.ends[:n]
	return postings
}

// terms are postings by string.
type terms struct {
	table   *table
	keys    *snapshot.Strings
	longest int // of the keys, in bytes: a longer one is not looked for
	postings
}

// entry is a string and a row that has it.
type entry struct {
	term uint32
	row  uint32
}

// newTerms makes terms of the strings that each of rows has; of calls add with each of a row's
// strings, and may name one more than once.
func newTerms(step func(), rows int, of func(row int, add func(string))) *terms {
	t := &terms{keys: &snapshot.Strings{}}
	t.table = newTable(0, func(k uint32) string { return t.keys.At(int(k)) })
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
				t.longest = max(t.longest, len(s))
			}

			for n := len(entries) - 1; n >= 0 && entries[n].row == uint32(row); n-- {
				if entries[n].term == k {
					return
				}
			}

			entries = append(entries, entry{k, uint32(row)})
		})
	}

	t.postings = group(t.keys.Len(), len(entries), func(i int) int { return int(entries[i].term) })
	for i, at := range t.rows {
		t.rows[i] = entries[at].row
	}

	return t
}

// find returns the rows that have a string, none when it is not known.
func (t *terms) find(s string) []uint32 {
	if len(s) > t.longest {
		return nil
	}
	if k, ok := t.table.find(s); ok {
		return t.list(int(k))
	}
	return nil
}
