package access

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ninepocket/internal/ownership"
)

// Files of a state directory belong to the user that the server runs as, whoever writes them: a
// command that root runs must not make a file that the server cannot read (decision 1766).

// ErrOwner means: this user cannot make a file that the server could read. Nothing was changed.
var ErrOwner = errors.New("the file would not belong to the user that it has to belong to")

// owner is who a file belongs to, and who may read it.
type owner struct {
	uid, gid int // -1: whoever makes it
	mode     fs.FileMode
}

// ownerFor returns who a file has to belong to: who the one it replaces belongs to, or who its
// directory does. Root's directories are everybody's: who may write there makes files of their own.
func ownerFor(path string) (owner, error) {
	info, err := os.Stat(path)
	if err == nil {
		return ownerOf(info, info.Mode().Perm()), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return owner{}, err
	}

	info, err = os.Stat(filepath.Dir(path))
	if err != nil {
		return owner{}, err
	}
	of := ownerOf(info, 0o600)
	if of.uid == 0 {
		of = owner{uid: -1, gid: -1, mode: 0o600}
	}
	return of, nil
}

// ownerOf returns who a file belongs to, with a mode.
func ownerOf(info fs.FileInfo, mode fs.FileMode) owner {
	of := owner{uid: -1, gid: -1, mode: mode}
	if uid, gid, known := ownership.Of(info); known {
		of.uid = uid
		of.gid = gid
	}
	return of
}

// give makes a file, or a directory, belong to its owner.
func (of owner) give(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}

	has := ownerOf(info, 0)
	if of.uid >= 0 && of.uid != has.uid {
		err = file.Chown(of.uid, of.gid)
	} else if of.gid >= 0 && of.gid != has.gid {
		err = file.Chown(-1, of.gid)
		if of.mode&0o070 == 0 {
			err = nil // what the group may do does not matter
		}
	}
	if err == nil && info.Mode().Perm() != of.mode {
		err = file.Chmod(of.mode)
	}
	if err != nil {
		return fmt.Errorf("%w, user %d and group %d: %w", ErrOwner, of.uid, of.gid, err)
	}
	return nil
}

// givePath is give for a name.
func (of owner) givePath(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(of.give(file), file.Close())
}

// checkOwner finds out whether this user can make a file that belongs to who it has to belong to. It
// leaves nothing behind.
func checkOwner(path string) error {
	of, err := ownerFor(path)
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
func (of owner) makeTemp(path string) (*os.File, error) {
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp*") // mode 0600
	if err != nil {
		return nil, err
	}
	if err := of.give(temp); err != nil {
		return nil, errors.Join(err, temp.Close(), os.Remove(temp.Name()))
	}
	return temp, nil
}

// makeStateDir makes a state directory, and the folders above it, unless it is there. What root makes
// belongs to who the nearest folder that was there belongs to.
func makeStateDir(path string) error {
	_, err := os.Stat(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if parent := filepath.Dir(path); parent != path {
		if err := makeStateDir(parent); err != nil {
			return err
		}
	}

	of, err := ownerFor(path)
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
	of.mode = 0o700
	return of.givePath(path)
}
