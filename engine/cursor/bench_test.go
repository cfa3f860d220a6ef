package cursor_test

import (
	"testing"

	"ninepocket/engine/cursor"
)

// BenchmarkAppend signs the cursor of a page, like nearly every response with pages.
func BenchmarkAppend(b *testing.B) {
	s := signer(b, key(1))
	page := cursor.Page{Op: cursor.Cards, Position: make([]byte, 40)}
	var dst []byte

	b.ReportAllocs()
	for b.Loop() {
		dst = s.Append(dst[:0], page, 1, now)
	}
}
