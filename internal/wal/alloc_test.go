//go:build !race

package wal

import "testing"

// TestAllocations keeps appending and writing free of them.
func TestAllocations(t *testing.T) {
	l, err := Start(t.TempDir(), 1, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.CloseNow()

	payload := []byte("charged")
	n := testing.AllocsPerRun(2000, func() {
		if err := l.AwaitWritten(l.Append(func(dst []byte) []byte { return append(dst, payload...) })); err != nil {
			t.Fatal(err)
		}
	})

	if n != 0 {
		t.Fatalf("%v allocations a record", n)
	}
}
