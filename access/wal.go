package access

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// syncInterval bounds how long a written record stays off the disk when no call
// waits for it: half of the promised 100 ms, the other half is for the fsync.
const syncInterval = 50 * time.Millisecond

// wal is the write-ahead log with natural group commit: records queue in a
// buffer while the last write or fsync runs, and the next one takes them all.
// No timer delays a commit.
//
// Callers that only need their record written (to survive the death of the process) write
// the buffer themselves. Callers that need it on disk join a batch and wait for
// the one goroutine that syncs.
//
// The first failed write or fsync is kept and ends the log: nothing is written
// after it, and every wait returns it as ErrUnavailable.
//
// Locks, in the order they are taken: syncMu, writeMu, mu.
type wal struct {
	dir    string
	meter  *meter
	create func(path string) (segmentFile, error)

	unmapped error // why the segments are written and not mapped; nil when they are

	syncMu  sync.Mutex // one fsync or rotation at a time
	writeMu sync.Mutex // writes in the order of their records
	file    segmentFile
	size    atomic.Int64 // of the open segment
	spare   []byte

	mu      sync.Mutex // guards the buffer and the numbers in it
	buffer  []byte
	next    uint64 // sequence number of the next record
	waiting *syncBatch

	written atomic.Uint64 // last record written
	synced  atomic.Uint64 // last record on disk
	failed  atomic.Pointer[error]

	kick chan struct{} // one slot: a batch waits
	stop chan struct{}
	done chan struct{}
}

// syncBatch is the calls that wait for one fsync.
type syncBatch struct{ done chan struct{} }

// startWAL starts a log in dir whose first record gets number next. Without create it chooses how segments are made.
func startWAL(dir string, next uint64, m *meter, create func(string) (segmentFile, error)) (_ *wal, err error) {
	w := &wal{
		dir: dir, meter: m, create: create, next: next,
		kick: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	w.written.Store(next - 1)
	w.synced.Store(next - 1)
	if create == nil {
		w.file, err = w.chooseSegments(next)
	} else {
		w.file, err = w.open(next)
	}
	if err != nil {
		return nil, err
	}
	go w.syncLoop()
	return w, nil
}

// open makes the segment that starts with record first, durable in name and header.
func (w *wal) open(first uint64) (segmentFile, error) {
	path := segmentPath(w.dir, first)
	file, err := w.create(path)
	if err != nil {
		return nil, cannot("make log segment %q: %w", path, err)
	}
	_, err = file.Write(segmentHead(first))
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = syncDir(w.dir)
	}
	if err != nil {
		return nil, errors.Join(cannot("make log segment %q: %w", path, err), file.Close())
	}
	w.size.Store(segmentHeader)
	return file, nil
}

// append queues an entry and returns its number. It does not block on the disk.
func (w *wal) append(e *entry) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	seq := w.next
	w.next++
	w.buffer = appendRecord(w.buffer, seq, w.synced.Load(), e)
	return seq
}

// failure returns why the log ended, wrapping ErrUnavailable, or nil.
func (w *wal) failure() error {
	if err := w.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// fail ends the log for good.
func (w *wal) fail(verb string, err error) error {
	err = fmt.Errorf("%w: cannot %s log: %w", ErrUnavailable, verb, err)
	w.failed.CompareAndSwap(nil, &err)
	return w.failure()
}

// flush writes what is queued.
func (w *wal) flush() error {
	w.writeMu.Lock()
	defer w.writeMu.Unlock()
	return w.flushLocked()
}

func (w *wal) flushLocked() error {
	if err := w.failure(); err != nil {
		return err
	}
	w.mu.Lock()
	data, last := w.buffer, w.next-1
	w.buffer, w.spare = w.spare[:0], nil
	w.mu.Unlock()
	if len(data) > 0 {
		if n, err := w.file.Write(data); err != nil || n < len(data) {
			return w.fail("write", firstOf(err, io.ErrShortWrite))
		}
		w.size.Add(int64(len(data)))
		w.meter.written.Add(uint64(len(data)))
	}
	if cap(data) <= 1<<20 {
		w.spare = data
	}
	w.written.Store(last)
	return nil
}

// waitWritten returns when record seq is written: it survives the death of the process.
func (w *wal) waitWritten(seq uint64) error {
	if w.written.Load() >= seq {
		return nil
	}
	w.writeMu.Lock()
	defer w.writeMu.Unlock()
	if w.written.Load() >= seq {
		return nil
	}
	return w.flushLocked()
}

// waitSynced returns when record seq is on disk.
func (w *wal) waitSynced(seq uint64) error {
	w.mu.Lock()
	if w.synced.Load() >= seq {
		w.mu.Unlock()
		return nil
	}
	if err := w.failure(); err != nil {
		w.mu.Unlock()
		return err
	}
	batch := w.waiting
	if batch == nil {
		batch = &syncBatch{done: make(chan struct{})}
		w.waiting = batch
	}
	w.mu.Unlock()
	select {
	case w.kick <- struct{}{}:
	default:
	}
	select {
	case <-batch.done:
	case <-w.done:
	}
	if w.synced.Load() >= seq {
		return nil
	}
	return firstOf(w.failure(), errClosed)
}

// syncLoop is the one goroutine that syncs.
func (w *wal) syncLoop() {
	defer close(w.done)
	ticker := time.NewTicker(syncInterval)
	defer ticker.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-w.kick:
		case <-ticker.C:
		}
		w.mu.Lock()
		idle := w.next-1 == w.synced.Load() && w.waiting == nil
		w.mu.Unlock()
		if !idle && w.failure() == nil {
			_ = w.sync() // told by failure
		}
		if w.failure() != nil {
			w.wake()
		}
	}
}

// wake ends the batch that waits, whatever came of it.
func (w *wal) wake() {
	w.mu.Lock()
	batch := w.waiting
	w.waiting = nil
	w.mu.Unlock()
	if batch != nil {
		close(batch.done)
	}
}

// sync puts everything queued so far on disk and wakes those who wait for it.
func (w *wal) sync() error {
	w.syncMu.Lock()
	defer w.syncMu.Unlock()
	w.mu.Lock()
	batch := w.waiting
	w.waiting = nil
	w.mu.Unlock()
	if batch != nil {
		defer close(batch.done)
	}
	if err := w.flush(); err != nil {
		return err
	}
	// Records written by others from here on may or may not be covered.
	target := w.written.Load()
	if target == w.synced.Load() {
		return nil
	}
	if err := w.syncFile(); err != nil {
		return err
	}
	w.synced.Store(target)
	return nil
}

// syncFile puts what is written on disk. The caller holds syncMu.
func (w *wal) syncFile() error {
	defer w.meter.time(timeSync, time.Now())
	if err := w.file.Sync(); err != nil {
		w.meter.syncErrors.Add(1)
		return w.fail("sync", err)
	}
	return nil
}

// rotate puts everything on disk and starts a new segment. It returns the last
// record of the old ones.
func (w *wal) rotate() (last uint64, err error) {
	w.syncMu.Lock()
	defer w.syncMu.Unlock()
	w.writeMu.Lock()
	defer w.writeMu.Unlock()
	if err := w.flushLocked(); err != nil {
		return 0, err
	}
	last = w.written.Load()
	if w.size.Load() == segmentHeader {
		return last, nil
	}
	if err := w.syncFile(); err != nil {
		return 0, err
	}
	w.synced.Store(last)
	file, err := w.open(last + 1)
	if err != nil {
		return 0, w.fail("rotate", err)
	}
	old := w.file
	w.file = file
	if err := old.Close(); err != nil {
		return 0, w.fail("close", err)
	}
	return last, nil
}

// close ends the log after putting everything on disk.
func (w *wal) close() error {
	err := w.sync()
	w.abandon()
	return err
}

// abandon ends the log as it is; what is queued and not written is lost.
func (w *wal) abandon() {
	close(w.stop)
	<-w.done
	w.syncMu.Lock()
	defer w.syncMu.Unlock()
	w.writeMu.Lock()
	defer w.writeMu.Unlock()
	w.failed.CompareAndSwap(nil, new(errClosed))
	_ = w.file.Close() // synced, or given up
	w.wake()
}
