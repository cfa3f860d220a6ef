//go:build unix

package disk

import (
	"io/fs"
	"os"
	"syscall"
)

// OwnerOf returns the user and the group that a file belongs to.
func OwnerOf(info fs.FileInfo) (uid, gid int, known bool) {
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return -1, -1, false
	}
	return int(stat.Uid), int(stat.Gid), true
}

// Unlock releases the lock that a library has of an open file. It does so at once, also where a
// process that is being forked holds a copy of the descriptor for a moment.
func Unlock(file *os.File) error { return syscall.Flock(int(file.Fd()), syscall.LOCK_UN) }
