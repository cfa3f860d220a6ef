package disk

import (
	"os"
	"path/filepath"
)

// InheritOwner sets the owner of a new file to the owner of its folder. A store, a feed and a state
// directory belong to the user of the server: what a command of root leaves behind in them must not
// keep that user from replacing or removing it. Only root can give, and only root has to: for
// others, and where it fails, everything stays as it is. Root's own folders tell nothing about that
// user.
func InheritOwner(path string) {
	if os.Geteuid() != 0 {
		return
	}
	info, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return
	}
	if uid, gid, known := OwnerOf(info); known && uid > 0 {
		_ = os.Lchown(path, uid, gid)
	}
}
