package collector

import "unicode/utf8"

// maxNearest is the longest text, in folded bytes, that Nearest looks for: a longer one is no slip
// of the finger, and every text of a catalog would be compared with it.
const maxNearest = 64

// Nearest is the text among all that is most like one that was typed, compared as Fold leaves them:
// a third of its letters may differ, three at most. It is "" where none is so like it. Of equally
// near ones it is the first.
func Nearest(typed string, all func(each func(string))) string {
	a := Fold(typed)
	if a == "" || len(a) > maxNearest {
		return ""
	}

	best := ""
	least := min(utf8.RuneCountInString(a)/3, 3) + 1
	all(func(text string) {
		b := Fold(text)
		if b == "" || len(b) > maxNearest+4 {
			return
		}
		if d := distance([]rune(a), []rune(b), least); d < least {
			best = text
			least = d
		}
	})
	return best
}

// distance is in how many letters two texts differ: added, left out, replaced or swapped with the
// next. It is limit where they differ in as many or more.
func distance(a, b []rune, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}

	// Rows of the usual table: of a[:i], a[:i-1] and a[:i-2] against all beginnings of b.
	row := make([]int, len(b)+1)
	above := make([]int, len(b)+1)
	higher := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}

	for i := 1; i <= len(a); i++ {
		row, above, higher = higher, row, above // air: rows move on
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], higher[j-2]+1)
			}
		}
	}
	return min(row[len(b)], limit)
}

// Distance is in how many letters two texts of ASCII differ: added, left out, replaced or swapped
// with the next. It is limit where they differ in as many or more.
func Distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	return distance([]rune(a), []rune(b), limit)
}
