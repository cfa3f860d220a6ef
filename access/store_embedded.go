package access

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"ninepocket/internal/wal"
)

// Embedded is the store of one machine: the truth is in memory, a write-ahead
// log makes every finished call durable, and a checkpoint in a bbolt file bounds
// the log. The bbolt file is open only while a checkpoint is written, so that
// other processes can read it between.
type Embedded struct {
	*core
	dir   string
	lock  *fileLock
	saver *checkpointer
	stop  chan struct{}
	once  sync.Once
	wg    sync.WaitGroup
}

var _ Store = (*Embedded)(nil)

// EmbeddedOptions configure an Embedded store. Now is required.
type EmbeddedOptions struct {
	// Now is the present; later Instants must come from the same Clock.
	Now Instant
	// ReplyBytes bounds the idempotency records of a tenant; 0 = DefaultReplyBytes.
	ReplyBytes int
	// CheckpointEvery is the time between checkpoints; 0 = 10 s.
	CheckpointEvery time.Duration
	// CheckpointBytes is the length of log that brings a checkpoint forward; 0 = 16 MiB.
	CheckpointBytes int64
	// Report is told of a failure when it happens, once; nil = nobody. Err tells it too.
	Report func(error)

	create     func(path string) (wal.Segment, error) // tests: log segments that fail
	checkpoint func() error                           // tests: called before a checkpoint commits
}

func (o *EmbeddedOptions) setDefaults() {
	if o.CheckpointEvery <= 0 {
		o.CheckpointEvery = 10 * time.Second
	}
	if o.CheckpointBytes <= 0 {
		o.CheckpointBytes = 16 << 20
	}
	if o.Report == nil {
		o.Report = func(error) {}
	}
}

// OpenEmbedded opens the store of a state directory, making it when it is not
// there. It reads the checkpoint and the log, so that counters, replies and the minute windows
// go on where they were. When another server has the directory the error is
// ErrLocked; when what is stored is damaged, ErrCorrupt.
func OpenEmbedded(stateDir string, options EmbeddedOptions) (_ *Embedded, err error) {
	options.setDefaults()
	if err := os.MkdirAll(filepath.Join(stateDir, walDirName), 0o700); err != nil {
		return nil, cannot("make state directory %q: %w", stateDir, err)
	}
	lock, err := lockFile(filepath.Join(stateDir, serverLockName), 0)
	if err != nil {
		return nil, cannot("lock state directory %q for one server: %w", stateDir, err)
	}
	s := &Embedded{core: newCore(0, options.ReplyBytes), dir: stateDir, lock: lock, stop: make(chan struct{})}
	s.durable = true
	if err := s.recover(&options); err != nil {
		return nil, errors.Join(cannot("open metering in %q: %w", stateDir, err), lock.unlock())
	}
	s.wg.Go(func() { s.saver.run(s.stop, &options) })
	return s, nil
}

// recover reads what is stored, then starts a new log segment and a checkpoint,
// so that the old segments are not needed again.
func (s *Embedded) recover(options *EmbeddedOptions) error {
	s.saver = &checkpointer{core: s.core, path: filepath.Join(s.dir, checkpointName), fault: options.checkpoint}
	walDir := filepath.Join(s.dir, walDirName)
	stored, err := s.saver.load()
	if err != nil {
		return err
	}
	if err := stored.checkLog(walDir); err != nil {
		return err
	}
	end, err := wal.Read(walDir, stored.last, s.reapply)
	if err != nil {
		return err
	}
	if err := end.Trim(); err != nil {
		return err
	}
	s.setOffset(stored, options.Now)
	s.log, err = wal.Start(walDir, end.Last+1, wal.Options{Create: options.create, OnSync: s.meter.synced})
	if err != nil {
		return err
	}
	if err := s.saver.save(bboltPatience); err != nil {
		s.log.Abandon()
		return err
	}
	return nil
}

// setOffset makes the store time go on where it ended, by as much as the wall
// clock went on since, but never backwards.
func (s *Embedded) setOffset(stored storedState, now Instant) {
	at, wall := stored.at, stored.wall
	for _, a := range s.all("") {
		if later(a.lastAt, a.lastWall, at, wall) {
			at, wall = a.lastAt, a.lastWall
		}
	}
	if at == 0 {
		at, wall = max(now.Wall, memoryEpoch), now.Wall
	}
	s.offset = at + max(0, now.Wall-wall) - now.Mono
}

// reapply applies a call read back from the log, unless the account's checkpoint
// holds it already.
func (s *Embedded) reapply(seq uint64, payload []byte) error {
	e, err := decodeEntry(payload)
	if err != nil {
		return err
	}
	a := s.account(e.tenant)
	if seq <= a.seq {
		return nil
	}
	a.seq = seq
	a.apply(&e)
	switch e.window {
	case NoWindow:
	case KeyWindow:
		a.key(e.key).window.restore(tick{at: e.at, n: 1})
	case TenantWindow:
		a.window.restore(tick{at: e.at, n: 1})
	case UsageWindow:
		a.usageWindow.restore(tick{at: e.at, n: 1})
	}
	if e.reply != nil {
		a.replies.restore(&reply{
			name: replyName{op: e.op, key: e.reply.name}, body: e.reply.body, data: e.reply.data, at: e.at,
		})
	}
	return nil
}

// restore puts a stored reply in place of an older one of its name.
func (rs *replies) restore(r *reply) {
	if old := rs.byName[r.name]; old != nil {
		rs.drop(old)
	}
	rs.add(r)
	rs.order = append(rs.order, r)
	rs.touch(r.name)
}

// Ledger implements [Store].
func (s *Embedded) Ledger(tenant string, since Day) ([]LedgerRow, error) {
	if err := s.Err(); err != nil {
		return nil, err
	}
	s.saver.mu.Lock() // rows are either in memory or in the file, not on the way
	defer s.saver.mu.Unlock()
	view, err := readCheckpoint(s.saver.path)
	if err != nil {
		return nil, err
	}
	sum := ledgerSum{}
	for _, row := range append(view.rows, s.rowsOf("", since)...) {
		sum.add(row)
	}
	return sum.rows(tenant, since), nil
}

// Close implements [Store]. It writes a last checkpoint when it can; the log has
// everything in any case.
func (s *Embedded) Close() error {
	var err error
	s.once.Do(func() {
		close(s.stop)
		s.wg.Wait()
		if s.log.Err() == nil {
			err = unavailable(s.log.Sync())
		}
		if err == nil && s.log.Err() == nil {
			if err = s.saver.save(bboltPatience); errors.Is(err, errBusy) {
				err = nil
			}
		}
		s.closed.Store(true)
		s.log.Abandon()
		err = errors.Join(err, s.lock.unlock())
	})
	return err
}

// checkLog refuses a state directory whose log is gone.
func (s *storedState) checkLog(walDir string) error {
	firsts, err := wal.Segments(walDir)
	if err == nil && s.exists && len(firsts) == 0 {
		return cannot("read log %q: %w: it has no segment", walDir, ErrCorrupt)
	}
	if err == nil && !s.exists && len(firsts) > 0 && slices.Min(firsts) > 1 {
		return cannot("read checkpoint beside log %q: %w: it is gone", walDir, ErrCorrupt)
	}
	return err
}
