package access

import (
	"context"
	"sync/atomic"
	"time"
)

// Instant is one moment as the server sees it, in milliseconds on two clocks. One Instant is taken
// per request and passed to every call of that request.
type Instant struct {
	Mono int64 // monotonic milliseconds since the start of the process's Clock; measures spans
	Wall int64 // Unix milliseconds; decides days, periods and expiry, and seldom steps, either way
}

// Clock turns times into Instants of one process: the one notion of time for limits, quotas, keys
// and cursors. Its wall time is the monotonic clock counted on from when it was started, so that a
// wall clock that jumps moves nothing; [Clock.TrackSteps] takes over what is no glitch. Make one at
// start and share it: copies are the same clock.
type Clock struct {
	origin time.Time
	offset *atomic.Int64 // wall - monotonic, in milliseconds
}

// StartClock returns a Clock whose monotonic zero is now. Pass time.Now().
func StartClock(now time.Time) Clock {
	clock := Clock{origin: now, offset: new(atomic.Int64)}
	clock.offset.Store(now.UnixMilli())
	return clock
}

// At returns a time on both clocks. It is exact when the time carries a monotonic reading.
func (clock Clock) At(when time.Time) Instant {
	mono := when.Sub(clock.origin).Milliseconds()
	return Instant{Mono: mono, Wall: mono + clock.offset.Load()}
}

// Time returns the wall time of the instant, in UTC.
func (now Instant) Time() time.Time { return time.UnixMilli(now.Wall).UTC() }

// secondsUp returns the whole seconds that cover ms, never negative.
func secondsUp(ms int64) int64 { return max(0, (ms+999)/1000) }

// How a wall clock that disagrees is judged (decision 1753).
const (
	// slewMillis is how far a clock is set without being asked: what time services do all day.
	slewMillis = int64(500)
	// syncedSamples is how many looks in a row have to see the same step while the kernel says that
	// the clock is synchronised, and unknownSamples where nobody says whether it is.
	syncedSamples  = 3
	unknownSamples = 60
	// sampleInterval is the time between looks.
	sampleInterval = time.Second
)

// ClockSync is what the kernel says of the wall clock.
type ClockSync uint8

// The kinds of trust.
const (
	// SyncUnknown means: it does not say.
	SyncUnknown ClockSync = iota
	// Unsynced means: nobody keeps the clock.
	Unsynced
	// Synced means: a time service does.
	Synced
)

// clockSample is one look at the clocks, in milliseconds.
type clockSample struct {
	mono int64 // of the Clock
	wall int64
	boot int64 // since the machine was started, suspend included; 0 = unknown
	sync ClockSync
}

// stepDetector decides which step of the wall clock is taken over. It has no clock of its own.
type stepDetector struct {
	offset     int64 // wall - mono, as believed
	bootOffset int64 // wall - boot, as believed
	candidate  int64 // another offset that the last looks saw
	seenCount  int   // how many of them
}

func newStepDetector(offset int64, first clockSample) *stepDetector {
	return &stepDetector{offset: offset, bootOffset: first.mono + offset - first.boot}
}

// observe returns what to believe after one more look.
func (sd *stepDetector) observe(sample clockSample) (offset int64) {
	offset = sample.wall - sample.mono
	switch {
	case near(offset, sd.offset): // slewed
	case sample.boot != 0 && near(sample.wall-sample.boot, sd.bootOffset): // suspended: the monotonic clock stood still
	case sd.persists(sample, offset): // set by somebody who knows
	default:
		return sd.offset
	}

	*sd = stepDetector{offset: offset, bootOffset: sample.wall - sample.boot}
	return offset
}

// persists reports whether enough looks in a row saw the same step.
func (sd *stepDetector) persists(sample clockSample, offset int64) bool {
	if sd.seenCount == 0 || !near(offset, sd.candidate) || sample.sync == Unsynced {
		sd.candidate = offset
		sd.seenCount = 0
	}
	sd.seenCount++
	return sample.sync == Synced && sd.seenCount >= syncedSamples ||
		sample.sync == SyncUnknown && sd.seenCount >= unknownSamples
}

func near(a, b int64) bool { return max(a-b, b-a) <= slewMillis }

// TrackSteps applies lasting steps of the wall clock until ctx ends, and ignores brief ones. It
// follows small steps, the time of a suspend, and what stays while the kernel says that the clock
// is synchronised. It calls report with each step that no time service makes unseen.
func (clock Clock) TrackSteps(ctx context.Context, report func(by time.Duration)) {
	tick := time.Tick(sampleInterval)

	sd := newStepDetector(clock.offset.Load(), clock.sample())
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}

		before := clock.offset.Load()
		clock.offset.Store(sd.observe(clock.sample()))
		if now := clock.offset.Load(); !near(before, now) {
			report(time.Duration(now-before) * time.Millisecond)
		}
	}
}

// clockSample looks at the clocks of this machine.
func (clock Clock) sample() clockSample {
	seen := ReadClocks()
	return clockSample{seen.Now.Sub(clock.origin).Milliseconds(), seen.Wall, seen.Boot.Up, seen.Sync}
}

// ClockReading is what the clocks of a machine show.
type ClockReading struct {
	Now  time.Time // counts on by the monotonic clock
	Wall int64     // Unix milliseconds
	Boot Boot      // zero when the system does not say
	Sync ClockSync
}

// ReadClocks reads the clocks of this machine. Tests of the whole program put others in its place before main
// runs.
var ReadClocks = func() ClockReading {
	now := time.Now() //nolint:forbidigo // this is where the clocks are compared
	return ClockReading{now, now.UnixMilli(), readBoot(), readClockSync()}
}

// StartMachineClock returns a Clock whose monotonic zero is now, and which goes by the machine's wall clock.
func StartMachineClock() Clock {
	seen := ReadClocks()
	clock := StartClock(seen.Now)
	clock.offset.Store(seen.Wall)
	return clock
}

// Boot is a moment as the machine counts it since it was started. A restart of the server within
// one boot knows how much time passed, whatever the wall clock says (decision 1755).
type Boot struct {
	ID string // of the boot, "" when the system does not say
	Up int64  // milliseconds since then, time in suspend included
}

// since returns how long ago another moment of the same boot is; ok is false for another boot.
func (later Boot) since(then Boot) (millis int64, ok bool) {
	if later.ID == "" || later.ID != then.ID {
		return 0, false
	}
	return max(0, later.Up-then.Up), true
}
