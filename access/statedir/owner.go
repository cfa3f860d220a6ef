package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ninepocket/internal/ownership"
	"ninepocket/internal/wal"
)

// Files of a state directory belong to the user that the server runs as, whoever writes them: a
// command that root runs must not make a file that the server cannot read (decision 1766).

// ErrOwner means: this user cannot make a file that the server could read. Nothing was changed.
var ErrOwner = errors.New("the file would not belong to the user that it has to belong to")

// owner is who a file belongs to, and who may read it.
type Owner struct {
	uid, gid int // -1: whoever makes it
	Mode     fs.FileMode
}

// ownerFor returns who a file has to belong to: who the one it replaces belongs to, or who its
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
	of := OwnerOf(info, 0o600)
	if of.uid == 0 {
		of = Owner{uid: -1, gid: -1, Mode: 0o600}
	}
	return of, nil
}

// ownerOf returns who a file belongs to, with a mode.
func OwnerOf(info fs.FileInfo, mode fs.FileMode) Owner {
	of := Owner{uid: -1, gid: -1, Mode: mode}
	if uid, gid, known := ownership.Of(info); known {
		of.uid = uid
		of.gid = gid
	}
	return of
}

// give makes a file, or a directory, belong to its owner.
func (of Owner) Give(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}

	has := OwnerOf(info, 0)
	if of.uid >= 0 && of.uid != has.uid {
		err = file.Chown(of.uid, of.gid)
	} else if of.gid >= 0 && of.gid != has.gid {
		err = file.Chown(-1, of.gid)
		if of.Mode&0o070 == 0 {
			err = nil // what the group may do does not matter
		}
	}
	if err == nil && info.Mode().Perm() != of.Mode {
		err = file.Chmod(of.Mode)
	}
	if err != nil {
		return fmt.Errorf("%w, user %d and group %d: %w", ErrOwner, of.uid, of.gid, err)
	}
	return nil
}

// givePath is give for a name.
func (of Owner) GivePath(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(of.Give(file), file.Close())
}

// checkOwner finds out whether this user can make a file that belongs to who it has to belong to. It
// leaves nothing behind.
func CheckOwner(path string) error {
	of, err := OwnerFor(path)
	if err != nil {
		return fmt.Errorf("cannot replace file %q: %w", path, err)
	}
	temp, err := of.makeTemp(path)
	if err != nil {
		return fmt.Errorf("cannot replace file %q: %w", path, err)
	}
	return errors.Join(temp.Close(), os.Remove(temp.Name()))
}

// makeTemp makes an empty file beside path that belongs to its owner.
func (of Owner) makeTemp(path string) (*os.File, error) {
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp*") // mode 0600
	if err != nil {
		return nil, err
	}
	if err := of.Give(temp); err != nil {
		return nil, errors.Join(err, temp.Close(), os.Remove(temp.Name()))
	}
	return temp, nil
}

// makeStateDir makes a state directory, and the folders above it, unless it is there. What root makes
// belongs to who the nearest folder that was there belongs to.
func Make(path string) error {
	_, err := os.Stat(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if parent := filepath.Dir(path); parent != path {
		if err := Make(parent); err != nil {
			return err
		}
	}

	of, err := OwnerFor(path)
	if err == nil {
		err = os.Mkdir(path, 0o700)
	}
	if err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil // somebody else made it meanwhile
		}
		return err
	}
	if os.Geteuid() != 0 {
		return nil
	}
	of.Mode = 0o700
	return of.GivePath(path)
}

// ReplaceFile puts data at path, wholly or not at all: after a crash the file is the old one or the
// new one. It is on disk when ReplaceFile returns. It belongs to who the old one belonged to, with its
// mode, or to who the directory does, with mode 0600, where this user can do that, and else to this
// user.
func ReplaceFile(path string, data []byte) error {
	of, err := OwnerFor(path)
	if err != nil {
		return fmt.Errorf("cannot replace file %q: %w", path, err)
	}
	return ReplaceLike(path, data, of)
}

// replaceWhere is replaceFile where of is a wish.
func ReplaceLike(path string, data []byte, of Owner) error {
	err := ReplaceAs(path, data, of)
	if errors.Is(err, ErrOwner) {
		return ReplaceAs(path, data, Owner{uid: -1, gid: -1, Mode: 0o600})
	}
	return err
}

// replaceFile is ReplaceFile with a file that belongs to its owner; when it cannot be, nothing is
// changed.
func ReplaceAs(path string, data []byte, of Owner) (err error) {
	temp, err := of.makeTemp(path)
	if err != nil {
		return fmt.Errorf("cannot replace file %q: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("cannot replace file %q: %w", path, err), temp.Close())
		}
	}()

	// The content is on disk before the name leads to it, and the name before the caller goes on.
	_, err = temp.Write(data)
	if err == nil {
		err = temp.Sync()
	}
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	if err := wal.SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return temp.Close()
}
