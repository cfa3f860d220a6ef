package index_test

import (
	"strings"
	"testing"

	"ninepocket/index"
	"ninepocket/internal/testsweep"
)

// misread has for each character a similar character that scanners take it for.
var misread = map[byte]byte{
	'0': 'O', '1': 'l', '5': 'S', '8': 'B', 'O': '0', 'S': '5', 'B': '8', 'o': '0', 'l': '1', 's': '5',
}

// swapAt replaces the n-th character of a text that a scanner may misread; false if it has fewer.
func swapAt(text string, n int) (string, bool) {
	for i := range len(text) {
		other, ok := misread[text[i]]
		if !ok {
			continue
		}
		if n == 0 {
			return text[:i] + string(other) + text[i+1:], true
		}
		n--
	}
	return "", false
}

// TestMisread asks for cards by name and number as printed, with one character of either as a
// scanner may read it.
func TestMisread(t *testing.T) {
	x := openReal(t, "t")
	counts := map[string]tally{}
	for card := 0; card < x.c.Cards.ID.Len(); card += testsweep.Stride(80) {
		name := index.PlainName(x.c.Cards.Name.At(card))
		number := x.c.Cards.Number.At(card)
		if len(number) < 3 || strings.ContainsAny(name, "0123456789!?") {
			continue
		}

		queries := map[string]string{}
		if other, ok := swapAt(number, card%4); ok {
			queries["number"] = name + " " + other
		}
		if other, ok := swapAt(name[1:], card%3); ok && len(name) > 5 {
			queries["name"] = name[:1] + other + " " + number
		}
		for what, query := range queries {
			page := x.Cards(nil, index.Query{Filter: index.NoFilter, Words: query, HasWords: true}, nil, 1)
			n := counts[what]
			n.all++
			if len(page.Cards) > 0 && x.c.Cards.Number.At(int(page.Cards[0])) == number &&
				index.PlainName(x.c.Cards.Name.At(int(page.Cards[0]))) == name {
				n.first++
			} else if n.all-n.first <= 20 {
				first := "nothing"
				if len(page.Cards) > 0 {
					first = x.describe(int(page.Cards[0]))
				}
				t.Logf("%s %q: %s", what, query, first)
			}
			counts[what] = n
		}
	}

	for what, n := range counts {
		t.Logf("%s: %d of %d = %.3f", what, n.first, n.all, n.hit1())
		if n.all < 100 || n.hit1() < 0.97 {
			t.Errorf("%s: %d of %d", what, n.first, n.all)
		}
	}
}
