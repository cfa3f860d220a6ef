package cardvocab

import (
	"iter"
	"slices"
	"unicode/utf8"
)

// maxNearest is the longest text, in folded bytes, that Nearest looks for: a longer one is no slip
// of the finger, and every text of a catalog would be compared with it.
const maxNearest = 64

// Nearest returns the text among all that is most like one that was typed, compared as Fold leaves
// them. A third of its letters may differ, three at most. It is "" where none is so like it. Of
// equally near ones it is the first.
func Nearest(typed string, all iter.Seq[string]) string { return NewSuggester(all).Nearest(typed) }

// A Suggester is texts that something typed is compared with, each once. It never changes.
type Suggester struct {
	texts  []string
	folded []string // of the same place; all differ
}

// NewSuggester takes up texts. It keeps them, and not copies.
func NewSuggester(all iter.Seq[string]) *Suggester {
	l := &Suggester{}
	known := map[string]bool{}
	for text := range all {
		folded := Fold(text)
		if folded != "" && len(folded) <= maxNearest+4 && !known[folded] {
			known[folded] = true
			l.texts = append(l.texts, text)
			l.folded = append(l.folded, folded)
		}
	}
	return l
}

// Nearest is the text that is most like one that was typed, as the function of that name.
func (l *Suggester) Nearest(typed string) string {
	a := Fold(typed)
	if a == "" || len(a) > maxNearest {
		return ""
	}

	best := ""
	limit := min(utf8.RuneCountInString(a)/3, 3) + 1
	c := comparison{a: []rune(a)}
	for i, b := range l.folded {
		if d := c.distance(b, limit); d < limit {
			best = l.texts[i]
			limit = d
		}
	}
	return best
}

// comparison compares texts with one. It holds the rows of the usual table: of a[:i], a[:i-1] and
// a[:i-2] against all beginnings of the other text.
type comparison struct {
	a, b                      []rune
	row, prevRow, prevPrevRow []int
}

// distance is in how many letters the two texts differ: added, left out, replaced or swapped with the
// next. It is limit where they differ in as many or more.
func (c *comparison) distance(text string, limit int) int {
	// A rune has four bytes at most.
	if len(text) >= 4*(len(c.a)+limit) {
		return limit
	}

	c.b = c.b[:0]
	for _, r := range text {
		c.b = append(c.b, r)
	}
	if len(c.a)-len(c.b) >= limit || len(c.b)-len(c.a) >= limit {
		return limit
	}

	n := len(c.b) + 1
	c.row = slices.Grow(c.row[:0], n)[:n]
	c.prevRow = slices.Grow(c.prevRow[:0], n)[:n]
	c.prevPrevRow = slices.Grow(c.prevPrevRow[:0], n)[:n]
	for j := range c.row {
		c.row[j] = j
	}

	before := 0
	for i := 1; i <= len(c.a); i++ {
		rowMin := c.next(i)
		// A swap reaches back over one row; what two rows have lost nothing brings back.
		if rowMin >= limit && before >= limit {
			return limit
		}
		before = rowMin
	}
	return min(c.row[len(c.b)], limit)
}

// next computes the row of the i-th letter of a, and returns its least.
func (c *comparison) next(i int) (rowMin int) {
	c.row, c.prevRow, c.prevPrevRow = c.prevPrevRow, c.row, c.prevRow // air: rows move on
	c.row[0] = i
	rowMin = i
	for j := 1; j <= len(c.b); j++ {
		cost := 1
		if c.a[i-1] == c.b[j-1] {
			cost = 0
		}

		c.row[j] = min(c.prevRow[j]+1, c.row[j-1]+1, c.prevRow[j-1]+cost)
		if i > 1 && j > 1 && c.a[i-1] == c.b[j-2] && c.a[i-2] == c.b[j-1] {
			c.row[j] = min(c.row[j], c.prevPrevRow[j-2]+1)
		}
		rowMin = min(rowMin, c.row[j])
	}
	return rowMin
}

// Distance is in how many letters two texts of ASCII differ: added, left out, replaced or swapped
// with the next. It is limit where they differ in as many or more.
func Distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	c := comparison{a: []rune(a)}
	return c.distance(b, limit)
}
