package access

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"ninepocket/access/statedir"
	"ninepocket/internal/disk"
	"ninepocket/internal/wal"
)

// openJournal opens the journal of a state directory and goes on where it ended; see
// [OpenEmbedded].
func openJournal(stateDir string, options *EmbeddedOptions) (*journal, error) {
	if _, err := wal.Segments(filepath.Join(stateDir, statedir.LogName)); err != nil {
		return nil, fmt.Errorf("cannot open metering in %q: %w", stateDir, err)
	}
	if err := statedir.Make(filepath.Join(stateDir, statedir.LogName)); err != nil {
		return nil, fmt.Errorf("cannot make state directory %q: %w", stateDir, err)
	}

	// One process writes a state directory: two would give records the same number.
	lock, err := statedir.LockState(stateDir, 0)
	if err != nil {
		return nil, err
	}

	j := newJournal(0)
	j.boot = options.boot
	j.lock = lock
	j.dir = stateDir
	j.stop = make(chan struct{})
	if err := j.recover(stateDir, options); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open metering in %q: %w", stateDir, err), lock.Unlock())
	}

	if !options.inline {
		j.wg.Go(func() { j.saver.run(j.stop, options) })
	}
	return j, nil
}

// recover reads what is stored, then starts a new log segment and a checkpoint, so that the old
// segments are not needed again.
func (j *journal) recover(stateDir string, options *EmbeddedOptions) error {
	j.saver = &checkpointer{
		journal: j, path: filepath.Join(stateDir, statedir.CheckpointName),
		fault: options.checkpoint, unsynced: options.unsynced,
	}
	if options.Export {
		j.saver.moved = map[LedgerRow]bool{}
	}
	stored, err := j.saver.load()
	if err != nil {
		return err
	}

	// The log goes on where the checkpoint ends. What a crash tore off was never acknowledged.
	walDir := filepath.Join(stateDir, statedir.LogName)
	if err := stored.checkLog(walDir); err != nil {
		return err
	}

	end, err := wal.Read(walDir, stored.last, j.reapply)
	if err != nil {
		return err
	}
	if err := end.Trim(); err != nil {
		return err
	}

	j.torn = end.Dropped
	j.setOffset(stored, options.Now)
	j.saver.begin(j.time(options.Now))

	j.log, err = wal.Start(walDir, end.Last+1, wal.Options{
		Create: options.create, OnSync: j.meter.synced, Inline: options.inline, Now: options.now,
		Ready: func() error { return j.lock.Moved(j.dir) }, Made: disk.Keep,
	})
	if err != nil {
		return err
	}

	// A checkpoint at once shows that one can be written, before anything is charged.
	// Where another process reads the file, the log has everything until that ends.
	if err := j.saver.save(time.Second); err != nil && !errors.Is(err, errBusy) {
		j.log.Abandon()
		return err
	}
	return nil
}

// checkLog refuses a state directory whose log or checkpoint is gone.
func (state *storedState) checkLog(walDir string) error {
	firsts, err := wal.Segments(walDir)
	if err != nil {
		return err
	}

	// One without the other would forget in silence what was charged.
	if state.exists() && len(firsts) == 0 {
		return fmt.Errorf("cannot read log %q: %w: it has no segment", walDir, ErrCorrupt)
	}
	if !state.exists() && len(firsts) > 0 && slices.Min(firsts) > 1 {
		return fmt.Errorf("cannot read checkpoint beside log %q: %w", walDir, ErrCheckpointGone)
	}
	return nil
}

// setOffset makes the store time go on where it ended, by as much as time went on since, but never
// backwards. Within one boot of the machine its own count bounds what the wall clock says: a clock
// that was set ahead opens no window early.
func (j *journal) setOffset(stored storedState, now Instant) {
	last := stored.at
	for _, a := range j.all("") {
		last = last.later(a.last)
	}
	if last.store == 0 { // nothing is stored
		last = moment{store: max(now.Wall, memoryEpoch), wall: now.Wall}
	}

	passed := max(0, now.Wall-last.wall)
	if counted, ok := j.boot().since(stored.boot); ok {
		// The count began at the checkpoint, and the last admission may have come after it.
		passed = min(passed, max(0, stored.store+counted-last.store))
	}
	j.offset = last.store + passed - now.Mono
}

// reapply applies a call read back from the log, unless the account's checkpoint holds it already.
func (j *journal) reapply(seq uint64, payload []byte) error {
	// The record was given up when the disk failed, so that nobody was answered, or it is a mark.
	if len(payload) == 0 {
		return nil
	}

	e, err := decodeEntry(payload)
	if err != nil {
		return err
	}

	// What is prepared is in no account, and in every segment of the log until it is settled.
	if e.prepared {
		j.prepared.add(&e)
		return nil
	}
	j.prepared.remove(e.claim)

	a := j.account(e.tenant)
	if seq <= a.seq {
		return nil
	}

	a.seq = seq
	a.apply(&e)

	// A restart must open no minute window early.
	if w := a.windowOf(a.key(e.key), e.window); w != nil {
		w.restore(tick{at: e.at, n: 1})
	}

	if e.reply != nil {
		r := reply{answer: answer{body: e.reply.body, at: e.at}, data: e.reply.data}
		a.replies.keep(nameReply(e.op, e.reply.name), r)
	}
	return nil
}
