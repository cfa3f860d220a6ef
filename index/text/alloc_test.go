//go:build !race

package text

import "testing"

// TestAlloc holds that a search allocates nothing, once its words were expanded and dst is large
// enough.
func TestAlloc(t *testing.T) {
	ix := syntheticIndex(t, 30_000)
	accept := func(card uint32) bool { return card%2 == 0 }
	for _, q := range []string{
		"charizard", "Charizard EX", "charizrd", "charzrd ex", "char", "charizard 1/150", "charizardex", "Pokémon ♀",
		"ex vmax", "full art charizard", "misty's charizard", "!!!",
	} {
		dst := ix.Search(nil, q, nil)
		if n := testing.AllocsPerRun(100, func() { dst = ix.Search(dst[:0], q, nil) }); n > 0 {
			t.Errorf("%q allocates %v times", q, n)
		}
		if n := testing.AllocsPerRun(100, func() { dst = ix.Search(dst[:0], q, accept) }); n > 0 {
			t.Errorf("%q allocates %v times with a filter", q, n)
		}
	}
}
