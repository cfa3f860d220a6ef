package wal

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"ninepocket/internal/disk"
)

// A failed write or fsync takes a log down: nobody knows what the disk then holds, and a later
// fsync that succeeds proves nothing about what came before the failed one. Mending writes
// everything since the last good fsync again, into a new segment that begins there and takes the
// place of the records that the old one may hold from that number on (decision 1751).

// recoverInterval is how often a log that is down is tried again: often enough for a fault that
// ends to be forgotten within a second, seldom enough for a disk that stays full to be left in
// peace.
const recoverInterval = 250 * time.Millisecond

// tempSuffix ends the name of a segment that is being made.
const tempSuffix = ".new"

// unsynced are the records that are not known to be on disk, in order: syncing, written, unwritten.
// What is written holds writeMu; syncing is also left alone while an fsync runs.
type unsynced struct {
	syncing   []byte // an fsync that covers them is under way, or failed
	written   []byte
	unwritten []byte // taken from the queue, and their write failed
}

// maxReusedBuffer is the longest buffer that is used again; a burst's is left to the collector.
const maxReusedBuffer = 1 << 20

// beginSync notes that the fsync to come covers what is written.
func (r *unsynced) beginSync() {
	spare := emptied(r.syncing)
	r.syncing = r.written
	r.written = spare
}

// synced lets go of what the fsync covered.
func (r *unsynced) synced() { r.syncing = emptied(r.syncing) }

func emptied(b []byte) []byte {
	if cap(b) > maxReusedBuffer {
		return nil
	}
	return b[:0]
}

// all returns every record in order, those that were given up without their payload.
func (r *unsynced) all(cancelled map[uint64]bool) []byte {
	out := make([]byte, 0, len(r.syncing)+len(r.written)+len(r.unwritten))
	for _, part := range [][]byte{r.syncing, r.written, r.unwritten} {
		for len(part) > 0 {
			size := recordHeader + int(binary.LittleEndian.Uint32(part[4:]))
			if seq := binary.LittleEndian.Uint64(part[8:]); cancelled[seq] {
				synced := binary.LittleEndian.Uint64(part[16:])
				out = appendRecord(out, seq, synced, func(dst []byte) []byte { return dst })
			} else {
				out = append(out, part[:size]...)
			}
			part = part[size:]
		}
	}
	return out
}

// tryRecover mends a log that is down, unless that was tried a moment ago. It returns nil when
// record seq is on disk or written after all.
func (l *Log) tryRecover(seq uint64) error {
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	if l.written.Load() >= seq {
		return nil
	}
	return l.recover(false)
}

// ErrNoSpace means: the log has grown into the room that is left for what makes it shorter again.
// It stays down until it is rotated.
var ErrNoSpace = disk.ErrNoSpace

// recover takes a log up again that is down. The caller holds syncMu and writeMu, and has a
// checkpoint written after that when rotating is true.
func (l *Log) recover(rotating bool) error {
	broken := l.broken.Load()
	if broken == nil || l.ended.Load() {
		return l.Err()
	}

	// What every call began would fill the room before the checkpoint comes.
	early := l.options.Now().Sub(l.lastRecovery) < recoverInterval
	if errors.Is(*broken, ErrNoSpace) {
		early = !rotating
	}
	if early {
		l.failed.CompareAndSwap(nil, broken)
		return l.Err()
	}

	// Records that nobody tried to write yet come along: their number is in between.
	l.mu.Lock()
	last := l.next - 1
	l.unsynced.unwritten = append(l.unsynced.unwritten, l.queue...)
	l.queue = l.queue[:0]
	l.mu.Unlock()

	l.lastRecovery = l.options.Now()
	file, err := l.open(l.synced.Load()+1, l.unsynced.all(l.cancelled))
	if err != nil {
		// The old segment stays open: what was written there outlives the process.
		if file != nil {
			_ = file.Close()
		}
		l.failed.CompareAndSwap(nil, broken)
		return l.Err()
	}

	_ = l.file.Close() // another segment has what it held
	l.file = file
	l.bytes.Add(uint64(len(l.unsynced.unwritten)))
	l.unsynced = unsynced{}
	clear(l.cancelled)
	l.written.Store(last)
	l.synced.Store(last)
	l.lastRecovery = time.Time{}
	l.broken.Store(nil)
	l.failed.Store(nil)
	return nil
}

// Cancel drops a record whose Await failed, so that recovery skips it. It reports false when the
// record is on disk after all, which is as if the Await had not failed. A process that ends before
// the log is mended may leave the record.
func (l *Log) Cancel(seq uint64) bool {
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	if l.synced.Load() >= seq || l.Err() == nil && l.sync() == nil {
		return false // also one that was queued while the log was mended
	}
	l.cancelled[seq] = true
	return true
}

// removeUnfinished removes what a process left that ended while it made a segment.
func (l *Log) removeUnfinished() {
	names, _ := l.options.Disk.List(l.dir) // Start fails on what matters of it
	for _, name := range names {
		if plain, is := strings.CutSuffix(name.Name(), tempSuffix); is {
			if _, ours := segmentFirst(plain); ours {
				_ = l.options.Disk.Remove(filepath.Join(l.dir, name.Name())) // takes room, and does no harm
			}
		}
	}
}
