package disk

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// NotRegularError reports that a path is not a regular file.
type NotRegularError struct{ Name, Kind string }

func (e *NotRegularError) Error() string { return fmt.Sprintf("%q is %s", e.Name, e.Kind) }

// ReadFile reads a file. Anything else at its path, such as a folder, is a *NotRegularError. A fifo is
// never opened, because that would wait for its writer.
func ReadFile(on FS, name string) ([]byte, error) {
	if err := CheckFile(name); err != nil {
		return nil, err
	}

	// It may have been replaced since.
	file, err := on.Open(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	err = cmp.Or(err, checkRegular(name, info))
	if err != nil {
		return nil, err
	}

	// Grow would clear the room, and touch all of it.
	all := bytes.NewBuffer(make([]byte, 0, int(info.Size())+bytes.MinRead))
	_, err = all.ReadFrom(file)
	return all.Bytes(), err
}

// ReadAny reads anything that can be opened, such as a file or a pipe.
func ReadAny(on FS, name string) ([]byte, error) {
	file, err := on.Open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	return io.ReadAll(file)
}

// CheckFile returns an error for an existing path that is not a regular file, as [ReadFile] does.
func CheckFile(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return nil //nolint:nilerr // opening it returns the error
	}
	return checkRegular(name, info)
}

// checkRegular returns an error for anything but a regular file.
func checkRegular(name string, info fs.FileInfo) error {
	if info == nil || info.Mode().IsRegular() {
		return nil
	}
	kind := "neither file nor directory"
	if info.IsDir() {
		kind = "a directory"
	}
	return &NotRegularError{name, kind}
}

// Create makes a file that must not exist, writes it, and returns when its content is durable. It calls
// each function before it writes.
func Create(on FS, name string, data []byte, mode fs.FileMode, each ...func(File) error) error {
	file, err := on.Open(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}

	for _, do := range each {
		err = cmp.Or(err, do(file))
	}
	if err == nil {
		_, err = file.Write(data)
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// Replace replaces a file atomically, through the file staged: after a crash it is the old one or the
// new one. The new one is durable when Replace returns. No other caller uses staged, and a leftover of
// a crash is removed. The rest is as of [Create].
func Replace(on FS, staged, name string, data []byte, mode fs.FileMode, each ...func(File) error) error {
	err := on.Remove(staged)
	if err == nil {
		err = Create(on, staged, data, mode, each...)
	}
	if err == nil {
		err = on.Rename(staged, name)
	}
	if err != nil {
		_ = on.Remove(staged) // a leftover only takes space
		return err
	}
	return on.SyncDir(filepath.Dir(name))
}

// SyncFolders makes the names in a folder and in all folders below it durable.
func SyncFolders(on FS, root string) error {
	return filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return on.SyncDir(name)
	})
}

// MkdirAll makes a folder and missing ones above it. Those above it have durable names when it returns;
// the folder itself has when the caller has synced its parent.
func MkdirAll(on FS, name string, mode fs.FileMode) error {
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		return nil
	}

	parent := filepath.Dir(name)
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		if err := MkdirAll(on, parent, mode); err != nil {
			return err
		}
		// A caller syncs only the folder that it writes into.
		if err := on.SyncDir(filepath.Dir(parent)); err != nil {
			return err
		}
	}
	err = on.Mkdir(name, mode)
	if errors.Is(err, fs.ErrExist) {
		// Another process made it meanwhile, or it is not a folder.
		return os.MkdirAll(name, mode)
	}
	return err
}
