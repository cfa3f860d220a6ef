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

// Files of a state directory belong to the user that the server runs as, whoever writes them: a
// command that root runs must not make a file that the server cannot read (decision 1766).

// ErrOwner means: this user cannot make a file that the server could read. Nothing was changed.
var ErrOwner = errors.New("the file would not belong to the user that it has to belong to")

// Owner is who a file belongs to, and who may read it.
type Owner struct {
	uid, gid int // -1: whoever makes it
	Mode     fs.FileMode
}

// OwnerFor returns who a file has to belong to: who the one it replaces belongs to, or who its
// directory does. Root's directories are everybody's: who may write there makes files of their own.
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

// OwnerOf returns who a file belongs to, with a mode.
func OwnerOf(info fs.FileInfo, mode fs.FileMode) Owner {
	owner := Owner{uid: -1, gid: -1, Mode: mode}
	if uid, gid, known := disk.OwnerOf(info); known {
		owner.uid = uid
		owner.gid = gid
	}
	return owner
}

// Chown makes a file, or a directory, belong to its owner.
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
			err = nil // what the group may do does not matter
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

// ChownPath is Give for a name.
func (owner Owner) ChownPath(path string) error {
	file, err := disk.OS.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(owner.Chown(file), file.Close())
}

// CheckOwner finds out whether this user can make a file that belongs to who it has to belong to. It
// leaves nothing behind.
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

// tempName is the name of a file that is to replace another one, which nobody else uses.
func tempName(path string) string { return path + ".tmp" + rand.Text() }

// Make makes a state directory, and the folders above it, unless it is there. What root makes belongs to
// who the nearest folder that was there belongs to.
func Make(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return disk.MkdirAll(disk.OS, path, 0o700)
}

// ReplaceFile puts data at path, wholly or not at all: after a crash the file is the old one or the
// new one. It is on disk when ReplaceFile returns. It belongs to who the old one belonged to, with its
// mode, or to who the directory does, with mode 0600, where this user can do that, and else to this
// user.
func ReplaceFile(path string, data []byte) error {
	owner, err := OwnerFor(path)
	if err != nil {
		return fmt.Errorf("cannot replace file %q: %w", path, err)
	}
	return ReplaceAsIfAllowed(path, data, owner)
}

// ReplaceAsIfAllowed is ReplaceAs where of is a wish.
func ReplaceAsIfAllowed(path string, data []byte, owner Owner) error {
	err := ReplaceAs(path, data, owner)
	if errors.Is(err, ErrOwner) {
		return ReplaceAs(path, data, Owner{uid: -1, gid: -1, Mode: 0o600})
	}
	return err
}

// ReplaceAs is ReplaceFile with a file that belongs to its owner; when it cannot be, nothing is changed.
func ReplaceAs(path string, data []byte, owner Owner) error {
	if err := disk.Replace(disk.OS, tempName(path), path, data, 0o600, owner.Chown); err != nil {
		return fmt.Errorf("cannot replace file %q: %w", path, err)
	}
	return nil
}
