//go:build unix

package ownership

import (
	"io/fs"
	"syscall"
)

// Of returns the user and the group that a file belongs to.
func Of(info fs.FileInfo) (uid, gid int, known bool) {
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return -1, -1, false
	}
	return int(stat.Uid), int(stat.Gid), true
}
