package server

import (
	"testing"

	"ninepocket/access"
)

func TestRateHeaders(t *testing.T) {
	minute := access.LimitState{Limit: 30, Remaining: 29, Wait: 41}
	day := access.LimitState{Limit: 2000, Remaining: 1998, Wait: 3600}
	if got := string(liveRates.appendPolicy(nil, minute, day)); got != `"minute";q=30;w=60, "day";q=2000;w=86400` {
		t.Fatal(got)
	}
	if got := string(liveRates.appendState(nil, minute, day)); got != `"minute";r=29;t=41, "day";r=1998;t=3600` {
		t.Fatal(got)
	}
	if got := string(previewRates.appendPolicy(nil, minute, day)); got != `"minute";q=30;w=60, "credits";q=2000` {
		t.Fatal(got)
	}

	dst := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() {
		dst = liveRates.appendState(liveRates.appendPolicy(dst[:0], minute, day), minute, day)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
