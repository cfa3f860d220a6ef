package wal

import (
	"fmt"
	"os"
	"syscall"
)

// checkRoom is ErrRoom when a segment of size bytes cannot grow by n of them, and as much again as
// segments usually do, without taking the room that is spared.
func checkRoom(file *os.File, size int64, n int) error {
	var system syscall.Statfs_t
	if err := retryInterrupted(func() error { return syscall.Fstatfs(int(file.Fd()), &system) }); err != nil {
		return nil //nolint:nilerr // whoever writes finds out
	}

	free := uint64(system.Bsize) * system.Bavail
	if free < uint64(max(min(size, mostChunk), leastChunk, int64(n))+spareRoom) {
		return fmt.Errorf("allocate: %w", ErrRoom)
	}
	return nil
}
