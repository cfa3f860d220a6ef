package disk

import (
	"fmt"
	"os"
	"syscall"
)

// ErrNoSpace reports that a log has grown into the space reserved for a new segment and a checkpoint,
// which make it shorter.
var ErrNoSpace = fmt.Errorf("the rest is kept for a checkpoint: %w", syscall.ENOSPC)

// How much of a growing file is allocated and mapped at a time: its length, within these bounds. A
// written file checks the free space as often.
const (
	minChunk = 64 << 10
	maxChunk = 1 << 20
)

// reservedSpace is what a growing log leaves free on its file system. When the log itself has filled
// the disk, only a checkpoint frees space, and it needs some: for two segments, and pages.
const reservedSpace = 256 << 10

// writtenFile is a log file that grows with each write(2), for systems where files cannot be mapped.
type writtenFile struct {
	*os.File
	grown
	checkedTo int64 // the last check found enough space for a file of this length
}

// grown is the written length of a file.
type grown struct {
	head int64 // length of the first write: a file with no more may use the reserved space
	size int64
}

func (g *grown) wrote(n int) {
	if g.size == 0 {
		g.head = int64(n)
	}
	g.size += int64(n)
}

func writeFile(name string) (File, error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &writtenFile{File: file, checkedTo: minChunk}, nil
}

// Write implements io.Writer. The second write, of records that a new segment takes over, is not
// refused, however long it is.
func (f *writtenFile) Write(p []byte) (int, error) {
	if f.size > f.head && f.size+int64(len(p)) > f.checkedTo {
		if err := checkSpace(f.File, f.size, len(p)); err != nil {
			return 0, err
		}
		f.checkedTo = f.size + max(int64(len(p)), minChunk)
	}

	n, err := f.File.Write(p)
	f.wrote(n)
	return n, err
}
