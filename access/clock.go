package access

import (
	"context"
	"time"
)

// How a wall clock that disagrees is judged (decision 1753).
const (
	// slewMillis is how far a clock is set without being asked: what time services do all day.
	slewMillis = int64(500)
	// syncedLooks is how many looks in a row have to see the same step while the kernel says that the
	// clock is synchronised, and unsureLooks where nobody says whether it is.
	syncedLooks = 3
	unsureLooks = 60
	// lookEvery is the time between looks.
	lookEvery = time.Second
)

// trust is what the kernel says of the wall clock.
type trust uint8

const (
	unsure trust = iota
	unsynced
	synced
)

// sight is one look at the clocks, in milliseconds.
type sight struct {
	mono int64 // of the Clock
	wall int64
	boot int64 // since the machine was started, suspend included; 0 = unknown
	trust
}

// follower decides which step of the wall clock is taken over. It has no clock of its own.
type follower struct {
	offset int64 // wall - mono, as believed
	booted int64 // wall - boot, as believed
	step   int64 // another offset that the last looks saw
	seen   int   // how many of them
}

func newFollower(offset int64, first sight) *follower {
	return &follower{offset: offset, booted: first.mono + offset - first.boot}
}

// look returns what to believe after one more look.
func (f *follower) look(s sight) (offset int64) {
	offset = s.wall - s.mono
	switch {
	case near(offset, f.offset): // slewed
	case s.boot != 0 && near(s.wall-s.boot, f.booted): // suspended: the monotonic clock stood still
	case f.persists(s, offset): // set by somebody who knows
	default:
		return f.offset
	}

	*f = follower{offset: offset, booted: s.wall - s.boot}
	return offset
}

// persists reports whether enough looks in a row saw the same step.
func (f *follower) persists(s sight, offset int64) bool {
	if f.seen == 0 || !near(offset, f.step) || s.trust == unsynced {
		f.step = offset
		f.seen = 0
	}
	f.seen++
	return s.trust == synced && f.seen >= syncedLooks || s.trust == unsure && f.seen >= unsureLooks
}

func near(a, b int64) bool { return max(a-b, b-a) <= slewMillis }

// Follow takes over steps of the wall clock that are none of a moment, until ctx ends: small ones,
// the time of a suspend, and what stays while the kernel says that the clock is synchronised. It
// calls report with each step that no time service makes unseen.
func (c Clock) Follow(ctx context.Context, report func(by time.Duration)) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()

	f := newFollower(c.offset.Load(), c.sight())
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}

		before := c.offset.Load()
		c.offset.Store(f.look(c.sight()))
		if now := c.offset.Load(); !near(before, now) {
			report(time.Duration(now-before) * time.Millisecond)
		}
	}
}

// sight looks at the clocks of this machine.
func (c Clock) sight() sight {
	now := time.Now() //nolint:forbidigo // this is where the clocks are compared
	return sight{
		mono: now.Sub(c.origin).Milliseconds(), wall: now.UnixMilli(), boot: readBoot().at, trust: readTrust(),
	}
}
