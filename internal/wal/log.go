package wal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ninepocket/internal/disk"
)

// syncInterval is how often written records are synced that no call waits for: half of the promised
// 100 ms, the other half is for the fsync.
const syncInterval = 50 * time.Millisecond

// ErrClosed is the error of a log that was closed.
var ErrClosed = errors.New("log closed")

// Log is a write-ahead log that is open for appending. It is safe for concurrent use.
//
// Callers of AwaitWritten write the queue themselves. Callers of AwaitSynced join a batch and wait
// for the one goroutine that syncs. After a failed write or fsync the log is down until it has
// recovered: see recover.go.
//
// Locks, in the order they are taken: syncMu, writeMu, mu.
type Log struct {
	dir      string
	options  Options
	segments segments

	unmapped error // why the segments are written and not mapped; nil when they are

	syncMu       sync.Mutex // one fsync or rotation at a time
	writeMu      sync.Mutex // writes in the order of their records
	file         disk.File
	size         atomic.Int64 // of the open segment
	spare        []byte
	unsynced     unsynced // records that may not be on disk
	lastRecovery time.Time
	cancelled    map[uint64]bool // records that recovery skips: guarded by syncMu

	mu       sync.Mutex // guards the queue and the numbers in it
	queue    []byte
	next     uint64        // number of the next record
	lastMark uint64        // number of the last sync mark
	waiting  chan struct{} // closed after the next fsync; nil when no call waits for it

	bytes   atomic.Uint64         // written since the start
	written atomic.Uint64         // last record written
	synced  atomic.Uint64         // last record on disk
	broken  atomic.Pointer[error] // why nothing is written until the log has recovered
	failed  atomic.Pointer[error] // why the log is down or closed: it could not recover at once
	ended   atomic.Bool

	wake chan struct{} // one slot: a batch waits
	stop chan struct{}
	done chan struct{}
}

// Options configure a log. The zero value is ready.
type Options struct {
	// Disk is the disk of the log; nil = this machine's.
	Disk disk.FS
	// OnSync is called at the end of each fsync; nil disables it.
	OnSync func(began time.Time, err error)
	// Inline runs the log without a goroutine: AwaitSynced itself calls fsync. Calls are sequential.
	Inline bool
	// CanCreate returns why no segment may be made now, such as a directory that was moved; nil =
	// always allowed.
	CanCreate func() error
	// Now is the clock of recovery; nil = time.Now.
	Now func() time.Time
}

// Start starts a log in an existing directory. Its first record gets number next, which follows the
// last one that [Read] returned.
func Start(dir string, next uint64, options Options) (_ *Log, err error) {
	l := &Log{
		dir: dir, options: options, next: next, cancelled: map[uint64]bool{},
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	l.options.Disk = cmp.Or(options.Disk, disk.OS)
	if options.Now == nil {
		l.options.Now = time.Now
	}
	l.segments.files = map[uint64]fs.FileInfo{}
	l.written.Store(next - 1)
	l.synced.Store(next - 1)

	l.removeUnfinished()
	firsts, err := Segments(dir)
	if err != nil {
		return nil, err
	}
	for _, first := range firsts {
		l.segments.track(dir, first, false)
	}
	// Only a try shows whether the file system can map; the result decides for all segments.
	l.file, err = l.open(next, nil)
	if errors.Is(err, errors.ErrUnsupported) {
		l.unmapped = err
		l.file, err = l.open(next, nil)
	}
	if err != nil {
		if l.file != nil {
			err = errors.Join(err, l.file.Close())
		}
		return nil, err
	}

	if options.Inline {
		close(l.done)
		return l, nil
	}
	go l.syncLoop()
	return l, nil
}

// open makes the segment that starts with record first and has these records, with durable name and
// content. It has another name until it is complete, so that a part of it replaces no segment. If the
// name may exist and is not known to be on disk, it returns the segment with an error.
func (l *Log) open(first uint64, records []byte) (disk.File, error) {
	path := segmentPath(l.dir, first)
	if l.options.CanCreate != nil {
		if err := l.options.CanCreate(); err != nil {
			return nil, fmt.Errorf("cannot make log segment %q: %w", path, err)
		}
	}

	// The directory may have been removed with its content.
	file, err := l.options.Disk.Append(path+tempSuffix, l.unmapped == nil)
	if errors.Is(err, fs.ErrNotExist) && l.options.Disk.Mkdir(l.dir, 0o700) == nil {
		file, err = l.options.Disk.Append(path+tempSuffix, l.unmapped == nil)
		err = cmp.Or(err, l.options.Disk.SyncDir(filepath.Dir(l.dir)))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot make log segment %q: %w", path, err)
	}

	// The header of a mapped segment must be on disk before anything follows.
	err = writeSynced(file, encodeHeader(first))
	if err == nil && len(records) > 0 {
		err = writeSynced(file, records)
	}
	if err == nil {
		err = l.options.Disk.Rename(path+tempSuffix, path)
	}
	if err != nil {
		// If it cannot be removed now, the next start removes it.
		_ = l.options.Disk.Remove(path + tempSuffix)
		return nil, errors.Join(fmt.Errorf("cannot make log segment %q: %w", path, err), file.Close())
	}

	l.segments.track(l.dir, first, true)
	l.size.Store(int64(segmentHeader + len(records)))
	if err := l.options.Disk.SyncDir(l.dir); err != nil {
		return file, fmt.Errorf("cannot make log segment %q: %w", path, err)
	}
	return file, nil
}

func writeSynced(file disk.File, data []byte) error {
	n, err := file.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	return cmp.Or(err, file.Sync())
}

// Append queues the record that encode appends to the queue, and returns its number. It does not
// wait for the disk. encode is called once, under a lock: it must not call the log.
func (l *Log) Append(encode func(dst []byte) []byte) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()

	seq := l.next
	l.next++
	l.queue = appendRecord(l.queue, seq, l.synced.Load(), encode)
	return seq
}

// Err returns why the log is down or has ended, or nil. It is cheap.
func (l *Log) Err() error {
	if err := l.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// fail keeps the log from being written until it has recovered. The first reason stays.
func (l *Log) fail(verb string, err error) error {
	err = fmt.Errorf("cannot %s log: %w", verb, err)
	l.broken.CompareAndSwap(nil, &err)
	return err
}

// Size returns the length of the open segment in bytes.
func (l *Log) Size() int64 { return l.size.Load() }

// Bytes returns how many bytes of records were written since the start.
func (l *Log) Bytes() uint64 { return l.bytes.Load() }

// Unmapped returns why each record is written by a system call; nil when the segments are mapped.
func (l *Log) Unmapped() error { return l.unmapped }

// flush writes the queued records. The caller holds writeMu.
func (l *Log) flush() error {
	if err := l.broken.Load(); err != nil {
		return *err
	}

	// Two buffers take turns: records queue in one while the other is written.
	l.mu.Lock()
	data := l.queue
	last := l.next - 1
	l.queue = l.spare
	l.spare = nil
	l.mu.Unlock()

	if len(data) > 0 {
		n, err := l.file.Write(data)
		if err != nil || n < len(data) {
			l.unsynced.unwritten = append(l.unsynced.unwritten, data...)
			return l.fail("write", cmp.Or(err, io.ErrShortWrite))
		}
		l.unsynced.written = append(l.unsynced.written, data...)
		l.size.Add(int64(len(data)))
		l.bytes.Add(uint64(len(data)))
	}
	l.spare = emptied(data)
	l.written.Store(last)
	return nil
}

// AwaitWritten returns when record seq is written: it survives the death of the process.
func (l *Log) AwaitWritten(seq uint64) error {
	if l.written.Load() >= seq {
		return nil
	}

	l.writeMu.Lock()
	err := error(nil)
	if l.written.Load() < seq { // unless another caller has written it
		err = l.flush()
	}
	l.writeMu.Unlock()

	// A failure that the log recovers from at once is no failure of the call.
	if err != nil {
		return l.tryRecover(seq)
	}
	return nil
}

// AwaitSynced returns when record seq is on disk.
func (l *Log) AwaitSynced(seq uint64) error {
	if l.options.Inline && l.synced.Load() < seq {
		return l.Sync()
	}

	batch, err := l.join(seq)
	if batch == nil {
		return err
	}

	select {
	case l.wake <- struct{}{}:
	default: // another caller woke the goroutine, which takes the whole batch
	}
	<-batch

	if l.synced.Load() >= seq {
		return nil
	}
	return cmp.Or(l.Err(), ErrClosed)
}

// join returns the batch that waits for record seq, or nil when no wait is needed.
func (l *Log) join(seq uint64) (<-chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.synced.Load() >= seq {
		return nil, nil
	}
	if err := l.Err(); err != nil {
		return nil, err
	}

	// A sync takes the batch before it takes the queue, which has the record already.
	if l.waiting == nil {
		l.waiting = make(chan struct{})
	}
	return l.waiting, nil
}

// syncLoop is the goroutine that syncs.
func (l *Log) syncLoop() {
	defer close(l.done)
	tick := time.Tick(syncInterval)

	for {
		select {
		case <-l.stop:
			return
		case <-l.wake:
			// Calls that are ready join the batch: an fsync costs the same for one record and for many.
			runtime.Gosched()
		case <-tick:
			l.writeSyncMark()
		}

		_ = l.Sync() // Err returns the error; Sync wakes the callers that wait, and recovers the log
	}
}

// takeBatch takes the batch that waits. Closing it wakes its callers, whatever the result.
func (l *Log) takeBatch() chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch := l.waiting
	l.waiting = nil
	if batch == nil {
		batch = make(chan struct{})
	}
	return batch
}

// Sync puts all queued records on disk and wakes the callers that wait for them.
func (l *Log) Sync() error {
	l.syncMu.Lock()
	defer l.syncMu.Unlock()

	// The batch is taken before the queue: so the fsync covers every record that it waits for.
	batch := l.takeBatch()
	defer close(batch)
	return l.sync()
}

// sync is Sync for a caller that holds syncMu.
func (l *Log) sync() error {
	// Records that others write from here on may or may not be covered.
	l.writeMu.Lock()
	err := l.flush()
	target := l.written.Load()
	if err == nil {
		l.unsynced.beginSync()
	}
	l.writeMu.Unlock()

	if err == nil && target > l.synced.Load() {
		err = l.syncFile(target)
	}
	if err != nil {
		l.writeMu.Lock()
		defer l.writeMu.Unlock()
		return l.recover(false)
	}
	return nil
}

// syncFile syncs the written records; target is the last of them. The caller holds syncMu, and has
// called beginSync.
func (l *Log) syncFile(target uint64) error {
	began := time.Now()
	err := l.file.Sync()
	if l.options.OnSync != nil {
		l.options.OnSync(began, err)
	}
	if err != nil {
		return l.fail("sync", err)
	}

	l.unsynced.endSync()
	l.synced.Store(target)
	return nil
}

// Rotate puts everything on disk and starts a new segment. It returns the last record of the old ones.
// An open segment without records stays, unless its file is missing. If no segment can be made, the log
// continues in the old one.
func (l *Log) Rotate() (last uint64, err error) {
	// Most records go to the disk here, while others can write.
	if err := l.Sync(); err != nil && !errors.Is(err, ErrReserveReached) {
		return 0, err
	}

	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	l.writeMu.Lock()
	defer l.writeMu.Unlock()

	err = l.flush()
	last = l.written.Load()
	if err == nil && l.size.Load() == segmentHeader && !slices.Contains(l.MissingSegments(), SegmentName(last+1)) {
		return last, nil
	}
	if err == nil {
		l.unsynced.beginSync()
		err = l.syncFile(last)
	}
	if errors.Is(err, ErrReserveReached) && len(l.unsynced.syncing) == 0 {
		// The written records are good, unless an fsync failed too: the new segment need not repeat them,
		// for which there may be no space.
		l.unsynced.beginSync()
		_ = l.syncFile(l.written.Load())
	}
	if err != nil {
		// Recovery also puts everything into a new segment.
		err = l.recover(true)
		return l.written.Load(), err
	}

	// The new segment exists before the old one is closed: a failure leaves a readable log.
	file, err := l.open(last+1, nil)
	if file == nil {
		return 0, err
	}
	old := l.file
	l.file = file
	_ = old.Close() // its records are on disk

	// A segment whose name a power cut may remove must not be written to.
	if err != nil {
		_ = l.fail("rotate", err)
		return last, l.recover(true)
	}
	return last, nil
}

// RemoveThrough removes the segments without records after last. The newest one stays.
func (l *Log) RemoveThrough(last uint64) error {
	firsts, err := Segments(l.dir)
	if err != nil {
		return err
	}

	// A segment ends where the next one begins.
	for i := 0; i+1 < len(firsts) && firsts[i+1] <= last+1; i++ {
		if err := l.options.Disk.Remove(segmentPath(l.dir, firsts[i])); err != nil {
			return fmt.Errorf("cannot remove old log: %w", err)
		}
	}
	l.segments.untrackThrough(last)
	return nil
}

// CloseNow closes the log without writing its queue.
func (l *Log) CloseNow() {
	close(l.stop)
	<-l.done

	// Callers of AwaitWritten may still be in a write.
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	l.ended.Store(true)
	l.broken.CompareAndSwap(nil, &ErrClosed)
	l.failed.CompareAndSwap(nil, &ErrClosed) // unless there is an earlier reason
	_ = l.file.Close()                       // synced or abandoned
	close(l.takeBatch())
}
