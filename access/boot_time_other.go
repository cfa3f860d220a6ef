//go:build !linux

package access

// readBoot reports no boot on this system: only the wall clock shows how long a restart took.
func readBoot() Boot { return Boot{} }

func readClockSync() ClockSync { return SyncUnknown }
