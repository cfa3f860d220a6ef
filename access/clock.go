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
func (fw *follower) look(seen sight) (offset int64) {
	offset = seen.wall - seen.mono
	switch {
	case near(offset, fw.offset): // slewed
	case seen.boot != 0 && near(seen.wall-seen.boot, fw.booted): // suspended: the monotonic clock stood still
	case fw.persists(seen, offset): // set by somebody who knows
	default:
		return fw.offset
	}

	*fw = follower{offset: offset, booted: seen.wall - seen.boot}
	return offset
}

// persists reports whether enough looks in a row saw the same step.
func (fw *follower) persists(seen sight, offset int64) bool {
	if fw.seen == 0 || !near(offset, fw.step) || seen.trust == unsynced {
		fw.step = offset
		fw.seen = 0
	}
	fw.seen++
	return seen.trust == synced && fw.seen >= syncedLooks || seen.trust == unsure && fw.seen >= unsureLooks
}

func near(a, b int64) bool { return max(a-b, b-a) <= slewMillis }

// Follow takes over steps of the wall clock that are none of a moment, until ctx ends: small ones,
// the time of a suspend, and what stays while the kernel says that the clock is synchronised. It
// calls report with each step that no time service makes unseen.
func (clock Clock) Follow(ctx context.Context, report func(by time.Duration)) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()

	fw := newFollower(clock.offset.Load(), clock.sight())
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}

		before := clock.offset.Load()
		clock.offset.Store(fw.look(clock.sight()))
		if now := clock.offset.Load(); !near(before, now) {
			report(time.Duration(now-before) * time.Millisecond)
		}
	}
}

// sight looks at the clocks of this machine.
func (clock Clock) sight() sight {
	now := time.Now() //nolint:forbidigo // this is where the clocks are compared
	return sight{
		mono: now.Sub(clock.origin).Milliseconds(), wall: now.UnixMilli(), boot: readBoot().at, trust: readTrust(),
	}
}
