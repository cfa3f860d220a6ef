package throttle

import (
	"time"

	"golang.org/x/sys/unix"
)

// sleep is accurate to some 60 µs. time.Sleep in an idle program takes a millisecond, which would make a
// rest three times as long.
func sleep(d time.Duration) {
	span := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&span, nil) // a signal may end it early, which does no harm
}
