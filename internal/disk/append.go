package disk

import (
	"fmt"
	"os"
	"syscall"
)

// ErrNoSpace means: a log has grown into the room that is left for what makes it shorter again, a
// new segment and a checkpoint.
var ErrNoSpace = fmt.Errorf("the rest is kept for a checkpoint: %w", syscall.ENOSPC)

// How much of a file that grows is allocated and mapped at a time: as much again as was written, within
// these bounds. One that is written looks for room as often.
const (
	minChunk = 64 << 10
	maxChunk = 1 << 20
)

// reservedSpace is what a log that grows leaves free on its file system. When a disk is full of the
// log itself, nothing but a checkpoint makes room, and that needs some: two segments, and pages.
const reservedSpace = 256 << 10

// writtenFile is a file that grows with each write(2): what there is where files cannot be mapped.
type writtenFile struct {
	*os.File
	grown
	checkedTo int64 // up to where there was room when it was looked for
}

// grown is how far a file has grown.
type grown struct {
	head int64 // length of the first write: a file that has no more may take the room that is spared
	size int64 // of what was written
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

// Write implements io.Writer. The first write of what a new segment takes over is not refused, however
// long it is.
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
