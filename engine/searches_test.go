package engine

import (
	"slices"
	"testing"
	"unsafe"

	"ninepocket/index"
	"ninepocket/internal/fixture"
	"ninepocket/wire"
)

// withSearchCache is a View of some cards that caches searches.
func withSearchCache(t *testing.T, cards int) *View {
	t.Helper()
	c := fixture.Random(1, fixture.Size{Sets: 3, Cards: cards}).Catalog()
	c.ID = "20260315T000000Z-0000000000000001"
	v, err := NewView(c, wire.URLs{ProductPrefix: "np"})
	if err != nil {
		t.Fatal(err)
	}

	v.searches = newSearchCache(1 << 20)
	t.Cleanup(v.searches.pages.Close)
	return v
}

// TestSearchesDistinguishLimits requests pages whose sizes agree in their last eight bits. The site
// requests hundreds of cards at a time, and an API page of 24 must not get 280.
func TestSearchesDistinguishLimits(t *testing.T) {
	v := withSearchCache(t, 4000)
	q := index.Query{Filter: index.NoFilter, Words: "pikachu", HasWords: true}
	for _, limit := range []int{280, 24, 280, 24} {
		page := v.Cards(nil, q, nil, limit)
		if len(page.Cards) != limit {
			t.Errorf("a page of %d has %d cards", limit, len(page.Cards))
		}
		v.searches.pages.Wait()
	}

	if hits := v.searches.hits.Load(); hits != 2 {
		t.Errorf("%d of the pages were remembered, want 2", hits)
	}
}

// TestSearchesRememberInterpretation requests twice the notes of a query: the second response
// equals the first. The page after the first has none, and a page requested without notes has
// none, too.
func TestSearchesRememberInterpretation(t *testing.T) {
	v := withSearchCache(t, 400)
	for _, words := range []string{"pikachuu near mint", "the cheapest charizrd", "pikachu xyzzyx"} {
		asked := index.Query{Filter: index.NoFilter, Words: words, HasWords: true}
		want := v.search(nil, &asked, nil, 5, true)
		if len(want.Interpretation) == 0 {
			t.Fatalf("%q: nothing was done to the words", words)
		}

		for _, how := range []string{"searched", "remembered"} {
			found := v.CardsInterpreted([]uint32{7}, asked, nil, 5)
			if !slices.Equal(found.Interpretation, want.Interpretation) || !slices.Equal(found.Cards[1:], want.Cards) {
				t.Errorf("%q %s: %+v, want %+v", words, how, found, want)
			}

			next := v.CardsInterpreted(nil, asked, &found.Last, 5)
			if len(next.Interpretation) > 0 {
				t.Errorf("%q %s: notes on the second page: %v", words, how, next.Interpretation)
			}
			untold := v.cached(nil, &asked, nil, 5, false)
			if len(untold.Interpretation) > 0 || !slices.Equal(untold.Cards, want.Cards) {
				t.Errorf("%q %s, without notes: %+v", words, how, untold)
			}
			v.searches.pages.Wait()
		}
	}
	if hits := v.searches.hits.Load(); hits != 9 {
		t.Errorf("%d pages were remembered, want 9", hits)
	}
}

// TestClonedInterpretation overwrites the memory behind notes: cloned notes stay unchanged.
func TestClonedInterpretation(t *testing.T) {
	memory := []byte("charizrd charizard")
	words := unsafe.String(&memory[0], len(memory))
	copies, size := cloneInterpretation([]index.Note{{Kind: index.Corrected, From: words[:8], To: words[9:]}})
	clear(memory)

	want := index.Note{Kind: index.Corrected, From: "charizrd", To: "charizard"}
	if len(copies) != 1 || copies[0] != want || size < len(memory) {
		t.Errorf("%q, %d bytes", copies, size)
	}
}
