package engine

import (
	"slices"
	"testing"
	"unsafe"

	"ninepocket/index"
	"ninepocket/internal/fixture"
	"ninepocket/wire"
)

// remembering is a View of some cards that remembers searches.
func remembering(t *testing.T, cards int) *View {
	t.Helper()
	c := fixture.Random(1, fixture.Size{Sets: 3, Cards: cards}).Catalog()
	c.ID = "20260315T000000Z-0000000000000001"
	v, err := NewView(c, wire.Site{ProductPrefix: "np"})
	if err != nil {
		t.Fatal(err)
	}

	v.searches = newSearches(1 << 20)
	t.Cleanup(v.searches.pages.Close)
	return v
}

// TestSearchesTellLimitsApart asks for pages whose sizes are the same in their last eight bits: the site asks for
// hundreds of cards at a time, and an API page of 24 must not be answered by 280.
func TestSearchesTellLimitsApart(t *testing.T) {
	v := remembering(t, 4000)
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

// TestSearchesRememberNotes asks twice what was done to the words of a query: the second answer is the
// first one, also when the memory of the first request has other words by then. The page after the
// first has none.
func TestSearchesRememberNotes(t *testing.T) {
	v := remembering(t, 400)
	for _, words := range []string{"pikachuu near mint", "the cheapest charizrd", "pikachu xyzzyx"} {
		want := v.search(nil, index.Query{Filter: index.NoFilter, Words: words, HasWords: true}, nil, 5)
		if len(want.Notes) == 0 {
			t.Fatalf("%q: nothing was done to the words", words)
		}

		for _, how := range []string{"searched", "remembered"} {
			memory := []byte(words)
			q := index.Query{Filter: index.NoFilter, HasWords: true, Words: unsafe.String(&memory[0], len(memory))}
			found := v.Cards([]uint32{7}, q, nil, 5)
			if !slices.Equal(found.Notes, want.Notes) || !slices.Equal(found.Cards[1:], want.Cards) {
				t.Errorf("%q %s: %+v, want %+v", words, how, found, want)
			}

			next := v.Cards(nil, q, &found.Last, 5)
			if len(next.Notes) > 0 {
				t.Errorf("%q %s: notes on the second page: %v", words, how, next.Notes)
			}
			v.searches.pages.Wait()
			clear(memory)
		}
	}
	if hits := v.searches.hits.Load(); hits != 6 {
		t.Errorf("%d pages were remembered, want 6", hits)
	}
}
