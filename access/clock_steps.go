package access

import (
	"context"
	"sync/atomic"
	"time"
)

// Instant is a time in milliseconds on two clocks. One Instant is taken per request and passed to
// every call of that request.
type Instant struct {
	Mono int64 // monotonic milliseconds since the start of the process's Clock; measures durations
	Wall int64 // Unix milliseconds; decides days, periods and expiry, and seldom steps, either way
}

// Clock converts times into Instants of one process. Limits, quotas, keys and cursors all use it. Its
// wall time is the wall clock at the start plus the monotonic time since, so that a jump of the wall
// clock has no effect; [Clock.TrackSteps] applies lasting steps. Make one at start and share it:
// copies are the same clock.
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

// secondsUp converts milliseconds to whole seconds, rounded up and never negative.
func secondsUp(ms int64) int64 { return max(0, (ms+999)/1000) }

// When a step of the wall clock is applied (decision 1753).
const (
	// slewMillis is the largest step that is applied at once: time services make such steps all day.
	slewMillis = int64(500)
	// syncedSamples is how many samples in a row must have the same step while the kernel reports that
	// the clock is synchronised, and unknownSamples where it does not report that.
	syncedSamples  = 3
	unknownSamples = 60
	// sampleInterval is the time between samples.
	sampleInterval = time.Second
)

// ClockSync is the kernel's report on the wall clock.
type ClockSync uint8

// The states of synchronisation.
const (
	// SyncUnknown means: the kernel does not report it.
	SyncUnknown ClockSync = iota
	// Unsynced means: no time service sets the clock.
	Unsynced
	// Synced means: a time service sets it.
	Synced
)

// stepDetector decides which steps of the wall clock are applied. It reads no clock.
type stepDetector struct {
	offset     int64 // wall - mono, as applied
	bootOffset int64 // wall - boot, as applied
	candidate  int64 // another offset, of the last samples
	seenCount  int   // number of these samples
}

// newStepDetector returns a detector of steps from an offset. mono is the time of the first sample on the
// monotonic clock.
func newStepDetector(offset, mono int64, first ClockReading) *stepDetector {
	return &stepDetector{offset: offset, bootOffset: mono + offset - first.Boot.Up}
}

// observe returns the offset to apply after one more sample.
func (sd *stepDetector) observe(mono int64, sample ClockReading) (offset int64) {
	offset = sample.Wall - mono
	up := sample.Boot.Up
	switch {
	case near(offset, sd.offset): // slewed
	case up != 0 && near(sample.Wall-up, sd.bootOffset): // suspended: the monotonic clock stood still
	case sd.persists(sample.Sync, offset): // a lasting step
	default:
		return sd.offset
	}

	*sd = stepDetector{offset: offset, bootOffset: sample.Wall - up}
	return offset
}

// persists reports whether enough samples in a row had the same step.
func (sd *stepDetector) persists(sync ClockSync, offset int64) bool {
	if sd.seenCount == 0 || !near(offset, sd.candidate) || sync == Unsynced {
		sd.candidate = offset
		sd.seenCount = 0
	}
	sd.seenCount++
	return sync == Synced && sd.seenCount >= syncedSamples ||
		sync == SyncUnknown && sd.seenCount >= unknownSamples
}

func near(a, b int64) bool { return max(a-b, b-a) <= slewMillis }

// TrackSteps applies lasting steps of the wall clock until ctx ends, and ignores brief ones. It also
// applies small steps and the time of a suspend. A step lasts if enough samples in a row have it, and
// the clock is not unsynchronised. It calls report with each step that is not small.
func (clock Clock) TrackSteps(ctx context.Context, report func(by time.Duration)) {
	tick := time.Tick(sampleInterval)

	seen := ReadClocks()
	sd := newStepDetector(clock.offset.Load(), clock.At(seen.Now).Mono, seen)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}

		before := clock.offset.Load()
		seen = ReadClocks()
		clock.offset.Store(sd.observe(clock.At(seen.Now).Mono, seen))
		if now := clock.offset.Load(); !near(before, now) {
			report(time.Duration(now-before) * time.Millisecond)
		}
	}
}

// ClockReading is a reading of a machine's clocks.
type ClockReading struct {
	Now  time.Time // with a monotonic reading
	Wall int64     // Unix milliseconds
	Boot Boot      // zero when the system does not report it
	Sync ClockSync
}

// ReadClocks reads the clocks of this machine. Tests of the whole program replace it before main runs.
var ReadClocks = func() ClockReading {
	now := time.Now() //nolint:forbidigo // this is where the clocks are compared
	return ClockReading{now, now.UnixMilli(), readBoot(), readClockSync()}
}

// StartMachineClock returns a Clock that starts now, with the machine's wall time.
func StartMachineClock() Clock {
	seen := ReadClocks()
	clock := StartClock(seen.Now)
	clock.offset.Store(seen.Wall)
	return clock
}

// Boot is a time by the machine's uptime. A restart of the server within one boot knows how much time
// passed, whatever the wall clock shows (decision 1755).
type Boot struct {
	ID string // of the boot, "" when the system does not report it
	Up int64  // milliseconds since then, including suspend; 0 = unknown
}

// since returns the milliseconds since another time of the same boot; ok is false for another boot.
func (later Boot) since(then Boot) (millis int64, ok bool) {
	if later.ID == "" || later.ID != then.ID {
		return 0, false
	}
	return max(0, later.Up-then.Up), true
}
