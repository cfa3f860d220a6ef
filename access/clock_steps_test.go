package access

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestFollower shows a follower each kind of step. It follows a time service and a suspend at once,
// a step that the kernel confirms after a moment, and a glitch never.
func TestFollower(t *testing.T) {
	t.Parallel()
	const hour = int64(3_600_000)
	wall := testTime.UnixMilli()
	try := func(name string, kind ClockSync, looks int, change func(seen *ClockReading), want int64) {
		t.Helper()
		first := ClockReading{Wall: wall, Boot: Boot{Up: 50_000}, Sync: kind}
		mono := int64(1000)
		before := first.Wall - mono
		sd := newStepDetector(before, mono, first)
		got := before
		for range looks {
			mono += 1000
			first.Wall += 1000
			first.Boot.Up += 1000
			seen := first
			change(&seen)
			got = sd.observe(mono, seen)
		}
		if got-before != want {
			t.Errorf("%s: followed by %d ms, want %d", name, got-before, want)
		}
	}

	ahead := func(by int64) func(*ClockReading) { return func(seen *ClockReading) { seen.Wall += by } }
	for _, kind := range []ClockSync{SyncUnknown, Unsynced, Synced} {
		try("slewed", kind, 1, ahead(300), 300)
		try("slewed back", kind, 1, ahead(-300), -300)
		try("a year ahead for two looks", kind, 2, ahead(366*24*hour), 0)
		try("an hour back for two looks", kind, 2, ahead(-hour), 0)
		try("suspended", kind, 1, func(seen *ClockReading) { seen.Wall += 8 * hour; seen.Boot.Up += 8 * hour }, 8*hour)
	}
	try("set, synchronised", Synced, syncedSamples, ahead(hour), hour)
	try("set back, synchronised", Synced, syncedSamples, ahead(-hour), -hour)
	try("set, and nobody knows", SyncUnknown, unknownSamples-1, ahead(hour), 0)
	try("set, and nobody knows, for long", SyncUnknown, unknownSamples, ahead(hour), hour)
	try("set, not synchronised", Unsynced, 10*unknownSamples, ahead(hour), 0)

	// A clock that jumps about is never followed.
	random := rand.New(rand.NewPCG(1, 1))
	try("wild", Synced, 1000, func(seen *ClockReading) { seen.Wall += hour + random.Int64N(1000*hour) }, 0)
}

// TestClockStands wants instants that do not move with the wall clock, and follow it on request.
func TestClockStands(t *testing.T) {
	t.Parallel()
	began := time.Now()
	clock := StartClock(began)
	copied := clock
	now := began.Add(90 * time.Second)
	if got := clock.At(now); got.Mono != 90_000 || got.Wall != began.UnixMilli()+90_000 {
		t.Fatalf("%+v", got)
	}
	clock.offset.Add(5000)
	if got := copied.At(now); got.Mono != 90_000 || got.Wall != began.UnixMilli()+95_000 {
		t.Fatalf("a copy is another clock: %+v", got)
	}
}
