//go:build !race

package api

import "testing"

// TestGoodBodiesAllocateNothing checks a good body as a whole, which every batch does: it takes no memory.
func TestGoodBodiesAllocateNothing(t *testing.T) {
	r := &Request{Body: []byte(`{"ids":["card_1","card_2"],"identifiers":[]}`)}
	if n := testing.AllocsPerRun(100, func() {
		if r.object() == nil {
			t.Fatal("a good body is refused")
		}
	}); n > 0 {
		t.Errorf("a good body takes %v allocations", n)
	}
}
