package wal

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"syscall"
)

// mappedSegment is a segment whose end is mapped into memory, so that writing is copying. What was
// copied is in the page cache, as after write(2): it outlives the process, and Sync puts it on
// disk.
//
// The file is longer than what was written. The rest is zeros, which no record begins with, and it
// stays: cutting it off would take the disk longer than all else in the change to a new segment.
//
// Blocks are allocated before they are mapped, on file systems that write a block where it is. So a
// full disk is an error of the allocation. What can still make a page fail (a damaged disk, a file
// cut short or shared by someone else) arrives as a fault of the copying goroutine, and Write makes
// an error of it.
type mappedSegment struct {
	file   *os.File
	chunk  []byte // the mapped part of the file; nil once closed
	base   int64  // where the chunk begins in the file
	size   int64  // of what was written
	length int64  // of the file
}

// inPlace is the file systems that keep a file's blocks when they are written again: ext4, XFS and
// tmpfs. Others may need a new block for a write into an allocated one, and a full disk has none.
var inPlace = []int64{0xef53, 0x58465342, 0x01021994}

// MapSegment makes a mapped segment; where that is not possible the error is errors.ErrUnsupported.
func MapSegment(path string) (Segment, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}

	s := &mappedSegment{file: file}
	err = s.checkSystem()
	if err == nil {
		err = s.begin() // finds out early whether the file can be mapped
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return s, nil
}

func (s *mappedSegment) checkSystem() error {
	var system syscall.Statfs_t
	if err := retryInterrupted(func() error { return syscall.Fstatfs(s.fd(), &system) }); err != nil {
		return fmt.Errorf("ask for the file system: %w", err)
	}

	kind := int64(system.Type) //nolint:unconvert // the type differs between processors
	if !slices.Contains(inPlace, kind) {
		return fmt.Errorf("file system of type %#x: %w", kind, errors.ErrUnsupported)
	}
	return nil
}

func (s *mappedSegment) fd() int { return int(s.file.Fd()) }

// Write implements [Segment]. What is written first, the header, is alone in the file until the
// next write, before which it is synced: a longer file without a header was damaged.
func (s *mappedSegment) Write(p []byte) (int, error) {
	switch {
	case s.chunk == nil:
		return 0, os.ErrClosed
	case s.size == 0:
		n, err := s.file.Write(p)
		s.size = int64(n)
		s.length = s.size
		return n, err
	case s.size+int64(len(p)) > s.base+int64(len(s.chunk)):
		var err error
		if s.size > segmentHeader { // one that is as it began may take the room that is spared
			err = checkRoom(s.file, s.size, len(p))
		}
		if err == nil {
			err = s.grow(len(p), leastChunk)
		}
		if err != nil {
			return 0, err
		}
	}

	// Memory behind the end of a file cannot be written: the file gets its length first.
	if end := s.base + int64(len(s.chunk)); s.length < end {
		if err := s.file.Truncate(end); err != nil {
			return 0, err
		}
		s.length = end
	}

	if err := store(s.chunk[s.size-s.base:], p); err != nil {
		return 0, err
	}
	s.size += int64(len(p))
	return len(p), nil
}

// begin allocates and maps the beginning: where there is little room, less than usual.
func (s *mappedSegment) begin() (err error) {
	for least := leastChunk; least >= 4<<10; least /= 2 {
		err = s.grow(segmentHeader, int64(least))
		if !errors.Is(err, syscall.ENOSPC) {
			return err
		}
	}
	return err
}

// grow allocates and maps the page where the next record begins and what follows, with room for n
// bytes and more, least of them or more.
func (s *mappedSegment) grow(n int, least int64) error {
	if err := s.unmap(); err != nil {
		return err
	}

	page := int64(os.Getpagesize())
	s.base = s.size / page * page
	length := max(min(s.size, mostChunk), least, s.size-s.base+int64(n))
	length = (length + page - 1) / page * page

	// The blocks are there before the file is longer: a crash here leaves no zeros to read.
	const keepSize = 1 // FALLOC_FL_KEEP_SIZE
	err := retryInterrupted(func() error { return syscall.Fallocate(s.fd(), keepSize, s.base, length) })
	if err != nil {
		return fmt.Errorf("allocate: %w", err)
	}

	chunk, err := syscall.Mmap(s.fd(), s.base, int(length), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if errors.Is(err, syscall.ENODEV) {
		err = errors.ErrUnsupported
	}
	if err != nil {
		return fmt.Errorf("map: %w", err)
	}
	s.chunk = chunk
	return nil
}

// store copies p, its first eight bytes last: they hold the first record's checksum and length,
// without which a reader takes nothing of p. So a process that dies while it copies leaves all of p
// or none of it.
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

// Sync implements [Segment]. On Linux a file's sync writes the pages that were changed through its
// mappings, too. The file's times, which fdatasync leaves out, do not matter.
func (s *mappedSegment) Sync() error {
	return retryInterrupted(func() error { return syscall.Fdatasync(s.fd()) })
}

// Close implements [Segment].
func (s *mappedSegment) Close() error { return errors.Join(s.unmap(), s.file.Close()) }

func (s *mappedSegment) unmap() error {
	if s.chunk == nil {
		return nil
	}

	chunk := s.chunk
	s.chunk = nil // also after a failure: what is left of it must not be written
	if err := syscall.Munmap(chunk); err != nil {
		return fmt.Errorf("unmap: %w", err)
	}
	return nil
}

// retryInterrupted makes a system call again as long as a signal interrupts it.
func retryInterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
