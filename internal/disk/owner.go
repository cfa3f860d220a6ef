package disk

import (
	"os"
	"path/filepath"
)

// InheritOwner sets the owner of a new file to the owner of its folder. A store, a feed and a state
// directory belong to the user of the server, who must be able to replace and remove files that a
// command of root made there. Only root can do that, and only root has to: for other users, and on an
// error, nothing changes. Folders of root do not show who that user is.
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
