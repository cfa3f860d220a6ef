package main

import (
	"testing"
	"time"
)

// TestDemoDate wants a demo that is as new as can be without being of the future, and a day that was asked for.
func TestDemoDate(t *testing.T) {
	for n := range 170 {
		now := time.Date(2026, 11, 22, 0, 17*n, 0, 0, time.UTC)
		at, err := demoInstant("", now)
		if age := now.Sub(at); err != nil || age < 0 || age >= 24*time.Hour {
			t.Errorf("at %s the demo is of %s: %v", now, at, err)
		}
	}

	at, err := demoInstant("2026-08-22", time.Now())
	if want := time.Date(2026, 8, 22, demoHour, 0, 0, 0, time.UTC); err != nil || !at.Equal(want) {
		t.Errorf("%s, %v", at, err)
	}
	for _, date := range []string{"today", "2026-13-01", "22.8.2026", "2026-08-22T00:00:00Z"} {
		if _, err := demoInstant(date, time.Now()); err == nil {
			t.Errorf("%q is a day", date)
		}
	}
}
