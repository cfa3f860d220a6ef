package snapshot

import (
	"errors"
	"io"
	"os"
)

// disk is what writing a store needs of a file system. Reading goes to the operating system
// directly. A test gives a Dir a disk that notes, fails or forgets, to show that no crash leaves a
// broken store.
type disk interface {
	// mkdir creates a directory; that it exists already is no error.
	mkdir(path string) error
	// create creates a file that must not exist.
	create(path string) (syncedFile, error)
	// rename moves a file or directory, replacing a file of the new name.
	rename(from, to string) error
	// remove removes a file or a directory with all that is in it; that there is none is no error.
	remove(path string) error
	// syncDir makes the entries of a directory durable.
	syncDir(path string) error
}

// syncedFile is a file being written: durable after Sync.
type syncedFile interface {
	io.WriteCloser
	Sync() error
}

// osDisk is the operating system's file system.
type osDisk struct{}

func (osDisk) mkdir(path string) error {
	return os.MkdirAll(path, 0o755) //nolint:gosec // published data is public
}

func (osDisk) create(path string) (syncedFile, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // published data is public
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
func writeSynced(d disk, path string, data []byte) error {
	f, err := d.create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
