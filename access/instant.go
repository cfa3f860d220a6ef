package access

import (
	"sync/atomic"
	"time"
)

const minuteMillis = int64(60_000)

// Instant is one moment as the server sees it, in milliseconds on two clocks. One Instant is taken
// per request and passed to every call of that request.
type Instant struct {
	Mono int64 // monotonic milliseconds since the start of the process's Clock; measures spans
	Wall int64 // Unix milliseconds; decides days, periods and expiry, and seldom steps, either way
}

// Clock turns times into Instants of one process: the one notion of time for limits, quotas, keys
// and cursors. Its wall time is the monotonic clock counted on from when it was started, so that a
// wall clock that jumps moves nothing; [Clock.Follow] takes over what is no glitch. Make one at
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
