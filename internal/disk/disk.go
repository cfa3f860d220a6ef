// Package disk is the calls by which the program changes a file system: all that must survive a crash
// goes through them, so that a test can put a disk in their place that fails, waits, tears and forgets.
package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// FS is a file system. Names are paths as of package os. What root makes belongs to who its folder
// belongs to: see [InheritOwner]. Names are looked up with package os, which changes nothing.
type FS interface {
	// Open opens a file for reading or writing, as os.OpenFile does.
	Open(name string, flag int, mode fs.FileMode) (File, error)
	// Append makes an empty file for a log, or empties one: see [OS].
	Append(name string, mapped bool) (File, error)
	// Mkdir makes a folder; it is an fs.ErrExist when there is something of that name.
	Mkdir(name string, mode fs.FileMode) error
	// Link makes another name of a file, or a symbolic link that holds a path.
	Link(from, to string, symbolic bool) error
	// Rename moves a file or a folder, replacing a file of the new name.
	Rename(from, to string) error
	// Remove removes a file, or a folder with all that is in it. It is no error when there is none.
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

// OS is the disk of this machine. Tests of the whole program put a faulty one in its place before main
// runs. What a mapped file of its Append gets is copied into the page cache, which outlives the
// process; the file is longer than what was written, by zeros. It is errors.ErrUnsupported where files
// cannot be mapped. When a write would take the room that a checkpoint needs, it is an
// [ErrNoSpace].
var OS FS = machine{}

type machine struct{}

func (machine) Open(name string, flag int, mode fs.FileMode) (File, error) {
	file, err := os.OpenFile(name, flag, mode)
	if err != nil {
		return nil, err // and not a File that holds no *os.File
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

// inheritIfMade keeps the owner of what was made, unless it was not.
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

// Unsynced reports whether a disk leaves out what makes files durable, as those of tests may. A
// library that syncs by itself then does not either.
func Unsynced(on FS) bool {
	quick, is := on.(interface{ SyncsNothing() bool })
	return is && quick.SyncsNothing()
}

// Raw returns the descriptor of a file for a library that wants one. No faulty disk sees what the
// library does by it.
func Raw(file File) *os.File {
	if over, is := file.(interface{ Below() File }); is {
		return Raw(over.Below())
	}
	raw, _ := file.(*os.File) // nil: no file of this machine, which a library refuses
	return raw
}
