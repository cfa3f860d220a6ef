package throttle

import (
	"time"

	"golang.org/x/sys/unix"
)

// sleep is exact to some 60 µs, where time.Sleep in an idle program takes a millisecond: that would
// make three of a rest.
func sleep(d time.Duration) {
	span := unix.NsecToTimespec(int64(d))
	// A signal ends a rest early, which does no harm.
	_ = unix.Nanosleep(&span, nil)
}
