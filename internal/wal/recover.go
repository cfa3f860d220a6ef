package wal

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"ninepocket/internal/disk"
)

// A failed write or fsync takes a log down: the content of the disk is unknown, and a later fsync that
// succeeds proves nothing about records before the failed one. Recovery writes everything since the
// last good fsync again. It goes into a new segment that begins there, and replaces the records that
// the old one may have from that number on (decision 1751). This recovery is not the replay at the
// start: see read.go.

// recoverInterval is the shortest time from a failed recovery to the next, which failing calls and
// syncs trigger. It is short enough to recover within a second after a failure, and long enough not
// to load a disk that stays full.
const recoverInterval = 250 * time.Millisecond

// tempSuffix ends the name of a segment that is being made.
const tempSuffix = ".new"

// unsynced are the records that may not be on disk, in order: syncing, written, unwritten. writeMu
// guards them; syncing does not change while an fsync runs.
type unsynced struct {
	syncing   []byte // an fsync that covers them is under way, or failed
	written   []byte
	unwritten []byte // taken from the queue, and their write failed
}

// maxReusedBuffer is the longest buffer that is reused; a longer one after a burst is freed.
const maxReusedBuffer = 1 << 20

// beginSync makes the written records those that the next fsync covers.
func (r *unsynced) beginSync() {
	spare := emptied(r.syncing)
	r.syncing = r.written
	r.written = spare
}

// endSync drops the records that the fsync covered, after it succeeded.
func (r *unsynced) endSync() { r.syncing = emptied(r.syncing) }

func emptied(b []byte) []byte {
	if cap(b) > maxReusedBuffer {
		return nil
	}
	return b[:0]
}

// all returns every record in order, cancelled ones without their payload.
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

// tryRecover recovers a log that is down. It returns nil if record seq was written meanwhile, or if the
// log is up again. Soon after a failed recovery it does not try, and returns the log's error.
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

// ErrReserveReached reports that the log has grown into the space reserved for a new segment and a
// checkpoint.
// The log stays down until it is rotated.
var ErrReserveReached = disk.ErrNoSpace

// recover brings up a log that is down. The caller holds syncMu and writeMu, and writes a checkpoint
// afterwards if rotating is true.
func (l *Log) recover(rotating bool) error {
	broken := l.broken.Load()
	if broken == nil || l.ended.Load() {
		return l.Err()
	}

	// Calls that all try it would fill the reserved space before the checkpoint comes.
	early := l.options.Now().Sub(l.lastRecovery) < recoverInterval
	if errors.Is(*broken, ErrReserveReached) {
		early = !rotating
	}
	if early {
		l.failed.CompareAndSwap(nil, broken)
		return l.Err()
	}

	// Queued records are included: their numbers come next.
	l.mu.Lock()
	last := l.next - 1
	l.unsynced.unwritten = append(l.unsynced.unwritten, l.queue...)
	l.queue = l.queue[:0]
	l.mu.Unlock()

	l.lastRecovery = l.options.Now()
	file, err := l.open(l.synced.Load()+1, l.unsynced.all(l.cancelled))
	if err != nil {
		// The old segment stays open: the records written to it survive the process.
		if file != nil {
			_ = file.Close()
		}
		l.failed.CompareAndSwap(nil, broken)
		return l.Err()
	}

	_ = l.file.Close() // the new segment has its records
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

// Cancel drops a record whose Await failed: recovery writes the record without its payload. It returns
// false if the record is on disk after all, which is as if the Await had not failed. If the process
// ends before recovery, the record may stay.
func (l *Log) Cancel(seq uint64) bool {
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	if l.synced.Load() >= seq || l.Err() == nil && l.sync() == nil {
		return false // or it was queued while the log recovered
	}
	l.cancelled[seq] = true
	return true
}

// removeUnfinished removes unfinished segments of a process that ended while it made them.
func (l *Log) removeUnfinished() {
	names, _ := l.options.Disk.List(l.dir) // Start returns an error that matters
	for _, name := range names {
		if plain, is := strings.CutSuffix(name.Name(), tempSuffix); is {
			if _, ours := segmentFirst(plain); ours {
				_ = l.options.Disk.Remove(filepath.Join(l.dir, name.Name())) // a leftover only takes space
			}
		}
	}
}
