//go:build !unix

package disk

import (
	"errors"
	"io/fs"
	"os"
)

// OwnerOf knows no users on this system.
func OwnerOf(fs.FileInfo) (uid, gid int, known bool) { return -1, -1, false }

// Unlock has nothing to do on this system: closing the file releases its lock.
func Unlock(*os.File) error { return nil }

// Free does not know it on this system.
func Free(string) (int64, error) { return 0, errors.ErrUnsupported }

// Inode returns 0: this system has no number of a file.
func Inode(fs.FileInfo) uint64 { return 0 }
