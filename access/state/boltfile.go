package state

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"go.etcd.io/bbolt"

	"ninepocket/internal/disk"
	"ninepocket/internal/wal"
)

// boltFile is an open checkpoint file. bbolt reads it through a mapping, so that it panics or faults on
// damage, and on pages that are missing because the file was cut. Here both are errors.
type boltFile struct {
	*bbolt.DB
	disk disk.File // for our own disk
	file *os.File  // the same file for bbolt
	// poisoned is set when bbolt was interrupted and still has its own locks: closing it would wait for
	// ever.
	poisoned bool
}

const (
	// mapRoom is the least size of a mapping. A checkpoint that needs a larger one copies first what it has
	// changed. Room without a page of the file costs nothing on Linux.
	mapRoom = 64 << 20
	// growStep is the number of bytes that a file grows by at once. The library's own step is 16 MiB.
	growStep = 256 << 10
)

// errPoisoned reports that bbolt panicked, or faulted on a page.
var errPoisoned = errors.New("checkpoint cannot be read")

// openBolt opens a file as bbolt would, but without dropFlags.
func openBolt(on disk.FS, path string, dropFlags int, options bbolt.Options) (*boltFile, error) {
	file := &boltFile{}
	options.InitialMmapSize = mapRoom
	options.OpenFile = func(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
		file.disk, err = on.Open(name, flag&^dropFlags, mode)
		if err == nil {
			file.file = disk.Raw(file.disk)
		}
		return file.file, err
	}

	err := catchFaults(func() (err error) {
		file.DB, err = bbolt.Open(path, 0o600, &options)
		if err == nil {
			file.AllocSize = growStep
		}
		return err
	})
	if err != nil && file.file != nil {
		_ = errors.Join(disk.Unlock(file.file), file.file.Close()) // bbolt does so itself unless it panicked
	}
	return file, err
}

// transact runs a transaction of View or Update.
func (f *boltFile) transact(run func(func(*bbolt.Tx) error) error, body func(*bbolt.Tx) error) error {
	err := catchFaults(func() error { return run(body) })
	if errors.Is(err, errPoisoned) {
		f.poisoned = true
	}
	return err
}

// close closes the file, which releases its lock. A poisoned file stays mapped until the process ends.
func (f *boltFile) close() error {
	if f.poisoned {
		return errors.Join(disk.Unlock(f.file), f.file.Close()) // the mapping would keep the lock
	}

	var err error
	if f.IsReadOnly() {
		// bbolt only closes the file, of which a process that is being forked has a copy.
		err = disk.Unlock(f.file)
	}
	return errors.Join(err, catchFaults(f.Close))
}

// catchFaults converts a panic, or a fault of a mapped page, into an error.
func catchFaults(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %w: %v", wal.ErrCorrupt, errPoisoned, cause)
		}
	}()
	return do()
}
