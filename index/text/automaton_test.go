package text

import (
	"math/rand/v2"
	"slices"
	"testing"

	"ninepocket/internal/testsweep"
)

// damerau is the distance of the search rules, computed the plain way: the optimal string alignment
// of a typed text with a word. An error at the first letter costs 2 unless it swaps the first two.
func damerau(typed, word string) int {
	d := make([][]int, len(word)+1)
	for i := range d {
		d[i] = make([]int, len(typed)+1)
		for j := range d[i] {
			switch {
			case i == 0 && j == 0:
				continue
			case i == 0:
				d[i][j] = j + 1
				continue
			case j == 0:
				d[i][j] = i + 1
				continue
			}

			change := 1
			switch {
			case word[i-1] == typed[j-1]:
				change = 0
			case i == 1 && j == 1:
				change = 2
			}

			d[i][j] = min(d[i-1][j-1]+change, d[i-1][j]+1, d[i][j-1]+1)
			if i > 1 && j > 1 && word[i-1] == typed[j-2] && word[i-2] == typed[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}

	return d[len(word)][len(typed)]
}

func TestDamerau(t *testing.T) {
	type words struct {
		typed, word string
		want        int
	}

	for _, c := range []words{
		{"charizard", "charizard", 0},
		{"charizrd", "charizard", 1},
		{"charzrd", "charizard", 2},
		{"lcuario", "lucario", 1},
		{"mharizard", "charizard", 2},
		{"harizard", "charizard", 2},
		{"ccharizard", "charizard", 1},
		{"ninetails", "ninetales", 2},
		{"squritle", "squirtle", 1},
		{"ca", "abc", 4},
	} {
		if got := damerau(c.typed, c.word); got != c.want {
			t.Errorf("damerau(%q, %q) = %d, want %d", c.typed, c.word, got, c.want)
		}
	}
}

// TestAutomaton compares the automaton with the plain computation over random words of few letters.
func TestAutomaton(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	word := func() string {
		w := make([]byte, 1+rng.IntN(12))
		for i := range w {
			w[i] = "abc"[rng.IntN(3)]
		}
		return string(w)
	}

	for range 60_000 / testsweep.Stride(6) {
		typed := word()
		w := word()
		for limit := 1; limit <= 2; limit++ {
			a := automaton{pattern: []byte(typed), limit: limit}
			near, distance := a.MatchAndDistance(w)
			want := damerau(typed, w)
			if near != (want <= limit) || near && int(distance) != want {
				t.Fatalf("limit %d, typed %q, word %q: got %v %d, want distance %d", limit, typed, w, near, distance,
					want)
			}

			a.prefix = true
			near, distance = a.MatchAndDistance(w)
			want = limit + 1
			for end := range len(w) {
				if want > limit { // the first near prefix decides
					want = damerau(typed, w[:end+1])
				}
			}

			if near != (want <= limit) || near && int(distance) != want {
				t.Fatalf("limit %d, typed %q, beginning of %q: got %v %d, want %d", limit, typed, w, near, distance,
					want)
			}
		}
	}
}

// TestExpand compares the words from bleve's dictionary and the automaton with a plain look at
// every known word.
func TestExpand(t *testing.T) {
	c := officialCatalog(t)
	rng := rand.New(rand.NewPCG(3, 3))
	v := &c.index.words
	for range 60 / testsweep.Stride(12) {
		w := misspell(rng, string(v.word(uint32(rng.IntN(v.len())))))
		limit := allowedTypos([]byte(w))
		if limit == 0 {
			continue
		}

		var want []nearWord
		for id := range uint32(v.len()) {
			if d := damerau(w, string(v.word(id))); d > 0 && d <= limit {
				want = append(want, nearWord{id: id, distance: uint8(d)})
			}
		}

		want = c.index.expander.best(want, maxNear)
		if got := c.index.expander.expand([]byte(w), typos); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", w, got, want)
		}
	}
}

// misspell makes one or two errors.
func misspell(rng *rand.Rand, w string) string {
	for range 1 + rng.IntN(2) {
		b := []byte(w)
		if len(b) < 3 {
			return w
		}

		i := 1 + rng.IntN(len(b)-2)
		switch rng.IntN(4) {
		case 0:
			b = slices.Delete(b, i, i+1)
		case 1:
			b = slices.Insert(b, i, 'a'+byte(rng.IntN(26)))
		case 2:
			b[i] = 'a' + byte(rng.IntN(26))
		case 3:
			b[i], b[i+1] = b[i+1], b[i] // air: a swap
		}

		w = string(b)
	}

	return w
}
