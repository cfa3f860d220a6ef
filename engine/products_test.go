package engine

import (
	"slices"
	"testing"

	"ninepocket/internal/fixture"
	"ninepocket/wire"
)

// TestSharedProducts makes the View of another day: equal products exist once, others twice.
func TestSharedProducts(t *testing.T) {
	of := func(seed uint64) *View {
		v, err := NewView(fixture.Random(seed, fixture.Small).Catalog(), wire.URLs{URL: "https://cards.example"})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	shares := func(v, other *View) bool { return &v.products.chunks[0][0] == &other.products.chunks[0][0] }

	served := of(1)
	same := of(1)
	steps := 0
	same.shareProducts(served, func() { steps++ })
	if !shares(same, served) || steps != len(served.products.chunks) {
		t.Errorf("equal products are there twice, or were compared in %d steps", steps)
	}

	changed := of(1)
	changed.products.chunks[0] = slices.Clone(changed.products.chunks[0])
	changed.products.chunks[0][1] ^= 1 // a hash that is equal by chance
	changed.shareProducts(served, nil)
	other := of(2)
	other.shareProducts(served, nil)
	if shares(changed, served) || shares(other, served) {
		t.Error("other products are taken")
	}
	same.shareProducts(nil, nil)
}
