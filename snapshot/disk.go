package snapshot

import (
	"errors"
	"io"
	"os"

	"ninepocket/internal/ownership"
)

// disk is what a writer of the store needs of a file system. Readers ask the operating system
// directly. Tests give a Dir a disk that notes what is done, fails, or forgets what was not synced:
// they show that no crash leaves a broken store.
type disk interface {
	// mkdir creates a directory. It is no error when the directory exists.
	mkdir(path string) error
	// create creates a file that must not exist.
	create(path string) (syncedFile, error)
	// rename moves a file or directory, replacing a file of the new name.
	rename(from, to string) error
	// remove removes a file, or a directory with all that is in it. It is no error when there is
	// none.
	remove(path string) error
	// syncDir makes the entries of a directory durable.
	syncDir(path string) error
}

// syncedFile is a file being written: durable after Sync.
type syncedFile interface {
	io.WriteCloser
	Sync() error
}

// osDisk is the operating system's file system. What root makes in a store of another user is that
// user's, who may have to remove it.
type osDisk struct{}

func (osDisk) mkdir(path string) error {
	return ownership.MkdirAll(path, 0o755)
}

func (osDisk) create(path string) (syncedFile, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // published data is public
	if err == nil {
		ownership.Keep(path)
	}
	return file, err
}

func (osDisk) rename(from, to string) error { return os.Rename(from, to) }

func (osDisk) remove(path string) error { return os.RemoveAll(path) }

func (osDisk) syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// writeSynced creates a file that must not exist and returns once its bytes are on disk.
func writeSynced(disk disk, path string, data []byte) error {
	file, err := disk.create(path)
	if err != nil {
		return err
	}

	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}
