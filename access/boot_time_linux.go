package access

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// readBoot reads the id of this machine's boot and the time since.
func readBoot() Boot {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Boot{}
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return Boot{}
	}
	return Boot{ID: strings.TrimSpace(string(id)), Up: now.Nano() / 1_000_000}
}

// readClockSync asks the kernel whether a time service sets the wall clock. A sandbox may forbid the
// call.
func readClockSync() ClockSync {
	var timex unix.Timex
	_, err := unix.Adjtimex(&timex)
	switch {
	case err != nil:
		return SyncUnknown
	case timex.Status&unix.STA_UNSYNC != 0:
		return Unsynced
	}
	return Synced
}
