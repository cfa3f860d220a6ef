package cardvocab

import (
	"iter"
	"slices"
	"unicode/utf8"
)

// maxNearest is the longest text, in folded bytes, that Nearest compares. A longer one is no typing
// error, and it would be compared with every text of a catalog.
const maxNearest = 64

// Nearest returns the text among all that is most similar to a typed one; both are folded. A third
// of its letters may differ, three at most. It is "" if none is so similar. Among equally similar
// texts the first is returned.
func Nearest(typed string, all iter.Seq[string]) string { return NewSuggester(all).Nearest(typed) }

// A Suggester is a list of distinct texts with which a typed text is compared. It never changes.
type Suggester struct {
	texts  []string
	folded []string // by index of texts; all differ
}

// NewSuggester makes a Suggester of texts. It retains them without a copy.
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

// Nearest returns the text that is most similar to a typed one, like the function of that name.
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

// comparison compares other texts with a. It has three rows of the edit distance table: of a[:i],
// a[:i-1] and a[:i-2] against all prefixes of the other text.
type comparison struct {
	a, b                      []rune
	row, prevRow, prevPrevRow []int
}

// distance returns in how many letters the two texts differ: added, omitted, replaced or swapped
// with the next. It is limit if they differ in as many or more.
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
		// A swap reaches back over one row, so after two rows beyond the limit nothing can return
		// within it.
		if rowMin >= limit && before >= limit {
			return limit
		}
		before = rowMin
	}
	return min(c.row[len(c.b)], limit)
}

// next computes the row of the i-th letter of a, and returns its minimum.
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

// Distance returns in how many letters two ASCII texts differ: added, omitted, replaced or swapped
// with the next. It is limit if they differ in as many or more.
func Distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	c := comparison{a: []rune(a)}
	return c.distance(b, limit)
}
