package engine

import (
	"testing"

	"ninepocket/index"
	"ninepocket/internal/fixture"
	"ninepocket/wire"
)

// TestSearchesTellLimitsApart asks for pages whose sizes are the same in their last eight bits: the site asks for
// hundreds of cards at a time, and an API page of 24 must not be answered by 280.
func TestSearchesTellLimitsApart(t *testing.T) {
	c := fixture.Random(1, fixture.Size{Sets: 3, Cards: 4000}).Catalog()
	c.ID = "20260315T000000Z-0000000000000001"
	v, err := NewView(c, wire.Site{ProductPrefix: "np"})
	if err != nil {
		t.Fatal(err)
	}

	v.searches = newSearches(1 << 20)
	defer v.searches.pages.Close()

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
