package node

import "golang.org/x/sys/unix"

// isTmpfs reports whether a directory is in memory only.
func isTmpfs(dir string) bool {
	var stat unix.Statfs_t
	return unix.Statfs(dir, &stat) == nil && stat.Type == unix.TMPFS_MAGIC
}
