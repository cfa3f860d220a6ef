// Package ownership lets what root makes belong to who its folder belongs to.
//
// A store, a feed and a state directory belong to the user of the server. What a command of root leaves
// behind in them must not keep that user from replacing or removing it.
package ownership

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Keep gives what this process has made to who its folder belongs to. Only root can, and only root has
// to: for others, and where it fails, everything stays as it is. Root's own folders tell nothing about
// the server's user.
func Keep(path string) {
	if os.Geteuid() != 0 {
		return
	}
	info, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return
	}
	if uid, gid, known := Of(info); known && uid > 0 {
		_ = os.Lchown(path, uid, gid)
	}
}

// MkdirAll makes a folder and those above it that are not there, and keeps the owner of the first that
// was.
func MkdirAll(path string, mode fs.FileMode) error {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return nil
	}

	if parent := filepath.Dir(path); parent != path {
		if err := MkdirAll(parent, mode); err != nil {
			return err
		}
	}
	err = os.Mkdir(path, mode)
	switch {
	case err == nil:
		Keep(path)
	case errors.Is(err, fs.ErrExist):
		// Somebody else made it meanwhile, or it is no folder.
		return os.MkdirAll(path, mode)
	}
	return err
}
