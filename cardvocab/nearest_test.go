package cardvocab

import (
	"slices"
	"testing"
)

// TestNearest misspells by hand: the nearest is the one that was meant, or none.
func TestNearest(t *testing.T) {
	all := []string{"", "pokemon", "one-piece", "Holo Rare", "Rare Holo", "Rare", "Pokémon"}

	for typed, want := range map[string]string{
		"pokemn": "pokemon", "POKEMNO": "pokemon", "Pokémon": "pokemon",
		"one pice": "one-piece", "onepieces": "one-piece",
		"holo rere": "Holo Rare", "rrae": "Rare", "": "", "!": "", "xyz": "", "ra": "", "magic": "",
		"rare hollo": "Rare Holo", string(make([]byte, 500)): "",
	} {
		got := Nearest(typed, slices.Values(all))
		if got != want {
			t.Errorf("%q is near %q, want %q", typed, got, want)
		}
	}
}

// TestDistance holds the rows against the plain recursion.
func TestDistance(t *testing.T) {
	words := []string{"", "a", "ab", "ba", "abc", "acb", "cab", "abcd", "badc", "xyz", "pokemon", "pokeomn", "pokmon"}
	for _, a := range words {
		for _, b := range words {
			for limit := range 9 {
				want := min(plainDistance([]rune(a), []rune(b)), limit)
				if got := (&comparison{a: []rune(a)}).distance(b, limit); got != want {
					t.Errorf("%q and %q within %d: %d, want %d", a, b, limit, got, want)
				}
			}
		}
	}
}

func plainDistance(a, b []rune) int {
	if len(a) == 0 || len(b) == 0 {
		return len(a) + len(b)
	}

	cost := 1
	if a[0] == b[0] {
		cost = 0
	}
	best := min(plainDistance(a[1:], b[1:])+cost, plainDistance(a[1:], b)+1, plainDistance(a, b[1:])+1)
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		best = min(best, plainDistance(a[2:], b[2:])+1)
	}
	return best
}
