package statedir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ninepocket/internal/disk"
)

// Files of a state directory belong to the user of the server, whichever user writes them: a command
// of root must not make a file that the server cannot read (decision 1766).

// ErrOwner reports that this user cannot set the owner that a file must have. Nothing was changed.
var ErrOwner = errors.New("the file would not belong to the user that it has to belong to")

// Owner is the user, the group and the mode of a file.
type Owner struct {
	uid, gid int // -1: of the process
	Mode     fs.FileMode
}

// OwnerFor returns the owner that a file must have: that of the file it replaces, or else that of its
// directory. In a directory of root every user makes files of their own.
func OwnerFor(path string) (Owner, error) {
	info, err := os.Stat(path)
	if err == nil {
		return OwnerOf(info, info.Mode().Perm()), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return Owner{}, err
	}

	info, err = os.Stat(filepath.Dir(path))
	if err != nil {
		return Owner{}, err
	}
	owner := OwnerOf(info, 0o600)
	if owner.uid == 0 {
		owner = Owner{uid: -1, gid: -1, Mode: 0o600}
	}
	return owner, nil
}

// OwnerOf returns the owner of a file, with another mode.
func OwnerOf(info fs.FileInfo, mode fs.FileMode) Owner {
	owner := Owner{uid: -1, gid: -1, Mode: mode}
	if uid, gid, known := disk.OwnerOf(info); known {
		owner.uid = uid
		owner.gid = gid
	}
	return owner
}

// Chown sets the owner and the mode of a file or directory.
func (owner Owner) Chown(file disk.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}

	has := OwnerOf(info, 0)
	if owner.uid >= 0 && owner.uid != has.uid {
		err = file.Chown(owner.uid, owner.gid)
	} else if owner.gid >= 0 && owner.gid != has.gid {
		err = file.Chown(-1, owner.gid)
		if owner.Mode&0o070 == 0 {
			err = nil // the group has no permissions
		}
	}
	if err == nil && info.Mode().Perm() != owner.Mode {
		err = file.Chmod(owner.Mode)
	}
	if err != nil {
		return fmt.Errorf("%w, user %d and group %d: %w", ErrOwner, owner.uid, owner.gid, err)
	}
	return nil
}

// ChownPath is Chown for a path.
func (owner Owner) ChownPath(path string) error {
	file, err := disk.OS.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(owner.Chown(file), file.Close())
}

// CheckOwner returns an error if this user cannot replace a file and set its owner. It leaves nothing
// behind.
func CheckOwner(path string) error {
	owner, err := OwnerFor(path)
	if err == nil {
		temp := tempName(path)
		err = disk.Create(disk.OS, temp, nil, 0o600, owner.Chown)
		err = errors.Join(err, disk.OS.Remove(temp))
	}
	if err != nil {
		return fmt.Errorf("cannot replace file %q: %w", path, err)
	}
	return nil
}

// tempName returns a unique name for a file that will replace another one.
func tempName(path string) string { return path + ".tmp" + rand.Text() }

// Make makes a state directory and missing folders above it. A file that root makes gets the owner
// of the nearest existing folder.
func Make(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return disk.MkdirAll(disk.OS, path, 0o700)
}

// ReplaceFile replaces a file atomically: after a crash it is the old one or the new one. It is on disk
// when ReplaceFile returns. It keeps the owner and mode of the old file, or gets the owner of the
// directory and mode 0600, if this user can set them; else it belongs to this user.
func ReplaceFile(path string, data []byte) error {
	owner, err := OwnerFor(path)
	if err != nil {
		return fmt.Errorf("cannot replace file %q: %w", path, err)
	}
	return ReplaceAsIfAllowed(path, data, owner)
}

// ReplaceAsIfAllowed is ReplaceAs, but if this user cannot set the owner, the file belongs to this user.
func ReplaceAsIfAllowed(path string, data []byte, owner Owner) error {
	err := ReplaceAs(path, data, owner)
	if errors.Is(err, ErrOwner) {
		return ReplaceAs(path, data, Owner{uid: -1, gid: -1, Mode: 0o600})
	}
	return err
}

// ReplaceAs is ReplaceFile with a given owner; if that cannot be set, nothing is changed.
func ReplaceAs(path string, data []byte, owner Owner) error {
	if err := disk.Replace(disk.OS, tempName(path), path, data, 0o600, owner.Chown); err != nil {
		return fmt.Errorf("cannot replace file %q: %w", path, err)
	}
	return nil
}
