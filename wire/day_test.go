package wire_test

import (
	"testing"

	"ninepocket/snapshot"
	"ninepocket/wire"
)

// TestNextDay walks 400 years and more by NextDay, and by the calendar where it declines.
func TestNextDay(t *testing.T) {
	var date, want [10]byte
	wire.AppendDay(date[:0], -1)
	declined := 0
	for day := range snapshot.Day(150_000) {
		wire.AppendDay(want[:0], day)
		before := date
		if !wire.NextDay(&date) {
			if declined++; date != before {
				t.Fatalf("declined and changed %s to %s", before[:], date[:])
			}
			date = want
		}
		if date != want {
			t.Fatalf("after %s comes %s, want %s", before[:], date[:], want[:])
		}
	}
	if declined > 150_000/7 {
		t.Errorf("declined %d times", declined)
	}
}
