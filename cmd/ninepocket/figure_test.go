package main

import "testing"

// TestFigures formats numbers of guards: whole ones in their shortest form, however large.
func TestFigures(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]float64{
		"0": 0, "12": 12, "-3": -3, "0.2500": 0.25, "1.3333": 4.0 / 3, "100000000000000000000000": 1e23,
	} {
		if got := formatFigure(v); got != want {
			t.Errorf("%v is spelt %s, want %s", v, got, want)
		}
	}
}
