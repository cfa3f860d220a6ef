//go:build !linux

package access

// readBoot knows of no boot on this system: the wall clock alone tells how long a restart took.
func readBoot() Boot { return Boot{} }

func readClockSync() ClockSync { return SyncUnknown }
