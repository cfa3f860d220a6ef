package disk

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"syscall"
)

// mappedFile is a file whose end is mapped into memory, so that writing is copying. The copied data are
// in the page cache, as after write(2): they survive the process, and Sync puts them on disk.
//
// The file is longer than its data. The rest is zeros, which no record begins with, and it stays: to
// cut it off would take the disk longer than all else in the change to a new segment.
//
// Blocks are allocated before they are mapped, on file systems that write a block in place. So a full
// disk is an error of the allocation. Other failures of a page (a damaged disk, a file cut short or
// shared by another program) are faults of the copying goroutine, and Write converts them into errors.
type mappedFile struct {
	*os.File
	grown
	chunk  []byte // the mapped part of the file; nil once closed
	base   int64  // offset of the chunk in the file
	length int64  // of the file
}

// inPlace are the file systems that overwrite a file's blocks in place: ext4, XFS and tmpfs. Others may
// need a new block for a write into an allocated one, and a full disk has none.
var inPlace = []int64{0xef53, 0x58465342, 0x01021994}

func mapFile(name string) (File, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}

	f := &mappedFile{File: file}
	err = f.checkSystem()
	if err == nil {
		err = f.begin() // finds out early whether the file can be mapped
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return f, nil
}

func (f *mappedFile) checkSystem() error {
	var system syscall.Statfs_t
	if err := retryInterrupted(func() error { return syscall.Fstatfs(f.fd(), &system) }); err != nil {
		return fmt.Errorf("ask for the file system: %w", err)
	}

	kind := int64(system.Type) //nolint:unconvert // the type differs between processors
	if !slices.Contains(inPlace, kind) {
		return fmt.Errorf("file system of type %#x: %w", kind, errors.ErrUnsupported)
	}
	return nil
}

func (f *mappedFile) fd() int { return int(f.File.Fd()) }

// Write implements io.Writer. The first write, of the header, is the only data in the file until the
// next write, and must be synced before that: a longer file without a header is damaged.
func (f *mappedFile) Write(p []byte) (int, error) {
	switch {
	case f.chunk == nil:
		return 0, os.ErrClosed
	case f.size == 0:
		n, err := f.File.Write(p)
		f.wrote(n)
		f.length = f.size
		return n, err
	case f.size+int64(len(p)) > f.base+int64(len(f.chunk)):
		var err error
		if f.size > f.head {
			err = checkSpace(f.File, f.size, len(p))
		}
		if err == nil {
			err = f.grow(len(p), minChunk)
		}
		if err != nil {
			return 0, err
		}
	}

	// Memory after the end of a file cannot be written: the file gets its length first.
	if end := f.base + int64(len(f.chunk)); f.length < end {
		if err := f.File.Truncate(end); err != nil {
			return 0, err
		}
		f.length = end
	}

	if err := store(f.chunk[f.size-f.base:], p); err != nil {
		return 0, err
	}
	f.wrote(len(p))
	return len(p), nil
}

// begin allocates and maps the beginning: less than usual if there is little space.
func (f *mappedFile) begin() (err error) {
	for minSize := minChunk; minSize >= 4<<10; minSize /= 2 {
		err = f.grow(0, int64(minSize))
		if !errors.Is(err, syscall.ENOSPC) {
			return err
		}
	}
	return err
}

// grow allocates and maps the page where the next record begins and the pages after it. They have space
// for n bytes, for as much as was written within bounds, and for at least minSize.
func (f *mappedFile) grow(n int, minSize int64) error {
	if err := f.unmap(); err != nil {
		return err
	}

	page := int64(os.Getpagesize())
	f.base = f.size / page * page
	length := max(min(f.size, maxChunk), minSize, f.size-f.base+int64(n))
	length = (length + page - 1) / page * page

	// The blocks exist before the file is longer: a crash here leaves no zeros to read.
	const keepSize = 1 // FALLOC_FL_KEEP_SIZE
	err := retryInterrupted(func() error { return syscall.Fallocate(f.fd(), keepSize, f.base, length) })
	if err != nil {
		return fmt.Errorf("allocate: %w", err)
	}

	chunk, err := syscall.Mmap(f.fd(), f.base, int(length), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if errors.Is(err, syscall.ENODEV) {
		err = errors.ErrUnsupported
	}
	if err != nil {
		return fmt.Errorf("map: %w", err)
	}
	f.chunk = chunk
	return nil
}

// store copies p, its first eight bytes last: they have the first record's checksum and length,
// without which a reader ignores p. A process that dies while it copies thus leaves all of p or
// nothing.
func store(dst, p []byte) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("copy into the mapped log: %v", fault)
		}
	}()

	begin := min(len(p), 8)
	copy(dst[begin:], p[begin:])
	copy(dst, p[:begin])
	return nil
}

// Sync implements [File]. On Linux the sync of a file also writes the pages that were changed through
// its mappings. The file's times, which fdatasync skips, do not matter.
func (f *mappedFile) Sync() error {
	return retryInterrupted(func() error { return syscall.Fdatasync(f.fd()) })
}

// Close implements io.Closer.
func (f *mappedFile) Close() error { return errors.Join(f.unmap(), f.File.Close()) }

func (f *mappedFile) unmap() error {
	if f.chunk == nil {
		return nil
	}

	chunk := f.chunk
	f.chunk = nil // also after a failure: the rest of it must not be written
	if err := syscall.Munmap(chunk); err != nil {
		return fmt.Errorf("unmap: %w", err)
	}
	return nil
}

// retryInterrupted repeats a system call as long as a signal interrupts it.
func retryInterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// checkSpace returns ErrNoSpace if a segment of size bytes cannot grow by n of them, and by the usual
// step of segments, without using the reserved space.
func checkSpace(file *os.File, size int64, n int) error {
	var system syscall.Statfs_t
	if err := retryInterrupted(func() error { return syscall.Fstatfs(int(file.Fd()), &system) }); err != nil {
		return nil //nolint:nilerr // the write returns the error
	}

	free := uint64(system.Bsize) * system.Bavail
	if free < uint64(max(min(size, maxChunk), minChunk, int64(n))+reservedSpace) {
		return fmt.Errorf("allocate: %w", ErrNoSpace)
	}
	return nil
}
