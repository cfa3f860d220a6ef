//go:build unix

package disk

import (
	"io/fs"
	"os"
	"syscall"
)

// OwnerOf returns the user and the group of a file.
func OwnerOf(info fs.FileInfo) (uid, gid int, known bool) {
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return -1, -1, false
	}
	return int(stat.Uid), int(stat.Gid), true
}

// Inode returns the number of a file, 0 if it is unknown.
func Inode(info fs.FileInfo) uint64 {
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return 0
	}
	return uint64(stat.Ino) //nolint:unconvert // another type on some systems
}

// Unlock releases the lock that a library has of an open file. It does so at once, also if a process
// that is being forked has a copy of the descriptor.
func Unlock(file *os.File) error { return syscall.Flock(int(file.Fd()), syscall.LOCK_UN) }

// Free returns how many bytes users may still write to the file system of a path.
func Free(path string) (int64, error) {
	var system syscall.Statfs_t
	if err := syscall.Statfs(path, &system); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: path, Err: err}
	}
	return int64(system.Bavail) * int64(system.Bsize), nil //nolint:gosec,unconvert // they differ between systems
}
