// Package disk has the calls that change a file system. All data that must survive a crash go through
// them, so that a test can replace the disk by one that fails, waits, and tears or loses writes.
package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// FS is a file system. Names are paths as of package os, which also looks them up. Files that root makes
// get the owner of their folder: see [InheritOwner].
type FS interface {
	// Open opens a file for reading or writing, as os.OpenFile does.
	Open(name string, flag int, mode fs.FileMode) (File, error)
	// Append makes an empty file for a log, or empties one: see [OS].
	Append(name string, mapped bool) (File, error)
	// Mkdir makes a folder; it is an fs.ErrExist when there is something of that name.
	Mkdir(name string, mode fs.FileMode) error
	// Link makes another name of a file, or a symbolic link to a path.
	Link(from, to string, symbolic bool) error
	// Rename moves a file or a folder, replacing a file of the new name.
	Rename(from, to string) error
	// Remove removes a file, or a folder with its content. A missing one is no error.
	Remove(name string) error
	// List returns the entries of a folder in the order of their names.
	List(name string) ([]fs.DirEntry, error)
	// SyncDir makes the names in a folder durable.
	SyncDir(name string) error
}

// File is an open file. Its content is durable after Sync, its name after the folder's SyncDir.
type File interface {
	io.ReadWriteCloser
	io.ReaderAt
	io.WriterAt
	Name() string
	Stat() (fs.FileInfo, error)
	Chown(uid, gid int) error
	Chmod(mode fs.FileMode) error
	Truncate(size int64) error
	Sync() error
}

// OS is the disk of this machine. Tests of the whole program replace it by a faulty one before main
// runs. A write to a mapped file of Append is a copy into the page cache, which survives the process;
// the file is longer than its data, by zeros. Append returns errors.ErrUnsupported where files cannot
// be mapped. A write that would use the space reserved for a checkpoint is an [ErrNoSpace].
var OS FS = machine{}

type machine struct{}

func (machine) Open(name string, flag int, mode fs.FileMode) (File, error) {
	file, err := os.OpenFile(name, flag, mode)
	if err != nil {
		return nil, err // and not a File with a nil *os.File
	}
	if flag&os.O_CREATE != 0 {
		InheritOwner(name)
	}
	return file, nil
}

func (machine) Append(name string, mapped bool) (File, error) {
	grow := writeFile
	if mapped {
		grow = mapFile
	}
	file, err := grow(name)
	return file, inheritIfMade(name, err)
}

func (machine) Mkdir(name string, mode fs.FileMode) error {
	return inheritIfMade(name, os.Mkdir(name, mode))
}

func (machine) Link(from, to string, symbolic bool) error {
	if symbolic {
		return inheritIfMade(to, os.Symlink(from, to))
	}
	return os.Link(from, to)
}

// inheritIfMade sets the owner of a file if it was made without an error.
func inheritIfMade(name string, err error) error {
	if err == nil {
		InheritOwner(name)
	}
	return err
}

func (machine) Rename(from, to string) error { return os.Rename(from, to) }

func (machine) Remove(name string) error { return os.RemoveAll(name) }

func (machine) List(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

func (machine) SyncDir(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Unsynced reports whether a disk skips all syncs, as those of tests may. A library that syncs by itself
// then must not do so either.
func Unsynced(on FS) bool {
	quick, is := on.(interface{ SyncsNothing() bool })
	return is && quick.SyncsNothing()
}

// Raw returns the os.File of a file, for a library that needs one. A faulty disk does not see the
// library's calls.
func Raw(file File) *os.File {
	if over, is := file.(interface{ Below() File }); is {
		return Raw(over.Below())
	}
	raw, _ := file.(*os.File) // nil for another kind of file, which a library refuses
	return raw
}

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
